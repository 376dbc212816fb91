// Asks the planner where the rows of a relation are: plans SELECT * FROM it and looks for anything
// but scans of its own tables.
#include "pg/catalog/planned_rows.h"

#include "pg/base/pinned.h"
#include "pg/base/subtransaction.h"
#include "pg/base/tree_walk.h"

extern "C" {
#include "access/parallel.h"
#include "access/transam.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_am.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_partitioned_table.h"
#include "catalog/pg_statistic_ext.h"
#include "nodes/plannodes.h"
#include "optimizer/paths.h"
#include "optimizer/pathnode.h"
#include "optimizer/plancat.h"
#include "optimizer/planner.h"
#include "parser/analyze.h"
#include "parser/parsetree.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "tcop/tcopprot.h"
#include "utils/resowner.h"
}

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace kde_pg {

PlannerHooks own_planner_hooks;

namespace {

// Of others.
bool has_planner_hooks() {
  const PlannerHooks& own = own_planner_hooks;
  return planner_hook != own.planner || own.next_planner != nullptr ||
         set_rel_pathlist_hook != nullptr || relation_hook != nullptr ||
         create_upper_paths_hook != own.upper_paths || own.next_upper_paths != nullptr ||
         post_parse_analyze_hook != nullptr;
}

struct Table {
  Oid relation;
  bool scanned;
  bool stood_for;  // by a custom scan, perhaps of a file that queries see no row of
};

// The relation and its descendants that have rows of their own, in the order of their numbers.
struct Tables {
  Table* item;
  int count;
};

Tables tables_of(Relation relation) {
  List* members = find_all_inheritors(RelationGetRelid(relation), NoLock, nullptr);
  list_sort(members, list_oid_cmp);
  Tables tables = {};
  tables.item = static_cast<Table*>(palloc(list_length(members) * sizeof(Table)));
  for (const Oid oid : oids(members)) {
    Relation member = relation_open(oid, NoLock);
    if (member->rd_rel->relkind != RELKIND_PARTITIONED_TABLE && !RELATION_IS_OTHER_TEMP(member))
      tables.item[tables.count++] = {RelationGetRelid(member), false, false};
    relation_close(member, NoLock);
  }
  return tables;
}

Table* find_table(const Tables& tables, Oid relation) {
  Table* end = tables.item + tables.count;
  Table* found = std::lower_bound(tables.item, end, relation,
                                  [](const Table& t, Oid oid) { return t.relation < oid; });
  return found != end && found->relation == relation ? found : nullptr;
}

// Not rewritten: of tables the rewriter knows policies alone, and those are not what is asked. The
// owner of a table need not have its schema's USAGE, so the name is looked up by one who has; that
// calls no function of anybody's. The planner may, and works as the current user.
PlannedStmt* plan_of_all_rows(Relation relation) {
  const char* text =
      psprintf("SELECT * FROM %s",
               quote_qualified_identifier(get_namespace_name(RelationGetNamespace(relation)),
                                          RelationGetRelationName(relation)));
  auto* statement = static_cast<RawStmt*>(linitial(pg_parse_query(text)));
  Oid user;
  int context;
  GetUserIdAndSecContext(&user, &context);
  SetUserIdAndSecContext(BOOTSTRAP_SUPERUSERID, context | SECURITY_LOCAL_USERID_CHANGE);
  Query* query = parse_analyze_fixedparams(statement, text, nullptr, 0, nullptr);
  SetUserIdAndSecContext(user, context);
  query->queryId = 0;  // no statement of anybody's, for those who keep statistics of them
  return plan_query(query, text);
}

// ------------------------------------------------------------------ what planning a table computes

bool calls_added_text(const char* tree) {
  return calls_added(static_cast<Node*>(stringToNode(tree)));
}

bool calls_added_in(SysCacheIdentifier cache, Oid key, std::initializer_list<AttrNumber> columns) {
  HeapTuple tuple = SearchSysCache1(cache, ObjectIdGetDatum(key));
  if (!HeapTupleIsValid(tuple)) return false;
  bool calls = false;
  for (const AttrNumber column : columns) {
    bool is_null;
    const Datum tree = SysCacheGetAttr(cache, tuple, column, &is_null);
    calls = calls || (!is_null && calls_added_text(TextDatumGetCString(tree)));
  }
  ReleaseSysCache(tuple);
  return calls;
}

// The planner computes what is constant in the expressions of indexes, statistics, partition keys
// and virtual generated columns. Whether functions that are not the server's own stand in them.
bool planning_calls_added(Relation table) {
  const Oid relation = RelationGetRelid(table);
  for (const Oid oid : oids(RelationGetIndexList(table))) {
    if (calls_added_in(INDEXRELID, oid, {Anum_pg_index_indexprs, Anum_pg_index_indpred}))
      return true;
  }
  for (const Oid oid : oids(RelationGetStatExtList(table))) {
    if (calls_added_in(STATEXTOID, oid, {Anum_pg_statistic_ext_stxexprs})) return true;
  }
  if (table->rd_rel->relkind == RELKIND_PARTITIONED_TABLE &&
      calls_added_in(PARTRELID, relation, {Anum_pg_partitioned_table_partexprs}))
    return true;
  const TupleConstr* constraints = RelationGetDescr(table)->constr;
  for (int i = 0; constraints != nullptr && i < constraints->num_defval; ++i) {
    const AttrDefault& value = constraints->defval[i];
    if (TupleDescAttr(RelationGetDescr(table), value.adnum - 1)->attgenerated ==
            ATTRIBUTE_GENERATED_VIRTUAL &&
        calls_added_text(value.adbin))
      return true;
  }
  return false;
}

bool planning_tree_calls_added(Relation root) {
  bool calls = false;
  for (const Oid each : oids(find_all_inheritors(RelationGetRelid(root), NoLock, nullptr))) {
    Relation member = relation_open(each, NoLock);
    calls = calls || planning_calls_added(member);
    relation_close(member, NoLock);
  }
  return calls;
}

// What the scans of a plan are looked up in.
struct Scanned {
  const List* range_table;
  Tables tables;
  bool may_lie_beneath;
  List* beneath;  // TableBeneath*
};

bool is_heap(Oid relation) {
  HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
  if (!HeapTupleIsValid(tuple)) return false;
  const auto* form = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple));
  const bool heap = form->relkind == RELKIND_RELATION && form->relam == HEAP_TABLE_AM_OID;
  ReleaseSysCache(tuple);
  return heap;
}

// rows_each: 0 where no custom scan is above.
bool scans_table(const Scan* scan, double rows_each, Scanned* scanned) {
  if (scan->scanrelid == 0) return false;
  const RangeTblEntry* entry = rt_fetch(scan->scanrelid, scanned->range_table);
  if (entry->rtekind != RTE_RELATION) return false;
  if (IsA(scan, ForeignScan) != (entry->relkind == RELKIND_FOREIGN_TABLE)) return false;
  Table* table = find_table(scanned->tables, entry->relid);
  if (table != nullptr) {
    if (table->scanned) return false;
    return table->scanned = true;
  }
  if (!(rows_each > 0) || !is_heap(entry->relid)) return false;
  for (const TableBeneath* item : of_list<const TableBeneath>(scanned->beneath)) {
    if (item->relation == entry->relid) return false;
  }
  auto* beneath = static_cast<TableBeneath*>(palloc(sizeof(TableBeneath)));
  *beneath = {entry->relid, static_cast<int64>(std::ceil(Min(Max(rows_each, 1.0), 1e9)))};
  scanned->beneath = lappend(scanned->beneath, beneath);
  return true;
}

bool scans_tables(const Plan* plan, double rows_each, Scanned* scanned);

bool scan_tables(const List* plans, double rows_each, Scanned* scanned) {
  for (const Plan* entry : of_list<const Plan>(plans)) {
    if (!scans_tables(entry, rows_each, scanned)) return false;
  }
  return true;
}

// A custom scan without plans has its rows from who knows where.
bool scans_beneath(const CustomScan* scan, double rows_each, Scanned* scanned) {
  if (!scanned->may_lie_beneath || scan->custom_plans == NIL) return false;
  if (scan->scan.scanrelid > 0) {
    const RangeTblEntry* entry = rt_fetch(scan->scan.scanrelid, scanned->range_table);
    Table* table =
        entry->rtekind == RTE_RELATION ? find_table(scanned->tables, entry->relid) : nullptr;
    if (table != nullptr) table->stood_for = true;
  }
  double rows = 0;
  for (const Plan* item : of_list<const Plan>(scan->custom_plans)) rows += item->plan_rows;
  const double each = scan->scan.plan.plan_rows / Max(rows, 1.0);
  return scan_tables(scan->custom_plans, Max(rows_each, 1.0) * Max(each, 1.0), scanned);
}

// Whether a plan is made of whole scans of the tables, none of them twice, and of what may lie
// beneath.
bool scans_tables(const Plan* plan, double rows_each, Scanned* scanned) {
  if (plan == nullptr || plan->qual != NIL || plan->initPlan != NIL) return false;
  switch (nodeTag(plan)) {
    case T_SeqScan:
    case T_ForeignScan:
      return scans_table(reinterpret_cast<const Scan*>(plan), rows_each, scanned);
    case T_IndexScan:
      return reinterpret_cast<const IndexScan*>(plan)->indexqual == NIL &&
             scans_table(reinterpret_cast<const Scan*>(plan), rows_each, scanned);
    case T_IndexOnlyScan:
      return reinterpret_cast<const IndexOnlyScan*>(plan)->indexqual == NIL &&
             scans_table(reinterpret_cast<const Scan*>(plan), rows_each, scanned);
    case T_Result:
      return reinterpret_cast<const Result*>(plan)->resconstantqual == nullptr &&
             scans_tables(plan->lefttree, rows_each, scanned);
    case T_Gather:
      return scans_tables(plan->lefttree, rows_each, scanned);
    case T_Append:
      return scan_tables(reinterpret_cast<const Append*>(plan)->appendplans, rows_each, scanned);
    case T_CustomScan:
      return scans_beneath(reinterpret_cast<const CustomScan*>(plan), rows_each, scanned);
    default:
      return false;
  }
}

// Whether the tables that were not scanned have nothing in them: a tree's empty root may be left
// out.
bool others_are_empty(const Tables& tables) {
  for (int i = 0; i < tables.count; ++i) {
    if (tables.item[i].scanned || tables.item[i].stood_for) continue;
    Relation table = relation_open(tables.item[i].relation, NoLock);
    const bool empty =
        RELKIND_HAS_STORAGE(table->rd_rel->relkind) && RelationGetNumberOfBlocks(table) == 0;
    relation_close(table, NoLock);
    if (!empty) return false;
  }
  return true;
}

// Locks the relation and its descendants where nobody has locked them, for the resource owner.
// False if somebody has, or there is nothing to plan without asking another server.
bool lock_for_look(Oid relation) {
  if (!ConditionalLockRelationOid(relation, AccessShareLock)) return false;
  for (const Oid member : oids(find_all_inheritors(relation, NoLock, nullptr))) {
    if (member != relation && !ConditionalLockRelationOid(member, AccessShareLock)) return false;
    const char kind = get_rel_relkind(member);
    if (kind == '\0' || kind == RELKIND_FOREIGN_TABLE) return false;
  }
  return true;
}

// Where they are, by a plan; *beneath: the tables there, or null.
RowsSeem plan_rows(Relation relation, List** beneath) {
  Scanned scanned = {};
  scanned.tables = tables_of(relation);
  scanned.may_lie_beneath = beneath != nullptr;
  if (scanned.tables.count == 0) return RowsSeem::here;
  const PlannedStmt* plan = plan_of_all_rows(relation);
  scanned.range_table = plan->rtable;
  if (plan->subplans != NIL || !scans_tables(plan->planTree, 0, &scanned) ||
      !others_are_empty(scanned.tables))
    return RowsSeem::elsewhere;
  if (scanned.beneath == NIL) return RowsSeem::here;
  *beneath = scanned.beneath;
  return RowsSeem::beneath;
}

RowsSeem look(Oid relation, PlanFunctions functions, List** beneath) {
  if (!lock_for_look(relation)) return RowsSeem::here;
  Relation rel = try_relation_open(relation, NoLock);
  if (rel == nullptr) return RowsSeem::here;
  RowsSeem seem = RowsSeem::functions;
  if (functions == PlanFunctions::any || !planning_tree_calls_added(rel)) {
    AsOwner owner;
    owner.begin(rel);
    seem = plan_rows(rel, beneath);
    owner.end();
  }
  relation_close(rel, NoLock);
  return seem;
}

// The locks go with a resource owner of their own. (A subtransaction would do, but for parallel
// mode.)
RowsSeem look_in_passing(Oid relation, PlanFunctions functions, List** beneath) {
  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, "kde_aqp plan", ALLOCSET_DEFAULT_SIZES);
  MemoryContext previous = MemoryContextSwitchTo(context);
  ResourceOwner caller = CurrentResourceOwner;
  CurrentResourceOwner = ResourceOwnerCreate(caller, "kde_aqp plan");
  const bool push = !ActiveSnapshotSet();
  if (push) PushActiveSnapshot(GetTransactionSnapshot());
  List* found = NIL;
  const RowsSeem seem = look(relation, functions, beneath != nullptr ? &found : nullptr);
  if (push) PopActiveSnapshot();
  ResourceOwner own = CurrentResourceOwner;
  ResourceOwnerRelease(own, RESOURCE_RELEASE_BEFORE_LOCKS, false, false);
  ResourceOwnerRelease(own, RESOURCE_RELEASE_LOCKS, false, false);
  ResourceOwnerRelease(own, RESOURCE_RELEASE_AFTER_LOCKS, false, false);
  CurrentResourceOwner = caller;
  ResourceOwnerDelete(own);
  MemoryContextSwitchTo(previous);
  for (const TableBeneath* item : of_list<const TableBeneath>(found)) {
    auto* table = static_cast<TableBeneath*>(palloc(sizeof(TableBeneath)));
    *table = *item;
    *beneath = lappend(*beneath, table);
  }
  MemoryContextDelete(context);
  return seem;
}

}  // namespace

bool rows_are_elsewhere(Relation relation, bool* beneath) {
  if (beneath != nullptr) *beneath = false;
  if (!has_planner_hooks()) return false;
  List* tables = NIL;
  const RowsSeem seem = plan_rows(relation, &tables);
  if (beneath != nullptr) *beneath = seem == RowsSeem::beneath;
  return seem != RowsSeem::here;
}

RowsSeem rows_seem(Oid relation, PlanFunctions functions, List** beneath) {
  if (!has_planner_hooks()) return RowsSeem::here;
  if (IsInParallelMode()) return look_in_passing(relation, functions, beneath);
  RowsSeem seem = RowsSeem::failed;
  (void)without_error([&] { seem = look_in_passing(relation, functions, beneath); }, nullptr,
                      is_no_cancel);
  return seem;
}

}  // namespace kde_pg
