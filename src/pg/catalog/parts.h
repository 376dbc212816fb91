// The catalog table kde_aqp.part: of an incremental density those of its parts, each a leaf of the
// table, which a refresh adds up anew in the place of reading the rows again (as the incremental
// statistics of partitioned tables in other systems keep a synopsis of each partition).
//
// Parts lie in nodes of some kPartsPerNode, and the sum of each node is kept too. So where one part
// of n changed a refresh adds up its node's parts and the nodes, 2 sqrt(n) densities in the place
// of n, where nodes have sqrt(n) parts.
//
// Unlogged, as kde_aqp.upkeep: where it is empty (a crash, a restore) a refresh reads every part.
// Rows are written here, below SQL's privileges, under the density's lock.
#pragma once

#include "pg/catalog/counters.h"
#include "pg/proof/proof.h"

extern "C" {
#include "access/htup.h"
#include "storage/lockdefs.h"
#include "utils/relcache.h"
}

namespace kde_pg {

inline constexpr int kPartsPerNode = 32;
// The part that stands for a node.
inline constexpr int64 kWholeNode = 0;

struct KeptPart {
  int32 node = 0;
  int64 part = 0;
  // As it is stored, perhaps elsewhere: to be detoasted where it is wanted. Null: no value.
  struct varlena* density = nullptr;
  Counters counters;        // of a shard alone; unknown: it is read by every refresh
  Proof proof;              // of a leaf, in the place of counters
  HeapTuple row = nullptr;  // null: it is not stored yet
  bool changed = false;     // to be stored: a part that was fitted anew, a node with such or less
};

// All rows of a density, a palloc'ed list of KeptPart*, by node and part.
List* parts_of(int64 density_id);

// Inserts it, or replaces its row. part->row is that of before, or null.
void part_store(int64 density_id, KeptPart* part);

void part_remove(const KeptPart& part);

// Removes all rows of a density.
void parts_remove(int64 density_id);

// Opens the table. Writers keep their lock to the end of the transaction. Error 55000 if it is not
// that of this version.
Relation open_parts(LOCKMODE lock);

}  // namespace kde_pg
