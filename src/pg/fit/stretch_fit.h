// Of which stretches of a table's blocks densities are kept beside that of all its rows
// (catalog/stretches.h). Where rows come and change, in tables that grow, is at their ends: of each
// leaf the last block, and before it stretches whose beginning is four times as far from the end as
// that of the next, so that of a change d blocks from the end at most 4 d are read in its place. Of
// a table that is not large all other blocks, too, in stretches of the same length.
#pragma once

#include "pg/fit/estimate.h"

namespace kde_pg {

// Stretches of more blocks have few cells that are finer than those that end where people ask.
inline constexpr BlockNumber kFinestStretch = 64;
// Their bytes beyond which there are none.
inline constexpr Size kFinerBytes = Size{128} << 10, kLeastFinerBytes = Size{4} << 10;

// Whether a request's density, if it is of every row, can have rows taken out: it counts them.
bool may_have_stretches(const DensityRequest& request);

// Of the leaves that a scan read, KeptStretch* without densities.
List* stretches_of(const Proof& proof);

}  // namespace kde_pg
