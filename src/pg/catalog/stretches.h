// What is kept beside a density, so that an answer by it is as of now although rows came: of
// stretches of its leaves' blocks (fit/stretch_fit.h) densities of their own, which are taken out
// where a block of theirs changed. Those blocks, and what came behind them, are then read
// (plain_sql/rest.h).
//
// Each is a row of kde_aqp.fitted_stretches, so that a refresh writes those that changed alone. A
// density's own row says that there are some, by the seed of their hashes. Both are written in one
// transaction, so that a snapshot that sees a version of that row sees the stretches of the version;
// settings and proofs that give it a newer version leave them as they are. Like kde_aqp.fitted it is a
// materialized view that is written here alone (catalog.h).
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
  int number =
      -1;  // of StretchReader; < 0: it is to be stored. Else what it holds may not be fetched.
};

// Those of a density as a snapshot sees them, in the order of their leaves and blocks. What they hold
// is fetched where it is wanted, into the current memory context.
class StretchReader {
 public:
  StretchReader(Relation table, int64 id, uint64 seed, Snapshot snapshot);

  int size() const { return size_; }
  Stretch stretch(int i) const { return {entry_[i].leaf, entry_[i].first, entry_[i].end}; }
  uint64 seed() const { return seed_; }
  // Null: there is no value in it. Error XX001 for bytes that are none.
  struct varlena* density(int i) const;
  // Those of its blocks.
  const uint64* hash(int i) const;
  // Both.
  void fetch(KeptStretch* stretch) const;

 private:
  struct Entry {
    Oid leaf;
    BlockNumber first, end;
    ItemPointerData tid;
  };
  HeapTuple row(int i) const;
  void add(HeapTuple row, int* room);

  Relation table_;
  int64 id_;
  uint64 seed_;
  Snapshot snapshot_;
  Entry* entry_ = nullptr;
  int size_ = 0;
};

// Calls visit(stretches) with those of the density's row as the snapshot sees it; not where there are
// none.
void read_stretches(const RowVersion& version, int64 id, Snapshot snapshot,
                    kde::FunctionRef<void(const StretchReader&)> visit);

// No fit keeps more.
inline constexpr int kMostStretches = 4096;

// Makes those of a density, whose key is locked, what they are in a list of KeptStretch*, in their order:
// rows of others go, those without a number come. Error 40001 where one with a number is not there.
void stretches_store(int64 id, List* stretches);

// Opens the table. Error 55000 if it is not that of this version.
Relation open_stretches(LOCKMODE lock);

}  // namespace kde_pg
