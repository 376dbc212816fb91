// See add_up.h.
#include "core/ask/add_up.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kde {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double reach_of(const Interval& i) { return std::max(i.upper - i.estimate, i.estimate - i.lower); }

double larger(const Reach& r) { return std::max(r.below, r.above); }

Interval within(double estimate, const Reach& reach) {
  return {estimate, estimate - reach.below, estimate + reach.above};
}

// Its errors, or, out, those of the difference.
Interval signed_part(const Interval& x, bool out) {
  return out ? Interval{-x.estimate, -x.upper, -x.lower} : x;
}

Reach turned(const Reach& r, bool out) { return out ? Reach{r.above, r.below} : r; }

// What is left of an error in quadrature.
double without(double all, double part) {
  return part > 0 && all < kInfinity ? std::sqrt(std::max((all - part) * (all + part), 0.0)) : all;
}

}  // namespace

void add_up(Interval* to, const Interval& x, bool out) {
  to->estimate += out ? -x.estimate : x.estimate;
  to->lower += out ? -x.upper : x.lower;
  to->upper += out ? -x.lower : x.upper;
}

Reach PartErrors::add(const Interval& part, const Reach& alone) {
  const Reach reach = {part.estimate - part.lower, part.upper - part.estimate};
  const Reach more = {without(reach.below, alone.below), without(reach.above, alone.above)};
  for (const auto of : {&Reach::below, &Reach::above}) {
    ends_.*of += reach.*of;
    beyond_.*of += more.*of;
  }
  return more;
}

Reach PartErrors::together(const Reach& alone) const {
  return {std::min(ends_.below, std::hypot(alone.below, beyond_.below)),
          std::min(ends_.above, std::hypot(alone.above, beyond_.above))};
}

bool Total::are_drawn(const DrawnRows& from) {
  if (drawn_ == DrawnRows()) drawn_ = from;
  return from.unit > 0 && from == drawn_;
}

Reach Total::alone_of_count(double rows) const {
  if (!(drawn_.unit > 0) || !(rows > 0)) return {};
  const double p = std::min(rows / drawn_.all, 1.0);
  double low;
  double high;
  wilson_interval(p, drawn_.unit, drawn_.z, &low, &high);
  return {(p - low) * drawn_.all, (high - p) * drawn_.all};
}

double Total::alone_of_sum(double rows, double off, double squares) const {
  if (!(drawn_.unit > 0) || !(rows > 0)) return 0;
  // N sum n (s^2 + m^2) - (sum n m)^2, m = middle_ + a difference.
  const double others = std::max(drawn_.all - rows, 0.0);
  const double spread =
      drawn_.all * squares - off * off + middle_ * others * (2 * off + middle_ * rows);
  return drawn_.z * std::sqrt(drawn_.unit * std::max(spread, 0.0));
}

double Total::alone_of_mean(double rows, double off, double squares) const {
  if (!(drawn_.unit > 0) || !(rows > 0)) return 0;
  const double variance = std::max(squares / rows - off / rows * (off / rows), 0.0);
  return drawn_.z * std::sqrt(drawn_.unit * drawn_.all / rows * variance);
}

void Total::set_count() {
  count = within(count.estimate, count_errors_.together(alone_of_count(counted_)));
}

void Total::set_sum() {
  const double alone = alone_of_sum(rows_, off_, squares_);
  sum = within(sum.estimate, sum_errors_.together({alone, alone}));
}

void Total::set_mean() {
  const double quotient = sum.estimate / count.estimate;
  double half = reach_of(sum) + std::fabs(quotient) * reach_of(count);
  if (has_means_ && !std::isnan(middle_))
    half = std::min(half, std::hypot(alone_of_mean(rows_, off_, squares_) * count.estimate,
                                     of_means_ + std::fabs(quotient - middle_) * of_counts_));
  half /= count.lower;
  mean = count.lower > 0 && half < kInfinity ? within(quotient, {half, half})
                                             : Interval{quotient, -kInfinity, kInfinity};
}

Reach Total::add_rows(const Interval& more, const DrawnRows& drawn, bool out) {
  const double rows = are_drawn(drawn) ? more.estimate : 0;
  const Reach alone = alone_of_count(rows);
  const Reach beyond = count_errors_.add(signed_part(more, out), turned(alone, out));
  counted_ += out ? -rows : rows;
  count.estimate += out ? -more.estimate : more.estimate;
  set_count();
  return beyond;
}

void Total::add_count(const Interval& more, const ChangedRows& by, const DrawnRows& drawn,
                      bool out) {
  (void)add_rows(more, drawn, out);
  changed.take_in(by);
}

void Total::add(const Evidence& evidence, const ChangedRows& by, bool wants_mean) {
  const bool first = !(count.upper > 0);
  const double beyond = larger(add_rows(evidence.count, evidence.drawn, false));
  changed.take_in(by);
  // Where no row was met there may be some.
  if (!(evidence.count.upper > 0)) return;
  Evidence fitted = evidence;
  fitted.changed = {};
  Interval own = interval_of(Wanted::sum, fitted);
  if (!(evidence.count.estimate > 0)) own.estimate = 0;
  const double rows = evidence.rows;
  if (std::isnan(middle_) && rows > 0) middle_ = evidence.mean;
  const double off = evidence.mean - middle_;
  const double squares = rows > 0 ? rows * (evidence.variance + off * off) : 0;
  const bool drawn = are_drawn(evidence.drawn) && rows > 0;
  const double alone = drawn ? alone_of_sum(rows, rows * off, squares) : 0;
  (void)sum_errors_.add(own, {alone, alone});
  sum.estimate += own.estimate;
  if (drawn) {
    rows_ += rows;
    off_ += rows * off;
    squares_ += squares;
  }
  set_sum();
  if (!wants_mean) return;
  const Interval its_mean = interval_of(Wanted::mean, fitted);
  has_means_ &= rows > 0;
  if (rows > 0) {
    const double of_mean =
        without(reach_of(its_mean), drawn ? alone_of_mean(rows, rows * off, squares) : 0);
    of_means_ += (rows + beyond) * of_mean + beyond * std::fabs(off);
    of_counts_ += beyond;
  }
  if (first)
    mean = its_mean;
  else
    set_mean();
}

void Total::add(const Total& other, bool out) {
  (void)count_errors_.add(signed_part(other.count, out), {});
  (void)sum_errors_.add(signed_part(other.sum, out), {});
  count.estimate += out ? -other.count.estimate : other.count.estimate;
  sum.estimate += out ? -other.sum.estimate : other.sum.estimate;
  has_means_ = false;
  set_count();
  set_sum();
  count.lower = std::max(count.lower, 0.0);
  count.estimate = std::max(count.estimate, 0.0);
  set_mean();
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
