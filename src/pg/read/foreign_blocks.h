// Blocks of a table on another server, read through postgres_fdw: it ships conditions on ctid,
// which are a TID range scan over there (PostgreSQL 14 and up), and says how large the table is
// when ANALYZE asks. Nothing of this extension need be there.
//
//   * The other server is asked by one transaction, whose snapshot is that of its first query.
//   * A table over there that others inherit from is read with them, and so is block 7 of each of
//     them with block 7 of its own: a cluster like any other, as long as the frame has all numbers.
#pragma once

#include "pg/base/pg.h"

extern "C" {
#include "storage/block.h"
#include "utils/relcache.h"
}

namespace kde_pg {

class RowReaders;

// One more than the last block that may have a row; 0 where they cannot be read by block: another
// wrapper than postgres_fdw, what is no table with blocks over there (a view, a partitioned table,
// an empty one), or a current user who is not the owner of `rel`, as whom the wrapper would ask.
// rel: a foreign table; query: what its rows are read by, whose condition ends it or, with
// has_condition false, may begin. Under the active snapshot. Errors: those of the other server.
BlockNumber foreign_blocks(Relation rel, const char* query, bool has_condition);

// The blocks chosen[0 .. count-1] - first, in ascending order, each by a query; begins each of
// them, also those without rows. blocks_before: read of the leaves before.
void read_foreign_blocks(const char* query, bool has_condition, const uint64* chosen, uint64 count,
                         uint64 first, int64 blocks_before, RowReaders* readers);

}  // namespace kde_pg
