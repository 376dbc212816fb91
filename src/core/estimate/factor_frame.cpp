// The steps of factor_frame.h.
//
// A row divided so that its largest element is in [1/2, 1) has a norm of at most sqrt(d) <= 4. By
// Cauchy's inequality |z| >= |u_k| / norm of row k, u = L z, so a difference u_k above 2^64 means
// |z| > 2^62, whatever the other coordinates: so some |z_k| > 2^60.
#include "core/estimate/factor_frame.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace kde {
namespace {

constexpr double kWidestDifference = 0x1p64;
constexpr double kLeastDiagonal = 0x1p-1000;

// (a - b) 2^-exponent, the difference itself overflowing only if the result does.
double scaled_difference(double a, double b, int exponent) {
  const double difference = a - b;
  if (std::isfinite(difference)) return std::ldexp(difference, -exponent);
  return std::ldexp(a / 2 - b / 2, 1 - exponent);
}

Status not_a_factor(int d) {
  return Status::error(Code::invalid_argument,
                       "the factor of the bandwidth must be %d by %d, finite and lower triangular "
                       "with a positive diagonal",
                       d, d);
}

}  // namespace

Status FactorFrame::make(std::span<const double> factor, int d) {
  if (d < 1 || d > kMaxDimensions) {
    return Status::error(Code::invalid_argument, "there must be 1 to %d dimensions",
                         kMaxDimensions);
  }
  const auto size = static_cast<std::size_t>(d);
  if (factor.size() != size * size) return not_a_factor(d);
  d_ = d;
  volume_ = std::pow(2 * std::numbers::pi, 0.5 * d);
  volume_exponent_ = 0;
  for (std::size_t k = 0; k < size; ++k) {
    const auto row = factor.subspan(k * size, size);
    double largest = 0;
    for (std::size_t j = 0; j < size; ++j) {
      if (!std::isfinite(row[j]) || (j > k && row[j] != 0)) return not_a_factor(d);
      largest = std::max(largest, std::fabs(row[j]));
    }
    std::frexp(largest, &exponent_[k]);
    for (std::size_t j = 0; j < size; ++j) l_[k * size + j] = std::ldexp(row[j], -exponent_[k]);
    if (!(l_[k * size + k] >= kLeastDiagonal)) return not_a_factor(d);
    int exponent = 0;
    volume_ *= std::frexp(row[k], &exponent);
    volume_exponent_ += exponent;
  }
  return Status::success();
}

bool FactorFrame::whiten(const double* x, const double* from, double most, double* z) const {
  const auto size = static_cast<std::size_t>(d_);
  for (std::size_t k = 0; k < size; ++k) {
    double u = scaled_difference(x[k], from[k], exponent_[k]);
    if (!(std::fabs(u) <= kWidestDifference)) return false;
    for (std::size_t j = 0; j < k; ++j) u -= l_[k * size + j] * z[j];
    z[k] = u / l_[k * size + k];
    if (!(std::fabs(z[k]) <= most)) return false;
  }
  return true;
}

double FactorFrame::density(double sum, double n) const {
  return std::ldexp(sum / (n * volume_), -volume_exponent_);
}

}  // namespace kde
