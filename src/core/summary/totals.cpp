// See totals.h.
#include "core/summary/totals.h"

#include "core/summary/batch.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace kde {

namespace {

// Beyond, the product's error term, or sums of squares, could overflow.
constexpr double kLarge = 0x1p480;
constexpr double kLargeUnit = 0x1p600;

// a b = high + low, exactly but for underflow; |a|, |b| <= kLarge. Without fma, which is a
// function call on processors that this may run on.
[[gnu::always_inline]] inline DoubleDouble product(double a, double b) {
  constexpr double kSplit = 0x1p27 + 1;
  const double ca = kSplit * a;
  const double cb = kSplit * b;
  const double a1 = ca - (ca - a);
  const double b1 = cb - (cb - b);
  const double a2 = a - a1;
  const double b2 = b - b1;
  const double high = a * b;
  return {high, ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2};
}

DoubleDouble product(const DoubleDouble& a, const DoubleDouble& b) {
  DoubleDouble out = product(a.high, b.high);
  out.low += a.high * b.low + a.low * b.high;
  return out;
}

// a / b to some 100 bits: one step of long division beyond double's.
DoubleDouble quotient(const DoubleDouble& a, double b) {
  const double first = a.high / b;
  const DoubleDouble back = product(first, b);
  const double rest = ((a.high - back.high) - back.low) + a.low;
  return {first, rest / b};
}

// a - b = high + low, exactly.
[[gnu::always_inline]] inline DoubleDouble difference(double a, double b) {
  const double high = a - b;
  const double part = high - a;
  return {high, (a - (high - part)) - (b + part)};
}

// Of values that all lie far from 0 on one side of it that which is nearest to it, from which their
// distances are exact; else 0. It depends on no order of them.
double origin_of(double min, double max) {
  if (min > 0 && max < 2 * min) return min;
  if (max < 0 && min > 2 * max) return max;
  return 0;
}

void add_lanes(const Lanes& lanes, DoubleDouble* out) {
  for (std::size_t i = 0; i < kLanes; ++i) out->add({lanes.high[i], lanes.low[i]});
}

struct Ends {
  double low, high;
};

// values: not empty.
Ends least_and_greatest(std::span<const double> values) {
  std::array<double, kLanes> low, high;
  low.fill(values[0]);
  high.fill(values[0]);
  const std::size_t whole = values.size() / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double x = values[i + lane];
      low[lane] = x < low[lane] ? x : low[lane];
      high[lane] = x > high[lane] ? x : high[lane];
    }
  }
  Ends ends{low[0], high[0]};
  for (std::size_t lane = 1; lane < kLanes; ++lane) {
    ends.low = std::min(ends.low, low[lane]);
    ends.high = std::max(ends.high, high[lane]);
  }
  for (std::size_t i = whole; i < values.size(); ++i) {
    ends.low = std::min(ends.low, values[i]);
    ends.high = std::max(ends.high, values[i]);
  }
  return ends;
}

// Sums of whole multiples of 1 / scale that a mean, rounded to double, tells.
constexpr double kMostTold = 0x1p52;

// What the sum is more than rows * mean.
DoubleDouble rest_of_sum(double rows, double mean, double scale) {
  if (!(scale > 0)) return {};
  const DoubleDouble rounded = product(mean, rows);
  const DoubleDouble units = product(rounded, {scale, 0});
  const double whole = std::nearbyint(units.value());
  if (!(std::fabs(whole) < kMostTold)) return {};
  DoubleDouble sum = quotient({whole, 0}, scale);
  sum.add({-rounded.high, -rounded.low});
  return sum;
}

}  // namespace

double SummaryTotals::unit() const { return large_ != 0 ? kLargeUnit : 1; }

void SummaryTotals::rescale() {
  if (large_ != 0) return;
  large_ = 1;
  origin_ /= kLargeUnit;
  sum_.high /= kLargeUnit;
  sum_.low /= kLargeUnit;
  for (int i = 0; i < 2; ++i) {
    squares_.high /= kLargeUnit;
    squares_.low /= kLargeUnit;
  }
}

void SummaryTotals::add(std::span<const double> values, std::span<const double> weights) {
  if (values.empty()) return;
  const auto [low, high] = least_and_greatest(values);
  // -0 and 0 are one value, whichever comes first.
  min_ = std::min(min_, low + 0.0);
  max_ = std::max(max_, high + 0.0);
  if (low < -kLarge || high > kLarge) rescale();

  const double scale = 1 / unit();
  move_origin(origin_of(min_, max_) * scale);
  const double origin = origin_;
  count_ += static_cast<double>(values.size());
  Lanes sum;
  Lanes squares;
  if (weights.empty()) {
    rows_.add(static_cast<double>(values.size()));
    const std::size_t whole = values.size() / kLanes * kLanes;
    batch_work().add(values.data(), whole, scale, origin, &sum, &squares);
    for (std::size_t i = whole; i < values.size(); ++i) {
      const DoubleDouble x = difference(values[i] * scale, origin);
      const DoubleDouble xx = product(x, x);
      sum.add(0, x.high, x.low);
      squares.add(0, xx.high, xx.low);
    }
  } else {
    DoubleDouble rows;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const DoubleDouble x = difference(values[i] * scale, origin);
      const DoubleDouble wx = product(x, {weights[i], 0});
      const DoubleDouble wxx = product(wx, x);
      rows.add(weights[i]);
      sum.add(i % kLanes, wx.high, wx.low);
      squares.add(i % kLanes, wxx.high, wxx.low);
    }
    rows_.add(rows);
  }
  add_lanes(sum, &sum_);
  add_lanes(squares, &squares_);
}

// With d what it is less by: sums of x + d and of its square.
void SummaryTotals::move_origin(double to) {
  const DoubleDouble d = difference(origin_, to);
  origin_ = to;
  if (d.high == 0) return;
  const DoubleDouble moved = product(d, rows_);
  squares_.add(product(sum_, {2 * d.high, 2 * d.low}));
  squares_.add(product(moved, d));
  sum_.add(moved);
}

void SummaryTotals::merge(const SummaryTotals& other) {
  if (other.count_ == 0) return;
  if (count_ == 0) {
    *this = other;
    move_origin(origin_of(min_, max_) / unit());
    return;
  }
  if (other.large_ != 0) rescale();
  rows_.add(other.rows_);
  count_ += other.count_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  SummaryTotals same = other;
  if (large_ != 0) same.rescale();
  same.move_origin(origin_);
  sum_.add(same.sum_);
  squares_.add(same.squares_);
  move_origin(origin_of(min_, max_) / unit());
}

SummaryTotals SummaryTotals::of(double rows, double count, double min, double max, double mean,
                                double variance, double scale) {
  SummaryTotals out;
  out.rows_ = {rows, 0};
  out.count_ = count;
  out.min_ = min;
  out.max_ = max;
  out.large_ = std::fmax(std::fabs(min), std::fabs(max)) > kLarge ? 1 : 0;
  out.origin_ = mean / out.unit();
  if (out.large_ == 0) out.sum_ = rest_of_sum(rows, mean, scale);
  const double v = variance / out.unit() / out.unit();
  // Of values so far apart only that their variance overflows is known.
  out.squares_ = std::isfinite(v) ? product(v, rows)
                                  : DoubleDouble{std::numeric_limits<double>::infinity(), 0};
  return out;
}

void SummaryTotals::merge(double rows, double count, double min, double max, double mean,
                          double variance, double scale) {
  merge(of(rows, std::max(count, 1.0), min, max, mean, variance, scale));
}

void SummaryTotals::take_out(double rows, double min, double max, double mean, double variance,
                             double scale) {
  if (count_ > 0) merge(of(-rows, -rows, min, max, mean, variance, scale));
  if (!(count_ > 0)) *this = SummaryTotals();
  no_less_than_nothing();
}

void SummaryTotals::narrow(double min, double max) {
  if (count_ == 0) return;
  min_ = min;
  max_ = max;
  move_origin(origin_of(min_, max_) / unit());
  no_less_than_nothing();
}

// What rounding took is as much as before, beside less.
bool SummaryTotals::keeps_digits_of(const SummaryTotals& before, double scale) const {
  constexpr double kMostTimes = 16;
  if (count_ == 0) return true;
  const double sum = std::fabs(before.rows() * before.mean());
  const double most = rows() * std::max(std::fabs(min_), std::fabs(max_));
  const bool is_told = scale > 0 && sum * scale < kMostTold;
  if (!is_told && sum > kMostTimes * most) return false;
  return min_ == max_ || before.rows() * before.variance() <= kMostTimes * rows() * variance();
}

// Differences of squares that overflowed, or that rounding made less than nothing.
void SummaryTotals::no_less_than_nothing() {
  if (std::isnan(squares_.high)) squares_ = {std::numeric_limits<double>::infinity(), 0};
  if (squares_.high < 0) squares_ = {};
}

double SummaryTotals::mean() const {
  DoubleDouble mean = quotient(sum_, rows());
  mean.add(origin_);
  return std::clamp(mean.value() * unit(), min_, max_);
}

double SummaryTotals::variance() const {
  if (min_ == max_) return 0;
  const DoubleDouble mean = quotient(sum_, rows());
  const DoubleDouble mean2 = product(mean, mean);
  DoubleDouble difference = quotient(squares_, rows());
  difference.add(-mean2.high);
  difference.low -= mean2.low;
  const double variance = std::max(difference.value(), 0.0) * unit() * unit();
  return std::isnan(variance) ? std::numeric_limits<double>::infinity() : variance;
}

bool SummaryTotals::valid() const {
  if (large_ > 1) return false;
  if (!(rows() >= 0 && std::isfinite(rows()) && count_ >= 0 && std::isfinite(count_))) return false;
  if (count_ == 0) return rows() == 0 && min_ > max_;
  return rows() > 0 && std::isfinite(min_) && std::isfinite(max_) && min_ <= max_ &&
         std::isfinite(origin_) && std::isfinite(sum_.high) && std::isfinite(sum_.low) &&
         !std::isnan(squares_.high) && squares_.high >= 0;
}

}  // namespace kde
