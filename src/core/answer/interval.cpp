// See interval.h.
#include "core/answer/interval.h"

#include <algorithm>
#include <cmath>

namespace kde {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr Interval kNone = {kNan, kNan, kNan};

// Of numbers >= 0: 0 of anything is 0, of what overflows as well.
double product(double a, double b) { return a > 0 && b > 0 ? a * b : 0; }

// The root of the variance of a sum of errors with roots a and b.
double together(double a, double b, double correlation) {
  if (!(correlation != 0) || !std::isfinite(a) || !std::isfinite(b)) return std::hypot(a, b);
  const double larger = std::max(a, b), share = larger > 0 ? std::min(a, b) / larger : 0;
  return larger * std::sqrt(std::max(1 + share * (share + 2 * correlation), 0.0));
}

double width_of(const ValueBounds& b) { return b.low < b.high ? b.high - b.low : 0; }

// Infinities may have met.
void settle(Interval* out) {
  if (std::isnan(out->lower)) out->lower = -kInfinity;
  if (std::isnan(out->upper)) out->upper = kInfinity;
}

// Values on one side of 0 have a sum on that side.
void keep_side(const ValueBounds& values, Interval* out) {
  if (values.low >= 0) out->lower = std::max(out->lower, std::min(0.0, out->estimate));
  if (values.high <= 0) out->upper = std::min(out->upper, std::max(0.0, out->estimate));
}

Interval sum_as_fitted(const Evidence& e) {
  const double less = product(e.unseen, -e.unseen_values.low);
  const double more = product(e.unseen, e.unseen_values.high);
  if (!(e.rows > 0)) return e.unseen > 0 ? Interval{kNan, 0 - less, more} : kNone;
  const double sum = e.mean * e.rows;
  const double fewer_rows = e.count.estimate - e.count.lower;
  const double more_rows = e.count.upper - e.count.estimate;
  // Fewer rows make a sum of negative numbers larger.
  const double down = std::max(product(-e.more.low, more_rows), product(e.varying, fewer_rows));
  const double up = std::max(product(e.more.high, more_rows), product(-e.varying, fewer_rows));
  const double correlation = e.varying < 0 ? -e.correlation : e.correlation;
  Interval out = {
      sum,
      sum - (together(down, product(e.sampled.below, e.rows), correlation) + e.stored_sum.below),
      sum + (together(up, product(e.sampled.above, e.rows), correlation) + e.stored_sum.above)};
  settle(&out);
  out.lower -= less;
  out.upper += more;
  keep_side(e.values, &out);
  return out;
}

// The share that unseen rows may have of all.
double unseen_share(const Evidence& e) {
  return e.unseen > 0 ? e.unseen / (e.unseen + e.fewest()) : 0;
}

Interval mean_as_fitted(const Evidence& e) {
  if (!(e.rows > 0))
    return e.unseen > 0 ? Interval{kNan, e.unseen_values.low, e.unseen_values.high} : kNone;
  Interval out = {e.mean, e.mean - (std::hypot(e.sampled.below, e.moved) + e.stored_mean.below),
                  e.mean + (std::hypot(e.sampled.above, e.moved) + e.stored_mean.above)};
  settle(&out);
  const double share = unseen_share(e);
  out.lower -= product(share, out.lower - e.unseen_values.low);
  out.upper += product(share, e.unseen_values.high - out.upper);
  settle(&out);
  out.lower = std::min(std::max(out.lower, e.values.low), e.mean);
  out.upper = std::max(std::min(out.upper, e.values.high), e.mean);
  return out;
}

Interval variance_as_fitted(const Evidence& e) {
  const double unseen = width_of(e.unseen_values);
  if (!(e.rows > 0)) return e.unseen > 0 ? Interval{kNan, 0, unseen * unseen / 4} : kNone;
  Interval out = {e.variance, std::max(e.variance - e.variance_half, 0.0),
                  e.variance + e.variance_half};
  // Ends are doubles, and values may be numbers near them.
  const double width =
      width_of(e.values) + 0x1p-51 * std::max(std::fabs(e.values.low), std::fabs(e.values.high));
  if (e.unseen > 0) {
    out.lower = 0;
    out.upper = kInfinity;
  }
  out.upper = std::max(std::min(out.upper, width * width / 4), e.variance);
  return out;
}

// n/(n - 1) times that of the values; one has none.
Interval of_sample(const Evidence& e, const Interval& population) {
  const double changed = e.changed.rows;
  if (!(e.rows > 1) && !(changed > 0)) return kNone;
  const auto factor = [](double n) { return n > 2 ? n / (n - 1) : 2; };
  Interval out = population;
  const double own = e.rows > 1 ? e.rows / (e.rows - 1) : kNan;
  out.estimate *= own;
  // Nor is the number of rows known better than their count.
  const double most = std::max(e.rows, e.count.upper);
  out.lower = e.rows > 1 ? population.lower * factor(most + changed) : 0;
  out.upper = std::max(population.upper * factor(e.fewest() - changed), out.estimate);
  return out;
}

Interval variance(const Evidence& e) {
  Interval out = variance_as_fitted(e);
  e.changed.variance(e.fewest(), &out);
  return out;
}

}  // namespace

double Evidence::fewest() const { return std::max(rows - (count.estimate - count.lower), 0.0); }

void Evidence::scale(double by) {
  for (double* x : {&count.estimate, &count.lower, &count.upper, &rows, &stored_sum.below,
                    &stored_sum.above, &unseen})
    *x *= by;
}

Interval interval_of(Wanted wanted, const Evidence& e) {
  Interval out;
  switch (wanted) {
    case Wanted::count:
      out = e.count;
      e.changed.count(&out);
      return out;
    case Wanted::sum:
      out = sum_as_fitted(e);
      e.changed.sum(&out);
      return out;
    case Wanted::mean:
      out = mean_as_fitted(e);
      e.changed.mean(e.rows > 0 ? e.fewest() : 0, &out);
      return out;
    case Wanted::variance:
      return variance(e);
    default:
      return of_sample(e, variance(e));
  }
}

void wilson_interval(double p, double unit_variance, double z, double* low, double* high) {
  const double m = 1 / unit_variance;
  // No sample at all; or nothing uncertain.
  if (m == 0 || std::isinf(m)) {
    *low = m == 0 ? 0 : p;
    *high = m == 0 ? 1 : p;
    return;
  }
  const double centre = m * p + z * z / 2;
  const double half = z * std::sqrt(m * p * (1 - p) + z * z / 4);
  *low = std::clamp((centre - half) / (m + z * z), 0.0, p);
  *high = std::clamp((centre + half) / (m + z * z), p, 1.0);
}

double student_excess(double z, double rows) { return (z * z * z + z) / (4 * rows); }

}  // namespace kde
