// Internal to src/core/select, for LSCV_H: the coordinates in which a bandwidth matrix is searched.
//
//   H = h^2 F T T' F',  T lower triangular, positive on the diagonal
//
// Full: F is the Cholesky factor of Sigma. Diagonal: F holds the standard deviations and T is
// diagonal, so that H is. The parameters are log T_kk, then T_ij (i > j) by rows.
#pragma once

#include "core/select/lscv.h"
#include "core/select/matrix.h"

namespace kde {

class LscvFrame {
 public:
  // h > 0: the scalar bandwidth that T = I stands for.
  LscvFrame(const WhiteSample& sample, LscvShape shape, double h);

  LscvShape shape() const { return shape_; }
  double h() const { return h_; }
  int d() const { return d_; }
  int size() const;  // the number of parameters

  Matrix triangle(const Vector& parameters) const;  // T

  // A = T^-1 F^-1 C/h: y = A (w_i - w_j) over the whitened points.
  Matrix whitening(const Matrix& triangle) const;

  // log of det(H)^(1/2)/det(Sigma)^(1/2).
  double log_det(const Matrix& triangle) const;

  // The gradient with respect to the parameters of a function of T whose differential is tr(A G)
  // for dT = T A.
  Vector gradient(const Matrix& triangle, const Matrix& g) const;

  // L of H = scale L L' scale.
  Matrix factor(const Matrix& triangle) const;

  // Changes of the parameters along which the criterion of a normal sample is equally curved. Near
  // its minimum, with the symmetric part of log T = v I/sqrt(d) + S, tr S = 0, it is
  //   g = constant + (A/2) (d + 4) [v^2 + 2/(d + 2) |S|^2],  A = c4/(n h^d),
  // by the asymptotic criterion c4/(n det(H)^(1/2)) + (1/4) int (tr H D^2 f)^2 of a normal f (Wand
  // & Jones, Kernel Smoothing, 1995, section 4.3), the ratio of whose two terms at the minimum is
  // that of their powers of h.
  Matrix normal_units() const;

 private:
  LscvShape shape_;
  int d_;
  double h_;
  Matrix sigma_factor_;  // C
  Vector deviations_;    // standard deviations over the scale of the sample
};

}  // namespace kde
