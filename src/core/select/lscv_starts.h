// Internal to src/core/select, for LSCV_H: where its searches begin, the minima of g along
// multiples of Sigma. A coarse sweep is enough, in one pass over the pairs: h0 times 2, 1, 1/2, ...
// down to the least h searched. Where the derivative changes its sign between two of them, the
// minimum of the cubic through values and derivatives in log h is taken: Nocedal & Wright,
// Numerical Optimization (2006), eq. (3.59). Where g is lowest at the least h, and falls on from
// there, that is a start too.
#pragma once

#include <cmath>
#include <vector>

#include "core/room.h"
#include "core/select/lscv_factors.h"

namespace kde {

struct LscvStarts {
  std::vector<double> h;          // descending
  Criterion lowest{0, HUGE_VAL};  // the lowest g swept, without det(Sigma)^(-1/2)
  bool falls_on = false;          // it is that of the least h, the last in h
};

// sums: over whitened points. 0 < least <= h0. Errors: what the sums report. May throw
// std::bad_alloc.
Status lscv_starts(GaussianPairSums& sums, const LscvFactors& factors, int d, double h0,
                   double least, LscvStarts* out);

}  // namespace kde
