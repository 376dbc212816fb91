// The objective of least-squares cross-validation from its two sums, and what its error is
// relative to.
#pragma once

#include <cmath>
#include <numbers>

namespace kde::bench {

struct LscvValue {
  double value = 0;   // c4/n + (2/n^2) (c4 once - 2 c2 twice): g times det(H)^(1/2)
  double moduli = 0;  // c4/n + (2/n^2) (c4 once + 2 c2 twice)
};

inline LscvValue lscv_value(double n, int d, double once, double twice) {
  const double c4 = std::pow(4 * std::numbers::pi, -0.5 * d);
  const double c2 = std::pow(2 * std::numbers::pi, -0.5 * d);
  const double first = c4 / n + 2 * c4 * once / (n * n);
  const double second = 4 * c2 * twice / (n * n);
  return {first - second, first + second};
}

}  // namespace kde::bench
