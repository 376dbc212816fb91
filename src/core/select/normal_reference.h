// Rules of thumb that are optimal for normal data, beside Silverman's (silverman.h).
#pragma once

#include "core/room.h"
#include "core/select/line_summary.h"

namespace kde {

// h = 1.06 min(sigma, IQR/1.34) n^(-1/5), in units of x, as R's stats::bw.nrd; sigma alone where
// the IQR is 0 (R: 0). Source: D. W. Scott, Multivariate Density Estimation (1992), section 6.2.
double normal_reference_bandwidth(const LineSummary& line);

// h = sigma n^(-1/5), in units of x: Scott's rule in d dimensions, sigma n^(-1/(d + 4)), at d = 1,
// as scipy.stats.gaussian_kde. Source: Scott (1992), eq. (6.42).
double scott_bandwidth(const LineSummary& line);

}  // namespace kde
