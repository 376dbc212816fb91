// Internal to src/core/joint: probabilities of boxes, and first moments over them, of a normal
// vector with correlations, for many boxes at once: the kernels of a joint density.
//
//   P = Pr(a < e < b),   M = E[e_y; a < e < b],   e ~ N(0, R),
//
// e_y a further standard normal variable, or one of e, with the correlations c_j to e_j.
//
// One column: Phi and phi. Two: the product of the two, and at every corner of the box what the
// correlation adds to it: Plackett's identity by Gauss-Legendre quadrature, for |rho| near 1 from
// the other end (Z. Drezner & G. O. Wesolowsky, J. Statist. Comput. Simul. 35, 1990; A. Genz,
// Statistics and Computing 14, 2004). First moments by G. M. Tallis, JRSS B 23 (1961):
//
//   M = sum_j c_j (F_j(a_j) - F_j(b_j)),   F_j(t) = phi(t) Pr(the other sides | e_j = t).
//
// More columns: sequential conditioning (A. Genz, J. Comp. Graph. Stat. 1, 1992) on a lattice of
// four points with the tent transformation (F. J. Hickernell, in: Monte Carlo and Quasi-Monte Carlo
// Methods 2000, 2002), with a shift of its own for every box (R. Cranley & T. Patterson, SIAM J.
// Numer. Anal. 13, 1976). The shifts of boxes whose numbers follow each other are terms of a
// Kronecker sequence, its steps the powers of 1/phi, phi^k = phi + 1 (M. Roberts's generalised
// golden ratio): neighbouring boxes that are much alike share one quasi-Monte Carlo set, and their
// errors cancel rather than average out.
#pragma once

#include "core/density/joint_format.h"

#include <cstdint>

namespace kde {

// Draws of a box of three columns and more.
inline constexpr int kNormalBoxDraws = 4;
// Ends beyond that are as good as infinite: Phi(-9) = 1e-19.
inline constexpr float kNormalBoxEnd = 9;

// What the vector code needs to know of R and c.
struct NormalBoxRule {
  static constexpr int kNodes = 8;

  int k;
  bool moments;
  float target[kMaxColumns];  // c for k <= 2, else L^-1 c, L the Cholesky factor of R

  // k = 2, with s = sqrt(1 - rho^2)
  float sign;            // of rho, 1 or -1
  float rho, one_minus;  // rho; 1 - |rho|
  float s, inverse_s;
  bool from_one;  // quadrature from |rho| = 1; else from 0
  int nodes;
  // From 0, at node j: weight/(2 pi), sin(theta)/cos(theta)^2, 1/cos(theta)^2.
  // From 1, at node j, c = sin(theta): weight/(2 pi), 1/(2 c^2), 1/(1 + r), 1/r, c^2; r =
  // cos(theta).
  float weight[kNodes], node[kNodes], inverse[kNodes], inverse_r[kNodes], square[kNodes];

  // k > 2: row j of L below its diagonal from factor[j][0] on; 1/L_jj.
  float factor[kMaxColumns][kMaxColumns];
  float inverse_diagonal[kMaxColumns];
  std::uint32_t step[kMaxColumns];  // of the sequence, in units of 2^-32
};

using NormalBoxKernel = void (*)(const NormalBoxRule& rule, const float (*lower)[kJointBlock],
                                 const float (*upper)[kJointBlock], int boxes,
                                 const std::uint32_t* number, float* probability, float* moment,
                                 float* difference);
// target: one of simd_targets(); k: that of the rules it is to be called with.
NormalBoxKernel normal_box_kernel(std::int64_t target, int k);

class NormalBox {
 public:
  // R: k x k, row-major, a correlation matrix; 1 <= k <= kMaxColumns. A matrix that is singular is
  // taken for one that is nearly so; of one with eigenvalues below 0 the answers mean nothing, but
  // are finite. c: k correlations, or null: no moments. simd_target: one of simd_targets().
  NormalBox(const double* R, int k, const double* c, std::int64_t simd_target);

  // `boxes` boxes, at most kJointBlock: from lower[j][i] to upper[j][i] for j < k, lower <= upper,
  // of any size, infinite ones too. number[i]: of box i, what its shift depends on (k > 2 alone;
  // may be null else). Writes probability[i], in [0, 1]; moment[i], where the rule has moments (may
  // be null else); difference[i], unless null and for k > 2: by how much the two halves of the
  // draws differ, halved. Its square is an estimate of probability[i]'s squared error that is on
  // the large side. Entries from `boxes` on are overwritten. Errors for k <= 2: of probability
  // 1e-6, of moments 2e-6, absolute.
  void evaluate(const float (*lower)[kJointBlock], const float (*upper)[kJointBlock], int boxes,
                const std::uint32_t* number, float* probability, float* moment,
                float* difference) const;

 private:
  NormalBoxRule rule_;
  NormalBoxKernel kernel_;
};

}  // namespace kde
