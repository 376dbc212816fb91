// Internal to the LSCV selectors: the constants of lscv.h's formula.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "core/room.h"
#include "core/select/lscv.h"

namespace kde {

// g = det(H)^(-1/2) [diagonal + once sum e + twice sum e^2]
struct LscvFactors {
  double diagonal, once, twice;

  LscvFactors(std::int64_t rows, int d, LscvDivisor divisor) {
    const double n = static_cast<double>(rows);
    const double m = divisor == LscvDivisor::leave_one_out ? n - 1 : n;
    const double c4 = std::pow(4 * std::numbers::pi, -0.5 * d);
    const double c2 = std::pow(2 * std::numbers::pi, -0.5 * d);
    diagonal = c4 / n;
    once = 2 * c4 / (n * n);
    twice = -4 * c2 / (n * m);
  }

  double bracket(const GaussianSums& sums) const {
    return diagonal + once * sums.once + twice * sums.twice;
  }

  // Pairs of equal points beyond which the bracket is negative as H -> 0.
  double tied_pairs_bound() const { return -diagonal / (once + twice); }
};

// h0, the normal reference: H_NS = h0^2 Sigma. Source: Wand & Jones, Kernel Smoothing (1995),
// section 4.7.
inline double lscv_reference_h(std::int64_t n, int d) {
  return std::pow(4 / ((d + 2.0) * static_cast<double>(n)), 1 / (d + 4.0));
}

}  // namespace kde
