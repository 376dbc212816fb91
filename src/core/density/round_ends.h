// The universal nested grid on which cells end: values at which people ask.
//
//   decimal    ... 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 50 ... 10^22: whole multiples of each; below
//              10^-22 halves, above 10^22 doubles
//   calendar   of seconds since 1970: the decimal steps from a microsecond to a second, 5 and 15 s, a
//              minute, 5 and 15 minutes, an hour, a day, a month, a year, ten and more of the proleptic
//              Gregorian calendar, in UTC
//   duration   of seconds: the same to a day, then decimal steps of days
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

enum class Chain : std::uint8_t { decimal = 0, calendar = 1, duration = 2 };

Chain chain_of(ValueType type);

// Levels of the calendar and of durations.
inline constexpr int kSecondLevel = 12, kMinuteLevel = 15, kHourLevel = 18, kDayLevel = 19,
                     kMonthLevel = 20, kYearLevel = 21;

class RoundEnds {
 public:
  explicit RoundEnds(Chain chain) : chain_(chain) {}

  Chain chain() const { return chain_; }
  // Levels are numbered from 0, the finest.
  int levels() const;
  // The k-th end; the 0th is 0, or of the calendar's months and years the first of its kind of
  // year 0. |k| <= 2^50; the double nearest to it.
  double end(int level, std::int64_t k) const;
  // The cell of x, or the one that begins at x: the greatest k with end(level, k) <= x. Beyond 2^52
  // steps, infinities among that, it is one far out on that side; beyond 10^12 days months and years
  // are not told apart.
  std::int64_t cell(int level, double x) const;
  // Where the k-th cell begins; the outermost of the widest levels do so at the least number.
  double begin(int level, std::int64_t k) const {
    return std::max(end(level, k), -std::numeric_limits<double>::max());
  }
  bool is_end(int level, double x) const { return end(level, cell(level, x)) == x; }
  // Whether all its cells are as wide.
  bool is_even(int level) const { return chain_ != Chain::calendar || level <= kDayLevel; }
  // How many cells of a level lie in each of a coarser one, whose k-th end is then the (k parts)-th;
  // 0: not in all as many, or more than 2^50.
  std::int64_t parts(int level, int coarser) const;
  // Between ends; of months and years the mean.
  double step(int level) const;

 private:
  Chain chain_;
};

}  // namespace kde
