// The standard normal density and distribution function.
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

}  // namespace kde
