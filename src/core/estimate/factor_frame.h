// Points in units of a bandwidth matrix H = L L': z = L^-1 (x - from), so that
//   (q - x)' H^-1 (q - x) = |z_q - z_x|^2.
//
// Rows of L are divided by powers of two, and differences of coordinates with them, which rounds
// nothing and lets coordinates of any magnitude (1e300, 1e-300) pass. z comes by forward
// substitution, of which the error is
//   |dz| <= (d + 1) eps cond(L) |z|,  cond(L) = || |L^-1| |L| ||,  eps = 2^-53
// Source: N. J. Higham, Accuracy and Stability of Numerical Algorithms (2002), theorem 8.5.
#pragma once

#include <span>

#include "core/room.h"
#include "core/status.h"
#include "core/sums/gaussian_sums.h"

namespace kde {

class FactorFrame {
 public:
  // factor: L, d x d lower triangular, row-major, finite, with a positive diagonal that is no less
  // than 2^-1000 of its row's largest element; 1 <= d <= 16. Errors: invalid_argument.
  Status make(std::span<const double> factor, int d);

  // d finite numbers each. False where some |z_k| is above `most`, which is at most 2^60; z is then
  // unspecified.
  bool whiten(const double* x, const double* from, double most, double* z) const;

  // sum n^-1 (2 pi)^(-d/2) det(L)^-1: infinite or 0 where the product is beyond double's range.
  double density(double sum, double n) const;

  int d() const { return d_; }

 private:
  int d_ = 0;
  int exponent_[kMaxDimensions];               // row k is divided by 2^exponent_[k]
  double l_[kMaxDimensions * kMaxDimensions];  // the rows so divided, d x d
  double volume_ = 1;                          // (2 pi)^(d/2) det(L) = volume_ 2^volume_exponent_
  int volume_exponent_ = 0;
};

}  // namespace kde
