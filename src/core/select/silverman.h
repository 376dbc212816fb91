// Silverman's rule of thumb, h = 0.9 min(sigma, IQR/1.34) n^(-1/5).
// Source: B. W. Silverman, Density Estimation (1986), eq. (3.31), as R's stats::bw.nrd0; where the
// IQR is 0, sigma alone.
#pragma once

#include "core/room.h"
#include "core/select/line_summary.h"

namespace kde {

// In units of x.
double silverman_bandwidth(const LineSummary& line);

}  // namespace kde
