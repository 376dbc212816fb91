// Internal to src/core/joint: probabilities of boxes, and first moments over them, of a normal
// vector with correlations, for many boxes at once: the kernels of a joint density.
//
//   P = Pr(a < e < b),   M_k = E[e_k; a < e < b],   e ~ N(0, R)
//
// One column: Phi and phi. Two: the bivariate normal by Gauss-Legendre quadrature of Plackett's
// identity (Z. Drezner & G. O. Wesolowsky, J. Statist. Comput. Simul. 35, 1990; A. Genz, Statistics
// and Computing 14, 2004), first moments by G. M. Tallis, JRSS B 23 (1961). More: sequential
// conditioning with a randomised lattice rule (A. Genz, J. Comp. Graph. Stat. 1, 1992; R.
// Cranley & T. Patterson, 1976), a shift of its own for every box, so that the errors of many boxes
// average out.
#pragma once

#include "core/joint/format.h"
#include "core/room.h"

namespace kde {

// Lattice points per box, for three columns and more.
inline constexpr int kNormalBoxDraws = 8;

class NormalBox {
 public:
  // R: k x k, row-major, a positive definite correlation matrix; 1 <= k <= kMaxColumns.
  NormalBox(const double* R, int k);

  // kJointBlock boxes: lower[j][i], upper[j][i] for j < k; lower <= upper, may be beyond any reach.
  // probability[i]; moment[j][i] unless null. first: the number of the first box, which the
  // shifts depend on. variance[i] (unless null): the estimated variance of probability[i], 0 for
  // k <= 2. Errors of probability for k <= 2: 2e-7 absolute; of moments 1e-6.
  void evaluate(const float (*lower)[kJointBlock], const float (*upper)[kJointBlock],
                std::size_t first, float* probability, float (*moment)[kJointBlock],
                float* variance) const;

  // The same for one box in double, k <= 2, to 1e-12 (for tests and the reference).
  static double probability(const double* R, int k, const double* lower, const double* upper);

 private:
  int k_;
  double factor_[kMaxColumns * kMaxColumns];  // Cholesky factor of R
};

}  // namespace kde
