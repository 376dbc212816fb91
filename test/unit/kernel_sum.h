// The kernel sum over a sample and its integrals in closed form: the slow, obviously right version
// that the stored density is tested against.
//
//   f(t) = 1/(W h) sum w_i K(z_i),  z_i = (t - x_i)/h,  W = sum w_i
//   integral_a^b     f   = 1/W sum w_i [M0(z)]_a^b
//   integral_a^b t   f   = 1/W sum w_i { x_i [M0(z)]_a^b + h [M1(z)]_a^b }
//   integral_a^b t^2 f   = 1/W sum w_i { x_i^2 [M0(z)]_a^b + 2 x_i h [M1(z)]_a^b + h^2 [M2(z)]_a^b
//   }
//
// with Mk(z) the integral of u^k K(u) up to z: Phi, -phi and Phi - z phi. Source: t = x_i + h u under the integral; Andrzejewski et al.,
// arXiv:1505.01998, section 2.
#pragma once

#include "core/kernel/normal.h"
#include "core/summary/totals.h"

#include <cmath>
#include <span>

namespace kde {

// The integral of u^2 phi(u) up to z; u phi(u) tends to 0 at infinity.
inline double normal_second_moment(double z) {
  return normal_cdf(z) - (std::isinf(z) ? 0.0 : z * normal_pdf(z));
}

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

inline KernelSum::KernelSum(std::span<const WeightedValue> values, double h)
    : values_(values), h_(h) {
  for (const WeightedValue& v : values_) weight_ += v.weight;
}

inline double KernelSum::density(double t) const {
  double sum = 0;
  for (const WeightedValue& v : values_) sum += v.weight * normal_pdf((t - v.value) / h_);
  return sum / (weight_ * h_);
}

inline double KernelSum::mass(double a, double b) const {
  double sum = 0;
  for (const WeightedValue& v : values_) {
    const double za = (a - v.value) / h_;
    const double zb = (b - v.value) / h_;
    sum += v.weight * (normal_cdf(zb) - normal_cdf(za));
  }
  return sum / weight_;
}

inline double KernelSum::first_moment(double a, double b) const {
  double sum = 0;
  for (const WeightedValue& v : values_) {
    const double za = (a - v.value) / h_;
    const double zb = (b - v.value) / h_;
    const double m0 = normal_cdf(zb) - normal_cdf(za);
    const double m1 = normal_pdf(za) - normal_pdf(zb);
    sum += v.weight * (v.value * m0 + h_ * m1);
  }
  return sum / weight_;
}

inline double KernelSum::second_moment(double a, double b) const {
  double sum = 0;
  for (const WeightedValue& v : values_) {
    const double x = v.value;
    const double za = (a - x) / h_;
    const double zb = (b - x) / h_;
    const double m0 = normal_cdf(zb) - normal_cdf(za);
    const double m1 = normal_pdf(za) - normal_pdf(zb);
    const double m2 = normal_second_moment(zb) - normal_second_moment(za);
    sum += v.weight * (x * x * m0 + 2 * x * h_ * m1 + h_ * h_ * m2);
  }
  return sum / weight_;
}

}  // namespace kde
