// See value_sums.h.
#include "core/grid/value_sums.h"

#include "core/summary/batch.h"

#include <algorithm>
#include <cmath>

namespace kde {

namespace {

constexpr double kPowersOfTen[kDecimals + 1] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};

}  // namespace

int decimals_of(std::span<const double> y, int decimals) {
  // All of them by the same, as one that has more may leave no room for a large one.
  while (decimals < kNoDecimals &&
         !batch_work().are_decimal(y.data(), y.size(), kPowersOfTen[decimals]))
    ++decimals;
  return decimals;
}

double power_of(int decimals) { return decimals < kNoDecimals ? kPowersOfTen[decimals] : 1; }

void ValueSums::settle() {
  if (waits == 0) return;
  const std::span<double> y(waiting, static_cast<std::size_t>(waits));
  waits = 0;
  const bool is_first = totals.count() == 0;
  totals.add(y, {});
  const int digits = decimals_of(y, decimals);
  if (is_first) {
    decimals = digits;
    origin = digits < kNoDecimals ? nearest_whole(y[0] * power_of(digits)) : y[0];
  }
  agree(digits, origin * power_of(digits) / power_of(decimals));
  if (decimals < kNoDecimals)
    batch_work().make_units(y.data(), y.size(), power_of(decimals), origin);
  else
    for (double& value : y) value -= origin;
  for (const double value : y) sums.add_value(value);
}

void ValueSums::agree(std::int32_t digits, double to) {
  const double by = power_of(digits) / power_of(decimals);
  sums = {sums.rows, sums.sum * by, sums.squares * by * by};
  origin *= by;
  sum_error *= by;
  decimals = digits;
  if (to == origin) return;
  if (decimals == kNoDecimals)
    sum_error += kRoundingOfMove * totals.rows() * std::fabs(to - origin);
  sums = sums.moved(to - origin);
  origin = to;
}

void ValueSums::merge(ValueSums other) {
  settle();
  other.settle();
  if (other.totals.count() == 0) return;
  if (totals.count() == 0) {
    *this = other;
    return;
  }
  const std::int32_t digits = std::max(decimals, other.decimals);
  agree(digits, origin * power_of(digits) / power_of(decimals));
  other.agree(digits, origin);
  totals.merge(other.totals);
  sums.add(other.sums);
  sum_error += other.sum_error;
}

bool ValueSums::valid() const {
  return is_in_bounds() && totals.valid() && std::isfinite(origin) && sum_error >= 0 &&
         std::isfinite(sums.rows) && std::isfinite(sums.sum) && sums.squares >= 0 &&
         std::all_of(waiting, waiting + waits, [](double y) { return std::isfinite(y); });
}

}  // namespace kde
