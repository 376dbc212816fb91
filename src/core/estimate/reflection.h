// Mirror images of a sample at both ends of its support, so that no mass is lost beyond them and
// none lies outside: Silverman, Density Estimation (1986), section 2.10.
#pragma once

#include "core/room.h"
#include "core/sampling/compactor.h"

#include <span>
#include <vector>

namespace kde {

// The images of `values` (all within [lower, upper], lower < upper) that lie within `reach` of the
// support: v + k period (k != 0) and 2 lower - v + k period, period = 2 (upper - lower). Ascending,
// without the values themselves. Throws std::bad_alloc.
std::vector<WeightedValue> mirror_images(std::span<const WeightedValue> values, double lower,
                                         double upper, double reach);

}  // namespace kde
