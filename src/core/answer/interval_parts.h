// Internal: what evidence of all forms is made of.
#pragma once

#include "core/density/format.h"
#include "core/answer/evidence.h"
#include "core/answer/interval.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kde {

// Whether several values of the column's type are that double (src/pg/values/values.cpp and
// numeric_decode.cpp say which).
bool stands_for_several(ValueType type, double x);

// How far a variance may be off that was put together of means in double precision, where these are
// far from 0 beside their spread, or values that differ are one double; elsewhere that is nothing.
// all: that of all values.
inline double variance_rounding(double min, double max, bool may_have_lost_digits, double all,
                                double variance) {
  constexpr double kNothing = 0x1p-20;
  const double ulp = 0x1p-53 * std::max(std::fabs(min), std::fabs(max));
  const bool may_differ = min < max || may_have_lost_digits;
  const bool is_far = may_differ && ulp > kNothing * std::sqrt(all);
  return is_far ? 4 * ulp * (std::sqrt(variance) + ulp) : 0;
}

// Whether a sample tells how sure its variance is, which is by its fourth moment. Of a heavy tail it
// does not: where one of `rows` values, that farthest from the mean, has more than a twentieth of the
// variance, and is farther than a normal sample's farthest by a factor of two, the sum of the fourth
// powers is that of few values, and those not drawn have more of it. (A normal sample's farthest has
// the square 2 log(rows) times the variance.)
inline bool tells_fourth_moment(double farthest_squared, double variance, double rows) {
  if (!(variance > 0) || !(rows > 0)) return true;
  return farthest_squared <= variance * std::max(rows / 20, 4 * 2 * std::log(std::max(rows, 2.0)));
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

// Whether a whole sum is the one that is nearest to rows * mean, both rounded to double.
inline bool is_told_by_mean(const RangeMoments& m) { return m.finite * std::fabs(m.mean) < 0x1p51; }

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

// Of a list h that was sampled: with n rows of N, unit is (1 - n/N)/n (W. G. Cochran, Sampling Techniques,
// 1977, section 3.2).
DrawnRows drawn_rows(const Header& h, double confidence);

// What is known of a range by itself, in the cells of a list that has some (density/range_effects.h).
inline EffectPlace place_of(const RangeEffects& effects, const Header& h, const Range& r) {
  constexpr double kBeyondAll = std::numeric_limits<double>::infinity();
  const auto before = [&h](double x) {
    return h.lattice_step > 0 ? x - h.lattice_step : std::nextafter(x, -kBeyondAll);
  };
  const double below = r.lower_unbounded   ? -kBeyondAll
                       : r.lower_inclusive ? before(r.lower)
                                           : r.lower;
  const double through = r.upper_unbounded   ? kBeyondAll
                         : r.upper_inclusive ? r.upper
                                             : before(r.upper);
  return effects.place(h, below, through);
}

// How far the rows of a range may be from their count by what is stored: Header::error of them at
// either end that it cuts; with exact ends (kExactEnds) those of the cells that ends cut, all of
// which may lie on either side.
inline Reach stored_reach(const DensityView& d, const Range& r) {
  const Header& h = d.header();
  Reach out;
  for (const End& end : {lower_end(r), upper_end(r)}) {
    if (!end.cuts(h)) continue;
    out.below += h.error * h.rows;
    out.above += h.error * h.rows;
  }
  if (!h.has_exact_ends()) return out;
  // Rows at a lower end that takes them in are not below it.
  const CutCell low = r.lower_unbounded ? CutCell{} : cut_cell(d, r.lower, !r.lower_inclusive);
  const CutCell high = r.upper_unbounded ? CutCell{} : cut_cell(d, r.upper, r.upper_inclusive);
  // Counts are differences of sums.
  const double off = low.rows + high.rows > 0 ? 4 * kRoundoff * h.rows : 0;
  out.below += off;
  out.above += off;
  if (low.rows > 0 && high.rows > 0 && low.low == high.low) {
    const double within = std::max(high.below - low.below, 0.0);
    return {out.below + within, out.above + high.rows - within};
  }
  return {out.below + (low.rows - low.below) + high.below,
          out.above + low.below + (high.rows - high.below)};
}

}  // namespace kde
