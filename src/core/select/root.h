// A root between two points where a function has different signs.
#pragma once

#include <functional>

#include "core/status.h"

namespace kde {

// A function that may fail: stores its value at x, or returns why it has none.
using Evaluated = std::function<Status(double x, double* value)>;

// *root: where f changes sign, to within `tolerance` (> 0) or double's precision. f_low = f(low)
// and f_high = f(high) are finite and of different signs, or one is 0. At most 200 evaluations;
// every three of them at least halve the interval in practice. Errors: invalid_argument (no change
// of sign); what f reports.
Status bracketed_root(const Evaluated& f, double low, double f_low, double high, double f_high,
                      double tolerance, double* root);

}  // namespace kde
