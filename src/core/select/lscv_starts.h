// Internal to LSCV_H: where its searches begin, the minima of g along multiples of Sigma. A coarse
// sweep is enough, in one pass over the pairs: h0 times 2, 1, ..., 1/64. Where the derivative
// changes its sign between two of them, the minimum of the cubic through values and derivatives in
// log h is taken: Nocedal & Wright, Numerical Optimization (2006), eq. (3.59).
#pragma once

#include <vector>

#include "core/room.h"
#include "core/select/lscv_factors.h"

namespace kde {

// Appends to *starts, descending. sums: over whitened points. Errors: what the sums report. May
// throw std::bad_alloc.
Status lscv_starts(GaussianPairSums& sums, const LscvFactors& factors, int d, double h0,
                   std::vector<double>* starts);

}  // namespace kde
