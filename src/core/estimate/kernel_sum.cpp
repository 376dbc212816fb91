// The closed forms of kernel_sum.h, point by point.
#include "core/estimate/kernel_sum.h"

#include "core/estimate/kernel.h"

namespace kde {

KernelSum::KernelSum(std::span<const WeightedValue> values, double h, Kernel kernel)
    : values_(values), h_(h), kernel_(kernel) {
  for (const WeightedValue& v : values_) weight_ += v.weight;
}

double KernelSum::density(double t) const {
  double sum = 0;
  for (const WeightedValue& v : values_) sum += v.weight * kernel_pdf(kernel_, (t - v.value) / h_);
  return sum / (weight_ * h_);
}

double KernelSum::mass(double a, double b) const {
  double sum = 0;
  for (const WeightedValue& v : values_) {
    const double za = (a - v.value) / h_;
    const double zb = (b - v.value) / h_;
    sum += v.weight * (kernel_cdf(kernel_, zb) - kernel_cdf(kernel_, za));
  }
  return sum / weight_;
}

double KernelSum::first_moment(double a, double b) const {
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

double KernelSum::second_moment(double a, double b) const {
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
