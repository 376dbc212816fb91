/*
 * Tables whose rows are elsewhere, for tests: what a distributed table, a compressed chunk or a
 * columnar table looks like to somebody who reads the table's file.
 *
 * Loaded by shared_preload_libraries, it scans the table elsewhere.NAME in the place of each table
 * NAME of another schema, by a custom scan: of a single table or the root of a tree (with
 * descendants) as of a member alone. Data modification goes to the table itself. A table by the
 * name of left_out is scanned by no query at all, as the empty root of a tree may be.
 *
 * In the place of a scan of a table NAME with a table beneath.NAME is one of that, each of whose rows
 * is ten, as the rows of a compressed chunk are: a custom scan above a scan of beneath.NAME.
 *
 * A table NAME with a table far.NAME is planned as distributed tables are: a planner hook has the
 * server's planner plan the query, without partitions, throws that plan away, and makes one of the
 * same query of far.NAME; with elsewhere.fast = on it makes that alone. Nobody else may have the
 * server's planner plan NAME: its hooks rely on having been called by this one.
 *
 * Beside it, two table access methods, both heap by another name, without TID range scans: that of
 * silent_method() counts no rows in the statistics, that of counting_method() does.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/restrictinfo.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "differences.h"

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
  state->scan = table_beginscan(state->rows, estate->es_snapshot, 0, NULL NO_SCAN_FLAGS);
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

/* The table of a schema that has the rows of `relation`, or InvalidOid. */
static Oid rows_in(const char *name, Oid relation) {
  Oid schema = get_namespace_oid(name, true);
  if (!OidIsValid(schema) || get_rel_namespace(relation) == schema) return InvalidOid;
  return get_relname_relid(get_rel_name(relation), schema);
}

/* --- far tables ------------------------------------------------------------------------------ */

static bool planning_far = false, fast = false;
static planner_hook_type planner_before_far = NULL;

/* Whether a query has a far table, which is put in its place where `replace` is not null. */
static bool find_far(Node *node, void *replace) {
  ListCell *cell;
  bool found = false;
  if (node == NULL) return false;
  if (!IsA(node, Query)) return expression_tree_walker(node, find_far, replace);
  foreach (cell, ((Query *)node)->rtable) {
    RangeTblEntry *entry = lfirst_node(RangeTblEntry, cell);
    Oid rows = entry->rtekind == RTE_RELATION ? rows_in("far", entry->relid) : InvalidOid;
    if (!OidIsValid(rows)) continue;
    found = true;
    if (replace == NULL) break;
#if PG_VERSION_NUM >= 160000
    /* Found by the table that the entry still names. */
    if (entry->perminfoindex != 0) {
      RTEPermissionInfo *info = getRTEPermissionInfo(((Query *)node)->rteperminfos, entry);
      info->relid = rows;
      info->requiredPerms = 0;
    }
#else
    entry->requiredPerms = 0;
#endif
    entry->relid = rows;
    entry->relkind = get_rel_relkind(rows);
  }
  return query_tree_walker((Query *)node, find_far, replace, 0) || (found && replace == NULL);
}

/* Takes partitioned far tables for single ones, as is done for the server's planner. */
static bool leave_out_partitions(Node *node, void *context) {
  ListCell *cell;
  if (node == NULL) return false;
  if (!IsA(node, Query)) return expression_tree_walker(node, leave_out_partitions, context);
  foreach (cell, ((Query *)node)->rtable) {
    RangeTblEntry *entry = lfirst_node(RangeTblEntry, cell);
    if (entry->rtekind != RTE_RELATION || !OidIsValid(rows_in("far", entry->relid))) continue;
    entry->inh = false;
    entry->relkind = RELKIND_RELATION;
  }
  return query_tree_walker((Query *)node, leave_out_partitions, context, 0);
}

static PlannedStmt *plan_by_server(Query *query, const char *text, int options,
                                   ParamListInfo parameters EXPLAINED_PARAMETER) {
  if (planner_before_far) return planner_before_far(query, text, options, parameters EXPLAINED);
  return standard_planner(query, text, options, parameters EXPLAINED);
}

/* What the query may read is checked of the tables that it names. */
static void add_tables(PlannedStmt *to, const PlannedStmt *from) {
  ListCell *cell;
#if PG_VERSION_NUM >= 160000
  int before = list_length(to->permInfos);
  to->permInfos = list_concat(to->permInfos, from->permInfos);
#endif
  foreach (cell, from->rtable) {
    RangeTblEntry *entry = copyObject(lfirst_node(RangeTblEntry, cell));
#if PG_VERSION_NUM >= 160000
    if (entry->perminfoindex != 0) entry->perminfoindex += before;
#endif
    to->rtable = lappend(to->rtable, entry);
  }
  to->relationOids = list_concat(to->relationOids, from->relationOids);
}

static PlannedStmt *plan_far(Query *query, const char *text, int options,
                             ParamListInfo parameters EXPLAINED_PARAMETER) {
  bool outer = planning_far;
  bool is_far = query->commandType == CMD_SELECT && find_far((Node *)query, NULL);
  Query *copy = is_far ? copyObject(query) : NULL;
  PlannedStmt *thrown = NULL, *plan = NULL;
  create_upper_paths_hook_type groupings = create_upper_paths_hook;
  planning_far = is_far;
  PG_TRY();
  {
    if (is_far) leave_out_partitions((Node *)query, NULL);
    if (!is_far || !fast)
      plan = thrown = plan_by_server(query, text, options, parameters EXPLAINED);
    if (is_far) {
      find_far((Node *)copy, copy);
      if (fast) create_upper_paths_hook = NULL;
      plan = standard_planner(copy, text, options, parameters EXPLAINED);
      if (thrown != NULL) add_tables(plan, thrown);
    }
  }
  PG_FINALLY();
  {
    planning_far = outer;
    create_upper_paths_hook = groupings;
  }
  PG_END_TRY();
  return plan;
}

/* --- hooks ----------------------------------------------------------------------------------- */

static set_rel_pathlist_hook_type previous_hook = NULL;

static void put_elsewhere(PlannerInfo *root, RelOptInfo *rel, Index index, RangeTblEntry *entry) {
  Oid rows = InvalidOid;
  CustomPath *path;
  if (previous_hook) previous_hook(root, rel, index, entry);
  if (entry->rtekind == RTE_RELATION && !planning_far && OidIsValid(rows_in("far", entry->relid)))
    elog(ERROR, "a far table is planned behind its planner's back");
  if (entry->rtekind != RTE_RELATION || root->parse->commandType != CMD_SELECT) return;
  if (!entry->inh && strcmp(get_rel_name(entry->relid), "left_out") == 0) mark_dummy_rel(rel);
  rows = rows_in("elsewhere", entry->relid);
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

/* --- beneath --------------------------------------------------------------------------------- */

#define ROWS_EACH 10

typedef struct BeneathScan {
  CustomScanState custom;
  TupleTableSlot *row;
  int left; /* times that it is still to be given */
} BeneathScan;

static void begin_beneath(CustomScanState *node, EState *estate, int eflags) {
  CustomScan *plan = (CustomScan *)node->ss.ps.plan;
  node->custom_ps = list_make1(ExecInitNode(linitial(plan->custom_plans), estate, eflags));
}

static TupleTableSlot *next_beneath(ScanState *node) {
  BeneathScan *state = (BeneathScan *)node;
  TupleTableSlot *slot = node->ss_ScanTupleSlot;
  ExecClearTuple(slot);
  if (state->left == 0) {
    state->row = ExecProcNode(linitial(state->custom.custom_ps));
    if (TupIsNull(state->row)) return slot;
    slot_getallattrs(state->row);
    state->left = ROWS_EACH;
  }
  --state->left;
  for (int i = 0; i < slot->tts_tupleDescriptor->natts; i++) {
    slot->tts_values[i] = state->row->tts_values[i];
    slot->tts_isnull[i] = state->row->tts_isnull[i];
  }
  return ExecStoreVirtualTuple(slot);
}

static TupleTableSlot *run_beneath(CustomScanState *node) {
  return ExecScan(&node->ss, next_beneath, is_still_right);
}

static void end_beneath(CustomScanState *node) { ExecEndNode(linitial(node->custom_ps)); }

static void rewind_beneath(CustomScanState *node) {
  ((BeneathScan *)node)->left = 0;
  ExecReScan(linitial(node->custom_ps));
}

static const CustomExecMethods beneath_exec_methods = {
    .CustomName = "Beneath",
    .BeginCustomScan = begin_beneath,
    .ExecCustomScan = run_beneath,
    .EndCustomScan = end_beneath,
    .ReScanCustomScan = rewind_beneath,
};

static Node *make_beneath_state(CustomScan *plan) {
  BeneathScan *state = palloc0(sizeof(BeneathScan));
  (void)plan;
  NodeSetTag(state, T_CustomScanState);
  state->custom.methods = &beneath_exec_methods;
  return (Node *)state;
}

static const CustomScanMethods beneath_methods = {"Beneath", make_beneath_state};

static Plan *above(SeqScan *scan, PlannedStmt *statement) {
  Plan *of = (Plan *)scan;
  RangeTblEntry *entry = rt_fetch(((Scan *)scan)->scanrelid, statement->rtable);
  Oid schema = get_namespace_oid("beneath", true);
  Oid relation;
  Relation table;
  TupleDesc columns;
  SeqScan *beneath = copyObject(scan);
  CustomScan *custom = makeNode(CustomScan);
  if (!OidIsValid(schema) || entry->rtekind != RTE_RELATION ||
      get_rel_namespace(entry->relid) == schema)
    return of;
  relation = get_relname_relid(get_rel_name(entry->relid), schema);
  if (!OidIsValid(relation)) return of;

  entry = copyObject(entry);
  entry->relid = relation;
  statement->rtable = lappend(statement->rtable, entry);
#if PG_VERSION_NUM >= 160000
  entry->perminfoindex = 0; /* checked of the table that the query names */
#endif
#if PG_VERSION_NUM >= 180000
  statement->unprunableRelids =
      bms_add_member(statement->unprunableRelids, list_length(statement->rtable));
#endif
  statement->relationOids = lappend_oid(statement->relationOids, relation);
  table = table_open(relation, AccessShareLock);
  columns = RelationGetDescr(table);
  ((Scan *)beneath)->scanrelid = list_length(statement->rtable);
  ((Plan *)beneath)->qual = NIL;
  ((Plan *)beneath)->targetlist = NIL;
  ((Plan *)beneath)->plan_rows = Max(table->rd_rel->reltuples, 1);
  for (int i = 0; i < columns->natts; i++) {
    Form_pg_attribute column = TupleDescAttr(columns, i);
    Var *var = makeVar(((Scan *)beneath)->scanrelid, i + 1, column->atttypid, column->atttypmod,
                       column->attcollation, 0);
    ((Plan *)beneath)->targetlist =
        lappend(((Plan *)beneath)->targetlist, makeTargetEntry((Expr *)var, i + 1, NULL, false));
  }
  table_close(table, NoLock);

  custom->scan = *(Scan *)scan;
  NodeSetTag(custom, T_CustomScan);
  custom->scan.plan.plan_rows = ROWS_EACH * ((Plan *)beneath)->plan_rows;
  custom->custom_plans = list_make1(beneath);
  custom->methods = &beneath_methods;
  return (Plan *)custom;
}

static Plan *put_above(Plan *plan, PlannedStmt *statement) {
  ListCell *cell;
  if (plan == NULL) return NULL;
  if (IsA(plan, SeqScan)) return above((SeqScan *)plan, statement);
  plan->lefttree = put_above(plan->lefttree, statement);
  if (IsA(plan, Append)) {
    foreach (cell, ((Append *)plan)->appendplans) lfirst(cell) = put_above(lfirst(cell), statement);
  }
  return plan;
}

static planner_hook_type previous_planner = NULL;

static PlannedStmt *plan_above(Query *query, const char *text, int options,
                               ParamListInfo params EXPLAINED_PARAMETER) {
  PlannedStmt *statement = previous_planner
                               ? previous_planner(query, text, options, params EXPLAINED)
                               : standard_planner(query, text, options, params EXPLAINED);
  if (query->commandType == CMD_SELECT)
    statement->planTree = put_above(statement->planTree, statement);
  return statement;
}

void _PG_init(void) {
  RegisterCustomScanMethods(&scan_methods);
  RegisterCustomScanMethods(&beneath_methods);
  previous_hook = set_rel_pathlist_hook;
  set_rel_pathlist_hook = put_elsewhere;
  planner_before_far = planner_hook;
  planner_hook = plan_far;
  previous_planner = planner_hook;
  planner_hook = plan_above;
  DefineCustomBoolVariable("elsewhere.fast", "Plans far tables without the server's planner.", NULL,
                           &fast, false, PGC_USERSET, 0, NULL, NULL, NULL);
}

/* --- the access methods ---------------------------------------------------------------------- */

static TableAmRoutine silent;
static TableAmRoutine counting;

/* Inserts as heap does, but with the relation's statistics out of reach. */
static void insert_silently(Relation rel, TupleTableSlot *slot, CommandId command,
                            InsertOptions options, struct BulkInsertStateData *state) {
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
