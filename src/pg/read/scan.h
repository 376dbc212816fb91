// Reading columns and expressions for a fit: every row, or blocks chosen by a seed, of one
// relation, a partition or inheritance tree, a materialized view or a foreign table, under one
// snapshot: the newest, taken when all is locked; in REPEATABLE READ and up the transaction's.
//
//   * Blocks are drawn without replacement over all leaves laid end to end (block_choice.h of the
//     core), at most `sample_blocks` of them, so a leaf counts by its size; every row of a chosen
//     block is read, and the sink thins them. Empty blocks at the end of a heap table are none of
//     them.
//   * Where a query sees other rows than those of the tables (planned_rows.h), the whole tree is
//     read by one query, every row of it.
//   * Blocks of foreign tables are among them where the wrapper can read one alone
//     (foreign_blocks.h). As they travel, a tenth as many are then drawn, of the whole tree.
//   * A leaf that cannot be read by block (other foreign tables; table access methods without TID
//     ranges) is read whole and thinned to the others' sampling fraction.
//   * The sink is told where a block begins; rows thinned one by one are a block each.
//   * Sinks that take cells get those of every row by the aggregate kde_aqp.cells, so that the
//     server uses parallel workers where its planner would.
//   * A sink that takes values, and is alone, gets each once, from GROUP BY.
//   * A scan serves several sinks, of which each gets what a scan for it alone would hand it.
//   * Rows that the filter does not accept are read, but not handed on.
//   * Synchronized scans are off (TID range scans never join one): the same seed on the same
//     table reads the same rows in the same order.
#pragma once

#include "pg/read/reading.h"

extern "C" {
#include "utils/relcache.h"
}

namespace kde_pg {

// Hands every row read to the sinks of some of the readings that are not done, which are then: one
// of them at least, and all that read the same rows as it. Sinks' columns are their keys' with their
// measures and what groups are by. relation: the keys', locked by the caller with at least
// AccessShareLock; children are locked here, until the transaction ends, and columns matched by
// name. Calls CHECK_FOR_INTERRUPTS at least per block.
//   * Every row is read for all alike. A sample of blocks is the same where the seed is and as many
//     are asked for; rows by a query, where the filter is; expressions, where the settings are.
//   * Rows come by cells where all of them take those.
// Errors: those of the table access and of the expressions; out_of_memory (53200) of a sink alone.
void scan_rows(Relation relation, Reading* const* readings, int n);
// The same for one.
void scan_rows(Relation relation, const DensityKey& key, const kde::ValueType* value_types,
               const ScanOptions& options, RowSink* sink, ScanResult* result);

}  // namespace kde_pg
