// What is kept beside a density, so that an answer by it is as of now although rows came: of
// stretches of its leaves' blocks (fit/stretch_fit.h) densities of their own, which are taken out
// where a block of theirs changed. Those blocks, and what came behind them, are then read
// (plain_sql/rest.h).
//
// A column of kde_aqp.fitted: a head, the stretches in the order of their leaves and blocks, each
// with the place of its density, and these, each with its blocks' hashes behind it. It is neither
// compressed nor aligned, so that one of them is fetched without the others.
#pragma once

#include "pg/catalog/catalog_entry.h"

#include "core/kde.h"

namespace kde_pg {

struct KeptStretch {
  Oid leaf;
  BlockNumber first, end;
  struct varlena* density;  // null: there is no value in it
  uint64 seed;              // the same of all
  const uint64* hash;       // of each block (read/block_hash.h), by that seed
  bool is_old;              // of a leaf that rows seldom come to; not stored
};

// Of a list of KeptStretch*, in that order, palloc'ed; null: there are none, or they take more than a
// value may.
bytea* stretches_to_bytes(List* stretches);

// Those of a density, whose bytes are fetched where they are wanted, in the current memory context.
class StretchReader {
 public:
  struct Entry;

  // stored: of the catalog's row, perhaps elsewhere; null: none.
  explicit StretchReader(struct varlena* stored);

  int size() const { return size_; }
  Stretch stretch(int i) const;
  // Null: there is no value in it. Error XX001 for bytes that are none.
  struct varlena* density(int i) const;
  // Those of its blocks, palloc'ed, and their seed.
  uint64 seed() const { return seed_; }
  const uint64* hash(int i) const;

 private:
  struct varlena* stored_;
  const Entry* entry_ = nullptr;
  uint64 seed_ = 0;
  int size_ = 0;
};

// Calls visit(stretches) with those of the density's row as the snapshot sees it; not where there are
// none.
void read_stretches(const RowVersion& version, int64 id, Snapshot snapshot,
                    kde::FunctionRef<void(const StretchReader&)> visit);

}  // namespace kde_pg
