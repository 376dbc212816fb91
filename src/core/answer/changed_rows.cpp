// See changed_rows.h.
#include "core/answer/changed_rows.h"

#include <algorithm>
#include <cmath>

namespace kde {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Of numbers >= 0: no row changes nothing, whatever it holds.
double product(double a, double b) { return a > 0 && b > 0 ? a * b : 0; }

// Of infinities alone it is unknown.
double width_of(const ValueBounds& b) {
  if (b.low > b.high) return 0;
  const double width = b.high - b.low;
  return std::isnan(width) ? kInfinity : width;
}

// The most that the mean m of n > k rows becomes.
double mean_up(double m, double n, double k, double least_gone, double most_come) {
  const double by_going = product(k, m - least_gone);
  const double by_coming = product(k, most_come - m);
  return m + std::max((by_going + by_coming) / n, by_going / (n - k));
}

}  // namespace

void ValueBounds::take_in(const ValueBounds& other) {
  low = std::min(low, other.low);
  high = std::max(high, other.high);
}

void ValueBounds::narrow(const Range& range) {
  // NaN counts as infinity: it sorts above all.
  if (!range.lower_unbounded)
    low = std::max(low, std::isnan(range.lower) ? kInfinity : range.lower);
  if (!range.upper_unbounded && !std::isnan(range.upper)) high = std::min(high, range.upper);
  if (low > high) *this = ValueBounds();
}

void ChangedRows::take_in(const ChangedRows& other) {
  rows = std::max(rows, other.rows);
  went.take_in(other.went);
  came.take_in(other.came);
}

void ChangedRows::count(Interval* out) const {
  out->lower = std::max(out->lower - rows, 0.0);
  out->upper += rows;
}

void ChangedRows::sum(Interval* out) const {
  if (!(rows > 0)) return;
  if (std::isnan(out->lower) && came.low > came.high) return;
  if (std::isnan(out->lower)) *out = {kNan, 0, 0};
  const double up = product(rows, std::max(came.high, 0.0) + std::max(-went.low, 0.0));
  const double down = product(rows, std::max(-came.low, 0.0) + std::max(went.high, 0.0));
  out->lower -= down;
  out->upper += up;
  if (std::isnan(out->lower)) out->lower = -kInfinity;
  if (std::isnan(out->upper)) out->upper = kInfinity;
  // Rows on one side of 0 have a sum on that side.
  if (came.low >= 0 && went.low >= 0)
    out->lower = std::max(out->lower, std::min(0.0, out->estimate));
  if (came.high <= 0 && went.high <= 0)
    out->upper = std::min(out->upper, std::max(0.0, out->estimate));
}

void ChangedRows::mean(double fewest, Interval* out) const {
  if (!(rows > 0)) return;
  ValueBounds all = went;
  all.take_in(came);
  if (std::isnan(out->lower)) {
    *out = {kNan, came.low, came.high};
    if (came.low > came.high) out->lower = out->upper = kNan;
    return;
  }
  if (!(rows < fewest)) {
    out->lower = std::min(out->lower, all.low);
    out->upper = std::max(out->upper, all.high);
    return;
  }
  const double up = mean_up(out->upper, fewest, rows, went.low, came.high);
  const double down = -mean_up(-out->lower, fewest, rows, -went.high, -came.low);
  // No mean is beyond all values.
  const double most = std::max(out->upper, all.high);
  const double least = std::min(out->lower, all.low);
  out->upper = std::isnan(up) ? most : std::min(up, most);
  out->lower = std::isnan(down) ? least : std::max(down, least);
}

void ChangedRows::variance(double fewest, Interval* out) const {
  if (!(rows > 0)) return;
  ValueBounds all = went;
  all.take_in(came);
  const double width = width_of(all);
  if (std::isnan(out->lower)) {
    if (!(came.low > came.high)) *out = {kNan, 0, width_of(came) * width_of(came) / 4};
    return;
  }
  const double most = std::max(out->upper, width * width / 4);
  if (!(rows < fewest)) {
    out->lower = 0;
    out->upper = most;
    return;
  }
  const double own = width_of(went);
  const double rise = std::max(out->upper + product(rows / fewest, width * width),
                               out->upper * (fewest / (fewest - rows)));
  out->lower = std::max(out->lower - product(rows / fewest, own * own), 0.0);
  out->upper = std::min(rise, most);
}

ChangedRows changed_rows(bool every_row_read, double low, double high,
                         const IntervalOptions& options) {
  ChangedRows out;
  out.rows = options.changed_rows;
  out.came = {options.least_value, options.greatest_value};
  out.went = {low, high};
  // A sample has not seen all that there was.
  if (!every_row_read) out.went.take_in(out.came);
  return out;
}

ChangedRows changed_rows(const Header& h, const Range& range, const IntervalOptions& options) {
  if (is_empty(range)) return {};
  ChangedRows out = changed_rows((h.flags & kEveryRowRead) != 0, h.min, h.max, options);
  // Of no finite row the header has no bounds.
  if (!(h.finite_rows() > 0) && (h.flags & kEveryRowRead) != 0) out.went = ValueBounds();
  out.went.narrow(range);
  out.came.narrow(range);
  return out;
}

}  // namespace kde
