// The plain loop over sorted points, each row ending at the first point out of reach.
#include "core/sums/near_pairs.h"

#include <cmath>
#include <numbers>

#include "core/sums/engine_parts.h"
#include "core/sums/ordered_sum.h"

namespace kde {

double gaussian_derivative(int r, double z) {
  double before = 0;
  double hermite = 1;
  for (int k = 0; k < r; ++k) {
    const double next = z * hermite - k * before;
    before = hermite;
    hermite = next;
  }
  return hermite * std::exp(-0.5 * z * z) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

std::int64_t count_near_pairs(std::span<const double> x, double g, std::int64_t limit) {
  std::int64_t pairs = 0;
  std::size_t end = 0;
  for (std::size_t i = 0; i < x.size() && pairs <= limit; ++i) {
    while (end < x.size() && (x[end] - x[i]) / g <= kReach) ++end;
    pairs += static_cast<std::int64_t>(end - i - 1);
  }
  return pairs;
}

Status sum_near_pairs(std::span<const double> x, std::span<const double> weights, int r, double g,
                      const Control& control, double* sum) {
  const auto row = [&](std::int64_t item, double* out) {
    const auto i = static_cast<std::size_t>(item);
    double total = 0;
    for (std::size_t j = i + 1; j < x.size(); ++j) {
      const double z = (x[j] - x[i]) / g;
      if (z > kReach) break;
      total += weights[j] * gaussian_derivative(r, z);
    }
    *out = weights[i] * total;
  };
  const auto n = static_cast<std::int64_t>(x.size());
  return ordered_sum(control, n, row, {sum, 1}, pairs_of(n));
}

}  // namespace kde
