// The steps of round_edges.h, and the places where they lie.
//
// Places are found on an axis without zones: seconds of the civil calendar since 1970 for dates and
// timestamps, the values themselves for the rest. Days are counted as H. Hinnant has it
// (chrono-compatible low-level date algorithms, 2013), for years of any size.
#include "pg/answer/round_edges.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

namespace kde_pg {

namespace {

using kde::ValueType;

constexpr double kMinute = 60, kHour = 3600, kDay = 86400, kWeek = 7 * kDay;
constexpr double kMonday = 4 * kDay;  // 1970-01-05
// Whole numbers up to this are exact.
constexpr double kExact = 0x1p53;

// ---- the calendar

int64 floor_div(int64 a, int64 b) { return a / b - (a % b < 0 ? 1 : 0); }

// Days since 1970-01-01 of the first of a month, counted from January of the year 0.
int64 days_of_month(int64 month) {
  int64 year = floor_div(month, 12);
  const int64 m = month - 12 * year;  // 0: January
  if (m < 2) --year;
  const int64 era = floor_div(year, 400);
  const int64 of_era = year - era * 400;
  const int64 day = (153 * ((m + 10) % 12) + 2) / 5;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + day - 719468;
}

int64 month_of_days(int64 days) {
  days += 719468;
  const int64 era = floor_div(days, 146097);
  const int64 of_era = days - era * 146097;
  const int64 year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  const int64 of_year = of_era - (365 * year + year / 4 - year / 100);
  const int64 m = (5 * of_year + 2) / 153;  // 0: March
  return (year + era * 400) * 12 + m + 2;
}

// ---- steps

enum class Unit { decimal, seconds, weeks, months };

struct Step {
  Unit unit;
  double size;   // in units; of `decimal` 1, 2 or 5
  int exponent;  // of `decimal`, of ten

  // About how wide.
  double width() const {
    switch (unit) {
      case Unit::decimal:
        return size * std::pow(10.0, exponent);
      case Unit::seconds:
        return size;
      case Unit::weeks:
        return size * kWeek;
      case Unit::months:
        break;
    }
    return size * 365.2425 / 12 * kDay;
  }

  // Place k; infinite where there is none.
  double place(double k) const {
    switch (unit) {
      case Unit::decimal: {
        char digits[64];
        snprintf(digits, sizeof digits, "%.0fe%d", k * size, exponent);
        return std::strtod(digits, nullptr) + 0.0;
      }
      case Unit::seconds:
        return k * size;
      case Unit::weeks:
        return k * size * kWeek + kMonday;
      case Unit::months:
        break;
    }
    return static_cast<double>(days_of_month(static_cast<int64>(k * size))) * kDay;
  }

  // The last place at x or below. False where places are farther than numbers are exact.
  bool find(double x, double* k) const {
    if (!(std::fabs(x) / width() < kExact / 10)) return false;
    double at;
    if (unit == Unit::months) {
      const auto days = static_cast<int64>(std::floor(x / kDay));
      at = std::floor(static_cast<double>(month_of_days(days)) / size);
    } else {
      at = std::floor((unit == Unit::weeks ? x - kMonday : x) / width());
    }
    while (place(at) > x) --at;
    while (place(at + 1) <= x) ++at;
    *k = at;
    return true;
  }
};

RoundStep describe(const Step& step, ValueType type) {
  using Of = RoundStep::Of;
  constexpr double kYear = 12;
  const auto of = [&](const char* unit, double size, Of what) {
    char* text = size == 1 ? pstrdup(unit)
                           : psprintf("%s %ss", double_to_text(ValueType::float8, size), unit);
    return RoundStep{what, step.width(), text};
  };
  switch (step.unit) {
    case Unit::decimal:
      if (type > ValueType::numeric) return of("second", step.width(), Of::seconds);
      return {Of::numbers, step.width(), double_to_text(ValueType::float8, step.place(1))};
    case Unit::seconds:
      if (step.size >= kDay) return of("day", step.size / kDay, Of::days);
      if (step.size >= kHour) return of("hour", step.size / kHour, Of::seconds);
      if (step.size >= kMinute) return of("minute", step.size / kMinute, Of::seconds);
      return of("second", step.size, Of::seconds);
    case Unit::weeks:
      return of("week", step.size, Of::days);
    case Unit::months:
      break;
  }
  if (step.size >= kYear) return of("year", step.size / kYear, Of::years);
  return of("month", step.size, Of::months);
}

// ---- the axis without zones

class Axis {
 public:
  explicit Axis(ValueType type) : type_(type) {}

  bool has_calendar() const {
    return type_ == ValueType::date || type_ == ValueType::timestamp ||
           type_ == ValueType::timestamptz;
  }

  double to_civil(double x) const {
    Datum value;
    if (type_ != ValueType::timestamptz || !try_double_to_value(type_, x, &value)) return x;
    return value_to_double(ValueType::timestamp, DirectFunctionCall1(timestamptz_timestamp, value));
  }

  double from_civil(double civil) const {
    Datum value;
    if (type_ != ValueType::timestamptz ||
        !try_double_to_value(ValueType::timestamp, civil, &value))
      return civil;
    KDE_OVERFLOW(overflow);
    const TimestampTz zoned = with_zone_of_timestamp(DatumGetTimestamp(value), overflow);
    if (has_overflowed(overflow)) return civil;
    return value_to_double(ValueType::timestamptz, TimestampTzGetDatum(zoned));
  }

 private:
  ValueType type_;
};

// ---- the choice

class Choice {
 public:
  Choice(ValueType type, const RoundBins& wanted) : type_(type), axis_(type), wanted_(wanted) {
    least_ = std::max(wanted.lattice_step, lattice_step_of(type, -1));
    low_ = axis_.to_civil(wanted.lower);
    high_ = axis_.to_civil(wanted.upper);
    // What a clock shows at `lower` is ahead of `lower` by whole seconds.
    ahead_ = std::nearbyint(low_ - wanted.lower);
  }

  bool choose() {
    if (type_ <= ValueType::numeric) {
      offer_numbers();
      return found_;
    }
    offer_decimals(-6, -1);
    for (double unit : {1.0, kMinute})
      for (double size : {1.0, 2.0, 5.0, 10.0, 15.0, 30.0}) offer({Unit::seconds, size * unit, 0});
    for (double size : {1.0, 2.0, 3.0, 6.0, 12.0}) offer({Unit::seconds, size * kHour, 0});
    if (type_ == ValueType::time) return found_;
    for (double size : {1.0, 2.0}) offer({Unit::seconds, size * kDay, 0});
    if (axis_.has_calendar()) {
      offer({Unit::weeks, 1, 0});
      for (double size : {1.0, 3.0, 6.0}) offer({Unit::months, size, 0});
      offer_multiples({Unit::months, 12, 0});
    } else {
      offer_multiples({Unit::seconds, kDay, 0});
    }
    return found_;
  }

  RoundStep step() const { return describe(best_, type_); }

  double* edges(int* bins) const {
    const int n = static_cast<int>(count_);
    auto* out = static_cast<double*>(palloc(sizeof(double) * (n + 1)));
    int kept = 0;
    for (int i = 0; i <= n; ++i) {
      const double civil = best_.place(first_ + i);
      double x = is_equally_long(best_) ? civil - ahead_ : axis_.from_civil(civil);
      if (type_ == ValueType::time) x = std::min(x, kDay);
      // Before the first day there is, or after the last.
      Datum unused;
      if (axis_.has_calendar() && !try_double_to_value(type_, x, &unused))
        x = i == 0 ? wanted_.lower : wanted_.upper;
      if (!std::isfinite(x)) x = std::copysign(std::numeric_limits<double>::max(), x);
      // A clock that is set forward has two places at one time.
      if (kept == 0 || x > out[kept - 1]) out[kept++] = x;
    }
    *bins = kept - 1;
    return out;
  }

 private:
  // Hours and less, whatever the clock does: by the clock as it is at `lower`.
  static bool is_equally_long(const Step& step) {
    return (step.unit == Unit::decimal || step.unit == Unit::seconds) && step.width() <= kHour;
  }

  void offer_numbers() {
    const double span = high_ - low_;
    const double ideal = std::max(
        std::isfinite(span) ? span / wanted_.bins : high_ / wanted_.bins - low_ / wanted_.bins,
        std::numeric_limits<double>::min());
    const double farthest = std::max(std::fabs(low_), std::fabs(high_));
    const int from = std::max(static_cast<int>(std::floor(std::log10(ideal))) - 1,
                              static_cast<int>(std::floor(std::log10(farthest))) - 16);
    offer_decimals(from, from + 4);
  }

  void offer_decimals(int from, int to) {
    for (int exponent = from; exponent <= to; ++exponent)
      for (double size : {1.0, 2.0, 5.0}) offer({Unit::decimal, size, exponent});
  }

  // 1, 2, 5, 10, ... of a step.
  void offer_multiples(const Step& step) {
    for (double ten = 1; ten < 1e7; ten *= 10)
      for (double size : {1.0, 2.0, 5.0})
        if (step.unit == Unit::months || size * ten > 2)
          offer({step.unit, step.size * size * ten, 0});
  }

  void offer(const Step& step) {
    // But for the last digits: a lattice's step may be 0.1.
    if (step.width() < least_ * (1 - 1e-9)) return;
    const double high = is_equally_long(step) ? wanted_.upper + ahead_ : high_;
    double first, last;
    if (!step.find(low_, &first) || !step.find(high, &last)) return;
    if (!wanted_.closed || step.place(last) < high) ++last;
    const double count = std::max(last - first, 1.0);
    const double off = std::fabs(std::log(count / wanted_.bins));
    if (count > wanted_.most || (found_ && off >= off_)) return;
    found_ = true;
    best_ = step;
    first_ = first;
    count_ = count;
    off_ = off;
  }

  ValueType type_;
  Axis axis_;
  RoundBins wanted_;
  double least_;
  double low_, high_;  // the ends by the calendar
  double ahead_;
  bool found_ = false;
  Step best_ = {};
  double first_ = 0, count_ = 0, off_ = 0;
};

}  // namespace

double* round_edges(ValueType type, const RoundBins& wanted, int* bins, RoundStep* step) {
  Choice choice(type, wanted);
  if (!choice.choose()) return nullptr;
  if (step != nullptr) *step = choice.step();
  return choice.edges(bins);
}

}  // namespace kde_pg
