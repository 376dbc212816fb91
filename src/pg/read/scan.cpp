// The reading of rows declared in scan.h: a plan, which leaves are read and each how, and its run.
//
// Blocks are read by TID range scans (block_range.h): one scan per leaf, moved from run to run of
// consecutive chosen blocks. A rescan keeps the scan's flags, so a large table goes through a ring
// of buffers, not through all of them, and the blocks of the next runs are prefetched here, because
// the scan itself looks no further than its range.
#include "pg/read/scan.h"

#include "pg/aggregate/cells_aggregate.h"
#include "pg/base/pg.h"
#include "pg/base/pinned.h"
#include "pg/catalog/expression.h"
#include "pg/catalog/meaning.h"
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

// Measures and what groups are by are columns to a scan.
DensityKey columns_read(const DensityKey& key) {
  DensityKey all = key;
  all.columns = key.all();
  all.measures = all.groups = 0;
  return all;
}

// Trivially destructible.
struct Scan {
  Relation relation;
  DensityKey key;
  const ScanOptions& options;
  RowSink* sink;
  const char* doing;
  kde::Random random;
  Relation root = nullptr;  // of what is read: the leaf that is wanted, or the relation
  Snapshot snapshot = nullptr;

  // The plan:
  Leaf* leaf = nullptr;
  int leaves = 0;
  double expected_rows = 0;  // as the planner would say
  bool beneath = false;      // rows elsewhere lie in tables beneath
  bool by_cells = false;     // those of the whole tree, in the place of its rows
  bool every_row = false;
  uint64 blocks = 0, wanted = 0;  // of all leaves laid end to end
  uint64* chosen = nullptr;       // unless every_row: so many of them

  // While it runs:
  RowReader reader = {};
  uint64 first = 0;        // number of the leaf's first block
  uint64 next_chosen = 0;  // first of chosen[] in the leaf or after it
  int64 rows_read = -1;    // by queries; -1: blocks are counted, not rows
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

void collect_leaves(Scan* s) {
  // The relation itself comes first, its descendants in an order that does not change.
  const Oid top = RelationGetRelid(s->relation);
  List* members = OidIsValid(s->options.leaf) ? list_make1_oid(s->options.leaf)
                                              : find_all_inheritors(top, AccessShareLock, nullptr);
  s->leaf = static_cast<Leaf*>(palloc(list_length(members) * sizeof(Leaf)));
  ListCell* cell;
  foreach (cell, members) {
    Relation rel = table_open(lfirst_oid(cell), NoLock);
    const bool foreign_session = RELATION_IS_OTHER_TEMP(rel);
    if (foreign_session && RelationGetRelid(rel) == top)
      ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                      errmsg("cannot access temporary tables of other sessions")));
    if (!foreign_session && has_rows(rel)) {
      Leaf leaf = {};
      leaf.relation = RelationGetRelid(rel);
      leaf.foreign = rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE;
      leaf.by_query = leaf.foreign || RowReader::needs_query(s->relation, s->key, rel);
      leaf.by_block = !leaf.by_query && rel->rd_tableam != nullptr &&
                      rel->rd_tableam->scan_set_tidrange != nullptr;
      if (leaf.by_block) leaf.blocks = RelationGetNumberOfBlocks(rel);
      s->expected_rows += planned_rows_of(rel);
      s->leaf[s->leaves++] = leaf;
    }
    table_close(rel, NoLock);
  }
  list_free(members);
}

// Whether a proof is of these: one may have been attached or detached in between.
bool are_leaves_of(const Scan& s, const Proof& proof) {
  if (!proof.known) return true;
  if (proof.leaves != s.leaves) return false;
  const ProofLeaf* end = proof.leaf + proof.leaves;
  for (int i = 0; i < s.leaves; ++i) {
    const Oid relation = s.leaf[i].relation;
    const ProofLeaf* at =
        std::lower_bound(static_cast<const ProofLeaf*>(proof.leaf), end, relation,
                         [](const ProofLeaf& leaf, Oid wanted) { return leaf.relation < wanted; });
    if (at == end || at->relation != relation) return false;
  }
  return true;
}

// In the place of the leaves where the planner goes elsewhere for their rows: what one query sees.
void merge_leaves(Scan* s) {
  Leaf all = {};
  all.relation = RelationGetRelid(s->root);
  all.by_query = all.with_descendants = true;
  s->leaf[0] = all;
  s->leaves = 1;
}

uint64 all_blocks(const Scan& s) {
  uint64 sum = 0;
  for (int i = 0; i < s.leaves; ++i) sum += s.leaf[i].blocks;
  return sum;
}

// Blocks are drawn from those up to the last that holds a row: the empty ones after it have no part
// in the total. Of heap tables alone is it known that a TID's block is a block of the main fork.
void leave_out_empty_ends(Scan* s) {
  for (int i = 0; i < s->leaves; ++i) {
    Leaf& leaf = s->leaf[i];
    Relation rel = table_open(leaf.relation, NoLock);
    if (leaf.by_block && rel->rd_rel->relam == HEAP_TABLE_AM_OID)
      leaf.blocks = end_of_rows(rel, s->snapshot);
    table_close(rel, NoLock);
  }
}

// What the rows of a leaf are read by where they do not lie in a table of this server, or a column
// is computed when read. Texts are canonical, so names in them need no search path.
// cells: not the rows, but their cells, of the first column, with the others as its measures.
const char* query_of(const Scan& s, Relation rel, bool with_descendants, bool cells = false) {
  StringInfoData query;
  initStringInfo(&query);
  appendStringInfoString(&query, cells ? "SELECT kde_aqp.cells(" : "SELECT ");
  for (int k = 0; k < s.key.columns; ++k) {
    const KeyColumn& column = s.key.column[k];
    const char* text = column.text;
    if (column.attnum != 0) {
      const AttrNumber attnum = leaf_attnum(s.relation, column.attnum, rel);
      text = quote_identifier(NameStr(TupleDescAttr(RelationGetDescr(rel), attnum - 1)->attname));
    }
    appendStringInfo(&query, "%s%s", k > 0 ? ", " : "", text);
  }
  if (cells) appendStringInfoChar(&query, ')');
  appendStringInfo(&query, " FROM %s%s", with_descendants ? "" : "ONLY ",
                   quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)),
                                              RelationGetRelationName(rel)));
  if (s.key.has_filter()) appendStringInfo(&query, " WHERE (%s)", s.key.filter);
  return query.data;
}

// Foreign leaves whose blocks can be read alone join the others. Whether there are some.
bool count_foreign_blocks(Scan* s) {
  bool some = false;
  for (int i = 0; i < s->leaves; ++i) {
    Leaf& leaf = s->leaf[i];
    if (!leaf.foreign) continue;
    if (!some) progress_phase(Phase::scanning);
    Relation rel = table_open(leaf.relation, NoLock);
    leaf.blocks = foreign_blocks(rel, query_of(*s, rel, false), s->key.has_filter());
    table_close(rel, NoLock);
    leaf.by_block = leaf.blocks > 0;
    some |= leaf.by_block;
  }
  return some;
}

// ------------------------------------------------------------------------------------- the plan

void begin(Scan* s, MemoryContext caller, ScanResult* result) {
  collect_leaves(s);
  s->root = OidIsValid(s->options.leaf) ? table_open(s->options.leaf, NoLock) : s->relation;
  // The caller may have waited for the table, or for another session's fit of the same columns: the
  // statement's snapshot would then show older rows than those already fitted, or none after
  // TRUNCATE. So a new one is taken under all locks, but where a transaction has but one.
  const bool old = IsolationUsesXactSnapshot();
  const ProofBegun begun = begin_proof(RelationGetRelid(s->root));
  PushActiveSnapshot(old ? GetTransactionSnapshot() : GetLatestSnapshot());
  s->snapshot = GetActiveSnapshot();
  result->elsewhere = s->leaves > 0 && rows_are_elsewhere(s->root, &s->beneath);
  MemoryContext memory = MemoryContextSwitchTo(caller);
  result->proof = note_proof(RelationGetRelid(s->root), s->snapshot, old ? nullptr : &begun);
  if (!are_leaves_of(*s, result->proof))
    result->proof = unproven(Unproven::being_changed, result->proof.as_of);
  if (result->elsewhere) result->proof = unproven(Unproven::elsewhere, result->proof.as_of);
  MemoryContextSwitchTo(memory);
}

void plan(Scan* s, const ScanResult& result) {
  // A virtual generated column is the queried table's own, whatever its partitions say of theirs.
  if (s->leaves > 0 && (result.elsewhere || s->options.by_query ||
                        RowReader::needs_query(s->relation, s->key, s->relation)))
    merge_leaves(s);
  // Where rows are on other servers a query might look for the aggregate there.
  s->by_cells = s->options.every_row && (!result.elsewhere || s->beneath) && !s->options.by_query &&
                s->sink->takes_cells();
  auto sample_blocks = static_cast<uint64>(s->options.sample_blocks);
  if (!s->options.every_row && count_foreign_blocks(s))
    sample_blocks = Max(s->options.sample_blocks / kForeignCost, s->options.least_blocks);
  if (!s->options.every_row && all_blocks(*s) > sample_blocks) leave_out_empty_ends(s);
  s->blocks = all_blocks(*s);
  s->every_row = s->options.every_row || s->blocks <= sample_blocks;
  s->wanted = s->every_row ? s->blocks : sample_blocks;
  if (s->every_row) return;
  s->chosen = static_cast<uint64*>(
      MemoryContextAllocHuge(CurrentMemoryContext, s->wanted * sizeof(uint64)));
  kde::choose_blocks(s->blocks, {s->chosen, s->wanted}, &s->random);
}

// -------------------------------------------------------------------------------------- its run

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
    if (s->reader.draws(keep, &s->random)) s->reader.take(slot);
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
  s->reader.take_all(portal, keep, &s->random, &s->rows_read);
  SPI_cursor_close(portal);
  SPI_finish();
  if (leaf.by_block) progress_done(static_cast<int64>(s->first + leaf.blocks));
}

// None if the tree has no row.
void read_cells_of(Scan* s, const kde::ValueType* value_types) {
  const char* query = query_of(*s, s->root, s->root == s->relation || s->beneath, true);
  if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "SPI_connect failed");
  if (SPI_execute(query, true, 0) != SPI_OK_SELECT) elog(ERROR, "SPI_execute failed");
  bool is_null;
  const Datum cells = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null);
  if (!is_null)
    check_status(s->sink->add_cells(read_cells(DatumGetByteaP(cells), kde::chain_of(value_types[0]),
                                               s->key.columns - 1)),
                 s->doing);
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
      for (; next <= ItemPointerGetBlockNumber(&slot->tts_tid); ++next) s->reader.begin_block();
      s->reader.take(slot);
    }
    for (; next <= last; ++next) s->reader.begin_block();
    CHECK_FOR_INTERRUPTS();
    begin = end;
    progress_done(static_cast<int64>(s->next_chosen + end));
  }
  table_endscan(scan);
  ExecDropSingleTupleTableSlot(slot);
}

void read_leaf(Scan* s, const Leaf& leaf, Relation rel) {
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
                        static_cast<int64>(s->next_chosen), &s->reader);
  else if (count > 0)
    read_blocks(s, rel, count);
  s->next_chosen += count;
}

void run(Scan* s, const kde::ValueType* value_types, ScanResult* result) {
  s->sink->begin_rows(s->every_row);
  s->reader.begin(s->key, value_types, s->doing, s->sink);
  // Blocks, or rows where none are counted.
  const bool counts_rows = s->by_cells || s->blocks == 0;
  if (counts_rows) s->rows_read = 0;
  progress_phase(Phase::scanning, counts_rows ? Unit::rows : Unit::blocks,
                 static_cast<int64>(counts_rows ? s->expected_rows : s->wanted));
  ereport(DEBUG1, (errmsg_internal("reading %llu of %llu blocks in %d relations",
                                   static_cast<unsigned long long>(s->wanted),
                                   static_cast<unsigned long long>(s->blocks), s->leaves)));
  if (s->by_cells && s->leaves > 0) read_cells_of(s, value_types);
  bool by_query = s->by_cells;
  for (int i = 0; i < (s->by_cells ? 0 : s->leaves); ++i) {
    const Leaf& leaf = s->leaf[i];
    Relation rel = table_open(leaf.relation, NoLock);
    s->reader.begin_leaf(s->relation, rel);
    by_query |= leaf.by_query;
    read_leaf(s, leaf, rel);
    s->first += leaf.blocks;
    table_close(rel, NoLock);
    s->reader.take_breath();
  }

  result->blocks_total = s->blocks;
  result->blocks_read = s->wanted;
  result->every_row_read = s->every_row;
  if (!s->every_row) {
    result->share_of_blocks = static_cast<double>(s->wanted) / static_cast<double>(s->blocks);
    result->rows_per_row_read = static_cast<double>(s->blocks) / static_cast<double>(s->wanted);
  }
  // Before rows are looked up again.
  if (!by_query && s->key.has_filter())
    result->table_rows = static_cast<double>(s->reader.rows_met()) * result->rows_per_row_read;
  if (!s->every_row && s->leaves == 1 && s->leaf[0].by_block && !s->leaf[0].by_query &&
      s->leaf[0].relation == RelationGetRelid(s->relation))
    s->sink->look_again(s->relation, s->snapshot, *result, &s->reader);
}

void end(Scan* s) {
  s->reader.end();
  if (OidIsValid(s->options.leaf)) table_close(s->root, NoLock);
  PopActiveSnapshot();
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
               const ScanOptions& options, RowSink* sink, ScanResult* result) {
  AsOwner owner;
  if (options.as_owner) {
    owner.begin(relation);
    check_not_volatile(key);
  }
  *result = {};
  const char* doing = psprintf("read %s", describe_columns(key));
  MemoryContext memory =
      AllocSetContextCreate(CurrentMemoryContext, "kde_aqp scan", ALLOCSET_DEFAULT_SIZES);
  MemoryContext previous = MemoryContextSwitchTo(memory);
  FittedSettings settings;
  settings.begin(key.settings);
  Scan scan = {
      relation, columns_read(key), options, sink, doing, kde::Random(options.seed ^ kSeedSalt)};
  begin(&scan, previous, result);
  plan(&scan, *result);
  run(&scan, value_types, result);
  end(&scan);
  settings.end();
  MemoryContextSwitchTo(previous);
  MemoryContextDelete(memory);
  if (options.as_owner) owner.end();
}

}  // namespace kde_pg
