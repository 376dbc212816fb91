// The kernel sum over a sample and its integrals in closed form: the slow, obviously right version
// that the stored density is tested against.
//
//   f(t) = 1/(W h) sum w_i K(z_i),  z_i = (t - x_i)/h,  W = sum w_i
//   integral_a^b     f   = 1/W sum w_i [M0(z)]_a^b
//   integral_a^b t   f   = 1/W sum w_i { x_i [M0(z)]_a^b + h [M1(z)]_a^b }
//   integral_a^b t^2 f   = 1/W sum w_i { x_i^2 [M0(z)]_a^b + 2 x_i h [M1(z)]_a^b + h^2 [M2(z)]_a^b
//   }
//
// with Mk(z) the integral of u^k K(u) up to z (for the Gaussian Phi, -phi and Phi - z
// phi). Source: t = x_i + h u under the integral; for the Gaussian Andrzejewski et al.,
// arXiv:1505.01998, section 2.
#pragma once

#include "core/density/format.h"
#include "core/kernel/kernel.h"
#include "core/kernel/kernel_forms.h"
#include "core/kernel/normal.h"
#include "core/summary/totals.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

namespace kde {

// The integrals of K, u K and u^2 K up to u.
inline double kernel_cdf(Kernel kernel, double u) {
  if (!is_compact(kernel)) return normal_cdf(u);
  return kernel_forms::with_compact(kernel,
                                    [u](auto form) { return form.cdf(std::clamp(u, -1.0, 1.0)); });
}

inline double kernel_first_moment(Kernel kernel, double u) {
  if (!is_compact(kernel)) return -normal_pdf(u);
  return kernel_forms::with_compact(
      kernel, [u](auto form) { return form.first(std::clamp(u, -1.0, 1.0)); });
}

inline double kernel_second_moment(Kernel kernel, double u) {
  // u phi(u) tends to 0 at infinity.
  if (!is_compact(kernel)) return normal_cdf(u) - (std::isinf(u) ? 0.0 : u * normal_pdf(u));
  return kernel_forms::with_compact(
      kernel, [u](auto form) { return form.second(std::clamp(u, -1.0, 1.0)); });
}

// The convolution of K with itself at t, with a = |t| <= 2:
//
//   Epanechnikov  3/160 (2 - a)^3 (a^2 + 6a + 4)
//   biweight      5/3584 (2 - a)^5 (a^4 + 10a^3 + 36a^2 + 40a + 16)
//   triangular    the cubic B-spline: (2 - a)^3/6, less 2/3 (1 - a)^3 where a < 1
//   uniform       (2 - a)/4
//   cosine        pi^2/32 [(2 - a) cos(pi a/2) + (2/pi) sin(pi a/2)]
//   Gaussian      (4 pi)^(-1/2) exp(-t^2/4)
inline double kernel_convolution(Kernel kernel, double t) {
  using std::numbers::pi;
  const double a = std::fabs(t);
  if (!is_compact(kernel)) return std::exp(-0.25 * t * t) / std::sqrt(4 * pi);
  if (!(a < 2)) return 0;
  const double e = 2 - a;
  switch (kernel) {
    case Kernel::biweight:
      return 5.0 / 3584 * e * e * e * e * e * ((((a + 10) * a + 36) * a + 40) * a + 16);
    case Kernel::triangular: {
      const double inner = std::max(1 - a, 0.0);
      return e * e * e / 6 - 2.0 / 3 * inner * inner * inner;
    }
    case Kernel::uniform:
      return e / 4;
    case Kernel::cosine:
      return pi * pi / 32 * (e * std::cos(pi / 2 * a) + 2 / pi * std::sin(pi / 2 * a));
    default:
      return 3.0 / 160 * e * e * e * ((a + 6) * a + 4);
  }
}

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

inline KernelSum::KernelSum(std::span<const WeightedValue> values, double h, Kernel kernel)
    : values_(values), h_(h), kernel_(kernel) {
  for (const WeightedValue& v : values_) weight_ += v.weight;
}

inline double KernelSum::density(double t) const {
  double sum = 0;
  for (const WeightedValue& v : values_) sum += v.weight * kernel_pdf(kernel_, (t - v.value) / h_);
  return sum / (weight_ * h_);
}

inline double KernelSum::mass(double a, double b) const {
  double sum = 0;
  for (const WeightedValue& v : values_) {
    const double za = (a - v.value) / h_;
    const double zb = (b - v.value) / h_;
    sum += v.weight * (kernel_cdf(kernel_, zb) - kernel_cdf(kernel_, za));
  }
  return sum / weight_;
}

inline double KernelSum::first_moment(double a, double b) const {
  double sum = 0;
  for (const WeightedValue& v : values_) {
    const double za = (a - v.value) / h_;
    const double zb = (b - v.value) / h_;
    const double m0 = kernel_cdf(kernel_, zb) - kernel_cdf(kernel_, za);
    const double m1 = kernel_first_moment(kernel_, zb) - kernel_first_moment(kernel_, za);
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
    const double m0 = kernel_cdf(kernel_, zb) - kernel_cdf(kernel_, za);
    const double m1 = kernel_first_moment(kernel_, zb) - kernel_first_moment(kernel_, za);
    const double m2 = kernel_second_moment(kernel_, zb) - kernel_second_moment(kernel_, za);
    sum += v.weight * (x * x * m0 + 2 * x * h_ * m1 + h_ * h_ * m2);
  }
  return sum / weight_;
}

}  // namespace kde
