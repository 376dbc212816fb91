// How far a fresh sample of a table is from a stored density.
#pragma once

#include "pg/catalog/catalog.h"

#include "core/kde.h"

extern "C" {
#include "utils/relcache.h"
}

namespace kde_pg {

inline constexpr int64 kDriftSampleRows = 5000;

// Of one column.
struct ColumnDrift {
  kde::Drift drift;
  int64 sample_rows = 0;  // of the fresh sample, without NULLs
};

// Reads a sample of its own, at most so many rows from at most a tenth as many blocks, tests each
// column's distribution, and notes beside the density the greatest distance that is not by
// chance, else the least probable one, and its p-value (Bonferroni's, over the columns), in
// locked->upkeep too. locked: the density, whose key's lock the caller holds; key: the same,
// analysed; relation: locked. out: null, or kde::kMaxColumns elements. Runs as the current user.
// Without a row of the filter's in the blocks read, where those are not all, nothing is tested:
// p = 1. Errors: 55000 if the table has no rows (of the filter's) any more; those of reading.
void measure_drift(LockedDensity* locked, const DensityKey& key, Relation relation,
                   int64 sample_rows, int64 seed, ColumnDrift* out);

}  // namespace kde_pg
