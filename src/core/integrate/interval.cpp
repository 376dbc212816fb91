// The intervals of interval.h.
#include "core/integrate/interval.h"

#include "core/integrate/histogram_kernel.h"
#include "core/integrate/interval_parts.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kde {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Whether no value can lie in the range, whatever the column holds.
bool is_empty(const Range& r) {
  if (r.empty) return true;
  if (r.lower_unbounded || r.upper_unbounded) return false;
  // NaN sorts above all.
  if (std::isnan(r.lower)) return !std::isnan(r.upper) || !(r.lower_inclusive && r.upper_inclusive);
  if (std::isnan(r.upper)) return false;
  return r.lower > r.upper || (r.lower == r.upper && !(r.lower_inclusive && r.upper_inclusive));
}

// Whether as many rows are below this end of the range as the density says: it has no end, or every
// row was read and the end is not between their least and their greatest.
bool is_exact_lower(const Header& h, const Range& r) {
  if (r.lower_unbounded || (r.lower == -kInfinity && r.lower_inclusive)) return true;
  if ((h.flags & kEveryRowRead) == 0) return false;
  if (!std::isfinite(r.lower)) return true;
  if ((h.flags & kBounded) == 0) return false;
  return r.lower_inclusive ? r.lower <= h.min || r.lower > h.max
                           : r.lower < h.min || r.lower >= h.max;
}

bool is_exact_upper(const Header& h, const Range& r) {
  if (r.upper_unbounded || (std::isnan(r.upper) && r.upper_inclusive)) return true;
  if ((h.flags & kEveryRowRead) == 0) return false;
  if (!std::isfinite(r.upper)) return true;
  if ((h.flags & kBounded) == 0) return false;
  return r.upper_inclusive ? r.upper >= h.max || r.upper < h.min
                           : r.upper > h.max || r.upper <= h.min;
}

// Whether x cuts what is stored within Header::error: the smooth part, or atoms that are in half
// the space or counted from a stream that was compacted.
bool cuts_stored(const DensityView& d, double x, bool unbounded) {
  if (unbounded || !std::isfinite(x)) return false;
  const Header& h = d.header();
  if (d.atoms() > 0 && h.error > 0 && x >= h.min && x <= h.max) return true;
  if (d.knots() == 0) return false;
  const double u = d.to_u(x);
  return u > d.knot_u(0) && u < d.knot_u(d.knots() - 1);
}

bool is_histogram(const DensityView& d) { return d.header().kind == Kind::histogram; }

// Whether an end of the range cuts what is stored. A histogram's counts are within Header::error at
// every value but those where they are exact.
bool cuts_lower(const DensityView& d, const Range& r) {
  if (!is_histogram(d)) return cuts_stored(d, r.lower, r.lower_unbounded);
  const Header& h = d.header();
  return h.error > 0 && std::isfinite(r.lower) && !is_exact_lower(h, r);
}

bool cuts_upper(const DensityView& d, const Range& r) {
  if (!is_histogram(d)) return cuts_stored(d, r.upper, r.upper_unbounded);
  const Header& h = d.header();
  return h.error > 0 && std::isfinite(r.upper) && !is_exact_upper(h, r);
}

constexpr double kRowsAdded = 2;

// What the sample says, before changed rows: of one call.
class Sampling {
 public:
  Sampling(const DensityView& density, const IntervalOptions& options)
      : density_(density), h_(density.header()), z_(normal_quantile(options.confidence)) {}

  double z() const { return z_; }

  // Standard deviations to either side of a mean over the fraction p. As far as it is the raw
  // sample's, from n p rows, they are Student's: z + (z^3 + z)/(4 (n p - 1)) to first order
  // (student_excess).
  double mean_deviations(double p) const {
    const double rows = std::max(h_.sample_rows * p - 1, 2.0);
    const double raw = std::min(error_ratio(h_.mean_error, p), 1.0);
    return z_ + raw * student_excess(z_, rows);
  }

  // The variance within a range of that width that holds the fraction p. The few rows of a raw
  // sample may all have one value where the range holds several: as far as it is the sample's, two
  // rows spread evenly over the range are added.
  double variance_within(double variance, double p, double width) const {
    if (!(width > 0) || !std::isfinite(variance)) return variance;
    const double rows = h_.sample_rows * p;
    const double added = kRowsAdded * std::min(error_ratio(h_.mean_error, p), 1.0);
    const double even = width / std::sqrt(12.0);
    return (rows * variance + added * even * even) / (rows + added);
  }

  // s r / n at the fraction p: the squared error of a count divided by rows^2 p (1 - p). Infinite
  // without a sample.
  double unit_variance(const float (&ratios)[kErrorScales], double p) const {
    const double sr = h_.sampling_variance * error_ratio(ratios, p);
    return sr > 0 ? sr / h_.sample_rows : 0;
  }

  void wilson(double p, double* low, double* high) const {
    wilson_interval(p, unit_variance(h_.count_error, p), z_, low, high);
  }

  // The count's ends from the sample and what is stored. The range is not empty.
  Interval count(const Range& range) const {
    Interval out;
    out.estimate = kde::count(density_, range);
    out.lower = out.upper = out.estimate;
    if (!(h_.rows > 0)) return out;
    if (!(is_exact_lower(h_, range) && is_exact_upper(h_, range))) {
      double low;
      double high;
      wilson(std::clamp(out.estimate / h_.rows, 0.0, 1.0), &low, &high);
      out.lower = low * h_.rows;
      out.upper = high * h_.rows;
    }
    const double stored = h_.error * h_.rows;
    const double ends = cuts_lower(density_, range) + cuts_upper(density_, range);
    out.lower = std::clamp(out.lower - ends * stored, 0.0, out.estimate);
    out.upper = std::max(std::min(out.upper + ends * stored, h_.rows), out.estimate);
    return out;
  }

 private:
  const DensityView& density_;
  const Header& h_;
  double z_;
};

// Where the range's finite rows lie: its own ends, or the column's where it has none.
struct Hull {
  double low, high;
  double column_low, column_high;  // of all finite rows

  Hull(const DensityView& d, const Range& r) : low(d.header().min), high(d.header().max) {
    // A density that is not bounded has rows beyond the values read.
    if ((d.header().flags & kBounded) == 0 && d.knots() > 0) {
      low = std::min(low, d.to_x(d.knot_u(0)));
      high = std::max(high, d.to_x(d.knot_u(d.knots() - 1)));
    }
    if ((d.header().flags & kBounded) == 0 && is_histogram(d)) {
      const double bandwidth = histogram::acting_bandwidth(d.header());
      low = histogram::kernel_least(d.header(), bandwidth);
      high = histogram::kernel_greatest(d.header(), bandwidth);
    }
    column_low = low;
    column_high = high;
    if (!r.lower_unbounded && std::isfinite(r.lower)) low = r.lower;
    if (!r.upper_unbounded && std::isfinite(r.upper)) high = r.upper;
  }

  double width() const { return high - low; }
  double magnitude() const { return std::max(std::fabs(low), std::fabs(high)); }
};

// estimate -+ half, where infinities may meet.
void widen(double half_low, double half_high, Interval* out) {
  out->lower -= half_low;
  out->upper += half_high;
  if (std::isnan(out->lower)) out->lower = -kInfinity;
  if (std::isnan(out->upper)) out->upper = kInfinity;
}

// Of numbers >= 0: 0 of anything is 0, of what overflows as well.
double product(double a, double b) { return a > 0 && b > 0 ? a * b : 0; }

// What the error of the mass beyond each end does to a sum of |x - about|, in rows times x. With E
// the error of the rows below x, int (x - about) dF is off by [(x - about) E] - int E dx: what is
// stored of a fit keeps the second small (block_moment), a histogram has the bound.
double stored_error(const DensityView& d, const Range& r, const Hull& hull, double about) {
  const double rows = d.header().error * d.header().rows;
  double out = 0;
  if (cuts_lower(d, r)) out += product(rows, std::fabs(r.lower - about));
  if (cuts_upper(d, r)) out += product(rows, std::fabs(r.upper - about));
  if (is_histogram(d))
    out +=
        product(rows, std::min(hull.high, hull.column_high) - std::max(hull.low, hull.column_low));
  return out;
}

// Whether the answer over the range's finite rows is that of the totals of every row.
bool is_total(const Header& h, const Range& r) {
  if ((h.flags & kEveryRowRead) == 0) return false;
  const bool bounded = (h.flags & kBounded) != 0;
  const bool low = r.lower_unbounded || r.lower == -kInfinity ||
                   (bounded && (r.lower_inclusive ? r.lower <= h.min : r.lower < h.min));
  const bool high = r.upper_unbounded || r.upper == kInfinity || std::isnan(r.upper) ||
                    (bounded && (r.upper_inclusive ? r.upper >= h.max : r.upper > h.max));
  return low && high;
}

}  // namespace

Interval count_interval(const DensityView& density, const Range& range,
                        const IntervalOptions& options) {
  if (is_empty(range)) return {};
  Interval out = Sampling(density, options).count(range);
  const double changed = options.changed_rows;
  out.lower = std::max(out.lower - changed, 0.0);
  out.upper += changed;
  return out;
}

Interval sum_interval(const DensityView& density, const Range& range,
                      const IntervalOptions& options) {
  const RangeMoments m = moments(density, range);
  if (!(m.finite > 0)) return {kNan, kNan, kNan};
  const Header& h = density.header();
  const Hull hull(density, range);
  Interval out;
  out.estimate = out.lower = out.upper = m.mean * m.finite;
  if (!is_total(h, range)) {
    const Sampling sampling(density, options);
    const double p = std::min(m.finite / h.rows, 1.0);
    const Interval count = sampling.count(range);
    const double mean_half = product(
        sampling.mean_deviations(p) * std::sqrt(sampling.unit_variance(h.mean_error, p) / p),
        product(std::sqrt(sampling.variance_within(m.variance, p, hull.width())), m.finite));
    // Fewer rows make a sum of negative numbers larger.
    const double magnitude = std::fabs(m.mean);
    const double fewer = product(magnitude, count.estimate - count.lower);
    const double more = product(magnitude, count.upper - count.estimate);
    const double stored = stored_error(density, range, hull, m.mean);
    widen(std::hypot(m.mean < 0 ? more : fewer, mean_half) + stored,
          std::hypot(m.mean < 0 ? fewer : more, mean_half) + stored, &out);
    // The rows of a range on one side of 0 have a sum on that side.
    if (hull.low >= 0) out.lower = std::max(out.lower, std::min(0.0, out.estimate));
    if (hull.high <= 0) out.upper = std::min(out.upper, std::max(0.0, out.estimate));
  }
  // A row that moves across the whole range changes the sum by its width.
  const double reach =
      product(options.changed_rows, std::max(hull.magnitude(), std::fabs(hull.width())));
  widen(reach, reach, &out);
  return out;
}

Interval mean_interval(const DensityView& density, const Range& range,
                       const IntervalOptions& options) {
  const RangeMoments m = moments(density, range);
  if (!(m.finite > 0)) return {kNan, kNan, kNan};
  const Header& h = density.header();
  const Hull hull(density, range);
  Interval out;
  out.estimate = out.lower = out.upper = m.mean;
  double rows = m.finite;
  if (!is_total(h, range)) {
    const Sampling sampling(density, options);
    const double p = std::min(m.finite / h.rows, 1.0);
    const double half = product(
        sampling.mean_deviations(p) * std::sqrt(sampling.unit_variance(h.mean_error, p) / p),
        std::sqrt(sampling.variance_within(m.variance, p, hull.width())));
    rows -= m.count - sampling.count(range).lower;
    // Of a bound, that for the fewest rows there may be.
    const double among = is_histogram(density) ? std::max(rows, 0.0) : m.finite;
    const double error = stored_error(density, range, hull, m.mean);
    const double stored = error > 0 ? error / among : 0;
    widen(half + stored, half + stored, &out);
  }
  double low = hull.low;
  double high = hull.high;
  if (options.changed_rows > 0) {
    // The worst is that the rows changed go from one end of the range to the other: taking as many
    // out, or adding them, moves the mean by less until it is at an end.
    const double share = rows > 0 ? options.changed_rows / rows : kInfinity;
    const double reach = hull.width() > 0 ? share * hull.width() : 0;
    widen(reach, reach, &out);
  } else {
    low = std::max(low, hull.column_low);
    high = std::min(high, hull.column_high);
  }
  out.lower = std::min(std::max(out.lower, low), out.estimate);
  out.upper = std::max(std::min(out.upper, high), out.estimate);
  return out;
}

Interval quantile_interval(const DensityView& density, double q, const IntervalOptions& options) {
  const Header& h = density.header();
  Interval out;
  out.estimate = quantile(density, q);
  if (!(h.rows > 0)) return {kNan, kNan, kNan};
  const Sampling sampling(density, options);
  double low;
  double high;
  sampling.wilson(q, &low, &high);
  // Rows changed from below the quantile to above it, or the other way, move it by their number.
  const double reach = h.error + options.changed_rows / h.rows;
  out.lower = quantile(density, std::max(low - reach, 0.0));
  out.upper = quantile(density, std::min(high + reach, 1.0));
  if (out.lower > out.estimate) out.lower = out.estimate;
  if (out.upper < out.estimate) out.upper = out.estimate;
  return out;
}

}  // namespace kde
