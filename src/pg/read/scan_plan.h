// The plan of a scan (scan.h): which leaves are read and each how, whom it serves, and the queries
// of what is read by those.
#pragma once

#include "pg/read/reading.h"
#include "pg/read/row_batches.h"
#include "pg/read/row_reader.h"

extern "C" {
#include "storage/block.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"
}

namespace kde_pg {

// A relation with rows of its own.
struct Leaf {
  Oid relation;
  bool by_query;          // rows lie elsewhere, or what is read of them is computed when read
  bool with_descendants;  // of by_query: one for all
  bool foreign;
  bool by_block;       // chosen blocks can be read alone
  BlockNumber blocks;  // 0 unless by_block
};

// One that the scan serves.
struct Served {
  Reading* reading;
  DensityKey key;     // columns_read()
  const char* doing;  // for messages
  RowBatch* batch;    // null: its rows are handed on at once
};

// Trivially destructible.
struct Scan {
  Relation relation;
  Served* served;  // the first decides what is read, the others read the same
  int n;
  const ScanOptions& options;
  const DensityKey& key;  // of the first
  kde::Random random;
  Relation root = nullptr;  // of what is read: the leaf that is wanted, or the relation
  Snapshot snapshot = nullptr;

  // The plan:
  Leaf* leaf = nullptr;
  int leaves = 0;
  double expected_rows = 0;  // as the planner would say
  bool elsewhere = false;    // rows are not those of the tables
  bool beneath = false;      // rows elsewhere lie in tables beneath
  bool by_cells = false;     // those of the whole tree, in the place of its rows
  bool by_values = false;    // or its values
  bool every_row = false;
  uint64 blocks = 0, wanted = 0;  // of all leaves laid end to end
  uint64* chosen = nullptr;       // unless every_row: so many of them

  // While it runs:
  RowReader* reader = nullptr;  // of each
  RowReaders readers = {nullptr, 0};
  uint64 first = 0;        // number of the leaf's first block
  uint64 next_chosen = 0;  // first of chosen[] in the leaf or after it
  int64 rows_read = -1;    // by queries; -1: blocks are counted, not rows
};

// Begins for served[0]: locks and collects the leaves, takes the snapshot and makes it active, draws
// the blocks; then adds those of the readings that read the same. caller: whose memory context the
// proof is in.
void plan_scan(Scan* s, Reading* const* readings, int n, MemoryContext caller, Proof* proof);
// One more that is served.
void serve(Scan* s, Reading* reading);

// What the rows of a leaf are read by where they do not lie in a table of this server, or a column
// is computed when read: the columns of one key after those of another.
// cells: not the rows, but of each key the cells of its first column, with the others as measures.
// values: of the only key the values of its first column, each with its rows and, if there are others,
// what those have in sum of them.
enum class QueryFor { rows, cells, values };
const char* query_of(const Scan& s, Relation rel, bool with_descendants,
                     QueryFor what = QueryFor::rows);

// What a key's rows depend on of the session, if anything.
const char* settings_of_rows(const DensityKey& key);

}  // namespace kde_pg
