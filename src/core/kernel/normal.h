// The standard normal density, distribution function and quantiles.
#pragma once

#include "core/room.h"

#include <cmath>
#include <numbers>

namespace kde {

inline double normal_pdf(double z) {
  return std::exp(-0.5 * z * z) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
}

// Full relative accuracy in the lower tail, absolute in the upper one.
inline double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

// Phi^-1(p); -+infinity at 0 and 1.
double normal_quantile(double p);
// The z with P(|Z| <= z) = confidence.
double normal_central_quantile(double confidence);

}  // namespace kde
