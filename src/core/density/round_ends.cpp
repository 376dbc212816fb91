// See round_ends.h.
#include "core/density/round_ends.h"

#include <algorithm>
#include <cmath>

namespace kde {

namespace {

// Powers of ten that are doubles: the decimal steps are 10^-22, 5 10^-22, ... 10^22. Finer ones are
// halves of the first, coarser ones doubles of the last.
constexpr int kMostExponent = 22;
constexpr double kPowersOfTen[] = {1,    1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr int kHalves = 940, kDecimalLevels = 4 * kMostExponent + 1, kDoubles = 940;

// From a second to a day.
constexpr double kSeconds[] = {1, 5, 15, 60, 300, 900, 3600, 86400};
constexpr int kMicrosecond = -6;
constexpr double kDay = 86400;
// Far beyond all dates, and few enough that months are told apart: bytes from outside may say more.
constexpr double kMostDays = 2e14;
// Up to here all ends are doubles.
constexpr double kExactDays = 1e11;
constexpr double kMonthsAYear = 12, kDaysAYear = 365.2425;
static_assert(kSecondLevel + 7 == kDayLevel);

// times 10^exponent 2^binary.
struct Step {
  int exponent;
  double times;
  int binary;

  // Rounded once: |k| times is a double.
  double end(double k) const {
    const double units = k * times;
    const double end =
        exponent < 0 ? units / kPowersOfTen[-exponent] : units * kPowersOfTen[exponent];
    return binary == 0 ? end : std::ldexp(end, binary);
  }
  double step() const { return end(1); }
};

// The level-th step from 10^least on.
Step decimal(int level, int least) { return {least + level / 2, level % 2 == 0 ? 1.0 : 5.0, 0}; }

Step number_step(int level) {
  if (level < kHalves) return {-kMostExponent, 1, level - kHalves};
  level -= kHalves;
  if (level < kDecimalLevels) return decimal(level, -kMostExponent);
  return {kMostExponent, 1, level - kDecimalLevels + 1};
}

// Days since 1970-01-01 of the first of a month, and back, in the proleptic Gregorian calendar:
// years begin in March, so that a leap day is the last of its year, and 400 of them have 146,097
// days (P. K. Seidelmann, ed., Explanatory Supplement to the Astronomical Almanac, 1992, section
// 12.9).
constexpr double kDaysOf400Years = 146097, kDaysBeforeEpoch = 719468;

double day_of_month(double month) {
  const double shifted = month - 2;  // March is 0
  const double year = std::floor(shifted / kMonthsAYear);
  const double m = shifted - year * kMonthsAYear;
  const double era = std::floor(year / 400);
  const double y = year - era * 400;
  const double day = std::floor((153 * m + 2) / 5);
  return era * kDaysOf400Years + y * 365 + std::floor(y / 4) - std::floor(y / 100) + day -
         kDaysBeforeEpoch;
}

// Months since January of year 0: of a day in its 400 years the year, of one in its year the month.
double month_of_day(double day) {
  const double since = day + kDaysBeforeEpoch;
  const double era = std::floor(since / kDaysOf400Years);
  const double d = since - era * kDaysOf400Years;
  // Less leap days, the 365 days of each.
  const double y = std::floor(
      (d - std::floor(d / 1460) + std::floor(d / 36524) - std::floor(d / (kDaysOf400Years - 1))) /
      365);
  const double of_year = d - (365 * y + std::floor(y / 4) - std::floor(y / 100));
  const double m = std::floor((5 * of_year + 2) / 153);
  return (era * 400 + y) * kMonthsAYear + m + 2;
}

// Cells of a level in one of the next.
int parts_of_next(int level, Chain chain) {
  if (chain == Chain::decimal) {
    level -= kHalves;
    if (level < 0 || level >= kDecimalLevels - 1) return 2;
  } else {
    constexpr int kParts[] = {5, 3, 4, 5, 3, 4, 24};
    if (level >= kSecondLevel && level < kDayLevel) return kParts[level - kSecondLevel];
    if (level >= kDayLevel) level -= kDayLevel;
  }
  return level % 2 == 0 ? 5 : 2;
}

// A month, a year, and ten times as many years from level to level.
double months_in(int level) {
  return level == kMonthLevel ? 1 : kMonthsAYear * kPowersOfTen[level - kYearLevel];
}

}  // namespace

Chain chain_of(ValueType type) {
  switch (type) {
    case ValueType::date:
    case ValueType::timestamp:
    case ValueType::timestamptz:
      return Chain::calendar;
    case ValueType::interval:
    case ValueType::time:
      return Chain::duration;
    default:
      return Chain::decimal;
  }
}

bool is_chain_of(ValueType type, Chain chain) {
  if (chain == chain_of(type)) return true;
  return type <= ValueType::numeric && (chain == Chain::calendar || chain == Chain::milliseconds);
}

int RoundEnds::levels() const {
  if (chain_ == Chain::decimal) return kHalves + kDecimalLevels + kDoubles;
  // 10^9 years, and some 10^15 days.
  return is_calendar() ? kYearLevel + 10 : kDayLevel + 30;
}

double RoundEnds::day() const { return kDay * kPowersOfTen[second()]; }

double RoundEnds::farthest() const {
  return is_calendar() ? kMostDays * day() : std::numeric_limits<double>::infinity();
}

double RoundEnds::step(int level) const {
  if (!is_even(level)) return kDaysAYear * day() / kMonthsAYear * months_in(level);
  return even_end(level, 1);
}

// Where neither months nor years are: the ends' distance and how they are told.
double RoundEnds::even_end(int level, double k) const {
  if (chain_ == Chain::decimal) return number_step(level).end(k);
  if (level < kSecondLevel) return decimal(level, kMicrosecond + second()).end(k);
  if (level <= kDayLevel) return k * (kSeconds[level - kSecondLevel] * kPowersOfTen[second()]);
  return decimal(level - kDayLevel, 0).end(k) * kDay;
}

std::int64_t RoundEnds::parts(int level, int coarser) const {
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  if (!is_even(coarser)) return 0;
  std::int64_t parts = 1;
  for (; level < coarser && parts <= kMost; ++level) parts *= parts_of_next(level, chain_);
  return parts <= kMost ? parts : 0;
}

double RoundEnds::end(int level, std::int64_t k) const {
  const auto at = static_cast<double>(k);
  if (!is_even(level)) return day_of_month(at * months_in(level)) * day();
  return even_end(level, at);
}

std::int64_t RoundEnds::cell(int level, double x) const {
  if (!is_even(level)) {
    double days = std::floor(std::clamp(x / day(), -kMostDays, kMostDays));
    // The quotient may have been rounded up to it.
    if (days * day() > x) --days;
    const auto k = static_cast<std::int64_t>(std::floor(month_of_day(days) / months_in(level)));
    if (std::fabs(days) < kExactDays) return k;
    return end(level, k) > x ? k - 1 : end(level, k + 1) <= x ? k + 1 : k;
  }
  // Off by at most 2^-52 of it: where that is not near a whole number, no end is between it and x.
  constexpr double kMostQuotient = 0x1p30, kNear = 0x1p-20;
  const double steps = x / step(level);
  constexpr std::int64_t kFarOut = std::int64_t{1} << 52;
  if (!(std::fabs(steps) < static_cast<double>(kFarOut))) return steps > 0 ? kFarOut : -kFarOut;
  auto k = static_cast<std::int64_t>(steps < 0 ? steps - 0.5 : steps + 0.5);
  if (std::fabs(steps) < kMostQuotient) {
    const double beyond = steps - static_cast<double>(k);
    if (beyond > kNear) return k;
    if (beyond < -kNear || even_end(level, static_cast<double>(k)) > x) return k - 1;
    return k;
  }
  while (even_end(level, static_cast<double>(k)) > x) --k;
  while (even_end(level, static_cast<double>(k + 1)) <= x) ++k;
  return k;
}

}  // namespace kde
