// The reading of rows declared in scan.h: the run of its plan (scan_plan.h).
//
// Blocks are read by TID range scans (block_range.h): one scan per leaf, moved from run to run of
// consecutive chosen blocks. A rescan keeps the scan's flags, so a large table goes through a ring
// of buffers, not through all of them, and the blocks of the next runs are prefetched here, because
// the scan itself looks no further than its range.
#include "pg/read/scan.h"

#include "pg/aggregate/cells_aggregate.h"
#include "pg/base/pinned.h"
#include "pg/catalog/expression.h"
#include "pg/progress/progress.h"
#include "pg/read/block_hash.h"
#include "pg/read/block_range.h"
#include "pg/read/foreign_blocks.h"
#include "pg/read/scan_plan.h"
#include "pg/read/scan_values.h"

#include "core/kde.h"

extern "C" {
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_am.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/spccache.h"
}

namespace kde_pg {

namespace {

// The blocks' choice and the sampler get the same seed; their streams must differ.
constexpr uint64 kSeedSalt = UINT64CONST(0x9e3779b97f4a7c15);

// Every row of a stretch of its blocks.
void read_stretch(Scan* s, Relation rel) {
  const BlockNumber end = Min(s->options.end_block, RelationGetNumberOfBlocks(rel));
  if (s->options.first_block >= end) return;
  TupleTableSlot* slot = table_slot_create(rel, nullptr);
  TableScanDesc scan = begin_block_scan(rel, s->snapshot);
  set_block_range(scan, s->options.first_block, end);
  struct Hashed {
    RowHasher hasher;
    uint64* blocks;
  };
  auto* hashed = static_cast<Hashed*>(palloc(sizeof(Hashed) * 2 * s->n));
  int size = 0;
  const auto hash = [&](const DensityKey& key, uint64 seed, uint64* blocks) {
    int n;
    const AttrNumber* columns = columns_of(columns_read_by(key), &n);
    hashed[size].hasher.begin(s->relation, rel, columns, n, seed);
    hashed[size++].blocks = blocks;
  };
  for (int i = 0; i < s->n; ++i) {
    const Reading& reading = *s->served[i].reading;
    hash(*reading.key, reading.seed, reading.hash);
    if (reading.hash_of_column == nullptr) continue;
    DensityKey column = ungrouped(*reading.key);
    renew_references(&column);
    hash(column, reading.seed, reading.hash_of_column);
  }
  while (table_scan_getnextslot_tidrange(scan, ForwardScanDirection, slot)) {
    const BlockNumber at = ItemPointerGetBlockNumber(&slot->tts_tid) - s->options.first_block;
    for (int i = 0; i < size; ++i) hashed[i].blocks[at] += hashed[i].hasher.hash_of(slot);
    s->readers.take(slot);
  }
  table_endscan(scan);
  ExecDropSingleTupleTableSlot(slot);
}

// Every row, or each with probability `keep`.
void read_whole(Scan* s, const Leaf& leaf, Relation rel, double keep) {
  BlockNumber block = InvalidBlockNumber;
  TupleTableSlot* slot = table_slot_create(rel, nullptr);
  TableScanDesc scan = table_beginscan_strat(rel, s->snapshot, 0, nullptr, true, false);
  while (table_scan_getnextslot(scan, ForwardScanDirection, slot)) {
    if (leaf.by_block && ItemPointerGetBlockNumber(&slot->tts_tid) != block) {
      block = ItemPointerGetBlockNumber(&slot->tts_tid);
      progress_done(static_cast<int64>(s->first) + block);
    }
    if (s->readers.draws(keep, &s->random)) s->readers.take(slot);
  }
  table_endscan(scan);
  ExecDropSingleTupleTableSlot(slot);
}

// The same of what a query sees.
void read_query(Scan* s, const Leaf& leaf, const char* query, double keep) {
  if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "SPI_connect failed");
  // Read-only: under the active snapshot, like the other ways.
  Portal portal = SPI_cursor_open_with_args(nullptr, query, 0, nullptr, nullptr, nullptr, true,
                                            CURSOR_OPT_NO_SCROLL);
  s->readers.take_all(portal, keep, &s->random, &s->rows_read);
  SPI_cursor_close(portal);
  SPI_finish();
  if (leaf.by_block) progress_done(static_cast<int64>(s->first + leaf.blocks));
}

// None if the tree has no row.
void read_cells_of(Scan* s) {
  const char* query = query_of(*s, s->root, s->root == s->relation || s->beneath, QueryFor::cells);
  if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "SPI_connect failed");
  if (SPI_execute(query, true, 0) != SPI_OK_SELECT) elog(ERROR, "SPI_execute failed");
  for (int i = 0; i < s->n; ++i) {
    const Served& served = s->served[i];
    bool is_null;
    const Datum cells =
        SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, i + 1, &is_null);
    if (is_null) continue;
    check_status(served.reading->sink->add_cells(
                     read_cells(cells, served.reading->chain, served.key.columns - 1)),
                 served.doing);
  }
  SPI_finish();
}

// So many of the blocks chosen.
void read_blocks(Scan* s, Relation rel, uint64 count) {
  const uint64* chosen = s->chosen + s->next_chosen;
  const auto block = [s, chosen](uint64 i) {
    return static_cast<BlockNumber>(chosen[i] - s->first);
  };
  const bool can_prefetch = rel->rd_rel->relam == HEAP_TABLE_AM_OID;
  const uint64 distance =
      can_prefetch ? get_tablespace_maintenance_io_concurrency(rel->rd_rel->reltablespace) : 0;
  uint64 prefetched = 0;

  TupleTableSlot* slot = table_slot_create(rel, nullptr);
  TableScanDesc scan = begin_block_scan(rel, s->snapshot);
  for (uint64 begin = 0; begin < count;) {
    uint64 end = begin + 1;
    while (end < count && chosen[end] == chosen[end - 1] + 1) ++end;

    // The run's own blocks are read in order, which the system sees; ahead are the next ones.
    if (prefetched < end) prefetched = end;
    for (; prefetched < count && prefetched < end + distance; ++prefetched)
      PrefetchBuffer(rel, MAIN_FORKNUM, block(prefetched));

    BlockNumber next = block(begin);
    const BlockNumber last = block(end - 1);
    set_block_range(scan, next, last + 1);
    // Each of them begins, also those without rows.
    while (table_scan_getnextslot_tidrange(scan, ForwardScanDirection, slot)) {
      for (; next <= ItemPointerGetBlockNumber(&slot->tts_tid); ++next) s->readers.begin_block();
      s->readers.take(slot);
    }
    for (; next <= last; ++next) s->readers.begin_block();
    CHECK_FOR_INTERRUPTS();
    begin = end;
    progress_done(static_cast<int64>(s->next_chosen + end));
  }
  table_endscan(scan);
  ExecDropSingleTupleTableSlot(slot);
}

void read_leaf(Scan* s, const Leaf& leaf, Relation rel) {
  if (s->options.snapshot != nullptr) return read_stretch(s, rel);
  const char* query = leaf.by_query ? query_of(*s, rel, leaf.with_descendants) : nullptr;
  if (s->every_row || !leaf.by_block) {
    const double keep =
        s->every_row ? 1 : static_cast<double>(s->wanted) / static_cast<double>(s->blocks);
    if (leaf.by_query)
      read_query(s, leaf, query, keep);
    else
      read_whole(s, leaf, rel, keep);
    return;
  }
  uint64 count = 0;
  while (s->next_chosen + count < s->wanted &&
         s->chosen[s->next_chosen + count] < s->first + leaf.blocks)
    ++count;
  if (count > 0 && leaf.by_query)
    read_foreign_blocks(query, s->key.has_filter(), s->chosen + s->next_chosen, count, s->first,
                        static_cast<int64>(s->next_chosen), &s->readers);
  else if (count > 0)
    read_blocks(s, rel, count);
  s->next_chosen += count;
}

// Of several the rows are gathered.
void begin_readers(Scan* s, RowBatches* batches, RowBatch** batch) {
  s->reader = static_cast<RowReader*>(palloc(sizeof(RowReader) * s->n));
  for (int i = 0; i < s->n; ++i) {
    Served* served = &s->served[i];
    RowSink* sink = served->reading->sink;
    sink->begin_rows(s->every_row);
    if (s->n > 1 && !s->by_cells) {
      batch[i] = served->batch = new (palloc(sizeof(RowBatch)))
          RowBatch(sink, served->key.columns, batches, CurrentMemoryContext);
      sink = served->batch;
    }
    s->reader[i] = RowReader();
    s->reader[i].begin(served->key, served->reading->value_types, served->doing, sink);
  }
  s->readers = RowReaders(s->reader, s->n);
}

void read_rows_of(Scan* s) {
  for (int i = 0; i < s->leaves; ++i) {
    const Leaf& leaf = s->leaf[i];
    Relation rel = table_open(leaf.relation, NoLock);
    s->readers.begin_leaf(s->relation, rel);
    read_leaf(s, leaf, rel);
    s->first += leaf.blocks;
    table_close(rel, NoLock);
    s->readers.take_breath();
  }
}

// Whether blocks of all leaves could be read alone.
bool are_by_block(const Scan& s) {
  for (int i = 0; i < s.leaves; ++i)
    if (!s.leaf[i].by_block) return false;
  return s.leaves > 0;
}

// What it says of each: of *all all but rows met.
void note_result(Scan* s, const ScanResult& all) {
  bool by_query = s->by_cells || s->by_values;
  for (int i = 0; i < s->leaves; ++i) by_query |= s->leaf[i].by_query;
  const bool by_itself = s->leaves == 1 && s->leaf[0].by_block && !by_query &&
                         s->leaf[0].relation == RelationGetRelid(s->relation);
  for (int i = 0; i < s->n; ++i) {
    Served* served = &s->served[i];
    Reading* reading = served->reading;
    reading->result = all;
    if (reading->keep_snapshot && s->every_row && all.proof.known && are_by_block(*s))
      reading->result.snapshot = RegisterSnapshot(s->snapshot);
    // Before rows are looked up again.
    if (!by_query && served->key.has_filter())
      reading->result.table_rows =
          static_cast<double>(s->reader[i].rows_met()) * all.rows_per_row_read;
    if (served->batch != nullptr) served->batch->hand_on_at_once();
    if (!s->every_row && by_itself)
      reading->sink->look_again(s->relation, s->snapshot, reading->result, &s->reader[i]);
    if (served->batch != nullptr) reading->status = served->batch->status();
    reading->done = true;
  }
}

void run(Scan* s, ScanResult* result) {
  auto** batch = static_cast<RowBatch**>(palloc(sizeof(RowBatch*) * s->n));
  RowBatches batches(batch, s->n);
  begin_readers(s, &batches, batch);
  // Blocks, or rows where none are counted, by cells each for every one of them.
  const bool counts_rows = s->by_cells || s->by_values || s->blocks == 0;
  if (counts_rows) s->rows_read = 0;
  const double rows = s->expected_rows * (s->by_cells ? s->n : 1);
  progress_phase(Phase::scanning, counts_rows ? Unit::rows : Unit::blocks,
                 static_cast<int64>(counts_rows ? rows : s->wanted));
  if (s->options.snapshot == nullptr)
    ereport(DEBUG1, (errmsg_internal("reading %llu of %llu blocks in %d relations for %d densities",
                                     static_cast<unsigned long long>(s->wanted),
                                     static_cast<unsigned long long>(s->blocks), s->leaves, s->n)));
  if (s->by_values) {
    if (s->leaves > 0) read_values_of(s);
  } else if (s->by_cells) {
    if (s->leaves > 0) read_cells_of(s);
  } else {
    read_rows_of(s);
    if (s->n > 1) check_status(batches.hand_on(), s->served[0].doing);
  }
  result->blocks_total = s->blocks;
  result->blocks_read = s->wanted;
  result->every_row_read = s->every_row;
  result->elsewhere = s->elsewhere;
  if (!s->every_row) {
    result->share_of_blocks = static_cast<double>(s->wanted) / static_cast<double>(s->blocks);
    result->rows_per_row_read = static_cast<double>(s->blocks) / static_cast<double>(s->wanted);
  }
  note_result(s, *result);
}

void end(Scan* s) {
  for (int i = 0; i < s->n; ++i) s->reader[i].end();
  if (OidIsValid(s->options.leaf)) table_close(s->root, NoLock);
  PopActiveSnapshot();
}

// That of those not done for which a scan is planned: one with settings before others, whose rows
// are the same whatever the settings.
Reading* first_of(Reading* const* readings, int n) {
  Reading* first = nullptr;
  for (int i = 0; i < n; ++i) {
    if (readings[i]->done) continue;
    if (*settings_of_rows(*readings[i]->key) != '\0') return readings[i];
    if (first == nullptr) first = readings[i];
  }
  return first;
}

}  // namespace

void scan_rows(Relation relation, Reading* const* readings, int n) {
  Reading* first = first_of(readings, n);
  AsOwner owner;
  if (first->options.as_owner) owner.begin(relation);
  MemoryContext memory =
      AllocSetContextCreate(CurrentMemoryContext, "kde_aqp scan", ALLOCSET_DEFAULT_SIZES);
  MemoryContext previous = MemoryContextSwitchTo(memory);
  FittedSettings settings;
  settings.begin(first->key->settings);
  auto* served = static_cast<Served*>(palloc(sizeof(Served) * n));
  Scan scan = {relation,       served,        0,
               first->options, served[0].key, kde::Random(first->options.seed ^ kSeedSalt)};
  serve(&scan, first);
  ScanResult result = {};
  plan_scan(&scan, readings, n, previous, &result.proof);
  run(&scan, &result);
  end(&scan);
  settings.end();
  MemoryContextSwitchTo(previous);
  MemoryContextDelete(memory);
  if (first->options.as_owner) owner.end();
}

void scan_rows(Relation relation, const DensityKey& key, const kde::ValueType* value_types,
               const ScanOptions& options, RowSink* sink, ScanResult* result) {
  Reading reading;
  reading.key = &key;
  reading.value_types = value_types;
  reading.options = options;
  reading.sink = sink;
  Reading* const readings[] = {&reading};
  scan_rows(relation, readings, 1);
  *result = reading.result;
}

}  // namespace kde_pg
