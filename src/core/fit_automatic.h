// What `auto` stores of a column: its lattice, its atoms, its support, and the estimate that
// predicts unseen rows best (estimate/adaptive.h).
#pragma once

#include "core/density/format.h"
#include "core/fit.h"
#include "core/room.h"
#include "core/status.h"

namespace kde {

// parts->header has the totals and the sampling variance, min < max; the rest of parts is written
// here, and of report what a choice and an estimate leave. The kernel is the Gaussian.
// Errors: cancelled, degenerate, what the bandwidth's sums report. Throws std::bad_alloc.
Status fit_automatically(const Sample& sample, const FitOptions& options, const Control& control,
                         DensityParts* parts, FitReport* report);

}  // namespace kde
