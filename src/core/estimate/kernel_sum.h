// The Gaussian kernel sum over a sample and its integrals in closed form: the slow, obviously
// right version that the stored density is tested against.
//
//   f(t) = 1/(W h) sum w_i phi(z_i),  z_i = (t - x_i)/h,  W = sum w_i
//   integral_a^b     f   = 1/W sum w_i [Phi(z)]_a^b
//   integral_a^b t   f   = 1/W sum w_i { x_i [Phi(z)]_a^b - h [phi(z)]_a^b }
//   integral_a^b t^2 f   = 1/W sum w_i { (x_i^2 + h^2) [Phi(z)]_a^b - h [(t + x_i) phi(z)]_a^b }
//
// Source: formulas of a Gaussian's partial moments; Andrzejewski et al., arXiv:1505.01998,
// section 2.
#pragma once

#include "core/sampling/compactor.h"

#include <span>

namespace kde {

class KernelSum {
 public:
  // values: at least one; h > 0. The span must outlive this object.
  KernelSum(std::span<const WeightedValue> values, double h);

  double density(double t) const;
  // Integrals over [a, b], either side may be infinite; fractions of the whole.
  double mass(double a, double b) const;
  double first_moment(double a, double b) const;
  double second_moment(double a, double b) const;

 private:
  std::span<const WeightedValue> values_;
  double h_;
  double weight_ = 0;
};

}  // namespace kde
