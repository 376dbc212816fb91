/*
 * Tables whose rows are elsewhere, for tests: what a distributed table, a compressed chunk or a
 * columnar table looks like to somebody who reads the table's file.
 *
 * Loaded by shared_preload_libraries, it scans the table elsewhere.NAME in the place of each table
 * NAME of another schema, by a custom scan: of a single table or the root of a tree (with
 * descendants) as of a member alone. Data modification goes to the table itself. A table by the
 * name of left_out is scanned by no query at all, as the empty root of a tree may be.
 *
 * Beside it, two table access methods, both heap by another name, without TID range scans: that of
 * silent_method() counts no rows in the statistics, that of counting_method() does.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/namespace.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "nodes/extensible.h"
#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

PG_MODULE_MAGIC;

void _PG_init(void);

/* --- the scan -------------------------------------------------------------------------------- */

typedef struct ElsewhereScan {
  CustomScanState custom;
  Relation rows;
  TableScanDesc scan;
  TupleTableSlot *slot;
} ElsewhereScan;

static void begin_scan(CustomScanState *node, EState *estate, int eflags) {
  ElsewhereScan *state = (ElsewhereScan *)node;
  CustomScan *plan = (CustomScan *)node->ss.ps.plan;
  (void)eflags;
  state->rows = table_open(linitial_oid(plan->custom_private), AccessShareLock);
  state->slot = table_slot_create(state->rows, NULL);
  state->scan = table_beginscan(state->rows, estate->es_snapshot, 0, NULL);
}

static TupleTableSlot *next_row(ScanState *node) {
  ElsewhereScan *state = (ElsewhereScan *)node;
  TupleTableSlot *slot = node->ss_ScanTupleSlot;
  ExecClearTuple(slot);
  if (!table_scan_getnextslot(state->scan, ForwardScanDirection, state->slot)) return slot;
  slot_getallattrs(state->slot);
  for (int i = 0; i < slot->tts_tupleDescriptor->natts; i++) {
    slot->tts_values[i] = state->slot->tts_values[i];
    slot->tts_isnull[i] = state->slot->tts_isnull[i];
  }
  return ExecStoreVirtualTuple(slot);
}

static bool is_still_right(ScanState *node, TupleTableSlot *slot) {
  (void)node;
  (void)slot;
  return true;
}

static TupleTableSlot *run_scan(CustomScanState *node) {
  return ExecScan(&node->ss, next_row, is_still_right);
}

static void end_scan(CustomScanState *node) {
  ElsewhereScan *state = (ElsewhereScan *)node;
  table_endscan(state->scan);
  ExecDropSingleTupleTableSlot(state->slot);
  table_close(state->rows, NoLock);
}

static void rewind_scan(CustomScanState *node) {
  table_rescan(((ElsewhereScan *)node)->scan, NULL);
}

static const CustomExecMethods exec_methods = {
    .CustomName = "Elsewhere",
    .BeginCustomScan = begin_scan,
    .ExecCustomScan = run_scan,
    .EndCustomScan = end_scan,
    .ReScanCustomScan = rewind_scan,
};

static Node *make_state(CustomScan *plan) {
  ElsewhereScan *state = palloc0(sizeof(ElsewhereScan));
  (void)plan;
  NodeSetTag(state, T_CustomScanState);
  state->custom.methods = &exec_methods;
  return (Node *)state;
}

static const CustomScanMethods scan_methods = {"Elsewhere", make_state};

static Plan *make_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist,
                       List *clauses, List *custom_plans) {
  CustomScan *plan = makeNode(CustomScan);
  (void)root;
  (void)custom_plans;
  plan->scan.plan.targetlist = tlist;
  plan->scan.plan.qual = extract_actual_clauses(clauses, false);
  plan->scan.scanrelid = rel->relid;
  plan->flags = path->flags;
  plan->custom_private = path->custom_private;
  plan->methods = &scan_methods;
  return &plan->scan.plan;
}

static const CustomPathMethods path_methods = {.CustomName = "Elsewhere",
                                               .PlanCustomPath = make_plan};

/* The table that has the rows of `relation`, or InvalidOid. */
static Oid rows_of(Oid relation) {
  Oid schema = get_namespace_oid("elsewhere", true);
  if (!OidIsValid(schema) || get_rel_namespace(relation) == schema) return InvalidOid;
  return get_relname_relid(get_rel_name(relation), schema);
}

static set_rel_pathlist_hook_type previous_hook = NULL;

static void put_elsewhere(PlannerInfo *root, RelOptInfo *rel, Index index, RangeTblEntry *entry) {
  Oid rows = InvalidOid;
  CustomPath *path;
  if (previous_hook) previous_hook(root, rel, index, entry);
  if (entry->rtekind != RTE_RELATION || root->parse->commandType != CMD_SELECT) return;
  if (!entry->inh && strcmp(get_rel_name(entry->relid), "left_out") == 0) mark_dummy_rel(rel);
  rows = rows_of(entry->relid);
  if (!OidIsValid(rows)) return;
  path = makeNode(CustomPath);
  path->path.pathtype = T_CustomScan;
  path->path.parent = rel;
  path->path.pathtarget = rel->reltarget;
  path->path.rows = rel->rows;
  path->path.total_cost = 1;
#if PG_VERSION_NUM >= 150000
  path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
#endif
  path->custom_private = list_make1_oid(rows);
  path->methods = &path_methods;
  rel->pathlist = NIL;
  rel->partial_pathlist = NIL;
  add_path(rel, &path->path);
}

void _PG_init(void) {
  RegisterCustomScanMethods(&scan_methods);
  previous_hook = set_rel_pathlist_hook;
  set_rel_pathlist_hook = put_elsewhere;
}

/* --- the access methods ---------------------------------------------------------------------- */

static TableAmRoutine silent;
static TableAmRoutine counting;

/* Inserts as heap does, but with the relation's statistics out of reach. */
static void insert_silently(Relation rel, TupleTableSlot *slot, CommandId command, int options,
                            struct BulkInsertStateData *state) {
  struct PgStat_TableStatus *statistics = rel->pgstat_info;
  bool enabled = rel->pgstat_enabled;
  rel->pgstat_info = NULL;
  rel->pgstat_enabled = false;
  GetHeapamTableAmRoutine()->tuple_insert(rel, slot, command, options, state);
  rel->pgstat_info = statistics;
  rel->pgstat_enabled = enabled;
}

static const TableAmRoutine *make_method(TableAmRoutine *routine) {
  *routine = *GetHeapamTableAmRoutine();
  routine->scan_set_tidrange = NULL;
  routine->scan_getnextslot_tidrange = NULL;
  return routine;
}

PG_FUNCTION_INFO_V1(silent_method);
Datum silent_method(PG_FUNCTION_ARGS) {
  (void)fcinfo;
  make_method(&silent);
  silent.tuple_insert = insert_silently;
  PG_RETURN_POINTER(&silent);
}

PG_FUNCTION_INFO_V1(counting_method);
Datum counting_method(PG_FUNCTION_ARGS) {
  (void)fcinfo;
  PG_RETURN_POINTER(make_method(&counting));
}
