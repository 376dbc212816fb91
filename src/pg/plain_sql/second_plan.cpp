// See second_plan.h. Both plans are whole PlannedStmts, in the node's custom_private. Where it is
// the statement's top, an ExecutorStart hook puts the other planner's plan in the place of the
// choice before anything of that has begun, so that it runs as it would have; EXPLAIN has the node
// hold both.
#include "pg/plain_sql/second_plan.h"

#include "pg/base/compat.h"
#include "pg/base/tree_walk.h"
#include "pg/plain_sql/client_statement.h"
#include "pg/plain_sql/known_densities.h"
#include "pg/plain_sql/demand.h"
#include "pg/plain_sql/custom_node.h"

extern "C" {
#include "access/sysattr.h"
#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif
#include "executor/executor.h"
#include "executor/tstoreReceiver.h"
#include "nodes/extensible.h"
#include "nodes/parsenodes.h"
#include "optimizer/paths.h"
#include "optimizer/pathnode.h"
#include "optimizer/plancat.h"
#include "optimizer/planner.h"
#include "tcop/dest.h"
#include "utils/selfuncs.h"
#include "utils/tuplestore.h"
}

namespace kde_pg {

namespace {

constexpr const char* kName = "KdeAqpChoice";

planner_hook_type next_planner = nullptr;
ExecutorStart_hook_type next_start = nullptr;

extern const CustomScanMethods choice_methods;
extern const CustomExecMethods choice_exec_methods;

// ------------------------------------------------------------------------------------- planners

// What became of the groupings of the query that is being planned.
struct Groupings {
  bool planned;
  bool answered;  // one of them, perhaps
};
Groupings groupings = {false, false};

// Those by which others have their say while the server's planner is at work: they may rely on
// their own planner's having called it. All are set aside, so that none of theirs is reached.
struct Hooks {
  set_rel_pathlist_hook_type paths;
  set_join_pathlist_hook_type joins;
  join_search_hook_type join_search;
  relation_hook_type relations;
  get_relation_stats_hook_type statistics;
  get_index_stats_hook_type index_statistics;
  get_attavgwidth_hook_type widths;
  create_upper_paths_hook_type groupings;
};
Hooks others = {};
bool are_others_away = false;

void send_others_away() {
  others = {set_rel_pathlist_hook, set_join_pathlist_hook,  join_search_hook,
            relation_hook,         get_relation_stats_hook, get_index_stats_hook,
            get_attavgwidth_hook,  create_upper_paths_hook};
  set_rel_pathlist_hook = nullptr;
  set_join_pathlist_hook = nullptr;
  join_search_hook = nullptr;
  relation_hook = nullptr;
  get_relation_stats_hook = nullptr;
  get_index_stats_hook = nullptr;
  get_attavgwidth_hook = nullptr;
  create_upper_paths_hook = plan_grouping_alone;
  are_others_away = true;
}

void call_others_back() {
  set_rel_pathlist_hook = others.paths;
  set_join_pathlist_hook = others.joins;
  join_search_hook = others.join_search;
  relation_hook = others.relations;
  get_relation_stats_hook = others.statistics;
  get_index_stats_hook = others.index_statistics;
  get_attavgwidth_hook = others.widths;
  create_upper_paths_hook = others.groupings;
  are_others_away = false;
}

// ------------------------------------------------------------------------------------- which plans

using PlanVisit = bool (*)(Plan* plan, void* context);

// Whether any of the plans beneath one, subplans aside, is what is looked for.
bool any_child(const Plan* plan, PlanVisit visit, void* context) {
  const auto any = [&](List* plans) {
    for (Plan* item : of_list<Plan>(plans))
      if (visit(item, context)) return true;
    return false;
  };
  if (plan->lefttree != nullptr && visit(plan->lefttree, context)) return true;
  if (plan->righttree != nullptr && visit(plan->righttree, context)) return true;
  switch (nodeTag(plan)) {
    case T_Append:
      return any(reinterpret_cast<const Append*>(plan)->appendplans);
    case T_MergeAppend:
      return any(reinterpret_cast<const MergeAppend*>(plan)->mergeplans);
    case T_SubqueryScan:
      return visit(reinterpret_cast<const SubqueryScan*>(plan)->subplan, context);
    case T_CustomScan:
      return any(reinterpret_cast<const CustomScan*>(plan)->custom_plans);
    default:
      return false;
  }
}

bool is_choice(const Plan* plan) {
  return IsA(plan, CustomScan) &&
         reinterpret_cast<const CustomScan*>(plan)->methods == &choice_methods;
}

bool has_node(Plan* plan, void* context) {
  check_stack_depth();
  return is_plain_node(plan) || is_choice(plan) || any_child(plan, has_node, context);
}

// What is found in a plan that is to be a density's.
struct Suitable {
  int nodes = 0;
  Bitmapset* initial = nullptr;  // parameters that plans set once
};

bool collect_initial(Plan* plan, void* context) {
  auto* found = static_cast<Suitable*>(context);
  check_stack_depth();
  for (const SubPlan* initial : of_list<const SubPlan>(plan->initPlan))
    for (const int parameter : ints(initial->setParam))
      found->initial = bms_add_member(found->initial, parameter);
  return any_child(plan, collect_initial, context);
}

// Whether a plan reads a table, or what it reads is not known. Nodes that densities answer lose
// their exact plans.
bool is_unsuitable(Plan* plan, void* context) {
  auto* found = static_cast<Suitable*>(context);
  check_stack_depth();
  switch (nodeTag(plan)) {
    case T_Result:
    case T_ProjectSet:
    case T_Append:
    case T_MergeAppend:
    case T_SubqueryScan:
    case T_FunctionScan:
    case T_ValuesScan:
    case T_CteScan:
    case T_NestLoop:
    case T_MergeJoin:
    case T_HashJoin:
    case T_Hash:
    case T_Material:
    case T_Memoize:
    case T_Sort:
    case T_IncrementalSort:
    case T_Group:
    case T_Agg:
    case T_WindowAgg:
    case T_Unique:
    case T_SetOp:
    case T_Limit:
      return any_child(plan, is_unsuitable, context);
    case T_CustomScan:
      // One that is decided anew for each row of another might not answer a later one.
      if (!is_plain_node(plan) || has_dimensions(plan) ||
          !bms_is_subset(plan->extParam, found->initial))
        return true;
      reinterpret_cast<CustomScan*>(plan)->custom_plans = NIL;
      ++found->nodes;
      return false;
    default:
      return true;
  }
}

// Whether densities can answer the whole of it. Correlated subplans are run again and again.
bool is_densities_own(PlannedStmt* plan) {
  Suitable found;
  List* plans = lcons(plan->planTree, list_copy(plan->subplans));
  for (Plan* of : of_list<Plan>(plans))
    if (of != nullptr) (void)collect_initial(of, &found);
  for (Plan* of : of_list<Plan>(plans)) {
    if (of == nullptr) continue;
    if (!bms_is_subset(of->extParam, found.initial) || is_unsuitable(of, &found)) return false;
  }
  return found.nodes > 0;
}

// What of a query is known without planning it.
struct Parts {
  bool any;  // densities without consent count, too
  bool grouping, table;
};

// Whether a density may answer some part of it.
bool may_be_answered(Node* node, void* context) {
  if (node == nullptr) return false;
  if (!IsA(node, Query)) return expression_tree_walker(node, as_walker(may_be_answered), context);
  auto* query = castNode(Query, node);
  auto* parts = static_cast<Parts*>(context);
  parts->grouping = parts->grouping || query->hasAggs || query->groupClause != NIL;
  for (const RangeTblEntry* rte : of_list<const RangeTblEntry>(query->rtable)) {
    if (rte->rtekind == RTE_RELATION && (parts->any || !is_known_to_have_none(rte->relid)))
      parts->table = true;
  }
  if (parts->grouping && parts->table) return true;
  return query_tree_walker(query, as_walker(may_be_answered), context, 0);
}

bool is_candidate(Query* query, int options) {
  const bool is_demanded = demand_to_plan() != nullptr;
  if (planning_watch() != nullptr) return false;
  if (!is_demanded && ((options & CURSOR_OPT_SCROLL) != 0 || !is_plain_sql_wanted(query)))
    return false;
  Parts parts = {is_demanded, false, false};
  return query->utilityStmt == nullptr && may_be_answered(reinterpret_cast<Node*>(query), &parts);
}

// ------------------------------------------------------------------------------------- both plans

// Columns of the results, TargetEntry*.
List* columns_of(const PlannedStmt* plan) {
  List* out = NIL;
  for (TargetEntry* column : of_list<TargetEntry>(plan->planTree->targetlist))
    if (!column->resjunk) out = lappend(out, column);
  return out;
}

bool are_of_same_types(List* a, List* b) {
  if (list_length(a) != list_length(b)) return false;
  ListCell *x, *y;
  forboth(x, a, y, b) {
    auto* one = reinterpret_cast<Node*>(lfirst_node(TargetEntry, x)->expr);
    auto* other = reinterpret_cast<Node*>(lfirst_node(TargetEntry, y)->expr);
    if (exprType(one) != exprType(other) || exprCollation(one) != exprCollation(other))
      return false;
  }
  return true;
}

// Names of the results, for those who print the plan.
RangeTblEntry* names_of(List* columns) {
  List* names = NIL;
  for (TargetEntry* item : of_list<TargetEntry>(columns)) {
    const char* name = item->resname;
    names = lappend(names, makeString(pstrdup(name != nullptr ? name : "?column?")));
  }
  auto* rte = makeNode(RangeTblEntry);
  rte->rtekind = RTE_SUBQUERY;
  rte->eref = makeAlias("answer", names);
  return rte;
}

PlannedStmt* choice_of(PlannedStmt* density, PlannedStmt* exact) {
  List* columns = columns_of(exact);
  if (!are_of_same_types(columns, columns_of(density))) return exact;
  auto* out = makeNode(PlannedStmt);
  *out = *exact;
  // Tables of the density's plan are among the query's, which are locked before it is used again;
  // privileges of them it checks itself.
  out->relationOids = list_concat_copy(exact->relationOids, density->relationOids);
  out->invalItems = list_concat_copy(exact->invalItems, density->invalItems);
  out->rtable = lappend(list_copy(exact->rtable), names_of(columns));
  const int names = list_length(out->rtable);
  out->transientPlan = exact->transientPlan || density->transientPlan;
  out->dependsOnRole = exact->dependsOnRole || density->dependsOnRole;
  out->parallelModeNeeded = false;
  out->jitFlags = 0;
  out->subplans = NIL;
  out->rewindPlanIDs = nullptr;
  out->paramExecTypes = NIL;
#if PG_VERSION_NUM >= 180000
  out->partPruneInfos = NIL;
#endif
  auto* scan = makeNode(CustomScan);
  scan->methods = &choice_methods;
  scan->custom_private = list_make2(density, exact);
  Plan* plan = &scan->scan.plan;
  plan->startup_cost = exact->planTree->startup_cost;
  // By it a plan cache knows a generic plan that cannot be run.
  plan->total_cost = exact->planTree->total_cost;
  plan->plan_rows = exact->planTree->plan_rows;
  plan->plan_width = exact->planTree->plan_width;
  ListCell* cell;
  foreach (cell, columns) {
    const auto* of = lfirst_node(TargetEntry, cell);
    auto* expression = reinterpret_cast<Node*>(of->expr);
    const auto number = static_cast<AttrNumber>(foreach_current_index(cell) + 1);
    const auto put = [&](int from) {
      Var* var = makeVar(from, number, exprType(expression), exprTypmod(expression),
                         exprCollation(expression), 0);
      TargetEntry* entry =
          makeTargetEntry(reinterpret_cast<Expr*>(var), number, of->resname, false);
      entry->resorigtbl = of->resorigtbl;
      entry->resorigcol = of->resorigcol;
      return entry;
    };
    scan->custom_scan_tlist = lappend(scan->custom_scan_tlist, put(names));
    plan->targetlist = lappend(plan->targetlist, put(INDEX_VAR));
  }
  out->planTree = plan;
  return out;
}

// As if the rows were here; null where densities cannot answer. query: a copy for it.
template <typename... Rest>
[[gnu::noinline]] PlannedStmt* density_plan(Query* query, const char* text, int options,
                                            Rest... rest) {
  // What other planners' plans, and initial subplans, compute would be computed twice.
  if (contain_volatile_functions(reinterpret_cast<Node*>(query))) return nullptr;
  PlannedStmt* volatile out = nullptr;
  send_others_away();
  PG_TRY();
  { out = standard_planner(query, text, options & ~CURSOR_OPT_PARALLEL_OK, rest...); }
  PG_FINALLY();
  { call_others_back(); }
  PG_END_TRY();
  return is_densities_own(out) ? out : nullptr;
}

template <typename... Rest>
[[gnu::noinline]] PlannedStmt* plan_by_both(Query* query, const char* text, int options,
                                            Rest... rest) {
  // Planners scribble on what they are given.
  Query* copy = is_candidate(query, options) ? static_cast<Query*>(copyObjectImpl(query)) : nullptr;
  PlainDemand* demand = demand_to_plan();
  const bool may_be_exact = demand != nullptr && demand->may_be_exact;
  PlannedStmt* exact = next_planner(query, text, options, rest...);
  if (copy == nullptr || (!groupings.answered && groupings.planned) ||
      exact->commandType != CMD_SELECT || has_plain_node(exact))
    return exact;
  if (demand != nullptr) {
    demand->reasons = NIL;
    demand->may_be_exact = may_be_exact;
  }
  PlannedStmt* density = density_plan(copy, text, options, rest...);
  return density != nullptr ? choice_of(density, exact) : exact;
}

struct Outer {
  Groupings groupings;
  bool were_others_away;
};

// Functions that are called while the others are away are planned by all.
[[gnu::noinline]] void enter(Outer* outer) {
  *outer = {groupings, are_others_away};
  if (are_others_away) call_others_back();
  groupings = {false, false};
}

[[gnu::noinline]] void leave(const Outer* outer) {
  groupings = outer->groupings;
  if (outer->were_others_away) send_others_away();
}

template <typename... Arguments>
PlannedStmt* plan(Arguments... arguments) {
  PlannedStmt* volatile out = nullptr;
  // In memory, as PG_TRY's jump may change what is in registers.
  Outer outer;
  enter(&outer);
  PG_TRY();
  { out = plan_by_both(arguments...); }
  PG_FINALLY();
  { leave(&outer); }
  PG_END_TRY();
  return out;
}

// ------------------------------------------------------------------------------------- execution

struct ChoiceState {
  CustomScanState css;
  QueryDesc* density;  // null: not begun
  bool is_answered;
  QueryDesc* exact;       // null: not run
  Tuplestorestate* rows;  // of the exact plan
  TupleTableSlot* row;    // of them
};

// Begun by the hook for the node that is about to begin.
QueryDesc* decided = nullptr;

ChoiceState* state_of(CustomScanState* css) { return reinterpret_cast<ChoiceState*>(css); }

PlannedStmt* density_in(const Plan* plan) {
  return static_cast<PlannedStmt*>(
      linitial(reinterpret_cast<const CustomScan*>(plan)->custom_private));
}
PlannedStmt* exact_in(const Plan* plan) {
  return static_cast<PlannedStmt*>(
      lsecond(reinterpret_cast<const CustomScan*>(plan)->custom_private));
}

// Initial plans come before the nodes that have their values.
bool does_not_answer(PlanState* node, void* context) {
  if (planstate_tree_walker(node, as_walker(does_not_answer), context)) return true;
  auto** last = static_cast<PlanState**>(context);
  if (!is_plain_node(node->plan)) return false;
  *last = node;
  return !decide_plain_node(node);
}

bool say_of_node(PlanState* node, void* context) {
  if (is_plain_node(node->plan)) say_of_plain_node(node);
  return planstate_tree_walker(node, as_walker(say_of_node), context);
}

struct Decision {
  QueryDesc* density;
  bool is_answered;
};

void decide(void* argument) {
  auto* decision = static_cast<Decision*>(argument);
  PlanState* last = nullptr;
  decision->is_answered = !does_not_answer(decision->density->planstate, &last);
  if (decision->is_answered)
    (void)say_of_node(decision->density->planstate, nullptr);
  else if (last != nullptr)
    say_of_plain_node(last);
}

// No hooks: it is a part of a statement that they know.
Decision begin_density(QueryDesc* density) {
  standard_ExecutorStart(density, 0);
  Decision decision = {density, false};
  run_nested(decide, &decision);
  return decision;
}

void end_density(QueryDesc* density) {
  if ((density->estate->es_top_eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
    standard_ExecutorFinish(density);
  standard_ExecutorEnd(density);
  FreeQueryDesc(density);
}

void start(QueryDesc* query, int flags) {
  const Plan* plan = query->plannedstmt->planTree;
  QueryDesc* mine = nullptr;
  if (plan != nullptr && is_choice(plan) && (flags & EXEC_FLAG_EXPLAIN_ONLY) == 0 &&
      query->instrument_options == 0) {
    const Decision decision = begin_density(
        CreateQueryDesc(density_in(plan), query->sourceText, query->snapshot, InvalidSnapshot,
                        None_Receiver, query->params, query->queryEnv, 0));
    const PlainDemand* demand = demand_to_run();
    if (decision.is_answered || (demand != nullptr && !demand->may_be_exact)) {
      mine = decision.density;
    } else {
      end_density(decision.density);
      query->plannedstmt = exact_in(plan);
    }
  }
  QueryDesc* const outer = decided;
  decided = mine;
  PG_TRY();
  {
    if (next_start != nullptr)
      next_start(query, flags);
    else
      standard_ExecutorStart(query, flags);
  }
  PG_FINALLY();
  { decided = outer; }
  PG_END_TRY();
}

Node* create_state(CustomScan*) {
  auto* s = static_cast<ChoiceState*>(palloc0(sizeof(ChoiceState)));
  s->css.ss.ps.type = T_CustomScanState;
  s->css.methods = &choice_exec_methods;
  return reinterpret_cast<Node*>(s);
}

// Of one of the plans, with what this one has.
QueryDesc* description_of(const ChoiceState* s, PlannedStmt* plan, DestReceiver* into) {
  const EState* estate = s->css.ss.ps.state;
  return CreateQueryDesc(plan, estate->es_sourceText, estate->es_snapshot, InvalidSnapshot, into,
                         estate->es_param_list_info, estate->es_queryEnv, estate->es_instrument);
}

void begin(CustomScanState* css, EState*, int flags) {
  ChoiceState* s = state_of(css);
  if ((flags & EXEC_FLAG_EXPLAIN_ONLY) != 0) return;
  if (decided != nullptr) {
    s->density = decided;
    s->is_answered = true;
    decided = nullptr;
    return;
  }
  const Decision decision =
      begin_density(description_of(s, density_in(css->ss.ps.plan), None_Receiver));
  s->density = decision.density;
  s->is_answered = decision.is_answered;
}

void run_exact(ChoiceState* s) {
  const EState* estate = s->css.ss.ps.state;
  MemoryContext caller = MemoryContextSwitchTo(estate->es_query_cxt);
  s->rows = tuplestore_begin_heap(true, false, work_mem);
  DestReceiver* into = CreateDestReceiver(DestTuplestore);
  SetTuplestoreDestReceiverParams(into, s->rows, estate->es_query_cxt, false, nullptr, nullptr);
  s->exact = description_of(s, exact_in(s->css.ss.ps.plan), into);
  ExecutorStart(s->exact, 0);
  run_once(s->exact);
  ExecutorFinish(s->exact);
  s->row = MakeSingleTupleTableSlot(s->exact->tupDesc, &TTSOpsMinimalTuple);
  MemoryContextSwitchTo(caller);
}

TupleTableSlot* next_row(ChoiceState* s) {
  if (!s->is_answered) {
    if (s->exact == nullptr) run_exact(s);
    return tuplestore_gettupleslot(s->rows, true, false, s->row) ? s->row : nullptr;
  }
  EState* estate = s->density->estate;
  ResetPerTupleExprContext(estate);
  TupleTableSlot* row = ExecProcNode(s->density->planstate);
  if (TupIsNull(row) || estate->es_junkFilter == nullptr) return row;
  return ExecFilterJunk(estate->es_junkFilter, row);
}

TupleTableSlot* execute(CustomScanState* css) {
  TupleTableSlot* row = next_row(state_of(css));
  if (TupIsNull(row)) return nullptr;
  TupleTableSlot* slot = css->ss.ss_ScanTupleSlot;
  const auto n = static_cast<Size>(slot->tts_tupleDescriptor->natts);
  ExecClearTuple(slot);
  slot_getallattrs(row);
  // They live as long as the row does, until the next.
  memcpy(slot->tts_values, row->tts_values, sizeof(Datum) * n);
  memcpy(slot->tts_isnull, row->tts_isnull, n);
  return ExecStoreVirtualTuple(slot);
}

void end(CustomScanState* css) {
  ChoiceState* s = state_of(css);
  if (s->density != nullptr) end_density(s->density);
  if (s->exact == nullptr) return;
  ExecDropSingleTupleTableSlot(s->row);
  ExecutorEnd(s->exact);
  FreeQueryDesc(s->exact);
  tuplestore_end(s->rows);
}

void rescan(CustomScanState* css) {
  const ChoiceState* s = state_of(css);
  if (s->is_answered)
    ExecReScan(s->density->planstate);
  else if (s->rows != nullptr)
    tuplestore_rescan(s->rows);
}

// ------------------------------------------------------------------------------------- EXPLAIN

// run: the plan as it ran; null: it did not.
void show(const ChoiceState* s, const char* label, PlannedStmt* plan, QueryDesc* run,
          ExplainState* es) {
  QueryDesc* shown = run;
  if (run == nullptr) {
    shown = description_of(s, plan, None_Receiver);
    // As a generic plan, if that is what is shown.
    ExecutorStart(shown, s->css.ss.ps.state->es_top_eflags | EXEC_FLAG_EXPLAIN_ONLY);
  }
  // Options and the query's number are the statement's.
  const ExplainState saved = *es;
  auto* unnumbered = makeNode(PlannedStmt);
  *unnumbered = *plan;
  unnumbered->queryId = 0;
  shown->plannedstmt = unnumbered;
  es->settings = false;
  // What goes with ANALYZE alone, others may hand on to other servers.
  if (run == nullptr) {
    es->analyze = es->timing = es->wal = false;
    unset_newer_analyze_options(es);
  }
  ExplainOpenGroup(label, label, true, es);
  ExplainPrintPlan(es, shown);
  ExplainCloseGroup(label, label, true, es);
  shown->plannedstmt = plan;
  List* groups = es->grouping_stack;
  *es = saved;
  es->grouping_stack = groups;
  if (run != nullptr) return;
  ExecutorEnd(shown);
  FreeQueryDesc(shown);
}

void explain(CustomScanState* css, List*, ExplainState* es) {
  const ChoiceState* s = state_of(css);
  PushActiveSnapshot(css->ss.ps.state->es_snapshot);
  show(s, "Density Plan", density_in(css->ss.ps.plan), s->density, es);
  show(s, "Exact Plan", exact_in(css->ss.ps.plan), s->exact, es);
  PopActiveSnapshot();
}

const CustomScanMethods choice_methods = {kName, create_state};
const CustomExecMethods choice_exec_methods = {kName,   begin,   execute, end,     rescan,
                                               nullptr, nullptr, nullptr, nullptr, nullptr,
                                               nullptr, nullptr, explain};

}  // namespace

bool has_plain_node(const PlannedStmt* plan) {
  if (has_node(plan->planTree, nullptr)) return true;
  for (Plan* subplan : of_list<Plan>(plan->subplans))
    if (subplan != nullptr && has_node(subplan, nullptr)) return true;
  return false;
}

void note_grouping(bool may_be_answered) {
  groupings.planned = true;
  groupings.answered = groupings.answered || may_be_answered;
}

void register_second_plan() {
  RegisterCustomScanMethods(&choice_methods);
  // Who plans outside of this one is not seen.
  if (planner_hook == nullptr) return;
  next_planner = planner_hook;
  planner_hook = plan;
  next_start = ExecutorStart_hook;
  ExecutorStart_hook = start;
}

}  // namespace kde_pg
