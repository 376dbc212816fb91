// The reading of rows declared in scan.h: a plan, which leaves are read and each how, and its run.
//
// Blocks are read by TID range scans (block_range.h): one scan per leaf, moved from run to run of
// consecutive chosen blocks. A rescan keeps the scan's flags, so a large table goes through a ring
// of buffers, not through all of them, and the blocks of the next runs are prefetched here, because
// the scan itself looks no further than its range.
#include "pg/read/scan.h"

#include "pg/aggregate/aggregate_state.h"
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
class Scan {
 public:
  Scan(Relation relation, const DensityKey& key, const ScanOptions& options, RowSink* sink,
       const char* doing)
      : relation_(relation),
        key_(columns_read(key)),
        options_(options),
        sink_(sink),
        doing_(doing),
        random_(options.seed ^ kSeedSalt) {}

  // Locks the leaves and takes the snapshot, noting in `caller` what proves that nothing changed.
  void begin(MemoryContext caller, ScanResult* result);
  // Which rows of which leaves are read, and how.
  void plan(const ScanResult& result);
  void run(const kde::ValueType* value_types, ScanResult* result);
  void end();

 private:
  void collect_leaves();
  bool are_leaves_of(const Proof& proof) const;
  void merge_leaves();
  bool count_foreign_blocks();
  void leave_out_empty_ends();
  uint64 blocks() const;
  const char* query_of(Relation rel, bool with_descendants, bool summary = false) const;
  void read_summary();
  void read_leaf(const Leaf& leaf, Relation rel);
  void read_whole(const Leaf& leaf, Relation rel, double keep);
  void read_query(const Leaf& leaf, const char* query, double keep);
  void read_blocks(Relation rel, uint64 count);

  Relation relation_;
  Relation root_ = nullptr;  // of what is read: the leaf that is wanted, or the relation
  DensityKey key_;
  const ScanOptions& options_;
  RowSink* sink_;
  const char* doing_;
  RowReader reader_;
  kde::Random random_;
  Snapshot snapshot_ = nullptr;

  Leaf* leaf_ = nullptr;
  int leaves_ = 0;
  double expected_rows_ = 0;  // as the planner would say
  bool beneath_ = false;      // rows elsewhere lie in tables beneath
  bool by_summary_ = false;   // the summary of the whole tree, in the place of its rows
  bool every_row_ = false;
  uint64 blocks_ = 0, wanted_ = 0;  // of all leaves laid end to end
  uint64* chosen_ = nullptr;        // unless every_row_: so many of them

  // While it runs:
  uint64 first_ = 0;        // number of the leaf's first block
  uint64 next_chosen_ = 0;  // first of chosen_[] in the leaf or after it
  int64 rows_read_ = -1;    // by queries; -1: blocks are counted, not rows
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

void Scan::collect_leaves() {
  // The relation itself comes first, its descendants in an order that does not change.
  const Oid top = RelationGetRelid(relation_);
  List* members = OidIsValid(options_.leaf) ? list_make1_oid(options_.leaf)
                                            : find_all_inheritors(top, AccessShareLock, nullptr);
  leaf_ = static_cast<Leaf*>(palloc(list_length(members) * sizeof(Leaf)));
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
      leaf.by_query = leaf.foreign || RowReader::needs_query(relation_, key_, rel);
      leaf.by_block = !leaf.by_query && rel->rd_tableam != nullptr &&
                      rel->rd_tableam->scan_set_tidrange != nullptr;
      if (leaf.by_block) leaf.blocks = RelationGetNumberOfBlocks(rel);
      expected_rows_ += planned_rows_of(rel);
      leaf_[leaves_++] = leaf;
    }
    table_close(rel, NoLock);
  }
  list_free(members);
}

// Whether a proof is of these: one may have been attached or detached in between.
bool Scan::are_leaves_of(const Proof& proof) const {
  if (!proof.known) return true;
  if (proof.leaves != leaves_) return false;
  const ProofLeaf* end = proof.leaf + proof.leaves;
  for (int i = 0; i < leaves_; ++i) {
    const Oid relation = leaf_[i].relation;
    const ProofLeaf* at =
        std::lower_bound(static_cast<const ProofLeaf*>(proof.leaf), end, relation,
                         [](const ProofLeaf& leaf, Oid wanted) { return leaf.relation < wanted; });
    if (at == end || at->relation != relation) return false;
  }
  return true;
}

// In the place of the leaves where the planner goes elsewhere for their rows: what one query sees.
void Scan::merge_leaves() {
  Leaf all = {};
  all.relation = RelationGetRelid(root_);
  all.by_query = all.with_descendants = true;
  leaf_[0] = all;
  leaves_ = 1;
}

uint64 Scan::blocks() const {
  uint64 sum = 0;
  for (int i = 0; i < leaves_; ++i) sum += leaf_[i].blocks;
  return sum;
}

// Blocks are drawn from those up to the last that holds a row: the empty ones after it have no part
// in the total. Of heap tables alone is it known that a TID's block is a block of the main fork.
void Scan::leave_out_empty_ends() {
  for (int i = 0; i < leaves_; ++i) {
    Leaf& leaf = leaf_[i];
    Relation rel = table_open(leaf.relation, NoLock);
    if (leaf.by_block && rel->rd_rel->relam == HEAP_TABLE_AM_OID)
      leaf.blocks = end_of_rows(rel, snapshot_);
    table_close(rel, NoLock);
  }
}

// What the rows of a leaf are read by where they do not lie in a table of this server, or a column
// is computed when read. Texts are canonical, so names in them need no search path.
// summary: not the rows, but their summary.
const char* Scan::query_of(Relation rel, bool with_descendants, bool summary) const {
  StringInfoData query;
  initStringInfo(&query);
  appendStringInfoString(&query, "SELECT ");
  for (int k = 0; k < key_.columns; ++k) {
    const KeyColumn& column = key_.column[k];
    const char* text = column.text;
    if (column.attnum != 0) {
      const AttrNumber attnum = leaf_attnum(relation_, column.attnum, rel);
      text = quote_identifier(NameStr(TupleDescAttr(RelationGetDescr(rel), attnum - 1)->attname));
    }
    appendStringInfo(&query, summary ? "%skde_aqp.summary(%s)" : "%s%s", k > 0 ? ", " : "", text);
  }
  appendStringInfo(&query, " FROM %s%s", with_descendants ? "" : "ONLY ",
                   quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)),
                                              RelationGetRelationName(rel)));
  if (key_.has_filter()) appendStringInfo(&query, " WHERE (%s)", key_.filter);
  return query.data;
}

// Foreign leaves whose blocks can be read alone join the others. Whether there are some.
bool Scan::count_foreign_blocks() {
  bool some = false;
  for (int i = 0; i < leaves_; ++i) {
    Leaf& leaf = leaf_[i];
    if (!leaf.foreign) continue;
    if (!some) progress_phase(Phase::scanning);
    Relation rel = table_open(leaf.relation, NoLock);
    leaf.blocks = foreign_blocks(rel, query_of(rel, false), key_.has_filter());
    table_close(rel, NoLock);
    leaf.by_block = leaf.blocks > 0;
    some |= leaf.by_block;
  }
  return some;
}

// ------------------------------------------------------------------------------------- the plan

void Scan::begin(MemoryContext caller, ScanResult* result) {
  collect_leaves();
  root_ = OidIsValid(options_.leaf) ? table_open(options_.leaf, NoLock) : relation_;
  // The caller may have waited for the table, or for another session's fit of the same columns: the
  // statement's snapshot would then show older rows than those already fitted, or none after
  // TRUNCATE. So a new one is taken under all locks, but where a transaction has but one.
  const bool old = IsolationUsesXactSnapshot();
  const ProofBegun begun = begin_proof(RelationGetRelid(root_));
  PushActiveSnapshot(old ? GetTransactionSnapshot() : GetLatestSnapshot());
  snapshot_ = GetActiveSnapshot();
  result->elsewhere = leaves_ > 0 && rows_are_elsewhere(root_, &beneath_);
  MemoryContext memory = MemoryContextSwitchTo(caller);
  result->proof = note_proof(RelationGetRelid(root_), snapshot_, old ? nullptr : &begun);
  if (!are_leaves_of(result->proof))
    result->proof = unproven(Unproven::being_changed, result->proof.as_of);
  if (result->elsewhere) result->proof = unproven(Unproven::elsewhere, result->proof.as_of);
  MemoryContextSwitchTo(memory);
}

void Scan::plan(const ScanResult& result) {
  // A virtual generated column is the queried table's own, whatever its partitions say of theirs.
  if (leaves_ > 0 &&
      (result.elsewhere || options_.by_query || RowReader::needs_query(relation_, key_, relation_)))
    merge_leaves();
  // Where rows are on other servers a query might look for the aggregate there.
  by_summary_ = options_.every_row && (!result.elsewhere || beneath_) && !options_.by_query &&
                sink_->takes_summary();
  auto sample_blocks = static_cast<uint64>(options_.sample_blocks);
  if (!options_.every_row && count_foreign_blocks())
    sample_blocks = Max(options_.sample_blocks / kForeignCost, options_.least_blocks);
  if (!options_.every_row && blocks() > sample_blocks) leave_out_empty_ends();
  blocks_ = blocks();
  every_row_ = options_.every_row || blocks_ <= sample_blocks;
  wanted_ = every_row_ ? blocks_ : sample_blocks;
  if (every_row_) return;
  chosen_ =
      static_cast<uint64*>(MemoryContextAllocHuge(CurrentMemoryContext, wanted_ * sizeof(uint64)));
  kde::choose_blocks(blocks_, {chosen_, wanted_}, &random_);
}

// -------------------------------------------------------------------------------------- its run

// Every row, or each with probability `keep`.
void Scan::read_whole(const Leaf& leaf, Relation rel, double keep) {
  BlockNumber block = InvalidBlockNumber;
  TupleTableSlot* slot = table_slot_create(rel, nullptr);
  TableScanDesc scan = table_beginscan_strat(rel, snapshot_, 0, nullptr, true, false);
  while (table_scan_getnextslot(scan, ForwardScanDirection, slot)) {
    if (leaf.by_block && ItemPointerGetBlockNumber(&slot->tts_tid) != block) {
      block = ItemPointerGetBlockNumber(&slot->tts_tid);
      progress_done(static_cast<int64>(first_) + block);
    }
    if (reader_.draws(keep, &random_)) reader_.take(slot);
  }
  table_endscan(scan);
  ExecDropSingleTupleTableSlot(slot);
}

// The same of what a query sees.
void Scan::read_query(const Leaf& leaf, const char* query, double keep) {
  if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "SPI_connect failed");
  // Read-only: under the active snapshot, like the other ways.
  Portal portal = SPI_cursor_open_with_args(nullptr, query, 0, nullptr, nullptr, nullptr, true,
                                            CURSOR_OPT_NO_SCROLL);
  reader_.take_all(portal, keep, &random_, &rows_read_);
  SPI_cursor_close(portal);
  SPI_finish();
  if (leaf.by_block) progress_done(static_cast<int64>(first_ + leaf.blocks));
}

// None if the tree has no row.
void Scan::read_summary() {
  const char* query = query_of(root_, root_ == relation_ || beneath_, true);
  if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "SPI_connect failed");
  if (SPI_execute(query, true, 0) != SPI_OK_SELECT) elog(ERROR, "SPI_execute failed");
  bool is_null;
  const Datum summary = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null);
  if (!is_null)
    check_status(sink_->add_summary(read_state(DatumGetByteaPP(summary))->summary), doing_);
  SPI_finish();
}

// So many of the blocks chosen.
void Scan::read_blocks(Relation rel, uint64 count) {
  const uint64* chosen = chosen_ + next_chosen_;
  const auto block = [this, chosen](uint64 i) {
    return static_cast<BlockNumber>(chosen[i] - first_);
  };
  const bool can_prefetch = rel->rd_rel->relam == HEAP_TABLE_AM_OID;
  const uint64 distance =
      can_prefetch ? get_tablespace_maintenance_io_concurrency(rel->rd_rel->reltablespace) : 0;
  uint64 prefetched = 0;

  TupleTableSlot* slot = table_slot_create(rel, nullptr);
  TableScanDesc scan = begin_block_scan(rel, snapshot_);
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
      for (; next <= ItemPointerGetBlockNumber(&slot->tts_tid); ++next) reader_.begin_block();
      reader_.take(slot);
    }
    for (; next <= last; ++next) reader_.begin_block();
    CHECK_FOR_INTERRUPTS();
    begin = end;
    progress_done(static_cast<int64>(next_chosen_ + end));
  }
  table_endscan(scan);
  ExecDropSingleTupleTableSlot(slot);
}

void Scan::read_leaf(const Leaf& leaf, Relation rel) {
  const char* query = leaf.by_query ? query_of(rel, leaf.with_descendants) : nullptr;
  if (every_row_ || !leaf.by_block) {
    const double keep =
        every_row_ ? 1 : static_cast<double>(wanted_) / static_cast<double>(blocks_);
    if (leaf.by_query)
      read_query(leaf, query, keep);
    else
      read_whole(leaf, rel, keep);
    return;
  }
  uint64 count = 0;
  while (next_chosen_ + count < wanted_ && chosen_[next_chosen_ + count] < first_ + leaf.blocks)
    ++count;
  if (count > 0 && leaf.by_query)
    read_foreign_blocks(query, key_.has_filter(), chosen_ + next_chosen_, count, first_,
                        static_cast<int64>(next_chosen_), &reader_);
  else if (count > 0)
    read_blocks(rel, count);
  next_chosen_ += count;
}

void Scan::run(const kde::ValueType* value_types, ScanResult* result) {
  reader_.begin(key_, value_types, doing_, sink_);
  // Blocks, or rows where none are counted.
  const bool counts_rows = by_summary_ || blocks_ == 0;
  if (counts_rows) rows_read_ = 0;
  progress_phase(Phase::scanning, counts_rows ? Unit::rows : Unit::blocks,
                 static_cast<int64>(counts_rows ? expected_rows_ : wanted_));
  ereport(DEBUG1, (errmsg_internal("reading %llu of %llu blocks in %d relations",
                                   static_cast<unsigned long long>(wanted_),
                                   static_cast<unsigned long long>(blocks_), leaves_)));
  if (by_summary_ && leaves_ > 0) read_summary();
  bool by_query = by_summary_;
  for (int i = 0; i < (by_summary_ ? 0 : leaves_); ++i) {
    const Leaf& leaf = leaf_[i];
    Relation rel = table_open(leaf.relation, NoLock);
    reader_.begin_leaf(relation_, rel);
    by_query |= leaf.by_query;
    read_leaf(leaf, rel);
    first_ += leaf.blocks;
    table_close(rel, NoLock);
    reader_.take_breath();
  }

  result->blocks_total = blocks_;
  result->blocks_read = wanted_;
  result->every_row_read = every_row_;
  if (!every_row_) {
    result->share_of_blocks = static_cast<double>(wanted_) / static_cast<double>(blocks_);
    result->rows_per_row_read = static_cast<double>(blocks_) / static_cast<double>(wanted_);
  }
  // Before rows are looked up again.
  if (!by_query && key_.has_filter())
    result->table_rows = static_cast<double>(reader_.rows_met()) * result->rows_per_row_read;
  if (!every_row_ && leaves_ == 1 && leaf_[0].by_block && !leaf_[0].by_query &&
      leaf_[0].relation == RelationGetRelid(relation_))
    sink_->look_again(relation_, snapshot_, *result, &reader_);
}

void Scan::end() {
  reader_.end();
  if (OidIsValid(options_.leaf)) table_close(root_, NoLock);
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
  Scan scan(relation, key, options, sink, doing);
  scan.begin(previous, result);
  scan.plan(*result);
  scan.run(value_types, result);
  scan.end();
  settings.end();
  MemoryContextSwitchTo(previous);
  MemoryContextDelete(memory);
  if (options.as_owner) owner.end();
}

}  // namespace kde_pg
