// Derivatives of the Gaussian kernel as a polynomial times exp(-p), in the variable p = z^2/2:
//
//   sqrt(2 pi) K^(4)(z) = (z^4 - 6 z^2 + 3) exp(-z^2/2)              = (4 p^2 - 12 p + 3) exp(-p)
//   sqrt(2 pi) K^(6)(z) = (z^6 - 15 z^4 + 45 z^2 - 15) exp(-z^2/2)   = (8 p^3 - 60 p^2 + 90 p - 15)
//   exp(-p)
//
// Source: Hermite polynomials, Abramowitz & Stegun 22.2.15; Wand & Jones, Kernel Smoothing (1995),
// appendix C. In p every coefficient is a small integer, exact in single precision as well.
#pragma once

#include "core/room.h"

namespace kde {

// Coefficients of the polynomial in p, constant term first; kDegree of them follow it.
template <int R>
struct HermiteInP;

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

}  // namespace kde
