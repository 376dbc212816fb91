// The cells of an aggregated density, for what goes through all of them.
#pragma once

#include "pg/base/pg.h"

#include "core/kde.h"

#include <vector>

namespace kde_pg {

// As decode_histogram() gives them; owned by `context`. histogram: fit for kde::DensityView.
// Error 53200: out of memory.
const std::vector<kde::HistogramCell>& decode_cells(const kde::Header* histogram,
                                                    MemoryContext context);

}  // namespace kde_pg
