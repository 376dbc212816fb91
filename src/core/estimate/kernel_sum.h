// The kernel sum over a sample and its integrals in closed form: the slow, obviously right version
// that the stored density is tested against.
//
//   f(t) = 1/(W h) sum w_i K(z_i),  z_i = (t - x_i)/h,  W = sum w_i
//   integral_a^b     f   = 1/W sum w_i [M0(z)]_a^b
//   integral_a^b t   f   = 1/W sum w_i { x_i [M0(z)]_a^b + h [M1(z)]_a^b }
//   integral_a^b t^2 f   = 1/W sum w_i { x_i^2 [M0(z)]_a^b + 2 x_i h [M1(z)]_a^b + h^2 [M2(z)]_a^b
//   }
//
// with Mk(z) the integral of u^k K(u) up to z (kernel.h; for the Gaussian Phi, -phi and Phi - z
// phi). Source: t = x_i + h u under the integral; for the Gaussian Andrzejewski et al.,
// arXiv:1505.01998, section 2.
#pragma once

#include "core/density/format.h"
#include "core/sampling/compactor.h"

#include <span>

namespace kde {

class KernelSum {
 public:
  // values: at least one; h > 0. The span must outlive this object.
  KernelSum(std::span<const WeightedValue> values, double h, Kernel kernel = Kernel::gaussian);

  double density(double t) const;
  // Integrals over [a, b], either side may be infinite; fractions of the whole.
  double mass(double a, double b) const;
  double first_moment(double a, double b) const;
  double second_moment(double a, double b) const;

 private:
  std::span<const WeightedValue> values_;
  double h_;
  Kernel kernel_;
  double weight_ = 0;
};

}  // namespace kde
