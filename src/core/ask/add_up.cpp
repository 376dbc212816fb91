// See add_up.h.
#include "core/ask/add_up.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kde {

namespace {

double reach_of(const Interval& i) { return std::max(i.upper - i.estimate, i.estimate - i.lower); }

Interval quotient(const Interval& sum, const Interval& count) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double mean = sum.estimate / count.estimate;
  if (!(count.lower > 0)) return {mean, -kInfinity, kInfinity};
  const double half = (reach_of(sum) + std::fabs(mean) * reach_of(count)) / count.lower;
  return {mean, mean - half, mean + half};
}

}  // namespace

void add_up(Interval* to, const Interval& x, bool out) {
  to->estimate += out ? -x.estimate : x.estimate;
  to->lower += out ? -x.upper : x.lower;
  to->upper += out ? -x.lower : x.upper;
}

void Total::add_count(const Interval& more, const ChangedRows& by) {
  add_up(&count, more);
  changed.take_in(by);
}

void Total::add(const Evidence& evidence, const ChangedRows& by, bool wants_mean) {
  const bool first = !(count.upper > 0);
  add_count(evidence.count, by);
  // Where no row was met there may be some.
  if (!(evidence.count.upper > 0)) return;
  Evidence fitted = evidence;
  fitted.changed = {};
  Interval own = interval_of(Wanted::sum, fitted);
  if (!(evidence.count.estimate > 0)) own.estimate = 0;
  add_up(&sum, own);
  if (wants_mean) mean = first ? interval_of(Wanted::mean, fitted) : quotient(sum, count);
}

void Total::add(const Total& other, bool out) {
  add_up(&count, other.count, out);
  add_up(&sum, other.sum, out);
  count.lower = std::max(count.lower, 0.0);
  count.estimate = std::max(count.estimate, 0.0);
  mean = quotient(sum, count);
}

Total Total::as_of_now() const {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  if (!(changed.rows > 0)) return *this;
  Total out = *this;
  changed.count(&out.count);
  if (!(count.upper > 0)) out.sum = out.mean = {kNone, kNone, kNone};
  changed.sum(&out.sum);
  changed.mean(count.lower, &out.mean);
  return out;
}

}  // namespace kde
