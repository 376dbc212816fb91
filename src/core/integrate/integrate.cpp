// The answers of integrate.h: where NULL, NaN and the infinities stand; the finite rows are
// histogram_integral.h's.
#include "core/integrate/integrate.h"

#include "core/integrate/histogram_integral.h"
#include "core/integrate/histogram_kernel.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kde {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Rows <= x (inclusive) or < x in the order -infinity < finite < infinity < NaN.
double rows_below(const DensityView& d, double x, bool inclusive) {
  const Header& h = d.header();
  if (std::isnan(x)) return inclusive ? h.rows : h.rows - h.nans;
  if (x == -kInfinity) return inclusive ? h.negative_infinities : 0;
  const double finite_end = h.rows - h.nans - h.positive_infinities;
  if (x == kInfinity) return inclusive ? h.rows - h.nans : finite_end;
  // To the last bit: rows scaled up from a sample add up to finite_end only but for rounding.
  if ((h.flags & kBounded) != 0 && (inclusive ? x >= h.max : x > h.max)) return finite_end;
  return std::min(h.negative_infinities + histogram::finite_below(d, x, inclusive), finite_end);
}

struct Bounds {
  double below_lower, below_upper;  // rows below the range, and below its end
  bool empty;
};

Bounds bounds_of(const DensityView& d, const Range& r) {
  if (r.empty) return {0, 0, true};
  const double lower = r.lower_unbounded ? 0 : rows_below(d, r.lower, !r.lower_inclusive);
  const double upper =
      r.upper_unbounded ? d.header().rows : rows_below(d, r.upper, r.upper_inclusive);
  return {lower, upper, !(upper > lower)};
}

// NaN is above infinity.
bool is_below(double x, double y) { return x < y || (std::isnan(y) && !std::isnan(x)); }

}  // namespace

bool is_empty(const Range& r) {
  if (r.empty) return true;
  if (!r.lower_unbounded && std::isnan(r.lower) && !r.lower_inclusive) return true;
  if (!r.upper_unbounded && r.upper == -kInfinity && !r.upper_inclusive) return true;
  if (r.lower_unbounded || r.upper_unbounded) return false;
  if (is_below(r.upper, r.lower)) return true;
  return !is_below(r.lower, r.upper) && !(r.lower_inclusive && r.upper_inclusive);
}

bool has_every_finite_value(const Header& h, const Range& r) {
  const bool bounded = (h.flags & kBounded) != 0;
  const bool low = r.lower_unbounded || r.lower == -kInfinity ||
                   (bounded && (r.lower_inclusive ? r.lower <= h.min : r.lower < h.min));
  const bool high = r.upper_unbounded || r.upper == kInfinity || std::isnan(r.upper) ||
                    (bounded && (r.upper_inclusive ? r.upper >= h.max : r.upper > h.max));
  return low && high;
}

double count(const DensityView& density, const Range& range) {
  const Bounds b = bounds_of(density, range);
  return b.empty ? 0 : b.below_upper - b.below_lower;
}

RangeMoments moments(const DensityView& density, const Range& range) {
  const Header& h = density.header();
  RangeMoments out;
  const Bounds b = bounds_of(density, range);
  if (b.empty) return out;
  out.count = b.below_upper - b.below_lower;
  // The special values lie at both ends of the order: what the range's rows leave of them.
  const double finite_begin = h.negative_infinities;
  const double finite_end = h.rows - h.nans - h.positive_infinities;
  const auto overlap = [&b](double from, double to) {
    return std::max(std::min(b.below_upper, to) - std::max(b.below_lower, from), 0.0);
  };
  out.negative_infinities = overlap(0, finite_begin);
  out.finite = overlap(finite_begin, finite_end);
  out.positive_infinities = overlap(finite_end, finite_end + h.positive_infinities);
  out.nans = overlap(h.rows - h.nans, h.rows);
  if (!(out.finite > 0)) return out;
  if (has_every_finite_value(h, range)) {
    out.mean = h.mean;
    out.variance = h.variance;
  } else {
    histogram::partial_moments(density, range, &out);
  }
  return out;
}

CutCell cut_cell(const DensityView& density, double x, bool inclusive) {
  if (!density.header().has_exact_ends() || !std::isfinite(x)) return {};
  return histogram::cut_cell(density, x, inclusive);
}

double rows_times_width(const DensityView& density, const Range& range) {
  if (!density.header().has_exact_ends() || is_empty(range)) return 0;
  return histogram::rows_times_width(density, range);
}

std::size_t block_sums_size(const DensityView& density) {
  const std::size_t one = histogram::is_own(density)       ? sizeof(BlockMoments)
                          : histogram::has_series(density) ? sizeof(BlockSeries)
                                                           : 0;
  return density.blocks() * one;
}

BlockSums add_up_blocks(const DensityView& density, void* memory) {
  BlockSums out;
  if (histogram::is_own(density)) {
    auto* moments = static_cast<BlockMoments*>(memory);
    for (int b = 0; b < density.blocks(); ++b) moments[b] = histogram::moments_of(density, b);
    out.moments = moments;
  } else if (histogram::has_series(density)) {
    auto* series = static_cast<BlockSeries*>(memory);
    for (int b = 0; b < density.blocks(); ++b) series[b] = histogram::series_of(density, b);
    out.series = series;
  }
  return out;
}

double pdf(const DensityView& density, double x) {
  const Header& h = density.header();
  if (!std::isfinite(x) || !(h.rows > 0)) return 0;
  return histogram::rows_density(density, x) / h.rows;
}

double cdf(const DensityView& density, double x) {
  const Header& h = density.header();
  if (!(h.rows > 0)) return 0;
  return std::clamp(rows_below(density, x, true) / h.rows, 0.0, 1.0);
}

double quantile(const DensityView& density, double q) {
  const Header& h = density.header();
  const double rows = q * h.rows;
  const double finite_end = h.rows - h.nans - h.positive_infinities;
  // A quantile that rounding puts a hair beyond the finite rows belongs to them.
  const double slack = 1e-12 * h.rows;
  if (h.negative_infinities > 0 && rows <= h.negative_infinities) return -kInfinity;
  if (h.finite_rows() > 0 && rows <= finite_end + slack)
    return histogram::finite_quantile(density, std::max(rows - h.negative_infinities, 0.0));
  if (h.positive_infinities > 0 && rows <= h.rows - h.nans + slack) return kInfinity;
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace kde
