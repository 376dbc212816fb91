// The formula of spectral.h. A spectrum, once made, serves every bandwidth of a window; a bandwidth
// outside it makes another.
#include "core/sums/spectral.h"

#include <kissfft/kissfft.hh>

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <exception>
#include <new>
#include <numbers>
#include <utility>
#include <vector>

#include "core/sums/engine_parts.h"
#include "core/sums/gap_layout.h"
#include "core/sums/near_pairs.h"
#include "core/sums/ordered_sum.h"
#include "core/sums/spline.h"
#include "core/sums/spread.h"

namespace kde {
namespace {

// Cells in a bandwidth: see the table of c_r in the header.
constexpr double kNodesPerBandwidth = 12;
// Frequencies z beyond this are left out; together they weigh less than |K^(r)| there.
constexpr double kLastFrequency = kReach;
constexpr std::int64_t kMostNodes = std::int64_t{1} << 21;
// A grid this small costs little beside the rest: make the window of bandwidths wide.
constexpr std::int64_t kCheapNodes = std::int64_t{1} << 16;
// Pairs summed directly at most; some ten nanoseconds each.
constexpr std::int64_t kMostNearPairs = std::int64_t{1} << 27;

void sort_ascending(std::vector<double>* x) {
  if (std::is_sorted(x->begin(), x->end())) return;
  if (hwy::Sorter::HaveFloat64()) {
    hwy::Sorter()(x->data(), x->size(), hwy::SortAscending());
  } else {
    std::sort(x->begin(), x->end());
  }
}

// A sample as distinct values in ascending order with their weights.
struct Distinct {
  std::vector<double> x;
  std::vector<double> weights;

  void add(double value, double weight) {
    if (!x.empty() && x.back() == value) {
      weights.back() += weight;
    } else {
      x.push_back(value);
      weights.push_back(weight);
    }
  }
};

Distinct distinct_values(std::span<const double> x, std::span<const double> weights) {
  Distinct out;
  out.x.reserve(x.size());
  out.weights.reserve(x.size());
  if (weights.empty()) {
    std::vector<double> sorted(x.begin(), x.end());
    sort_ascending(&sorted);
    for (const double v : sorted) out.add(v, 1);
  } else if (std::is_sorted(x.begin(), x.end())) {
    for (std::size_t i = 0; i < x.size(); ++i) out.add(x[i], weights[i]);
  } else {
    std::vector<std::pair<double, double>> sorted(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) sorted[i] = {x[i], weights[i]};
    std::sort(sorted.begin(), sorted.end());
    for (const auto& [value, weight] : sorted) out.add(value, weight);
  }
  return out;
}

std::int64_t power_of_two_above(std::int64_t cells) {
  std::int64_t size = 64;
  while (size < cells) size *= 2;
  return size;
}

class SpectralSums : public PairSums {
 public:
  SpectralSums(Distinct sample, const Control& control)
      : x_(std::move(sample.x)), weights_(std::move(sample.weights)), control_(control) {
    for (const double w : weights_) total_weight_ += w;
  }

  Status derivative(int r, double g, double* sum) override {
    if (r < 0 || r > 10 || r % 2 != 0) {
      return Status::error(Code::invalid_argument,
                           "the derivative must be an even one, from 0 to 10");
    }
    if (!(g > 0) || !std::isfinite(g)) {
      return Status::error(Code::invalid_argument, "the bandwidth must be positive and finite");
    }
    try {
      bool made = false;
      if (Status s = prepare(g, &made); !s.ok()) return s;
      return made ? from_spectrum(r, g, sum) : directly(r, g, sum);
    } catch (const std::bad_alloc&) {
      return Status::error(Code::out_of_memory, "no memory for the sums over pairs");
    }
  }

 private:
  // Sees to it that the spectrum serves g; *made is false where no grid can.
  Status prepare(double g, bool* made) {
    *made = lowest_ <= g && g <= highest_;
    if (*made) return Status::success();
    // Two octaves about g, so that the next bandwidths find the spectrum made; where that takes a
    // large grid, g alone.
    const std::int64_t cheap =
        std::clamp(static_cast<std::int64_t>(x_.size()) / 4, kCheapNodes, kMostNodes);
    double low = g / 2;
    double high = g * 2;
    GapLayout layout;
    if (!lay_out(x_, low, high, kNodesPerBandwidth, cheap, &layout)) {
      low = high = g;
      if (!lay_out(x_, low, high, kNodesPerBandwidth, kMostNodes, &layout)) {
        return Status::success();
      }
    }
    lowest_ = highest_ = 0;
    if (Status s = make_spectrum(layout, low); !s.ok()) return s;
    lowest_ = low;
    highest_ = high;
    *made = true;
    return Status::success();
  }

  // power_[k] = |F_k|^2 as far as the narrowest bandwidth needs it.
  Status make_spectrum(const GapLayout& layout, double narrowest) {
    const auto nodes = static_cast<std::size_t>(power_of_two_above(layout.cells));
    std::vector<double> grid(nodes, 0.0);
    if (Status s = spread(x_, weights_, layout, control_, grid); !s.ok()) return s;

    std::vector<std::complex<double>> transform(nodes / 2);
    const kissfft<double> fft(nodes / 2, false);  // of `nodes` real numbers
    fft.transform_real(grid.data(), transform.data());
    if (control_.stop_requested()) return Status::error(Code::cancelled, "cancelled");

    period_ = layout.step * static_cast<double>(nodes);
    power_.resize(std::min(terms(narrowest), nodes / 2));
    // kissfft keeps the highest frequency, which is not needed, beside the lowest.
    power_[0] = transform[0].real() * transform[0].real();
    for (std::size_t k = 1; k < power_.size(); ++k) {
      const double theta =
          2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(nodes);
      power_[k] = std::norm(transform[k]) / spline_power(theta);
    }
    return Status::success();
  }

  // Frequencies k = 0, 1, ... with z_k up to kLastFrequency.
  std::size_t terms(double g) const {
    return static_cast<std::size_t>(kLastFrequency / (2 * std::numbers::pi * g) * period_) + 2;
  }

  Status from_spectrum(int r, double g, double* sum) {
    constexpr std::size_t kTermsPerItem = 4096;
    const std::size_t end = std::min(terms(g), power_.size());
    const double unit = 2 * std::numbers::pi * g / period_;
    const auto work = [&](std::int64_t item, double* out) {
      const std::size_t first = static_cast<std::size_t>(item) * kTermsPerItem;
      double total = 0;
      for (std::size_t k = first; k < std::min(end, first + kTermsPerItem); ++k) {
        const double z2 = unit * unit * static_cast<double>(k) * static_cast<double>(k);
        double term = power_[k] * std::exp(-0.5 * z2);
        for (int q = 0; q < r; q += 2) term *= -z2;
        total += k == 0 ? term / 2 : term;  // k and -k are one term here
      }
      *out = total;
    };
    const auto items = static_cast<std::int64_t>((end + kTermsPerItem - 1) / kTermsPerItem);
    double half = 0;
    if (Status s = ordered_sum(control_, items, work, {&half, 1}); !s.ok()) return s;
    const double all = half * 2 * g / period_;
    *sum = (all - total_weight_ * gaussian_derivative(r, 0)) / 2;
    return Status::success();
  }

  Status directly(int r, double g, double* sum) {
    if (count_near_pairs(x_, g, kMostNearPairs) > kMostNearPairs) {
      return Status::error(Code::too_large, "the bandwidth %g is too narrow for a grid", g);
    }
    double apart = 0;
    if (Status s = sum_near_pairs(x_, weights_, r, g, control_, &apart); !s.ok()) return s;
    double equal = 0;
    for (const double w : weights_) equal += w * (w - 1) / 2;
    *sum = apart + equal * gaussian_derivative(r, 0);
    return Status::success();
  }

  std::vector<double> x_;  // ascending, distinct
  std::vector<double> weights_;
  double total_weight_ = 0;
  Control control_;
  double lowest_ = 0, highest_ = 0;  // bandwidths that power_ serves
  double period_ = 0;
  std::vector<double> power_;
};

}  // namespace

Status make_spectral_sums(std::span<const double> x, std::span<const double> weights,
                          const Control& control, std::unique_ptr<PairSums>* out) {
  if (x.size() < 2) {
    return Status::error(Code::invalid_argument, "sums over pairs need at least two values");
  }
  if (!std::all_of(x.begin(), x.end(), [](double v) { return std::isfinite(v); })) {
    return Status::error(Code::invalid_argument, "values must be finite");
  }
  if (!weights.empty() && weights.size() != x.size()) {
    return Status::error(Code::invalid_argument, "there must be as many weights as values");
  }
  if (!std::all_of(weights.begin(), weights.end(),
                   [](double w) { return w > 0 && std::isfinite(w); })) {
    return Status::error(Code::invalid_argument, "weights must be positive and finite");
  }
  try {
    *out = std::make_unique<SpectralSums>(distinct_values(x, weights), control);
    return Status::success();
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "no memory for a sample of %zu values", x.size());
  } catch (const std::exception& e) {
    return Status::error(Code::internal, "%s", e.what());
  }
}

}  // namespace kde
