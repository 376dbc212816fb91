// Reading a column for a fit: every row, or blocks chosen by a seed, of one relation, a partition
// or inheritance tree, a materialized view or a foreign table, under one snapshot.
//
//   * Blocks are drawn without replacement over all leaves laid end to end (block_sample.h), at
//     most `sample_blocks` of them, so a leaf counts by its size; every row of a chosen block is
//     read, and the sampler thins them.
//   * A leaf that cannot be read by block (foreign tables; table access methods without TID
//     ranges) is read whole and thinned to the others' sampling fraction.
//   * The sampler is told where a block begins; rows thinned one by one are a block each.
//   * Synchronized scans are off (TID range scans never join one): the same seed on the same
//     table reads the same rows in the same order.
#pragma once

#include "pg/pg.h"

#include "core/sampling/sampler.h"
#include "pg/values.h"

extern "C" {
#include "access/attnum.h"
}

namespace kde_pg {

struct ScanOptions {
  bool every_row = false;   // sample_rows => -1
  int64 sample_blocks = 0;  // >= 1; ignored with every_row
  uint64 seed = 0;
};

struct ScanResult {
  int64 blocks_total = 0, blocks_read = 0;
  // rows of the table per row read, >= 1; 1 exactly when every row was read
  double rows_per_row_read = 1;
  bool every_row_read = false;
};

// Feeds every row read to `sampler` (owned by the caller's memory context). The relation is locked
// by the caller with at least AccessShareLock; children are locked here, until the transaction
// ends. Runs as the current user; calls CHECK_FOR_INTERRUPTS at least per block.
// attnum: of the parent; children are matched by name.
// Errors: those of the table access; out_of_memory (53200) of the sampler.
void scan_column(Oid relation, AttrNumber attnum, kde::ValueType value_type,
                 const ScanOptions& options, kde::Sampler* sampler, ScanResult* result);

}  // namespace kde_pg
