// Internal: what answers of all kinds and their confidence intervals have in common.
#pragma once

#include "core/density/format.h"
#include "core/integrate/interval.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kde {

// Whether no value can lie in the range, whatever the column holds.
inline bool is_empty(const Range& r) {
  if (r.empty) return true;
  if (r.lower_unbounded || r.upper_unbounded) return false;
  // NaN sorts above all.
  if (std::isnan(r.lower)) return !std::isnan(r.upper) || !(r.lower_inclusive && r.upper_inclusive);
  if (std::isnan(r.upper)) return false;
  return r.lower > r.upper || (r.lower == r.upper && !(r.lower_inclusive && r.upper_inclusive));
}

// The same options, but of no changed row.
inline IntervalOptions unchanged(IntervalOptions options) {
  options.changed_rows = 0;
  return options;
}

// Whether the range takes in every finite value: then the totals of all rows read answer.
inline bool has_every_finite_value(const Header& h, const Range& r) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const bool bounded = (h.flags & kBounded) != 0;
  const bool low = r.lower_unbounded || r.lower == -kInf ||
                   (bounded && (r.lower_inclusive ? r.lower <= h.min : r.lower < h.min));
  const bool high = r.upper_unbounded || r.upper == kInf || std::isnan(r.upper) ||
                    (bounded && (r.upper_inclusive ? r.upper >= h.max : r.upper > h.max));
  return low && high;
}

// That of count_interval(), where `rows` are the density's count of the range.
Interval interval_of_count(const DensityView& density, const Range& range, double rows,
                           const IntervalOptions& options);

// Values of the column that are not one may be so as doubles, beside an end of the range: on which
// side of it they are is not known, so the rows there count as changed.
IntervalOptions with_unsure_ends(const DensityView& density, const Range& range,
                                 const IntervalOptions& options);

// Whether several values of the column's type are that double (src/pg/base/values.cpp and
// numeric_decode.cpp say which).
bool stands_for_several(ValueType type, double x);

// How far a variance may be off that was put together of means in double precision, where these are
// far from 0 beside their spread, or values that differ are one double; elsewhere that is nothing.
// all: that of all values.
inline double variance_rounding(ValueType type, double min, double max, double all,
                                double variance) {
  constexpr double kNothing = 0x1p-20;
  const double ulp = 0x1p-53 * std::max(std::fabs(min), std::fabs(max));
  const bool may_differ = min < max || stands_for_several(type, min);
  const bool is_far = may_differ && ulp > kNothing * std::sqrt(all);
  return is_far ? 4 * ulp * (std::sqrt(variance) + ulp) : 0;
}

// Whether the column's values are doubles themselves, and not numbers near them.
inline bool are_doubles(ValueType type) {
  return type == ValueType::float4 || type == ValueType::float8;
}

// Of a sum in double precision, relative to what was added up.
inline constexpr double kRoundoff = 0x1p-52;

// How far a sum of so many rows may be off whose values, none farther from 0 than `largest`, and
// their sums are doubles. unit: all are whole multiples of it, so that the sum is where it can be
// no other; 0: of none that is known.
inline double sum_rounding(double rows, double largest, double unit) {
  const double off = kRoundoff * rows * largest;
  return off < unit / 4 ? 0 : off;
}

// An end of a range. Where the range has none its x is not looked at.
struct End {
  double x;
  bool open, inclusive, upper;

  // Whether as many rows are below it as the density says: it is open, or every row was read and it
  // is not between their least and their greatest.
  bool is_exact(const Header& h) const {
    if (open ||
        (inclusive && (upper ? std::isnan(x) : x == -std::numeric_limits<double>::infinity())))
      return true;
    if ((h.flags & kEveryRowRead) == 0) return false;
    if (!std::isfinite(x)) return true;
    if ((h.flags & kBounded) == 0) return false;
    // A lower end that takes x in and an upper one that does not have the same rows below them.
    return inclusive != upper ? x <= h.min || x > h.max : x < h.min || x >= h.max;
  }

  // Whether it cuts what is stored: counts are within Header::error at every value but those where
  // they are exact.
  bool cuts(const Header& h) const { return h.error > 0 && std::isfinite(x) && !is_exact(h); }
};

inline End lower_end(const Range& r) {
  return {r.lower, r.lower_unbounded, r.lower_inclusive, false};
}
inline End upper_end(const Range& r) {
  return {r.upper, r.upper_unbounded, r.upper_inclusive, true};
}

// By how much Student's quantile exceeds the normal's z with that many degrees of freedom, to first
// order: (z^3 + z)/(4 rows) (Abramowitz & Stegun 26.7.5).
inline double student_excess(double z, double rows) { return (z * z * z + z) / (4 * rows); }

// Wilson's interval for the fraction p known with the variance p (1 - p) unit_variance,
//   (m p + z^2/2 -+ z sqrt(m p (1 - p) + z^2/4)) / (m + z^2),   m = 1 / unit_variance.
inline void wilson_interval(double p, double unit_variance, double z, double* low, double* high) {
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

}  // namespace kde
