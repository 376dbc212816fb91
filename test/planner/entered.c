/*
 * Planner hooks that rely on each other, for tests: those of Citus and TimescaleDB are such.
 *
 * Their planner hook puts what it knows of the query on a stack, and their hooks within the
 * server's planner take it from there: who calls the server's planner by itself, beneath them,
 * takes the session down where the stack is empty, or has them read what is of another query. Here
 * each of the latter ends the session (FATAL) where its own planner hook was not entered, or was
 * entered for another query.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "fmgr.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "differences.h"

PG_MODULE_MAGIC;

void _PG_init(void);

/* What is known of a query that is being planned. */
typedef struct Entered {
  List *relations; /* OIDs */
  struct Entered *outer;
} Entered;

static Entered *entered = NULL;

static planner_hook_type next_planner = NULL;
static set_rel_pathlist_hook_type next_paths = NULL;
static set_join_pathlist_hook_type next_joins = NULL;
static join_search_hook_type next_search = NULL;
static create_upper_paths_hook_type next_upper = NULL;
static get_relation_stats_hook_type next_stats = NULL;
static get_index_stats_hook_type next_index_stats = NULL;

static bool find_relations(Node *node, void *context) {
  ListCell *cell;
  if (node == NULL) return false;
  if (!IsA(node, Query)) return expression_tree_walker(node, find_relations, context);
  foreach (cell, ((Query *)node)->rtable) {
    RangeTblEntry *entry = lfirst_node(RangeTblEntry, cell);
    if (entry->rtekind == RTE_RELATION)
      ((Entered *)context)->relations = lappend_oid(((Entered *)context)->relations, entry->relid);
  }
  return query_tree_walker((Query *)node, find_relations, context, 0);
}

static PlannedStmt *enter(Query *query, const char *text, int options,
                          ParamListInfo parameters EXPLAINED_PARAMETER) {
  Entered own = {NIL, entered};
  PlannedStmt *plan = NULL;
  find_relations((Node *)query, &own);
  entered = &own;
  PG_TRY();
  {
    if (next_planner)
      plan = next_planner(query, text, options, parameters EXPLAINED);
    else
      plan = standard_planner(query, text, options, parameters EXPLAINED);
  }
  PG_FINALLY();
  { entered = own.outer; }
  PG_END_TRY();
  return plan;
}

static void check(const char *hook) {
  if (entered == NULL) elog(FATAL, "%s: the planner hook was not entered", hook);
}

static void check_relation(const char *hook, PlannerInfo *root, RelOptInfo *rel, Oid relation) {
  check(hook);
  /* Members of a tree come with its root, and tables of the schema far by elsewhere.c. */
  if (OidIsValid(relation) && rel->reloptkind == RELOPT_BASEREL && root->parent_root == NULL &&
      get_rel_namespace(relation) != get_namespace_oid("far", true) &&
      !list_member_oid(entered->relations, relation))
    elog(FATAL, "%s: \"%s\" is of a query that the planner hook was not entered for", hook,
         get_rel_name(relation));
}

static void paths(PlannerInfo *root, RelOptInfo *rel, Index index, RangeTblEntry *entry) {
  check_relation("paths", root, rel, entry->rtekind == RTE_RELATION ? entry->relid : InvalidOid);
  if (next_paths) next_paths(root, rel, index, entry);
}

static void joins(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *outer, RelOptInfo *inner,
                  JoinType type, JoinPathExtraData *extra) {
  check("joins");
  if (next_joins) next_joins(root, rel, outer, inner, type, extra);
}

static RelOptInfo *search(PlannerInfo *root, int levels, List *rels) {
  check("join search");
  return next_search ? next_search(root, levels, rels) : standard_join_search(root, levels, rels);
}

static void upper(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output,
                  void *extra) {
  check("upper paths");
  if (next_upper) next_upper(root, stage, input, output, extra);
}

static bool stats(PlannerInfo *root, RangeTblEntry *entry, AttrNumber attnum,
                  VariableStatData *data) {
  check("statistics");
  return next_stats && next_stats(root, entry, attnum, data);
}

static bool index_stats(PlannerInfo *root, Oid index, AttrNumber attnum, VariableStatData *data) {
  check("statistics of an index");
  return next_index_stats && next_index_stats(root, index, attnum, data);
}

void _PG_init(void) {
  next_planner = planner_hook;
  planner_hook = enter;
  next_paths = set_rel_pathlist_hook;
  set_rel_pathlist_hook = paths;
  next_joins = set_join_pathlist_hook;
  set_join_pathlist_hook = joins;
  next_search = join_search_hook;
  join_search_hook = search;
  next_upper = create_upper_paths_hook;
  create_upper_paths_hook = upper;
  next_stats = get_relation_stats_hook;
  get_relation_stats_hook = stats;
  next_index_stats = get_index_stats_hook;
  get_index_stats_hook = index_stats;
}
