// The local minima of a cross-validation criterion in the bandwidth: a log grid brackets them by
// the sign of the derivative, each is then refined. A criterion may have several, and a descent
// from one starting point finds the wrong one: J. S. Marron, Partitioned cross-validation,
// Econometric Reviews 6 (1987); P. Hall & J. S. Marron, Local minima in cross-validation functions,
// JRSS B 53 (1991).
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/status.h"

namespace kde {

// A criterion at one bandwidth, and its derivative with respect to log h (same units).
struct Criterion {
  double h = 0, value = 0, slope = 0;
};
using CriterionAt = std::function<Status(double h, Criterion* at)>;

// A criterion at several bandwidths at once: fills value and slope of at[k] for h[k].
using CriterionSweep = std::function<Status(std::span<const double> h, std::span<Criterion> at)>;

struct LocalMinima {
  std::vector<Criterion> interior;  // ascending in h; refined to 1e-10 relative, slope near 0
  Criterion lowest, highest;        // at the two ends of the search
};

// Searches [low, high], 0 < low < high, at steps of at most a factor 2^(1/4): of two minima and a
// maximum within one step, one minimum is missed. Where the criterion reports too_large the search
// ends, and `lowest` is the last bandwidth before. Errors: invalid_argument, out_of_memory; what
// `criterion` reports; degenerate (a value or slope that is not finite).
Status find_local_minima(const CriterionAt& criterion, double low, double high, LocalMinima* out);

// Searches with the whole grid in one call of `sweep`; only where that is too_large one after the
// other.
Status find_local_minima(const CriterionSweep& sweep, double low, double high, LocalMinima* out);

}  // namespace kde
