// The values of a column whose type has a smallest step, as whole numbers: integers, dates, times by
// the microsecond, numeric with a scale.
#pragma once

#include "pg/values/values.h"

extern "C" {
#include "datatype/timestamp.h"
#include "utils/fmgrprotos.h"
}

#include <algorithm>
#include <cmath>

namespace kde_pg {

// A column's values, numbered in order. Not those of double precision: near zero they are so small
// that a function raises an error which no row would.
class ValueSteps {
 public:
  ValueSteps(kde::ValueType type, int32 typmod) : type_(type) {
    constexpr double kMicroseconds = 1e6;
    step_ = lattice_step_of(type, typmod);
    if (type == kde::ValueType::timestamp || type == kde::ValueType::timestamptz ||
        type == kde::ValueType::time)
      parts_ = kMicroseconds;
    else if (type == kde::ValueType::numeric && step_ > 0 && step_ < 1)
      parts_ = std::rint(1 / step_);
    if (parts_ > 1) step_ = 1;
  }

  // Whether there is none between two of them.
  bool are_steps() const { return step_ > 0; }
  // Whether double precision tells them from each other up to x.
  bool are_told_apart(double x) const {
    constexpr double kFinest = 1e15, kWhole = 0x1p53;
    return step_ > 0 && parts_ <= kFinest && std::fabs(x) / step_ * parts_ < kWhole / 2;
  }

  double at(int64 k) const { return static_cast<double>(k) * step_ / parts_; }

  // Of the value nearest to x.
  int64 nearest(double x) const {
    constexpr double kMost = 9e18;
    return static_cast<int64>(std::rint(std::clamp(x / step_ * parts_, -kMost, kMost)));
  }
  // Of the first value from x on, the last one up to x.
  int64 from(double x) const {
    const int64 k = nearest(x);
    return at(k) < x ? k + 1 : k;
  }
  int64 up_to(double x) const {
    const int64 k = nearest(x);
    return at(k) > x ? k - 1 : k;
  }

  // As the column has it, with the decimals of its type.
  Datum datum(int64 k) const {
    const Datum value = double_to_value(type_, at(k));
    if (type_ != kde::ValueType::numeric) return value;
    const int decimals = static_cast<int>(std::rint(std::log10(parts_)));
    return DirectFunctionCall2(numeric_round, value, Int32GetDatum(decimals));
  }

 private:
  kde::ValueType type_;
  double step_, parts_ = 1;  // a value is a whole number, times the one, by the other
};

}  // namespace kde_pg
