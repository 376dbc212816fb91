// Sorting that can be cancelled.
#pragma once

#include <vector>

#include "core/control.h"

namespace kde {

// Ascending; values are no NaN. False if control asked to stop, then the order is unspecified. On
// the calling thread; needs as much memory again while it runs. Throws std::bad_alloc.
bool sort_values(std::vector<double>* values, const Control& control);

}  // namespace kde
