// What the rows of a block are, as a number: the sum of a hash of each row's values in some columns,
// modulo 2^64. A block whose number is the same holds the rows that it held, but for a chance of
// 2^-64, as the hash has a seed that nobody knows who writes rows (a multiset hash: D. Clarke et
// al., ASIACRYPT 2003, in its additive form); and so do several whose numbers have one sum. So an
// update of other columns changes nothing, wherever it put its rows.
#pragma once

#include "pg/base/pg.h"

extern "C" {
#include "access/attnum.h"
#include "executor/tuptable.h"
#include "nodes/bitmapset.h"
#include "storage/block.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"
}

namespace kde_pg {

// Trivially destructible; what it allocates is in the current memory context.
class RowHasher {
 public:
  // column: attribute numbers of `relation`, ascending, which are matched to the leaf's by name.
  void begin(Relation relation, Relation leaf, const AttrNumber* column, int n, uint64 seed);
  uint64 hash_of(TupleTableSlot* slot) const;

 private:
  int n_;
  AttrNumber* attnum_;
  AttrNumber last_;
  uint64 seed_;
};

// A set of attribute numbers as an array, palloc'ed.
const AttrNumber* columns_of(const Bitmapset* set, int* n);

// A seed for those of a fit.
uint64 new_hash_seed();

// The sum of the rows in blocks [first, end) that the snapshot sees. rel: the hasher's leaf. Calls
// CHECK_FOR_INTERRUPTS.
uint64 hash_blocks(const RowHasher& hasher, Relation rel, Snapshot snapshot, BlockNumber first,
                   BlockNumber end);

}  // namespace kde_pg
