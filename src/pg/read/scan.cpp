// The reading of rows declared in scan.h.
//
// Blocks are read by TID range scans (block_range.h): one scan per leaf, moved from run to run of
// consecutive chosen blocks. A rescan keeps the scan's flags, so a large table goes through a ring
// of buffers, not through all of them, and the blocks of the next runs are prefetched here, because
// the scan itself looks no further than its range.
#include "pg/read/scan.h"

#include "pg/base/pinned.h"

#include "pg/aggregate/aggregate_state.h"
#include "pg/base/pg.h"
#include "pg/catalog/planned_rows.h"
#include "pg/progress/progress.h"
#include "pg/read/block_range.h"
#include "pg/read/foreign_blocks.h"
#include "pg/read/row_reader.h"

#include "core/kde.h"

#include <algorithm>

extern "C" {
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "optimizer/plancat.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/spccache.h"
}

namespace kde_pg {

namespace {

constexpr long kRowsPerFetch = 10000;

// A block elsewhere costs some round trips: so many times fewer are drawn.
constexpr int64 kForeignCost = 10;

// The blocks' choice and the sampler get the same seed; their streams must differ.
constexpr uint64 kSeedSalt = UINT64CONST(0x9e3779b97f4a7c15);

// A relation with rows of its own.
struct Leaf {
  Oid relation;
  bool by_query;          // rows lie elsewhere, or what is read of them is computed when read
  bool with_descendants;  // of by_query: one for all
  bool foreign;
  bool by_block;       // chosen blocks can be read alone
  BlockNumber blocks;  // 0 unless by_block
};

struct Leaves {
  Leaf* items;
  int count;
  uint64 blocks;
  double expected_rows;  // as the planner would say
};

// --------------------------------------------------------------------------------- leaves

// False for relations without rows of their own. Errors: 42809, 55000 for what cannot be read.
bool has_rows(Relation rel) {
  switch (rel->rd_rel->relkind) {
    case RELKIND_PARTITIONED_TABLE:
      return false;
    case RELKIND_RELATION:
    case RELKIND_FOREIGN_TABLE:
      return true;
    case RELKIND_MATVIEW:
      if (!RelationIsPopulated(rel))
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("materialized view \"%s\" has not been populated",
                               RelationGetRelationName(rel)),
                        errhint("Use the REFRESH MATERIALIZED VIEW command.")));
      return true;
    default:
      ereport(ERROR,
              (errcode(ERRCODE_WRONG_OBJECT_TYPE),
               errmsg("cannot read the rows of relation \"%s\"", RelationGetRelationName(rel)),
               errdetail("Only tables, partitioned tables, materialized views and foreign tables "
                         "can be read.")));
  }
  pg_unreachable();
}

// Of the relation's own rows.
double planned_rows_of(Relation rel) {
  if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE) return 0;
  BlockNumber pages;
  double rows = 0, all_visible;
  estimate_rel_size(rel, nullptr, &pages, &rows, &all_visible);
  return Max(rows, 0.0);
}

// only: the one leaf that is wanted; invalid: all.
Leaves collect_leaves(Relation relation, const DensityKey& key, Oid only) {
  // The relation itself comes first, its descendants in an order that does not change.
  List* members = OidIsValid(only)
                      ? list_make1_oid(only)
                      : find_all_inheritors(RelationGetRelid(relation), AccessShareLock, nullptr);
  Leaves leaves = {};
  leaves.items = static_cast<Leaf*>(palloc(list_length(members) * sizeof(Leaf)));
  ListCell* cell;
  foreach (cell, members) {
    Relation rel = table_open(lfirst_oid(cell), NoLock);
    const bool foreign_session = RELATION_IS_OTHER_TEMP(rel);
    if (foreign_session && RelationGetRelid(rel) == RelationGetRelid(relation))
      ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                      errmsg("cannot access temporary tables of other sessions")));
    if (!foreign_session && has_rows(rel)) {
      Leaf leaf = {};
      leaf.relation = RelationGetRelid(rel);
      leaf.foreign = rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE;
      leaf.by_query = leaf.foreign || RowReader::needs_query(relation, key, rel);
      leaf.by_block = !leaf.by_query && rel->rd_tableam != nullptr &&
                      rel->rd_tableam->scan_set_tidrange != nullptr;
      if (leaf.by_block) leaf.blocks = RelationGetNumberOfBlocks(rel);
      leaves.blocks += leaf.blocks;
      leaves.expected_rows += planned_rows_of(rel);
      leaves.items[leaves.count++] = leaf;
    }
    table_close(rel, NoLock);
  }
  list_free(members);
  return leaves;
}

// Whether a proof is of these: one may have been attached or detached in between.
bool are_leaves_of(const Leaves& leaves, const Proof& proof) {
  if (!proof.known) return true;
  if (proof.leaves != leaves.count) return false;
  const ProofLeaf* end = proof.leaf + proof.leaves;
  for (int i = 0; i < leaves.count; ++i) {
    const Oid relation = leaves.items[i].relation;
    const ProofLeaf* at =
        std::lower_bound(static_cast<const ProofLeaf*>(proof.leaf), end, relation,
                         [](const ProofLeaf& leaf, Oid wanted) { return leaf.relation < wanted; });
    if (at == end || at->relation != relation) return false;
  }
  return true;
}

// In the place of the leaves where the planner goes elsewhere for their rows: what one query sees.
void merge_leaves(Relation relation, Leaves* leaves) {
  Leaf all = {};
  all.relation = RelationGetRelid(relation);
  all.by_query = all.with_descendants = true;
  leaves->items[0] = all;
  leaves->count = 1;
  leaves->blocks = 0;
}

// Blocks are drawn from those up to the last that holds a row: the empty ones after it have no part
// in the total. Of heap tables alone is it known that a TID's block is a block of the main fork.
void leave_out_empty_ends(Leaves* leaves, Snapshot snapshot) {
  leaves->blocks = 0;
  for (int i = 0; i < leaves->count; ++i) {
    Leaf& leaf = leaves->items[i];
    Relation rel = table_open(leaf.relation, NoLock);
    if (leaf.by_block && rel->rd_rel->relam == HEAP_TABLE_AM_OID)
      leaf.blocks = end_of_rows(rel, snapshot);
    table_close(rel, NoLock);
    leaves->blocks += leaf.blocks;
  }
}

// ------------------------------------------------------------------------- ways to read a leaf

// Every row, or each with probability `keep` where it is below 1. blocks_before: read of the leaves
// before; -1: this one's are not counted.
void read_whole(Relation rel, Snapshot snapshot, double keep, int64 blocks_before,
                kde::Random* random, RowReader* reader) {
  BlockNumber block = InvalidBlockNumber;
  TupleTableSlot* slot = table_slot_create(rel, nullptr);
  TableScanDesc scan = table_beginscan_strat(rel, snapshot, 0, nullptr, true, false);
  while (table_scan_getnextslot(scan, ForwardScanDirection, slot)) {
    if (blocks_before >= 0 && ItemPointerGetBlockNumber(&slot->tts_tid) != block) {
      block = ItemPointerGetBlockNumber(&slot->tts_tid);
      progress_done(blocks_before + block);
    }
    if (keep < 1) {
      if (random->uniform() >= keep) {
        reader->skip();
        continue;
      }
      reader->begin_block();  // rows drawn one by one
    }
    reader->take(slot);
  }
  table_endscan(scan);
  ExecDropSingleTupleTableSlot(slot);
}

// What the rows of a leaf are read by where they do not lie in a table of this server, or a column
// is computed when read. Texts are canonical, so names in them need no search path.
// summary: not the rows, but their summary.
const char* leaf_query(Relation relation, const DensityKey& key, Relation rel,
                       bool with_descendants, bool summary = false) {
  StringInfoData query;
  initStringInfo(&query);
  appendStringInfoString(&query, "SELECT ");
  for (int k = 0; k < key.columns; ++k) {
    const KeyColumn& column = key.column[k];
    const char* text = column.text;
    if (column.attnum != 0) {
      const AttrNumber attnum = leaf_attnum(relation, column.attnum, rel);
      text = quote_identifier(NameStr(TupleDescAttr(RelationGetDescr(rel), attnum - 1)->attname));
    }
    appendStringInfo(&query, summary ? "%skde_aqp.summary(%s)" : "%s%s", k > 0 ? ", " : "", text);
  }
  appendStringInfo(&query, " FROM %s%s", with_descendants ? "" : "ONLY ",
                   quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)),
                                              RelationGetRelationName(rel)));
  if (key.has_filter()) appendStringInfo(&query, " WHERE (%s)", key.filter);
  return query.data;
}

// Foreign leaves whose blocks can be read alone join the others. Whether there are some.
bool count_foreign_blocks(Relation relation, const DensityKey& key, Leaves* leaves) {
  bool some = false;
  for (int i = 0; i < leaves->count; ++i) {
    Leaf& leaf = leaves->items[i];
    if (!leaf.foreign) continue;
    if (!some) progress_phase(Phase::scanning);
    Relation rel = table_open(leaf.relation, NoLock);
    leaf.blocks = foreign_blocks(rel, leaf_query(relation, key, rel, false), key.has_filter());
    table_close(rel, NoLock);
    leaf.by_block = leaf.blocks > 0;
    leaves->blocks += leaf.blocks;
    some |= leaf.by_block;
  }
  return some;
}

// rows_before: read of the leaves before; -1: rows are not counted. Returns those read.
int64 read_by_query(const char* query, double keep, int64 rows_before, kde::Random* random,
                    RowReader* reader) {
  int64 rows_read = 0;
  if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "SPI_connect failed");
  // Read-only: under the active snapshot, like the other ways.
  Portal portal = SPI_cursor_open_with_args(nullptr, query, 0, nullptr, nullptr, nullptr, true,
                                            CURSOR_OPT_NO_SCROLL);
  for (;;) {
    SPI_cursor_fetch(portal, true, kRowsPerFetch);
    const uint64 fetched = SPI_processed;
    SPITupleTable* rows = SPI_tuptable;
    for (uint64 i = 0; i < fetched; ++i) {
      if (keep < 1) {
        if (random->uniform() >= keep) continue;
        reader->begin_block();
      }
      reader->take(rows->vals[i], rows->tupdesc);
    }
    SPI_freetuptable(rows);
    rows_read += static_cast<int64>(fetched);
    if (rows_before >= 0) progress_done(rows_before + rows_read);
    reader->take_breath();
    if (fetched == 0) break;
  }
  SPI_cursor_close(portal);
  SPI_finish();
  return rows_read;
}

// The summary of every row of the tree; none if it has no row.
void read_summary(const char* query, const char* doing, RowSink* sink) {
  if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "SPI_connect failed");
  if (SPI_execute(query, true, 0) != SPI_OK_SELECT) elog(ERROR, "SPI_execute failed");
  bool is_null;
  const Datum summary = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null);
  if (!is_null)
    check_status(sink->add_summary(read_state(DatumGetByteaPP(summary))->summary), doing);
  SPI_finish();
}

// The blocks chosen[0 .. count-1] - first, in ascending order. blocks_before: read of the leaves
// before.
void read_blocks(Relation rel, Snapshot snapshot, const uint64* chosen, uint64 count, uint64 first,
                 int64 blocks_before, RowReader* reader) {
  const bool can_prefetch = rel->rd_rel->relam == HEAP_TABLE_AM_OID;
  const uint64 distance =
      can_prefetch ? get_tablespace_maintenance_io_concurrency(rel->rd_rel->reltablespace) : 0;
  uint64 prefetched = 0;

  TupleTableSlot* slot = table_slot_create(rel, nullptr);
  TableScanDesc scan = begin_block_scan(rel, snapshot);
  for (uint64 begin = 0; begin < count;) {
    uint64 end = begin + 1;
    while (end < count && chosen[end] == chosen[end - 1] + 1) ++end;

    // The run's own blocks are read in order, which the system sees; ahead are the next ones.
    if (prefetched < end) prefetched = end;
    for (; prefetched < count && prefetched < end + distance; ++prefetched)
      PrefetchBuffer(rel, MAIN_FORKNUM, static_cast<BlockNumber>(chosen[prefetched] - first));

    set_block_range(scan, static_cast<BlockNumber>(chosen[begin] - first),
                    static_cast<BlockNumber>(chosen[end - 1] - first) + 1);
    // Each of them begins, also those without rows.
    auto next = static_cast<BlockNumber>(chosen[begin] - first);
    const auto last = static_cast<BlockNumber>(chosen[end - 1] - first);
    while (table_scan_getnextslot_tidrange(scan, ForwardScanDirection, slot)) {
      for (; next <= ItemPointerGetBlockNumber(&slot->tts_tid); ++next) reader->begin_block();
      reader->take(slot);
    }
    for (; next <= last; ++next) reader->begin_block();
    CHECK_FOR_INTERRUPTS();
    begin = end;
    progress_done(blocks_before + static_cast<int64>(end));
  }
  table_endscan(scan);
  ExecDropSingleTupleTableSlot(slot);
}

}  // namespace

List* leaf_relations(Relation relation, const DensityKey& key) {
  if (RowReader::needs_query(relation, key, relation))
    ereport(ERROR,
            (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
             errmsg("the parts of \"%s\" cannot be read apart", RelationGetRelationName(relation)),
             errdetail("A virtual generated column is computed by the whole table."),
             errhint("Leave incremental out.")));
  List* members = find_all_inheritors(RelationGetRelid(relation), AccessShareLock, nullptr);
  List* out = NIL;
  ListCell* cell;
  foreach (cell, members) {
    Relation rel = table_open(lfirst_oid(cell), NoLock);
    const bool wanted = !RELATION_IS_OTHER_TEMP(rel) && has_rows(rel);
    if (!wanted || !rel->rd_rel->relhassubclass ||
        find_inheritance_children(RelationGetRelid(rel), NoLock) == NIL) {
      if (wanted) out = lappend_oid(out, RelationGetRelid(rel));
    } else if (rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE ||
               RelationGetNumberOfBlocks(rel) > 0) {
      ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                      errmsg("the parts of \"%s\" cannot be read apart",
                             RelationGetRelationName(relation)),
                      errdetail("\"%s\" has rows of its own beside those of its children.",
                                RelationGetRelationName(rel)),
                      errhint("Leave incremental out.")));
    }
    table_close(rel, NoLock);
  }
  list_free(members);
  return out;
}

void scan_rows(Relation relation, const DensityKey& key, const kde::ValueType* value_types,
               const ScanOptions& options, const char* doing, RowSink* sink, ScanResult* result) {
  MemoryContext memory =
      AllocSetContextCreate(CurrentMemoryContext, "kde_aqp scan", ALLOCSET_DEFAULT_SIZES);
  MemoryContext previous = MemoryContextSwitchTo(memory);
  FittedSettings settings;
  settings.begin(key.settings);

  Leaves leaves = collect_leaves(relation, key, options.leaf);
  Relation root = OidIsValid(options.leaf) ? table_open(options.leaf, NoLock) : relation;
  // The caller may have waited for the table, or for another session's fit of the same columns: the
  // statement's snapshot would then show older rows than those already fitted, or none after
  // TRUNCATE. So a new one is taken under all locks, but where a transaction has but one.
  const bool old = IsolationUsesXactSnapshot();
  const ProofBegun begun = begin_proof(RelationGetRelid(root));
  PushActiveSnapshot(old ? GetTransactionSnapshot() : GetLatestSnapshot());
  Snapshot snapshot = GetActiveSnapshot();
  bool beneath = false;
  result->elsewhere = leaves.count > 0 && rows_are_elsewhere(root, &beneath);
  MemoryContextSwitchTo(previous);
  result->proof = note_proof(RelationGetRelid(root), snapshot, old ? nullptr : &begun);
  if (!are_leaves_of(leaves, result->proof))
    result->proof = unproven(Unproven::being_changed, result->proof.as_of);
  if (result->elsewhere) result->proof = unproven(Unproven::elsewhere, result->proof.as_of);
  MemoryContextSwitchTo(memory);
  // A virtual generated column is the queried table's own, whatever its partitions say of theirs.
  if (leaves.count > 0 &&
      (result->elsewhere || options.by_query || RowReader::needs_query(relation, key, relation)))
    merge_leaves(root, &leaves);
  // Where rows are on other servers a query might look for the aggregate there.
  const bool by_summary = options.every_row && (!result->elsewhere || beneath) &&
                          !options.by_query && sink->takes_summary();
  int64 sample_blocks = options.sample_blocks;
  if (!options.every_row && count_foreign_blocks(relation, key, &leaves)) {
    sample_blocks = Max(sample_blocks / kForeignCost, options.least_blocks);
  }
  if (!options.every_row && leaves.blocks > static_cast<uint64>(sample_blocks))
    leave_out_empty_ends(&leaves, snapshot);

  RowReader reader;
  reader.begin(key, value_types, doing, sink);

  kde::Random random(options.seed ^ kSeedSalt);
  const bool every_row = options.every_row || leaves.blocks <= static_cast<uint64>(sample_blocks);
  const uint64 wanted = every_row ? leaves.blocks : sample_blocks;
  uint64* chosen = nullptr;
  if (!every_row) {
    chosen =
        static_cast<uint64*>(MemoryContextAllocHuge(CurrentMemoryContext, wanted * sizeof(uint64)));
    kde::choose_blocks(leaves.blocks, {chosen, wanted}, &random);
  }
  const double keep =
      every_row ? 1 : static_cast<double>(wanted) / static_cast<double>(leaves.blocks);

  // Blocks, or rows where none are counted.
  const bool counts_rows = by_summary || leaves.blocks == 0;
  progress_phase(Phase::scanning, counts_rows ? Unit::rows : Unit::blocks,
                 static_cast<int64>(counts_rows ? leaves.expected_rows : wanted));
  ereport(DEBUG1, (errmsg_internal("reading %llu of %llu blocks in %d relations",
                                   static_cast<unsigned long long>(wanted),
                                   static_cast<unsigned long long>(leaves.blocks), leaves.count)));
  if (by_summary && leaves.count > 0)
    read_summary(leaf_query(relation, key, root, root == relation || beneath, true), doing, sink);
  int64 rows_read = 0;
  bool by_query = by_summary;
  uint64 first = 0;        // number of the leaf's first block, all leaves laid end to end
  uint64 next_chosen = 0;  // first of chosen[] in the leaf or after it
  for (int i = 0; i < (by_summary ? 0 : leaves.count); ++i) {
    const Leaf& leaf = leaves.items[i];
    Relation rel = table_open(leaf.relation, NoLock);
    reader.begin_leaf(relation, rel);
    by_query |= leaf.by_query;
    const char* query =
        leaf.by_query ? leaf_query(relation, key, rel, leaf.with_descendants) : nullptr;
    if (leaf.by_query && (every_row || !leaf.by_block)) {
      rows_read += read_by_query(query, keep, counts_rows ? rows_read : -1, &random, &reader);
      if (leaf.by_block) progress_done(static_cast<int64>(first + leaf.blocks));
    } else if (every_row || !leaf.by_block) {
      read_whole(rel, snapshot, keep, leaf.by_block ? static_cast<int64>(first) : -1, &random,
                 &reader);
    } else {
      uint64 end = next_chosen;
      while (end < wanted && chosen[end] < first + leaf.blocks) ++end;
      if (end > next_chosen && leaf.by_query)
        read_foreign_blocks(query, key.has_filter(), chosen + next_chosen, end - next_chosen, first,
                            static_cast<int64>(next_chosen), &reader);
      else if (end > next_chosen)
        read_blocks(rel, snapshot, chosen + next_chosen, end - next_chosen, first,
                    static_cast<int64>(next_chosen), &reader);
      next_chosen = end;
    }
    first += leaf.blocks;
    table_close(rel, NoLock);
    reader.take_breath();
  }

  result->blocks_total = leaves.blocks;
  result->blocks_read = wanted;
  result->every_row_read = every_row;
  result->share_of_blocks = keep;
  result->rows_per_row_read =
      every_row ? 1 : static_cast<double>(leaves.blocks) / static_cast<double>(wanted);
  // Before rows are looked up again.
  if (!by_query && key.has_filter())
    result->table_rows = static_cast<double>(reader.rows_met()) * result->rows_per_row_read;
  if (!every_row && leaves.count == 1 && leaves.items[0].by_block && !leaves.items[0].by_query &&
      leaves.items[0].relation == RelationGetRelid(relation))
    sink->look_again(relation, snapshot, *result, &reader);

  reader.end();
  if (OidIsValid(options.leaf)) table_close(root, NoLock);
  PopActiveSnapshot();
  settings.end();
  MemoryContextSwitchTo(previous);
  MemoryContextDelete(memory);
}

}  // namespace kde_pg
