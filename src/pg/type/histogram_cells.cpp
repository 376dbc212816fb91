// Unpacks all cells of an aggregated density.
#include "pg/type/histogram_cells.h"

#include "pg/base/owned.h"

#include "core/kde.h"

namespace kde_pg {

namespace {

using Cells = std::vector<kde::HistogramCell>;

// The core's decoder lets bad_alloc pass.
bool decode(const kde::Header* histogram, Cells* cells) {
  try {
    kde::decode_histogram(kde::DensityView(histogram), cells);
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

const std::vector<kde::HistogramCell>& decode_cells(const kde::Header* histogram,
                                                    MemoryContext context) {
  Cells* cells = Owned<Cells>::create(context);
  if (!decode(histogram, cells))
    ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
  return *cells;
}

}  // namespace kde_pg
