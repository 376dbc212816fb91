// The line that the server's log keeps of a fit that took long (kde_aqp.log_min_duration).
#pragma once

#include "pg/catalog/catalog.h"

extern "C" {
#include "portability/instr_time.h"
}

namespace kde_pg {

// begun: when the fit asked for its lock. Nothing below the option's milliseconds.
void log_long_fit(const DensityKey& key, const FitRecord& record, int64 sample_rows,
                  instr_time begun);

}  // namespace kde_pg
