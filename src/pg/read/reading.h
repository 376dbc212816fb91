// What a scan (scan.h) is asked for, and what came of it.
#pragma once

#include "pg/base/pg.h"
#include "pg/catalog/density_key.h"
#include "pg/proof/proof.h"
#include "pg/read/row_sink.h"

#include "core/kde.h"

extern "C" {
#include "storage/block.h"
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
  // One leaf of the tree alone; invalid: all.
  Oid leaf = InvalidOid;
  // Of a leaf that is read by block, the blocks [first_block, end_block) alone, every row of them as
  // another scan's snapshot sees it; null: all, under one of its own.
  Snapshot snapshot = nullptr;
  BlockNumber first_block = 0, end_block = 0;
};

// rows_per_row_read is 1 exactly when every row was read.
struct ScanResult : kde::ReadShare {
  int64 blocks_total = 0, blocks_read = 0;  // of those that were drawn from
  // with a filter, rows of the table as estimated from those met, accepted or not; -1: a query
  // applied it
  double table_rows = -1;
  bool elsewhere = false;  // queries see other rows than the tables'; those were read
  Proof proof;             // of the rows; in the caller's memory context
  // Under which every row was read, of leaves that are read by block, if Reading::keep_snapshot:
  // registered, to be unregistered by who asked for it. Null: none.
  Snapshot snapshot = nullptr;
};

// What a scan reads for one of those that it serves, and what came of it.
struct Reading {
  const DensityKey* key = nullptr;              // analysed
  const kde::ValueType* value_types = nullptr;  // of its columns
  kde::Chain chain = kde::Chain::decimal;       // of cells in the place of rows
  ScanOptions options;
  RowSink* sink = nullptr;
  bool keep_snapshot = false;
  // Of a stretch of blocks, what the rows of each are (block_hash.h), by that seed; null: not wanted.
  // The second: without the columns that groups are by.
  uint64* hash = nullptr;
  uint64* hash_of_column = nullptr;
  uint64 seed = 0;
  bool done = false;
  ScanResult result;
  // What the sink said, of one of several; then it did not get all rows. Of one by itself that is an
  // error.
  kde::Status status;
};

}  // namespace kde_pg
