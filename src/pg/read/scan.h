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
//   * A scan serves several sinks, of which each gets what a scan for it alone would hand it.
//   * Rows that the filter does not accept are read, but not handed on.
//   * Synchronized scans are off (TID range scans never join one): the same seed on the same
//     table reads the same rows in the same order.
#pragma once

#include "pg/base/pg.h"
#include "pg/catalog/density_key.h"
#include "pg/proof/proof.h"
#include "pg/read/row_sink.h"

#include "core/kde.h"

extern "C" {
#include "nodes/pg_list.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"
}

namespace kde_pg {

struct ScanOptions {
  bool every_row = false;   // sample_rows => -1
  int64 sample_blocks = 0;  // >= 1; ignored with every_row
  int64 least_blocks = 1;   // where they travel, and a tenth of sample_blocks is less
  uint64 seed = 0;
  // As the relation's owner, with nothing of the caller's search path in reach, as foreign tables
  // and expressions may run code, and foreign tables use the owner's user mapping; then volatile
  // expressions are refused (42P17). Else as the current user.
  bool as_owner = true;
  bool by_query = false;  // the whole tree by one query, whose policies apply
  // One leaf of the tree alone, by leaf_relations(); invalid: all.
  Oid leaf = InvalidOid;
};

// rows_per_row_read is 1 exactly when every row was read.
struct ScanResult : kde::ReadShare {
  int64 blocks_total = 0, blocks_read = 0;  // of those that were drawn from
  // with a filter, rows of the table as estimated from those met, accepted or not; -1: a query
  // applied it
  double table_rows = -1;
  bool elsewhere = false;  // queries see other rows than the tables'; those were read
  Proof proof;             // of the rows; in the caller's memory context
};

// The tables and foreign tables that have the rows of a relation, each a part that can be read by
// itself, as OIDs in their order; locked until the transaction ends. Errors: 0A000 for a table that
// has rows of its own beside its children's, or columns that are computed by the whole tree.
List* leaf_relations(Relation relation, const DensityKey& key);

// What a scan reads for one of those that it serves, and what came of it.
struct Reading {
  const DensityKey* key = nullptr;              // analysed
  const kde::ValueType* value_types = nullptr;  // of its columns
  ScanOptions options;
  RowSink* sink = nullptr;
  bool done = false;
  ScanResult result;
  // What the sink said, of one of several; then it did not get all rows. Of one by itself that is an
  // error.
  kde::Status status;
};

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
