// Internal to src/core/select, for LSCV_H: g and its gradient over a whitened sample, by whatever
// engine.
//
// With y = A (w_i - w_j), A the factor of lscv_frame.h, and a change dT = T B of the triangle,
//   g = exp(-log det) bracket,   dg = tr(B G),   G = exp(-log det) (W - bracket I),
//   W = sum (once e/2 + twice e^2) y y',
// since y changes by -B y, and e = exp(-y'y/4) by (e/2) y'B y. `bracket` and its factors are those
// of lscv_factors.h.
#pragma once

#include <memory>

#include "core/room.h"
#include "core/select/lscv_factors.h"
#include "core/select/lscv_frame.h"
#include "core/select/matrix.h"

namespace kde {

class MatrixObjective {
 public:
  // g is given without det(Sigma)^(-1/2), which may be beyond double.
  MatrixObjective(GaussianPairSums& sums, const LscvFactors& factors)
      : sums_(sums), factors_(factors) {}

  Status value(const LscvFrame& frame, const Matrix& triangle, double* g);
  // *gradient with respect to the frame's parameters.
  Status gradient(const LscvFrame& frame, const Matrix& triangle, double* g, Vector* gradient);

 private:
  GaussianPairSums& sums_;
  LscvFactors factors_;
};

}  // namespace kde
