// Internal: what confidence intervals of all kinds of densities have in common.
#pragma once

#include "core/density/format.h"
#include "core/room.h"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <numbers>

namespace kde {

// The z with P(|Z| <= z) = confidence for a standard normal Z.
inline double normal_quantile(double confidence) {
  using namespace boost::math::policies;
  using Quiet =
      policy<domain_error<ignore_error>, pole_error<ignore_error>, overflow_error<ignore_error>,
             evaluation_error<ignore_error>, promote_double<false>>;
  return std::numbers::sqrt2 * boost::math::erf_inv(confidence, Quiet());
}

// The ratio measured for ranges that hold the fraction p: between its scales linear in log p.
inline double error_ratio(const float (&ratios)[kErrorScales], double p) {
  const double scale = -std::log2(std::min(p, 1 - p)) / 2 - 1;  // 4^-(scale + 1)
  if (!(scale > 0)) return ratios[0];
  if (scale >= kErrorScales - 1) return ratios[kErrorScales - 1];
  const int i = static_cast<int>(scale);
  const double t = scale - i;
  return (1 - t) * ratios[i] + t * ratios[i + 1];
}

// By how much Student's quantile exceeds the normal's z with that many degrees of freedom, to first
// order: (z^3 + z)/(4 rows) (Abramowitz & Stegun 26.7.5).
inline double student_excess(double z, double rows) { return (z * z * z + z) / (4 * rows); }

// Wilson's interval for the fraction p known with the variance p (1 - p) unit_variance,
//   (m p + z^2/2 -+ z sqrt(m p (1 - p) + z^2/4)) / (m + z^2),   m = 1 / unit_variance.
inline void wilson_interval(double p, double unit_variance, double z, double* low, double* high) {
  const double m = 1 / unit_variance;
  // No sample at all; or nothing uncertain.
  if (m == 0 || std::isinf(m)) {
    *low = m == 0 ? 0 : p;
    *high = m == 0 ? 1 : p;
    return;
  }
  const double centre = m * p + z * z / 2;
  const double half = z * std::sqrt(m * p * (1 - p) + z * z / 4);
  *low = std::clamp((centre - half) / (m + z * z), 0.0, p);
  *high = std::clamp((centre + half) / (m + z * z), p, 1.0);
}

}  // namespace kde
