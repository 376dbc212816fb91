// Ranges of blocks of a table, read by TID range scans, the one interface of table access methods
// (15 to 18) that names blocks; and where the rows of a heap table end.
//
// From PostgreSQL 16 on, COPY and CREATE TABLE AS extend a file by up to 64 blocks at a time, and
// VACUUM leaves the empty blocks at its end where it may not cut them off. They hold no row, so a
// choice of blocks should not count them: a sample that has one of them by chance lacks the rows of
// another block.
#pragma once

#include "pg/base/pg.h"

extern "C" {
#include "access/tableam.h"
#include "storage/block.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"
}

namespace kde_pg {

// A scan of ranges of `rel`, to be ended by table_endscan(); its access method knows TID ranges.
// Takes the predicate lock on the relation that a scan by ranges does not take by itself.
TableScanDesc begin_block_scan(Relation rel, Snapshot snapshot);

// Goes on with the blocks begin .. end - 1, begin < end.
void set_block_range(TableScanDesc scan, BlockNumber begin, BlockNumber end);

// One more than the last block with a row that the snapshot sees; but at most kMostEmptyBlocks are
// looked at from the end, and if they hold none, it is the first of them. rel: a heap table, locked
// by the caller. Rows that the snapshot sees are in the file by then, so that none is missed.
inline constexpr BlockNumber kMostEmptyBlocks = 8192;
BlockNumber end_of_rows(Relation rel, Snapshot snapshot);

}  // namespace kde_pg
