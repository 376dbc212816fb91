// See scan_plan.h.
#include "pg/read/scan_plan.h"

#include "pg/catalog/expression.h"
#include "pg/catalog/meaning.h"
#include "pg/catalog/planned_rows.h"
#include "pg/progress/progress.h"
#include "pg/read/block_range.h"
#include "pg/read/foreign_blocks.h"

#include "core/kde.h"

#include <algorithm>

extern "C" {
#include "access/table.h"
#include "access/tableam.h"
#include "access/visibilitymap.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "nodes/plannodes.h"
#include "optimizer/cost.h"
#include "optimizer/plancat.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
}

namespace kde_pg {

namespace {

// A block elsewhere costs some round trips: so many times fewer are drawn.
constexpr int64 kForeignCost = 10;

// Measures and what groups are by are columns to a scan.
DensityKey columns_read(const DensityKey& key) {
  DensityKey all = key;
  all.columns = key.all();
  all.measures = all.groups = 0;
  return all;
}

// --------------------------------------------------------------------------------- leaves

// Of the relation's own rows.
double planned_rows_of(Relation rel) {
  if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE) return 0;
  BlockNumber pages;
  double rows = 0, all_visible;
  estimate_rel_size(rel, nullptr, &pages, &rows, &all_visible);
  return Max(rows, 0.0);
}

// Whether a relation has rows of its own. Errors: 42809, 55000 for what cannot be read.
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
  for (int i = 0; i < s.leaves; ++i)
    if (find_leaf(proof, s.leaf[i].relation) == nullptr) return false;
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

// Whether all filters are written alike.
bool is_of_one_filter(const Scan& s) {
  for (int i = 1; i < s.n; ++i)
    if (strcmp(s.served[i].key.filter, s.key.filter) != 0) return false;
  return true;
}

// Appends the columns of a key from one on as they are called in a leaf. Texts are canonical, so names
// in them need no search path.
void append_columns(StringInfo query, const Scan& s, const DensityKey& key, Relation rel, int first,
                    int end) {
  for (int k = first; k < end; ++k) {
    const KeyColumn& column = key.column[k];
    const char* text = column.text;
    if (column.attnum != 0) {
      const AttrNumber attnum = leaf_attnum(s.relation, column.attnum, rel);
      text = quote_identifier(NameStr(TupleDescAttr(RelationGetDescr(rel), attnum - 1)->attname));
    }
    appendStringInfo(query, "%s%s", k > first ? ", " : "", text);
  }
}

}  // namespace

const char* query_of(const Scan& s, Relation rel, bool with_descendants, QueryFor what) {
  const bool one_filter = is_of_one_filter(s);
  StringInfoData query;
  initStringInfo(&query);
  appendStringInfoString(&query, "SELECT ");
  for (int i = 0; i < s.n; ++i) {
    const DensityKey& key = s.served[i].key;
    appendStringInfoString(&query, i > 0 ? ", " : "");
    if (what == QueryFor::values) {
      append_columns(&query, s, key, rel, 0, 1);
      appendStringInfoString(&query, ", pg_catalog.count(*)");
      if (key.columns == 1) continue;
      appendStringInfoString(&query, ", kde_aqp.value_sums(");
      append_columns(&query, s, key, rel, 1, key.columns);
      appendStringInfoString(&query, ") FILTER (WHERE ");
      append_columns(&query, s, key, rel, 0, 1);
      appendStringInfoString(&query, " IS DISTINCT FROM NULL");
    } else {
      if (what == QueryFor::cells)
        appendStringInfo(&query, "kde_aqp.cells(%d, ",
                         static_cast<int>(s.served[i].reading->chain));
      append_columns(&query, s, key, rel, 0, key.columns);
    }
    if (what != QueryFor::rows) appendStringInfoChar(&query, ')');
    if (!one_filter && key.has_filter())
      appendStringInfo(&query, " FILTER (WHERE (%s))", key.filter);
  }
  appendStringInfo(&query, " FROM %s%s", with_descendants ? "" : "ONLY ",
                   quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)),
                                              RelationGetRelationName(rel)));
  if (one_filter && s.key.has_filter()) appendStringInfo(&query, " WHERE (%s)", s.key.filter);
  if (what == QueryFor::values) appendStringInfoString(&query, " GROUP BY 1");
  return query.data;
}

namespace {

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

// Reads the rows of blocks that are not yet known to be visible to all. With checksums, hints that the
// first reader of a row leaves stamp its block, which the proof would then take for changed.
void leave_hints(Relation rel, Snapshot snapshot) {
  const BlockNumber blocks = RelationGetNumberOfBlocks(rel);
  TupleTableSlot* slot = table_slot_create(rel, nullptr);
  TableScanDesc scan = begin_block_scan(rel, snapshot);
  Buffer map = InvalidBuffer;
  const auto is_clear = [&](BlockNumber block) {
    CHECK_FOR_INTERRUPTS();
    return (visibilitymap_get_status(rel, block, &map) & VISIBILITYMAP_ALL_VISIBLE) == 0;
  };
  for (BlockNumber block = 0; block < blocks; ++block) {
    if (!is_clear(block)) continue;
    const BlockNumber first = block;
    while (block + 1 < blocks && is_clear(block + 1)) ++block;
    set_block_range(scan, first, block + 1);
    while (table_scan_getnextslot_tidrange(scan, ForwardScanDirection, slot))
      CHECK_FOR_INTERRUPTS();
  }
  if (BufferIsValid(map)) ReleaseBuffer(map);
  table_endscan(scan);
  ExecDropSingleTupleTableSlot(slot);
}

void leave_hints(const Scan& s) {
  if (!XLogHintBitIsNeeded() || RecoveryInProgress()) return;
  PushActiveSnapshot(GetLatestSnapshot());
  for (int i = 0; i < s.leaves; ++i) {
    if (s.leaf[i].foreign) continue;
    Relation rel = table_open(s.leaf[i].relation, NoLock);
    if (rel->rd_rel->relam == HEAP_TABLE_AM_OID && RelationNeedsWAL(rel))
      leave_hints(rel, GetActiveSnapshot());
    table_close(rel, NoLock);
  }
  PopActiveSnapshot();
}

void begin(Scan* s, MemoryContext caller, Proof* proof) {
  collect_leaves(s);
  s->root = OidIsValid(s->options.leaf) ? table_open(s->options.leaf, NoLock) : s->relation;
  // The caller may have waited for the table, or for another session's fit of the same columns: the
  // statement's snapshot would then show older rows than those already fitted, or none after
  // TRUNCATE. So a new one is taken under all locks, but where a transaction has but one.
  if (s->options.snapshot != nullptr) {
    PushActiveSnapshot(s->options.snapshot);
    s->snapshot = GetActiveSnapshot();
    *proof = unproven(Unproven::not_noted, 0);
    return;
  }
  const bool old = IsolationUsesXactSnapshot();
  if (s->options.every_row && !old) leave_hints(*s);
  const ProofBegun begun = begin_proof(RelationGetRelid(s->root));
  PushActiveSnapshot(old ? GetTransactionSnapshot() : GetLatestSnapshot());
  s->snapshot = GetActiveSnapshot();
  s->elsewhere = s->leaves > 0 && rows_are_elsewhere(s->root, &s->beneath);
  MemoryContext memory = MemoryContextSwitchTo(caller);
  *proof = note_proof(RelationGetRelid(s->root), s->snapshot, old ? nullptr : &begun);
  if (!are_leaves_of(*s, *proof)) *proof = unproven(Unproven::being_changed, proof->as_of);
  if (s->elsewhere) *proof = unproven(Unproven::elsewhere, proof->as_of);
  MemoryContextSwitchTo(memory);
}

bool is_whole_query(const Scan& s, const DensityKey& key) {
  return s.elsewhere || s.options.by_query || RowReader::needs_query(s.relation, key, s.relation);
}

// For the first.
void plan(Scan* s) {
  // A virtual generated column is the queried table's own, whatever its partitions say of theirs.
  if (s->leaves > 0 && is_whole_query(*s, s->key)) merge_leaves(s);
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

// ------------------------------------------------------------------------- whom it serves beside

// Whether a scan for it would read the leaves as this one does.
bool reads_leaves_alike(const Scan& s, const DensityKey& key) {
  if (is_whole_query(s, key) != is_whole_query(s, s.key)) return false;
  bool by_query = false, alike = true;
  for (int i = 0; i < s.leaves; ++i) {
    by_query |= s.leaf[i].by_query;
    if (s.leaf[i].foreign || s.leaf[i].with_descendants) continue;
    Relation rel = table_open(s.leaf[i].relation, NoLock);
    alike = alike && s.leaf[i].by_query == RowReader::needs_query(s.relation, key, rel);
    table_close(rel, NoLock);
  }
  return alike && (!by_query || strcmp(key.filter, s.key.filter) == 0);
}

// Whether it would read the same rows of them.
bool reads_rows_alike(const Scan& s, const ScanOptions& o) {
  if (o.as_owner != s.options.as_owner || o.by_query || s.options.by_query ||
      o.leaf != s.options.leaf || o.first_block != s.options.first_block ||
      o.end_block != s.options.end_block)
    return false;
  bool foreign = false;
  for (int i = 0; i < s.leaves; ++i) foreign |= s.leaf[i].by_query;
  const bool same_number = o.every_row == s.options.every_row &&
                           o.sample_blocks == s.options.sample_blocks &&
                           o.least_blocks == s.options.least_blocks;
  if (foreign && !same_number) return false;
  if (s.every_row) return o.every_row || s.blocks <= static_cast<uint64>(o.sample_blocks);
  return same_number && o.seed == s.options.seed;
}

}  // namespace

const char* settings_of_rows(const DensityKey& key) {
  return key.settings != nullptr ? key.settings : "";
}

void serve(Scan* s, Reading* reading) {
  Served* served = &s->served[s->n++];
  *served = {reading, columns_read(*reading->key),
             psprintf("read %s", describe_columns(*reading->key)), nullptr};
  if (reading->options.as_owner) check_not_volatile(*reading->key);
}

namespace {

void serve_others(Scan* s, Reading* const* readings, int n) {
  for (int i = 0; i < n; ++i) {
    Reading* reading = readings[i];
    if (reading->done || reading == s->served[0].reading) continue;
    const DensityKey& key = *reading->key;
    const char* settings = settings_of_rows(key);
    if (*settings != '\0' && strcmp(settings, settings_of_rows(s->key)) != 0) continue;
    if (!reads_rows_alike(*s, reading->options) || !reads_leaves_alike(*s, columns_read(key)))
      continue;
    serve(s, reading);
  }
}

}  // namespace

namespace {

// Where rows are on other servers a query might look for the aggregate there.
bool may_aggregate(const Scan& s) {
  bool all = (!s.elsewhere || s.beneath) && !s.options.by_query && s.options.snapshot == nullptr;
  for (int i = 0; i < s.n; ++i) all = all && s.served[i].reading->options.every_row;
  return all;
}

// Of all that are served, whether rows come as cells.
bool reads_cells(const Scan& s) {
  for (int i = 0; i < s.n; ++i)
    if (!s.served[i].reading->sink->takes_cells()) return false;
  return may_aggregate(s);
}

// Of the only one, whether its values come. A query is as fast as rows one after another.
bool reads_values(const Scan& s) {
  return s.n == 1 && s.served[0].reading->sink->takes_values() && may_aggregate(s);
}

// Whether it would be workers that count cells. Then these are worth the executor's steps for each row.
bool takes_workers(const Scan& s) {
  if (max_parallel_workers_per_gather == 0) return false;
  if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "SPI_connect failed");
  const char* query = query_of(s, s.root, s.root == s.relation || s.beneath, QueryFor::cells);
  SPIPlanPtr plan = SPI_prepare_cursor(query, 0, nullptr, CURSOR_OPT_PARALLEL_OK);
  if (plan == nullptr) elog(ERROR, "SPI_prepare failed");
  CachedPlan* cached = SPI_plan_get_cached_plan(plan);
  const bool takes = linitial_node(PlannedStmt, cached->stmt_list)->parallelModeNeeded;
  ReleaseCachedPlan(cached, nullptr);  // of a plan that is not saved
  SPI_finish();
  return takes;
}

// Whether rows are read as fast one after another. Where the user has no right to them, or policies
// apply, the executor says so.
bool are_read_at_once(const Scan& s) {
  const Oid root = RelationGetRelid(s.root);
  if (pg_class_aclcheck(root, GetUserId(), ACL_SELECT) != ACLCHECK_OK ||
      check_enable_rls(root, InvalidOid, true) == RLS_ENABLED)
    return false;
  for (int i = 0; i < s.leaves; ++i)
    if (!s.leaf[i].by_block || s.leaf[i].by_query || s.leaf[i].foreign) return false;
  for (int i = 0; i < s.n; ++i)
    if (s.served[i].key.has_filter()) return false;
  return s.leaves > 0 && !takes_workers(s);
}

}  // namespace

// -------------------------------------------------------------------------------------- its run

void plan_scan(Scan* s, Reading* const* readings, int n, MemoryContext caller, Proof* proof) {
  begin(s, caller, proof);
  plan(s);
  serve_others(s, readings, n);
  s->by_values = reads_values(*s);
  s->by_cells = !s->by_values && reads_cells(*s) && !are_read_at_once(*s);
}

}  // namespace kde_pg
