// Of which stretches of a table's blocks densities are kept beside that of all its rows
// (catalog/stretches.h). Where rows come and change, in tables that grow, is at their ends: there the
// last block, and before it stretches whose beginning is four times as far from the end as that of
// the next, so that of a change d blocks from the end at most 4 d are read in its place. Of a table
// that is not large all other blocks, too, in stretches of the same length.
#pragma once

#include "pg/catalog/stretches.h"
#include "pg/fit/estimate.h"

namespace kde_pg {

// The newest rows are asked about by the minute; of others nothing finer is known of the whole than
// cells that end where people ask.
inline bool is_coarse(const KeptStretch& stretch) {
  return stretch.is_old || stretch.end - stretch.first > 64;
}
// Bytes beyond which there are no finer ones.
inline Size finer_bytes_of(const KeptStretch& stretch) {
  return is_coarse(stretch) ? Size{4} << 10 : Size{128} << 10;
}

// Whether a request's density, if it is of every row, can have rows taken out: it counts them.
bool may_have_stretches(const DensityRequest& request);

// Of the leaves that a scan read, none longer than that, KeptStretch* without densities.
List* stretches_of(const Proof& proof, BlockNumber longest);

// Blocks of all leaves, and of the largest; and of one stretch, at most.
double blocks_of(const Proof& proof);
BlockNumber largest_leaf(const Proof& proof);
BlockNumber longest_stretch(double blocks);
// Whether a stretch's density takes more than an eighth of what its blocks do: then longer ones take less
// in sum, where they have the same groups and cells.
bool is_large(const KeptStretch& stretch);
// Adds those of blocks [first, end) of a leaf, which it ends with.
void add_stretches(List** out, Oid leaf, BlockNumber first, BlockNumber end, BlockNumber longest);
// Whether two that follow each other are better one, in a leaf that ends there.
bool are_better_one(const KeptStretch& a, const KeptStretch& b, BlockNumber end,
                    BlockNumber longest);

}  // namespace kde_pg
