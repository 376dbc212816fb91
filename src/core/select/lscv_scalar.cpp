// LSCV_h: the searches of lscv.h over the formula of lscv_factors.h, and the small functions that
// go with it.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/select/local_minima.h"
#include "core/select/lscv.h"
#include "core/select/lscv_factors.h"
#include "core/select/root.h"
#include "core/guarded.h"

namespace kde {
namespace {

constexpr int kGridSize = 150;

class ScalarLscv {
 public:
  ScalarLscv(GaussianPairSums& sums, const LscvSample& sample, LscvDivisor divisor)
      : sums_(sums),
        sample_(sample),
        factors_(sample.n, sample.d, divisor),
        h0_(lscv_reference_h(sample.n, sample.d)) {}

  // Without the determinant.
  Status slopes(std::span<const double> h, std::span<Criterion> at) {
    std::vector<GaussianSlopes> sums(h.size());
    if (Status s = sums_.sweep_slopes(in_points(h), sums); !s.ok()) return s;
    for (std::size_t k = 0; k < h.size(); ++k)
      at[k] = factors_.at(sums[k], sample_.d, h[k], h[k] * sample_.unit);
    return Status::success();
  }

  Status refined(LscvScalar* out) {
    const CriterionSweep sweep = [this](std::span<const double> h, std::span<Criterion> at) {
      return slopes(h, at);
    };
    LocalMinima minima;
    if (Status s = find_local_minima(sweep, sample_.low * h0_, 4 * h0_, &minima); !s.ok()) return s;
    const auto lower = [](const Criterion& a, const Criterion& b) { return a.value < b.value; };
    const auto best = std::min_element(minima.interior.begin(), minima.interior.end(), lower);
    const bool found = best != minima.interior.end();
    if (tied() && !found) {
      return overwhelmed_by_ties(sample_.tied_pairs, sample_.n, factors_.tied_pairs_bound());
    }
    const Criterion end = std::min(minima.lowest, minima.highest, lower);
    if (found && (tied() || best->value <= end.value)) {
      *out = result(best->h, best->value, tied() ? LscvEnd::tied_values : LscvEnd::converged);
    } else {
      *out = result(end.h, end.value, LscvEnd::at_bound);
    }
    out->minima = static_cast<int>(minima.interior.size());
    return Status::success();
  }

  Status grid(LscvScalar* out) {
    std::vector<double> h;
    h.reserve(kGridSize);
    for (int k = 0; k < kGridSize; ++k) h.push_back(h0_ * (0.25 + 3.75 * k / (kGridSize - 1)));
    std::vector<GaussianSums> sums(h.size());
    if (Status s = sums_.sweep(in_points(h), sums); !s.ok()) return s;
    std::vector<double> g;
    g.reserve(h.size());
    for (std::size_t k = 0; k < h.size(); ++k)
      g.push_back(factors_.bracket(sums[k]) * std::pow(h[k], -sample_.d));
    const auto best = std::min_element(g.begin(), g.end());
    const bool interior = best != g.begin() && best + 1 != g.end();
    LscvEnd end = LscvEnd::at_bound;
    if (interior) end = tied() ? LscvEnd::tied_values : LscvEnd::converged;
    *out = result(h[static_cast<std::size_t>(best - g.begin())], *best, end);
    out->minima = interior ? 1 : 0;
    return Status::success();
  }

 private:
  std::vector<double> in_points(std::span<const double> h) const {
    std::vector<double> widths(h.begin(), h.end());
    for (double& width : widths) width *= sample_.unit;
    return widths;
  }

  bool tied() const { return sample_.tied_pairs > factors_.tied_pairs_bound(); }
  double tie_bound() const { return factors_.tied_pairs_bound() / static_cast<double>(sample_.n); }

  LscvScalar result(double h, double value, LscvEnd end) const {
    LscvScalar out;
    out.h = h;
    out.objective = value * std::exp(-sample_.log_det);
    out.end = end;
    out.tie_bound = tie_bound();
    return out;
  }

  GaussianPairSums& sums_;
  LscvSample sample_;
  LscvFactors factors_;
  double h0_;
};

}  // namespace

const char* lscv_end_name(LscvEnd end) {
  switch (end) {
    case LscvEnd::converged:
      return "converged";
    case LscvEnd::at_bound:
      return "at bound";
    case LscvEnd::tied_values:
      return "tied values";
    case LscvEnd::iteration_limit:
      return "iteration limit";
  }
  return "";
}

LscvSample lscv_sample(const WhiteSample& sample) {
  LscvSample out;
  out.n = sample.n;
  out.d = sample.d;
  out.log_det = sample.log_det;
  out.tied_pairs = sample.tied_pairs;
  out.low *= sample.robust_scale;
  return out;
}

LscvSample lscv_sample(const LineSummary& line) {
  LscvSample out;
  out.n = line.n;
  out.log_det = std::log(line.sigma);
  out.tied_pairs = line.tied_pairs;
  out.unit = line.sigma;
  out.low *= line.robust_scale(1.34) / line.sigma;
  return out;
}

Status lscv_h_objective(GaussianPairSums& sums, const LscvSample& sample, LscvDivisor divisor,
                        double h, double* g, double* slope) {
  return guarded([&] {
    Criterion at;
    if (Status s = ScalarLscv(sums, sample, divisor).slopes({&h, 1}, {&at, 1}); !s.ok()) return s;
    const double unit = std::exp(-sample.log_det);
    *g = at.value * unit;
    *slope = at.slope * unit;
    return Status::success();
  });
}

Status select_lscv_h(GaussianPairSums& sums, const LscvSample& sample, LscvDivisor divisor,
                     LscvSearch search, LscvScalar* out) {
  return guarded([&] {
    ScalarLscv lscv(sums, sample, divisor);
    return search == LscvSearch::grid ? lscv.grid(out) : lscv.refined(out);
  });
}

// Sums in single precision find the minimum and its neighbourhood, these where the slope changes
// sign there.
Status polish_lscv_h(GaussianPairSums& sums, const LscvSample& sample, LscvDivisor divisor,
                     LscvScalar* found) {
  if (found->end != LscvEnd::converged && found->end != LscvEnd::tied_values)
    return Status::success();
  LscvSample unscaled = sample;  // the determinant may be beyond double; it moves no minimum
  unscaled.log_det = 0;
  const Evaluated slope = [&](double log_h, double* value) {
    double g = 0;
    return lscv_h_objective(sums, unscaled, divisor, std::exp(log_h), &g, value);
  };
  const double centre = std::log(found->h);
  for (const double reach : {1e-5, 1e-4, 1e-3}) {
    double below = 0;
    double above = 0;
    if (Status s = slope(centre - reach, &below); !s.ok()) return s;
    if (Status s = slope(centre + reach, &above); !s.ok()) return s;
    if (!(below <= 0 && above >= 0)) continue;
    double log_h = 0;
    if (Status s =
            bracketed_root(slope, centre - reach, below, centre + reach, above, 1e-10, &log_h);
        !s.ok())
      return s;
    found->h = std::exp(log_h);
    double ignored = 0;
    return lscv_h_objective(sums, sample, divisor, found->h, &found->objective, &ignored);
  }
  return Status::success();
}

}  // namespace kde
