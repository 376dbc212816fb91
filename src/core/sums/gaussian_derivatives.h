// Derivatives of the Gaussian kernel as a polynomial times exp(-p), in the variable p = z^2/2:
//
//   sqrt(2 pi) K^(r)(z) = He_r(z) exp(-z^2/2) = [sum_k c_k p^k] exp(-p),   r even, 0 <= r <= 10
//
// e.g. He_4(z) = z^4 - 6 z^2 + 3 = 4 p^2 - 12 p + 3. With m = r/2 the coefficient of p^(m-k) is
// (-1)^k r! 2^(m-2k) / (k! (r-2k)!): as He_r has integer coefficients and z^2 = 2 p, an integer,
// and up to r = 10 a small one, exact in single precision as well.
//
// Source: Hermite polynomials, Abramowitz & Stegun 22.3.11; Wand & Jones, Kernel Smoothing (1995),
// appendix C.
#pragma once

#include "core/status.h"

#include <cmath>
#include <numbers>

namespace kde {

inline constexpr int kMaxDerivative = 10;

// The orders that sums over pairs take.
constexpr bool is_derivative_order(int r) { return r >= 0 && r <= kMaxDerivative && r % 2 == 0; }

// What every engine refuses. Errors: invalid_argument.
inline Status check_derivative(int r, double g) {
  if (!is_derivative_order(r))
    return Status::error(Code::invalid_argument,
                         "the derivative must be an even one, from 0 to 10");
  if (!(g > 0) || !std::isfinite(g))
    return Status::error(Code::invalid_argument, "the bandwidth must be positive and finite");
  return Status::success();
}

// Coefficients of the polynomial in p, constant term first; kDegree of them follow it.
template <int R>
struct HermiteInP;

template <>
struct HermiteInP<0> {
  static constexpr int kDegree = 0;
  static constexpr double kCoefficients[] = {1};
};

template <>
struct HermiteInP<2> {
  static constexpr int kDegree = 1;
  static constexpr double kCoefficients[] = {-1, 2};
};

template <>
struct HermiteInP<4> {
  static constexpr int kDegree = 2;
  static constexpr double kCoefficients[] = {3, -12, 4};
};

template <>
struct HermiteInP<6> {
  static constexpr int kDegree = 3;
  static constexpr double kCoefficients[] = {-15, 90, -60, 8};
};

template <>
struct HermiteInP<8> {
  static constexpr int kDegree = 4;
  static constexpr double kCoefficients[] = {105, -840, 840, -224, 16};
};

template <>
struct HermiteInP<10> {
  static constexpr int kDegree = 5;
  static constexpr double kCoefficients[] = {-945, 9450, -12600, 5040, -720, 32};
};

// sqrt(2 pi) K^(r)(0) = He_r(0) = (-1)^(r/2) (r - 1)!!, r even.
constexpr double hermite_at_zero(int r) {
  double value = 1;
  for (int k = 1; k < r; k += 2) value *= -k;
  return value;
}

// K^(r)(z) = He_r(z) phi(z) for even r, 0 <= r <= 10 (Hermite polynomials by their recurrence,
// Abramowitz & Stegun 22.7.14).
inline double gaussian_derivative(int r, double z) {
  double before = 0;
  double hermite = 1;
  for (int k = 0; k < r; ++k) {
    const double next = z * hermite - k * before;
    before = hermite;
    hermite = next;
  }
  return hermite * std::exp(-0.5 * z * z) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

}  // namespace kde
