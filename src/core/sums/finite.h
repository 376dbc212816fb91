// Whether all of many numbers are finite.
#pragma once

#include <cstddef>
#include <span>

#include "core/room.h"

namespace kde {

// v 0 is 0 for a finite v and NaN for any other; so summed, in an order that a processor's vectors
// suit, it takes a fraction of what asking each would.
inline bool all_finite(std::span<const double> values) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < values.size(); ++i) sum += values[i] * 0;
  return sum == 0;
}

}  // namespace kde
