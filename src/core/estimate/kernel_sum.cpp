// The closed forms of kernel_sum.h, point by point.
#include "core/estimate/kernel_sum.h"

#include "core/estimate/normal.h"

#include <cmath>

namespace kde {

KernelSum::KernelSum(std::span<const WeightedValue> values, double h) : values_(values), h_(h) {
  for (const WeightedValue& v : values_) weight_ += v.weight;
}

double KernelSum::density(double t) const {
  double sum = 0;
  for (const WeightedValue& v : values_) sum += v.weight * normal_pdf((t - v.value) / h_);
  return sum / (weight_ * h_);
}

double KernelSum::mass(double a, double b) const {
  double sum = 0;
  for (const WeightedValue& v : values_) {
    sum += v.weight * (normal_cdf((b - v.value) / h_) - normal_cdf((a - v.value) / h_));
  }
  return sum / weight_;
}

double KernelSum::first_moment(double a, double b) const {
  double sum = 0;
  for (const WeightedValue& v : values_) {
    const double za = (a - v.value) / h_;
    const double zb = (b - v.value) / h_;
    sum += v.weight *
           (v.value * (normal_cdf(zb) - normal_cdf(za)) - h_ * (normal_pdf(zb) - normal_pdf(za)));
  }
  return sum / weight_;
}

double KernelSum::second_moment(double a, double b) const {
  // (t + x) phi(z) tends to 0 at infinity.
  const auto edge = [](double t, double x, double z) {
    return std::isinf(t) ? 0.0 : (t + x) * normal_pdf(z);
  };
  double sum = 0;
  for (const WeightedValue& v : values_) {
    const double za = (a - v.value) / h_;
    const double zb = (b - v.value) / h_;
    sum += v.weight * ((v.value * v.value + h_ * h_) * (normal_cdf(zb) - normal_cdf(za)) -
                       h_ * (edge(b, v.value, zb) - edge(a, v.value, za)));
  }
  return sum / weight_;
}

}  // namespace kde
