// The densities of a table's last blocks, kept beside that of all its rows (catalog/stretches.h):
// where rows come and change, in tables that grow, is at their ends. Of each leaf the last block, and
// before it stretches that end where the table was a quarter as long from its end: so of a change at
// distance d from the end some 3 d blocks are read in its place.
#pragma once

#include "pg/fit/estimate.h"

namespace kde_pg {

// Whether a request's density, if it is of every row, can have rows taken out: it counts them.
bool may_have_stretches(const DensityRequest& request);

// By the snapshot that a scan of every row kept; null: there are none.
// of_column: for the column's own density, beside one with groups; null: not wanted.
bytea* fit_stretches(const DensityRequest& request, const ScanResult& scan, bytea** of_column);

}  // namespace kde_pg
