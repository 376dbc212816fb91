// The universal nested grid on which cells end: values at which people ask.
//
//   decimal    ... 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 50 ... 10^22: whole multiples of each; below
//              10^-22 halves, above 10^22 doubles
//   calendar   of seconds since 1970: the decimal steps from a microsecond to a second, 5 and 15 s, a
//              minute, 5 and 15 minutes, an hour, a day, a month, a year, ten and more of the proleptic
//              Gregorian calendar, in UTC
//   duration   of seconds: the same to a day, then decimal steps of days
//   milliseconds  the calendar of milliseconds since 1970
//
// Which one is a field of the density. It follows from the column's type, but for numbers that are said
// to be seconds or milliseconds since 1970.
//
// Each step's ends are among those of all finer ones, so that cells of any two levels nest or do not
// meet (as in a q-digest: N. Shrivastava et al., SenSys 2004). A cell is the open interval between
// two neighbouring ends; a value at an end is in no cell of that level.
#pragma once

#include "core/density/format.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace kde {

// That of a type by itself.
Chain chain_of(ValueType type);
// Whether it may be that of a column of the type.
bool is_chain_of(ValueType type, Chain chain);
// Numbers by another chain than their own.
inline bool is_told(ValueType type, Chain chain) { return chain != chain_of(type); }

// Levels of the calendar and of durations.
inline constexpr int kSecondLevel = 12, kMinuteLevel = 15, kHourLevel = 18, kDayLevel = 19,
                     kMonthLevel = 20, kYearLevel = 21;

class RoundEnds {
 public:
  explicit RoundEnds(Chain chain) : chain_(chain) {}

  Chain chain() const { return chain_; }
  bool is_calendar() const { return chain_ == Chain::calendar || chain_ == Chain::milliseconds; }
  bool is_of_times() const { return chain_ != Chain::decimal; }
  // Values of the calendar are less, in size: some 10^11 years, more than 64-bit seconds have.
  double farthest() const;
  // Levels are numbered from 0, the finest.
  int levels() const;
  // The k-th end; the 0th is 0, or of the calendar's months and years the first of its kind of
  // year 0. |k| <= 2^50; the double nearest to it.
  double end(int level, std::int64_t k) const;
  // The cell of x, or the one that begins at x: the greatest k with end(level, k) <= x. Beyond 2^52
  // steps, infinities among that, it is one far out on that side; beyond farthest() months and years
  // are not told apart.
  std::int64_t cell(int level, double x) const;
  // Where the k-th cell begins; the outermost of the widest levels do so at the least number.
  double begin(int level, std::int64_t k) const {
    return std::max(end(level, k), -std::numeric_limits<double>::max());
  }
  bool is_end(int level, double x) const { return end(level, cell(level, x)) == x; }
  // Whether all its cells are as wide.
  bool is_even(int level) const { return !is_calendar() || level <= kDayLevel; }
  // How many cells of a level lie in each of a coarser one, whose k-th end is then the (k parts)-th;
  // 0: not in all as many, or more than 2^50.
  std::int64_t parts(int level, int coarser) const;
  // Between ends; of months and years the mean.
  double step(int level) const;

 private:
  double even_end(int level, double k) const;
  // Of a second, in powers of ten.
  int second() const { return chain_ == Chain::milliseconds ? 3 : 0; }
  double day() const;

  Chain chain_;
};

}  // namespace kde
