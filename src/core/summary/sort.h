// Sorting that can be cancelled.
#pragma once

#include <span>
#include <vector>

#include "core/control.h"

namespace kde {

// Ascending; values are no NaN. False if control asked to stop, then the order is unspecified. On
// the calling thread; needs as much memory again while it runs. Throws std::bad_alloc.
bool sort_values(std::vector<double>* values, const Control& control);

// Sorts a few thousand values, not to be cancelled, without allocating: `scratch` has room
// for as many.
void sort_batch(std::span<double> values, std::span<double> scratch) noexcept;

}  // namespace kde
