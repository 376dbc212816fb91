// The formula of spectral.h. A spectrum, once made, serves every bandwidth of a window; a bandwidth
// outside all of them makes another.
#include "core/sums/spectral.h"

#include <kissfft/kissfft.hh>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

#include "core/summary/sort.h"
#include "core/sums/engine_parts.h"
#include "core/sums/finite.h"
#include "core/sums/gaussian_derivatives.h"
#include "core/sums/ordered_sum.h"
#include "core/sums/spline.h"
#include "core/guarded.h"

namespace kde {
namespace {

// Cells in a bandwidth: see the table of c_r in the header.
constexpr double kNodesPerBandwidth = 12;
// Frequencies z beyond this are left out; together they weigh less than |K^(r)| there.
constexpr double kLastFrequency = kReach;
// Their transform takes some 75 ms, within which nobody asks whether to stop.
constexpr std::int64_t kMostNodes = std::int64_t{1} << 20;
// A grid this small costs little beside the rest.
constexpr std::int64_t kCheapNodes = std::int64_t{1} << 16;
// PLUGIN needs two spectra at most; who asks for a third is searching.
constexpr std::size_t kFewSpectra = 2;
// Kept at most; 1.2 MB each at most. Of two octaves each, they cover any search.
constexpr std::size_t kMostSpectra = 16;
// Pairs summed directly at most; some ten nanoseconds each.
constexpr std::int64_t kMostNearPairs = std::int64_t{1} << 24;

// A sample as distinct values in ascending order with their weights.
struct Distinct {
  std::vector<double> x;
  std::vector<double> weights;
};

// x ascending, weights as many. Done in place: at 10^7 values, memory first touched costs as much
// time as the arithmetic.
void merge_equal(Distinct* sample) {
  std::vector<double>& x = sample->x;
  std::vector<double>& weights = sample->weights;
  auto kept = static_cast<std::size_t>(std::adjacent_find(x.begin(), x.end()) - x.begin());
  if (kept == x.size()) return;
  for (std::size_t i = kept + 1; i < x.size(); ++i) {
    if (x[i] == x[kept]) {
      weights[kept] += weights[i];
    } else {
      ++kept;
      x[kept] = x[i];
      weights[kept] = weights[i];
    }
  }
  x.resize(kept + 1);
  weights.resize(kept + 1);
}

// False if control asked to stop.
bool distinct_values(std::span<const double> x, std::span<const double> weights,
                     const Control& control, Distinct* distinct) {
  Distinct& out = *distinct;
  out.x.assign(x.begin(), x.end());
  if (weights.empty()) {
    if (!sort_values(&out.x, control)) return false;
    out.weights.assign(x.size(), 1);
  } else {
    out.weights.assign(weights.begin(), weights.end());
  }
  merge_equal(&out);
  return true;
}

std::int64_t power_of_two_above(std::int64_t cells) {
  std::int64_t size = 64;
  while (size < cells) size *= 2;
  return size;
}

// Where ascending points lie on a circle of cells, its gaps wider than `gap` cells cut to that: a
// kernel sees nothing beyond them. So its length is what the sample covers, never its range.
struct Circle {
  double step, gap;
  double cells = 0;  // all stretches, each with its gap to the right

  // Bandwidths from `low` to `high`. The spline of the last point of a stretch reaches kSplineOrder
  // cells into the gap.
  Circle(double low, double high)
      : step(low / kNodesPerBandwidth), gap(std::ceil(kReach * high / step) + kSplineOrder) {}

  bool parts(double before, double x) const { return (x - before) * (1 / step) > gap + 1; }

  // False if it needs more than `limit` cells.
  bool lay_out(std::span<const double> x, std::int64_t limit) {
    // Below this a difference of two points in cells may overflow on its way.
    constexpr double kSmallestStep = 1e-290;
    const double most = static_cast<double>(limit);
    if (!(step >= kSmallestStep) || !(gap < most)) return false;
    double origin = x[0];
    for (std::size_t i = 1; i <= x.size(); ++i) {
      if (i < x.size() && !parts(x[i - 1], x[i])) continue;
      cells += std::floor((x[i - 1] - origin) * (1 / step)) + 1 + gap;
      if (!(cells <= most)) return false;
      if (i < x.size()) origin = x[i];
    }
    return true;
  }
};

// Adds to node c + j of the periodic grid what spline.h says of the points of cell c: as they come
// in order, their moments sum w tau^q first, then those once a cell.
Status spread(std::span<const double> x, std::span<const double> weights, const Circle& circle,
              const Control& control, std::span<double> grid) {
  constexpr std::size_t kPointsPerPoll = std::size_t{1} << 18;  // a few milliseconds
  const SplinePieces pieces = spline_pieces();
  const double inverse = 1 / circle.step;
  const double widest = circle.gap + 1;
  double moments[kSplineOrder] = {};
  std::int64_t begin = 0;    // of the stretch
  std::int64_t current = 0;  // cell
  double origin = x[0];
  const auto put = [&] {
    auto node = static_cast<std::size_t>(current);
    for (const auto& piece : pieces.node) {
      double value = 0;
      for (int q = 0; q < kSplineOrder; ++q) value += piece[q] * moments[q];
      grid[node] += value;
      if (++node == grid.size()) node = 0;
    }
    std::fill(std::begin(moments), std::end(moments), 0.0);
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i % kPointsPerPoll == 0 && control.stop_requested()) return cancelled();
    if (i > 0 && (x[i] - x[i - 1]) * inverse > widest) {
      begin = current + 1 + static_cast<std::int64_t>(circle.gap);
      origin = x[i];
    }
    const double position = (x[i] - origin) * inverse;
    const auto whole = static_cast<std::int64_t>(position);  // position >= 0
    if (begin + whole != current) {
      put();
      current = begin + whole;
    }
    const double tau = position - static_cast<double>(whole) - 0.5;
    // Two powers at a time: a processor has vectors of that length at least.
    static_assert(kSplineOrder % 2 == 0);
    double terms[] = {weights[i], weights[i] * tau};
    for (int q = 0; q < kSplineOrder; q += 2) {
      for (int k = 0; k < 2; ++k) {
        moments[q + k] += terms[k];
        terms[k] *= tau * tau;
      }
    }
  }
  put();
  return Status::success();
}

class SpectralSums : public PairSums {
 public:
  SpectralSums(Distinct sample, const Control& control)
      : x_(std::move(sample.x)), weights_(std::move(sample.weights)), control_(control) {
    for (const double w : weights_) total_weight_ += w;
  }

  Status derivative(int r, double g, double* sum) override {
    if (Status s = check_derivative(r, g); !s.ok()) return s;
    return guarded([&] {
      const Spectrum* spectrum = nullptr;
      if (Status s = find_spectrum(g, &spectrum); !s.ok()) return s;
      return spectrum != nullptr ? from_spectrum(*spectrum, r, g, sum) : directly(r, g, sum);
    });
  }

 private:
  struct Spectrum {
    double lowest, highest;     // bandwidths that it serves
    double period;              // P, in units of x
    std::vector<double> power;  // |F_k|^2, as far as the narrowest bandwidth needs it
  };

  // *found: a spectrum that serves g, made if need be; null where no grid can hold it.
  Status find_spectrum(double g, const Spectrum** found) {
    *found = nullptr;
    for (const Spectrum& s : spectra_) {
      if (s.lowest <= g && g <= s.highest) *found = &s;
    }
    if (*found != nullptr) return Status::success();

    const std::size_t asked_before = spectra_.size();
    for (const double reach : {2.0, std::numbers::sqrt2, 1.0}) {
      // Bandwidths about g that come next find the spectrum made, which is worth a large grid only
      // in a search that asks for many.
      const std::int64_t limit = reach == 1 || asked_before >= kFewSpectra ? kMostNodes : cheap();
      Circle circle(g / reach, g * reach);
      if (!circle.lay_out(x_, limit)) continue;
      Spectrum made{g / reach, g * reach, 0, {}};
      if (Status s = transform(circle, &made); !s.ok()) return s;
      if (spectra_.size() == kMostSpectra) spectra_.erase(spectra_.begin());
      spectra_.push_back(std::move(made));
      *found = &spectra_.back();
      break;
    }
    return Status::success();
  }

  std::int64_t cheap() const {
    return std::clamp(static_cast<std::int64_t>(x_.size()) / 4, kCheapNodes, kMostNodes);
  }

  Status transform(const Circle& circle, Spectrum* out) {
    const auto nodes =
        static_cast<std::size_t>(power_of_two_above(static_cast<std::int64_t>(circle.cells)));
    std::vector<double> grid(nodes, 0.0);
    if (Status s = spread(x_, weights_, circle, control_, grid); !s.ok()) return s;

    std::vector<std::complex<double>> frequencies(nodes / 2);
    const kissfft<double> fft(nodes / 2, false);  // of `nodes` real numbers
    fft.transform_real(grid.data(), frequencies.data());
    if (control_.stop_requested()) return cancelled();

    out->period = circle.step * static_cast<double>(nodes);
    out->power.resize(std::min(terms(out->lowest, out->period), nodes / 2));
    // kissfft keeps the highest frequency, which is not needed, beside the lowest.
    out->power[0] = frequencies[0].real() * frequencies[0].real();
    for (std::size_t k = 1; k < out->power.size(); ++k) {
      const double theta =
          2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(nodes);
      out->power[k] = std::norm(frequencies[k]) / spline_power(theta);
    }
    return Status::success();
  }

  // Frequencies k = 0, 1, ... with z_k up to kLastFrequency.
  static std::size_t terms(double g, double period) {
    return static_cast<std::size_t>(kLastFrequency / (2 * std::numbers::pi) * (period / g)) + 2;
  }

  Status from_spectrum(const Spectrum& spectrum, int r, double g, double* sum) {
    constexpr std::size_t kTermsPerItem = 4096;
    const std::size_t end = std::min(terms(g, spectrum.period), spectrum.power.size());
    const double unit = 2 * std::numbers::pi * (g / spectrum.period);
    const auto work = [&](std::int64_t item, double* out) {
      const std::size_t first = static_cast<std::size_t>(item) * kTermsPerItem;
      double total = 0;
      for (std::size_t k = first; k < std::min(end, first + kTermsPerItem); ++k) {
        const double z2 = unit * unit * static_cast<double>(k) * static_cast<double>(k);
        double term = spectrum.power[k] * std::exp(-0.5 * z2);
        for (int q = 0; q < r; q += 2) term *= -z2;
        total += k == 0 ? term / 2 : term;  // k and -k are one term here
      }
      *out = total;
    };
    const auto items = static_cast<std::int64_t>((end + kTermsPerItem - 1) / kTermsPerItem);
    double half = 0;
    if (Status s = ordered_sum(control_, items, work, {&half, 1}); !s.ok()) return s;
    const double all = half * 2 * (g / spectrum.period);
    *sum = (all - total_weight_ * gaussian_derivative(r, 0)) / 2;
    return Status::success();
  }

  // Over the pairs within reach alone, which are then few.
  Status directly(int r, double g, double* sum) {
    std::int64_t pairs = 0;
    for (std::size_t i = 0, end = 0; i < x_.size() && pairs <= kMostNearPairs; ++i) {
      while (end < x_.size() && (x_[end] - x_[i]) / g <= kReach) ++end;
      pairs += static_cast<std::int64_t>(end - i - 1);
    }
    if (pairs > kMostNearPairs)
      return Status::error(Code::too_large, "the bandwidth %g is too narrow for a grid", g);
    const auto row = [&](std::int64_t item, double* out) {
      const auto i = static_cast<std::size_t>(item);
      double total = (weights_[i] - 1) / 2 * gaussian_derivative(r, 0);
      for (std::size_t j = i + 1; j < x_.size() && (x_[j] - x_[i]) / g <= kReach; ++j)
        total += weights_[j] * gaussian_derivative(r, (x_[j] - x_[i]) / g);
      *out = weights_[i] * total;
    };
    const auto n = static_cast<std::int64_t>(x_.size());
    return ordered_sum(control_, n, row, {sum, 1}, pairs_of(n));
  }

  std::vector<double> x_;  // ascending, distinct
  std::vector<double> weights_;
  double total_weight_ = 0;
  Control control_;
  std::vector<Spectrum> spectra_;  // in the order in which they were made
};

}  // namespace

Status make_spectral_sums(std::span<const double> x, std::span<const double> weights,
                          const Control& control, std::unique_ptr<PairSums>* out) {
  if (x.size() < 2) {
    return Status::error(Code::invalid_argument, "sums over pairs need at least two values");
  }
  if (!all_finite(x)) {
    return Status::error(Code::invalid_argument, "values must be finite");
  }
  if (!weights.empty() && weights.size() != x.size()) {
    return Status::error(Code::invalid_argument, "there must be as many weights as values");
  }
  if (!std::all_of(weights.begin(), weights.end(),
                   [](double w) { return w > 0 && std::isfinite(w); })) {
    return Status::error(Code::invalid_argument, "weights must be positive and finite");
  }
  return guarded([&] {
    Distinct sample;
    if (!distinct_values(x, weights, control, &sample)) {
      return cancelled();
    }
    *out = std::make_unique<SpectralSums>(std::move(sample), control);
    return Status::success();
  });
}

}  // namespace kde
