// Silverman's rule of thumb, h = 0.9 min(sigma, IQR/1.34) n^(-1/5).
// Source: B. W. Silverman, Density Estimation (1986), eq. (3.31), as R's stats::bw.nrd0:
// IQR by linear interpolation between order statistics (R's type 7); where the IQR is 0, sigma
// alone.
#pragma once

#include "core/status.h"

#include <cstdint>
#include <span>

namespace kde {

// sorted: m >= 2 finite values in ascending order, not all equal; n >= m as in select_plugin.
// *h in units of x. Errors: invalid_argument, degenerate (all values equal).
Status select_silverman(std::span<const double> sorted, std::int64_t n, double* h);

}  // namespace kde
