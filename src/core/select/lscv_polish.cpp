// The last digits of LSCV_h: sums in single precision find the minimum and its neighbourhood, sums
// in double where the slope changes sign there.
#include <cmath>

#include "core/select/lscv.h"
#include "core/select/root.h"

namespace kde {

Status polish_lscv_h(GaussianPairSums& sums, const LscvSample& sample, LscvDivisor divisor,
                     LscvScalar* found) {
  if (found->end != LscvEnd::converged && found->end != LscvEnd::tied_values)
    return Status::success();
  LscvSample unscaled = sample;  // the determinant may be beyond double; it moves no minimum
  unscaled.log_det = 0;
  const Evaluated slope = [&](double log_h, double* value) {
    double g = 0;
    return lscv_h_objective(sums, unscaled, divisor, std::exp(log_h), &g, value);
  };
  const double centre = std::log(found->h);
  for (const double reach : {1e-5, 1e-4, 1e-3}) {
    double below = 0;
    double above = 0;
    if (Status s = slope(centre - reach, &below); !s.ok()) return s;
    if (Status s = slope(centre + reach, &above); !s.ok()) return s;
    if (!(below <= 0 && above >= 0)) continue;
    double log_h = 0;
    if (Status s =
            bracketed_root(slope, centre - reach, below, centre + reach, above, 1e-10, &log_h);
        !s.ok())
      return s;
    found->h = std::exp(log_h);
    double ignored = 0;
    return lscv_h_objective(sums, sample, divisor, found->h, &found->objective, &ignored);
  }
  return Status::success();
}

}  // namespace kde
