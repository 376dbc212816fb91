// The custom path, its plan and its execution; see custom_scan.h. Fields of plans: plan_fields.h.
//
// The node projects nothing by itself (no CUSTOMPATH_SUPPORT_PROJECTION), so that its target list
// is the exact plan's: who wants another gets a Result above. As with a foreign grouping,
// expressions over aggregates, and HAVING, are computed from custom_scan_tlist's columns, by the
// executor's own projection and qual.
#include "pg/plain_sql/custom_scan.h"

#include "pg/base/options.h"
#include "pg/base/snapshot_identity.h"
#include "pg/base/tree_walk.h"
#include "pg/catalog/planned_rows.h"
#include "pg/catalog/counters.h"
#include "pg/catalog/density_key.h"
#include "pg/plain_sql/client_statement.h"
#include "pg/plain_sql/known_densities.h"
#include "pg/plain_sql/dimension_rows.h"
#include "pg/plain_sql/part_values.h"
#include "pg/plain_sql/planned_leaves.h"
#include "pg/plain_sql/answer_state.h"
#include "pg/plain_sql/query_answer.h"
#include "pg/plain_sql/scan_state.h"
#include "pg/plain_sql/rest.h"
#include "pg/plain_sql/demand.h"
#include "pg/plain_sql/custom_node.h"
#include "pg/plain_sql/second_plan.h"
#include "pg/proof/proof.h"

extern "C" {
#include "catalog/pg_inherits.h"
#include "executor/executor.h"
#include "executor/nodeSubplan.h"
#include "jit/jit.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/datum.h"
}

#include <algorithm>
#include <cmath>

namespace kde_pg {

namespace {

constexpr const char* kName = "KdeAqp";

extern const CustomScanMethods scan_methods;
extern const CustomExecMethods exec_methods;

create_upper_paths_hook_type next_hook = nullptr;

// ------------------------------------------------------------------------------------- path, plan

// What plain_queries_of() found lies in custom_private of the path, as a plan that is to be.
Plan* plan_path(PlannerInfo* root, RelOptInfo*, CustomPath* path, List* tlist, List*,
                List* custom_plans) {
  auto* scan = makeNode(CustomScan);
  scan->scan.plan.targetlist = tlist;
  scan->scan.plan.qual =
      static_cast<List*>(copyObjectImpl(reinterpret_cast<List*>(root->parse->havingQual)));
  scan->flags = path->flags;
  scan->custom_plans = custom_plans;
  scan->methods = &scan_methods;
  const auto* parts = castNode(CustomScan, linitial(path->custom_private));
  scan->custom_scan_tlist = static_cast<List*>(copyObjectImpl(parts->custom_scan_tlist));
  scan->custom_exprs = static_cast<List*>(copyObjectImpl(parts->custom_exprs));
  scan->custom_private = static_cast<List*>(copyObjectImpl(parts->custom_private));
  return &scan->scan.plan;
}

const CustomPathMethods path_methods = {kName, plan_path, nullptr};

bool is_wanted(const PlannerInfo* root) {
  const PlannerInfo* top = root;
  while (top->parent_root != nullptr) top = top->parent_root;
  return is_plain_sql_wanted(top->parse);
}

Path* cheapest(List* paths) {
  Path* best = nullptr;
  for (Path* path : of_list<Path>(paths)) {
    if (path->param_info == nullptr && (best == nullptr || path->total_cost < best->total_cost))
      best = path;
  }
  return best;
}

// Planners of distributed tables have the server's take partitioned ones for single tables.
bool is_without_partitions(PlannerInfo* root, RelOptInfo* input) {
  int table;
  if (input->rtekind != RTE_RELATION || !bms_get_singleton_member(input->relids, &table))
    return false;
  const RangeTblEntry* rte = planner_rt_fetch(table, root);
  return !rte->inh && has_subclass(rte->relid);
}

// Whether it stands there now.
bool add_plain_path(PlannerInfo* root, RelOptInfo* input, RelOptInfo* output) {
  PlainDemand* demand = demand_of(root);
  if (IS_OTHER_REL(input)) return false;
  if (IS_DUMMY_REL(input)) {
    if (demand != nullptr) demand_of_no_row(demand);
    return false;
  }
  Path* exact = cheapest(output->pathlist);
  if (exact == nullptr) return false;
  List* others = NIL;
  List** reasons = demand != nullptr ? &demand->reasons : is_explaining() ? &others : nullptr;
  const List* queries = plain_queries_of(root, input, output->reltarget,
                                         reinterpret_cast<List*>(root->parse->havingQual),
                                         demand != nullptr, reasons);
  if (queries == NIL) return false;
  auto* parts = makeNode(CustomScan);
  const auto& first = *static_cast<const PlainQuery*>(linitial(queries));
  write_plain_plans(queries, demand != nullptr, planned_leaves(root, first.table), parts);
  if (others != NIL) write_others(queries, others, GetUserId(), parts);
  auto* path = makeNode(CustomPath);
  path->path.pathtype = T_CustomScan;
  path->path.parent = output;
  path->path.pathtarget = output->reltarget;
  // Far fewer, often, than the planner thinks that an expression has values.
  path->path.rows = Min(exact->rows, Max(1, most_plain_rows(first)));
  // As good as nothing, so that nothing is preferred to it.
  path->path.startup_cost = 0;
  path->path.total_cost = Min(exact->total_cost, 0.01 * (1 + path->path.rows));
  path->custom_paths = list_make1(exact);
  if (Path* rest = list_length(queries) == 1 ? rest_path(root, input, output, first) : nullptr)
    path->custom_paths = lappend(path->custom_paths, rest);
  for (const PlainDimension* dimension : of_list<const PlainDimension>(first.dimensions))
    path->custom_paths = lappend(path->custom_paths, dimension->rel->cheapest_total_path);
  path->custom_private = list_make1(parts);
  path->methods = &path_methods;
  // Not by add_path(), which would free the exact path as one that is dominated.
  output->pathlist = list_make1(path);
  output->partial_pathlist = NIL;
  return true;
}

void plan_grouping(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input,
                   RelOptInfo* output, void* extra) {
  if (next_hook != nullptr) next_hook(root, stage, input, output, extra);
  plan_grouping_alone(root, stage, input, output, extra);
}

// ------------------------------------------------------------------------------------- execution

// Whose exact plan begins as it is about to run; null: none's.
const ScanState* late = nullptr;
// While a plan begins that is not to run: what its nodes decide is asked, and nothing else of it.
bool trying = false;

PlanState* exact_of(const ScanState* s) {
  return static_cast<PlanState*>(linitial(s->css.custom_ps));
}

Node* create_state(CustomScan*) {
  auto* s = static_cast<ScanState*>(palloc0(sizeof(ScanState)));
  s->css.ss.ps.type = T_CustomScanState;
  s->css.methods = &exec_methods;
  return reinterpret_cast<Node*>(s);
}

// dimensions: PlanState*, of each.
ScanPart* begin_part(const PlainPlan* plan, List* dimensions, PlanState* parent) {
  auto* part = static_cast<ScanPart*>(palloc0(sizeof(ScanPart)));
  part->plan = plan;
  part->value_type =
      static_cast<Oid*>(palloc(sizeof(Oid) * static_cast<Size>(list_length(plan->values) + 1)));
  ListCell* cell;
  foreach (cell, plan->values) {
    auto* value = static_cast<Expr*>(lfirst(cell));
    part->value_type[foreach_current_index(cell)] =
        getBaseType(exprType(reinterpret_cast<Node*>(value)));
    part->values = lappend(part->values, ExecInitExpr(value, parent));
  }
  part->open = begin_open_expressions(*plan, parent);
  part->dimensions.begin(*plan, dimensions, parent);
  for (Expr* cut : of_list<Expr>(plan->cuts))
    part->cuts = lappend(part->cuts, ExecInitExpr(cut, parent));
  for (Expr* fraction : of_list<Expr>(plan->fractions))
    part->fractions = lappend(part->fractions, ExecInitExpr(fraction, parent));
  for (OpExpr* item : of_list<OpExpr>(plan->passages))
    part->passage_values = lappend(part->passage_values,
                                   ExecInitExpr(static_cast<Expr*>(lsecond(item->args)), parent));
  return part;
}

Plan* exact_plan(const CustomScanState* css) {
  return static_cast<Plan*>(linitial(castNode(CustomScan, css->ss.ps.plan)->custom_plans));
}

// Whether a part of the plan may end and begin anew: not where it may hold the rows of a CTE for
// others, nor, from PostgreSQL 18 on, what is known of partitions left out, which is renumbered.
bool may_begin_anew(const EState* estate) {
#if PG_VERSION_NUM >= 180000
  if (estate->es_part_prune_infos != NIL) return false;
#endif
  return estate->es_plannedstmt->subplans == NIL;
}

// As EXPLAIN begins it: rights are looked at, and nothing is made for rows, which seldom come. A
// hashed aggregation would have its table made, as large as the planner thinks that groups are many.
PlanState* shown_exact(const CustomScanState* css, EState* estate, int eflags) {
  const int jit = estate->es_jit_flags;
  if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0) estate->es_jit_flags = PGJIT_NONE;
  PlanState* out = ExecInitNode(exact_plan(css), estate, eflags | EXEC_FLAG_EXPLAIN_ONLY);
  estate->es_jit_flags = jit;
  return out;
}

// Where no density answers. What is nested in it is of the same statement.
void begin_exact(ScanState* s) {
  s->exact_begun = true;
  EState* estate = s->css.ss.ps.state;
  MemoryContext caller = MemoryContextSwitchTo(estate->es_query_cxt);
  ExecEndNode(exact_of(s));
  linitial(s->css.custom_ps) = nullptr;
  const ScanState* const outer = late;
  late = s;
  PG_TRY();
  { linitial(s->css.custom_ps) = ExecInitNode(exact_plan(&s->css), estate, s->eflags); }
  PG_FINALLY();
  { late = outer; }
  PG_END_TRY();
  MemoryContextSwitchTo(caller);
}

void begin(CustomScanState* css, EState* estate, int eflags) {
  ScanState* s = state_of(css);
  const auto* scan = castNode(CustomScan, css->ss.ps.plan);
  s->client_statement = late != nullptr ? late->client_statement : is_beginning_client_statement();
  s->keeps_rows = late != nullptr ? late->keeps_rows : is_beginning_to_keep_rows();
  s->after_others = IsTransactionBlock() || !s->client_statement;
  s->alone = scan->custom_plans == NIL;
  s->eflags = eflags;
  s->exact_begun = !may_begin_anew(estate);
  if (!s->alone)
    css->custom_ps = list_make1(s->exact_begun ? ExecInitNode(exact_plan(css), estate, eflags)
                                               : shown_exact(css, estate, eflags));
  List* plans = read_plain_plans(scan);
  const int all = list_length(scan->custom_plans);
  const int first = all - static_cast<const PlainPlan*>(linitial(plans))->dimensions;
  // They are read to decide.
  const int read = trying ? eflags & ~EXEC_FLAG_EXPLAIN_ONLY : eflags;
  List* dimensions = NIL;
  for (int i = first; i < all; ++i) {
    auto* plan = static_cast<Plan*>(list_nth(scan->custom_plans, i));
    dimensions = lappend(dimensions, ExecInitNode(plan, estate, read));
  }
  // EXPLAIN shows them.
  css->custom_ps = list_concat(css->custom_ps, dimensions);
  for (const PlainPlan* plan : of_list<const PlainPlan>(plans)) {
    s->parts = lappend(s->parts, begin_part(plan, dimensions, &css->ss.ps));
    s->aggregates += plan->aggregates;
    if (plan->demanded) s->demand = demand_to_run();
  }
  const bool may_be_exact = s->demand == nullptr || s->demand->may_be_exact;
  if (first > 1)
    s->rest.begin(static_cast<Plan*>(lsecond(scan->custom_plans)),
                  may_be_exact ? exact_plan(css) : nullptr, &css->ss.ps);
  s->memory = AllocSetContextCreate(estate->es_query_cxt, "kde_aqp answers", ALLOCSET_SMALL_SIZES);
}

// What changed is judged by the active snapshot, and read by the plan's.
bool may_read_rest(const ScanState* s) {
  const Snapshot own = s->css.ss.ps.state->es_snapshot;
  return s->rest.is_there() && ActiveSnapshotSet() &&
         same(identity_of(own), identity_of(GetActiveSnapshot()));
}

// Whether a table is one of dimensions alone, which are read as they are.
bool is_dimension(const ScanState* s, Oid relation) {
  const PlainPlan& plan = plan_in(list_head(s->parts));
  for (int i = 0; i < plan.dimensions; ++i)
    if (plan.dimension[i].relation == relation) return relation != plan.key.relation;
  return false;
}

// What keeps every density from answering.
PlainOutcome before_all(ScanState* s) {
  const Approximate mode = chosen_approximate();
  if (mode == Approximate::off) return PlainOutcome::off;
  if (is_of_other_node()) return PlainOutcome::nested;
  // What is not read takes no lock by which the server would see a conflict.
  if (IsolationIsSerializable()) return PlainOutcome::serializable;
  if (s->keeps_rows || (mode == Approximate::top && !s->client_statement))
    return PlainOutcome::nested;
  for (const RangeTblEntry* rte :
       of_list<const RangeTblEntry>(s->css.ss.ps.state->es_range_table)) {
    if (rte->rtekind != RTE_RELATION || is_dimension(s, rte->relid)) continue;
    // What the transaction has changed in a foreign table, or by another planner's plan, took no
    // lock here.
    if (s->after_others && (s->alone || rte->relkind == RELKIND_FOREIGN_TABLE))
      return PlainOutcome::own_changes;
    s->own_changes |= rte->relkind != RELKIND_FOREIGN_TABLE && has_own_changes(rte->relid);
  }
  // They are read as others' are: they clear their blocks' bits, too, and the statement's snapshot has
  // those of earlier commands alone.
  return s->own_changes && !may_read_rest(s) ? PlainOutcome::own_changes : PlainOutcome::answered;
}

void tell_at(int level, const ScanState* s) {
  const char* names = density_names(s);
  const char* promise = promise_of(s->answers);
  ereport(level, (list_length(s->parts) == 1 ? errmsg("answered by the density of %s", names)
                                             : errmsg("answered by the densities of %s", names),
                  s->answers.error > 0 ? errdetail("Its answers are %s, at a confidence of %g %%.",
                                                   promise, 100 * option_approximate_confidence)
                                       : errdetail("Its answers are %s.", promise)));
}

// Once for the statement.
void tell(ScanState* s) {
  if (s->noticed) return;
  s->noticed = true;
  if (option_approximate_notice) tell_at(NOTICE, s);
  // The statement is logged with it, as log_min_error_statement has it.
  if (option_log_answers) tell_at(LOG, s);
}

// What a function asked for outlives the plan.
void hand_over(ScanState* s) {
  PlainDemand* demand = s->demand;
  MemoryContext caller = MemoryContextSwitchTo(demand->memory);
  demand->outcome = s->answers.outcome;
  if (s->answers.detail != nullptr) demand->detail = pstrdup(s->answers.detail);
  demand->density = density_names(s);
  demand->as_of_now = !std::isinf(s->answers.changed_rows);
  if (s->answers.intervals != nullptr) {
    const Size bytes = sizeof(kde::Interval) * static_cast<Size>(s->aggregates);
    auto* copy = static_cast<kde::Interval*>(palloc(bytes));
    memcpy(copy, s->answers.intervals, bytes);
    demand->answers = copy;
  }
  MemoryContextSwitchTo(caller);
}

// A passage with what it is compared with as a constant: it is asked in a subtransaction, where
// nothing that belongs to the statement may begin, as the plan of a parameter would.
ExprState* with_constant(const OpExpr* passage, ExprState* value, ExprContext* context) {
  auto* node = static_cast<Node*>(lsecond(passage->args));
  int16 length;
  bool by_value, is_null;
  get_typlenbyval(exprType(node), &length, &by_value);
  Datum known = ExecEvalExprSwitchContext(value, context, &is_null);
  if (!is_null) known = datumCopy(known, by_value, length);
  auto* out = static_cast<OpExpr*>(copyObjectImpl(passage));
  lsecond(out->args) = makeConst(exprType(node), exprTypmod(node), exprCollation(node), length,
                                 known, is_null, by_value);
  return ExecInitExpr(&out->xpr, nullptr);
}

// In the current memory context, as the expression's own is reset.
NullableDatum kept_value(ExprState* state, Oid type, ExprContext* context) {
  int16 length;
  bool by_value;
  get_typlenbyval(type, &length, &by_value);
  NullableDatum out;
  out.value = ExecEvalExprSwitchContext(state, context, &out.isnull);
  if (!out.isnull) out.value = datumCopy(out.value, by_value, length);
  return out;
}

bool add_parameters(Node* node, void* numbers) {
  if (node == nullptr) return false;
  auto** to = static_cast<Bitmapset**>(numbers);
  if (IsA(node, Param) && castNode(Param, node)->paramkind == PARAM_EXEC)
    *to = bms_add_member(*to, castNode(Param, node)->paramid);
  return expression_tree_walker(node, as_walker(add_parameters), numbers);
}

// The results of subqueries that open expressions have: none can begin in a subtransaction, which
// those are evaluated in.
void know_parameters(const PlainPlan& plan, ExprContext* context) {
  Bitmapset* numbers = nullptr;
  (void)add_parameters(reinterpret_cast<Node*>(plan.conditions), &numbers);
  (void)add_parameters(reinterpret_cast<Node*>(plan.open_others), &numbers);
  for (int k = 0; k < plan.aggregates; ++k)
    (void)add_parameters(reinterpret_cast<Node*>(plan.aggregate[k].open_rows), &numbers);
  for (int k = 0; k < plan.aggregates; ++k)
    (void)add_parameters(reinterpret_cast<Node*>(plan.aggregate[k].open_value), &numbers);
  for (int i = 0; i < plan.dimensions; ++i)
    (void)add_parameters(reinterpret_cast<Node*>(plan.dimension[i].lookups), &numbers);
  ExecSetParamPlanMulti(numbers, context);
}

// By the planner's figures, and then some: a part with its aggregates takes 2 to 4 us where both its ends are
// cells', a unit of costs some 8 us of a table in memory.
double most_parts(const ScanState* s) {
  constexpr double kCostOfPart = 0.1, kFewParts = 10000;
  if (s->alone || s->demand != nullptr) return kMostAsked;
  return std::clamp(exact_plan(&s->css)->total_cost / kCostOfPart, kFewParts, kMostAsked);
}

PlainAnswers answers_of(ScanState* s, const ScanPart& part) {
  ExprContext* context = s->css.ss.ps.ps_ExprContext;
  const int n = list_length(part.values);
  auto* value =
      static_cast<NullableDatum*>(palloc(sizeof(NullableDatum) * static_cast<Size>(n + 1)));
  ResetExprContext(context);
  for (int i = 0; i < n; ++i)
    value[i].value = ExecEvalExprSwitchContext(static_cast<ExprState*>(list_nth(part.values, i)),
                                               context, &value[i].isnull);
  List* passages = NIL;
  ListCell *passage, *compared;
  forboth(passage, part.plan->passages, compared, part.passage_values) passages =
      lappend(passages, with_constant(lfirst_node(OpExpr, passage),
                                      static_cast<ExprState*>(lfirst(compared)), context));
  auto* cut = static_cast<PlainCutAt*>(
      palloc0(sizeof(PlainCutAt) * static_cast<Size>(list_length(part.cuts) + 1)));
  for (int i = 0; i < list_length(part.cuts); ++i) {
    auto* state = static_cast<ExprState*>(list_nth(part.cuts, i));
    auto* node = static_cast<Node*>(list_nth(part.plan->cuts, i));
    cut[i] = {static_cast<PlainCut>(list_nth_int(part.plan->cut_kinds, i)),
              state,
              exprType(node),
              exprCollation(node),
              {0, true}};
    if (cut[i].kind == PlainCut::bucket) continue;
    cut[i].type = getBaseType(cut[i].type);
    cut[i].value = kept_value(state, cut[i].type, context);
  }
  const int percentiles = list_length(part.fractions);
  auto* fraction = static_cast<NullableDatum*>(
      palloc0(sizeof(NullableDatum) * static_cast<Size>(percentiles + 1)));
  for (int i = 0; i < percentiles; ++i)
    fraction[i] =
        kept_value(static_cast<ExprState*>(list_nth(part.fractions, i)),
                   exprType(static_cast<Node*>(list_nth(part.plan->fractions, i))), context);
  know_parameters(*part.plan, context);
  double error = option_approximate_error;
  kde::IntervalOptions interval;
  interval.confidence = option_approximate_confidence;
  if (s->demand != nullptr) {
    error = s->demand->error;
    interval = s->demand->interval;
  }
  return plain_answers({error, interval, part.plan, value, part.value_type,
                        s->css.ss.ss_ScanTupleSlot, context, &part.open, &part.dimensions, cut,
                        fraction, passages, most_parts(s), may_read_rest(s) ? &s->rest : nullptr,
                        s->own_changes});
}

// Each part's aggregates into the one row of a query that is not grouped.
void put_together(ScanState* s, const PlainPlan& plan, const PlainAnswers& part) {
  PlainAnswers* all = &s->answers;
  all->error = Max(all->error, part.error);
  // The oldest time, of answers that are as of one.
  if (part.as_of_then && (!all->as_of_then || part.as_of < all->as_of)) all->as_of = part.as_of;
  if (!part.as_of_then && !all->as_of_then && (all->as_of == 0 || part.as_of < all->as_of))
    all->as_of = part.as_of;
  all->as_of_then |= part.as_of_then;
  all->changed_rows = Max(all->changed_rows, part.changed_rows);
  all->blocks_read = Max(all->blocks_read, part.blocks_read);
  if (part.intervals != nullptr) {
    if (all->intervals == nullptr)
      all->intervals = static_cast<kde::Interval*>(
          palloc(sizeof(kde::Interval) * static_cast<Size>(s->aggregates)));
    for (int k = 0; k < plan.aggregates; ++k)
      all->intervals[plan.aggregate[k].index] = part.intervals[k];
    return;
  }
  if (all->rows == NIL) {
    all->rows = part.rows;
    return;
  }
  const auto* to = static_cast<const PlainRow*>(linitial(all->rows));
  const auto* from = static_cast<const PlainRow*>(linitial(part.rows));
  const int first = plan.first + plan.keys();
  for (int k = first; k < first + plan.aggregates; ++k) {
    to->values[k] = from->values[k];
    to->nulls[k] = from->nulls[k];
  }
}

// Says nothing of it yet.
void decide(ScanState* s) {
  s->decided = true;
  s->next = 0;
  MemoryContextReset(s->memory);
  MemoryContext caller = MemoryContextSwitchTo(s->memory);
  s->answers = {};
  s->own_changes = false;
  for (ScanPart* part : of_list<ScanPart>(s->parts)) part->asked = false;
  if (s->demand == nullptr) s->answers.outcome = before_all(s);
  for (ScanPart* part : of_list<ScanPart>(s->parts)) {
    if (is_answered(s) && !part->dimensions.read(&s->answers.detail))
      s->answers.outcome = PlainOutcome::dimension;
    if (!is_answered(s)) break;
    part->answers = answers_of(s, *part);
    part->asked = true;
    s->answers.outcome = part->answers.outcome;
    s->answers.detail = part->answers.detail;
    if (is_answered(s)) put_together(s, *part->plan, part->answers);
  }
  MemoryContextSwitchTo(caller);
}

void say(ScanState* s) {
  MemoryContext caller = MemoryContextSwitchTo(s->memory);
  if (s->demand != nullptr) {
    hand_over(s);
  } else {
    if (is_answered(s)) tell(s);
    count_outcome(s->answers.outcome);
  }
  MemoryContextSwitchTo(caller);
}

TupleTableSlot* exact_row(ScanState* s) {
  if (!s->exact_begun) begin_exact(s);
  TupleTableSlot* row = ExecProcNode(exact_of(s));
  if (TupIsNull(row)) return nullptr;
  TupleTableSlot* out = s->css.ss.ps.ps_ProjInfo != nullptr ? s->css.ss.ps.ps_ResultTupleSlot
                                                            : s->css.ss.ss_ScanTupleSlot;
  return ExecCopySlot(out, row);
}

TupleTableSlot* execute(CustomScanState* css) {
  ScanState* s = state_of(css);
  if (!s->decided) {
    decide(s);
    say(s);
  }
  if (!is_answered(s)) {
    if (s->demand != nullptr && !s->demand->may_be_exact) return nullptr;
    if (s->alone) elog(ERROR, "a density without an exact plan does not answer");
    return exact_row(s);
  }
  TupleTableSlot* slot = css->ss.ss_ScanTupleSlot;
  ExprContext* context = css->ss.ps.ps_ExprContext;
  while (s->next < list_length(s->answers.rows)) {
    CHECK_FOR_INTERRUPTS();
    const auto* row = static_cast<const PlainRow*>(list_nth(s->answers.rows, s->next++));
    const auto n = static_cast<Size>(slot->tts_tupleDescriptor->natts);
    ExecClearTuple(slot);
    memcpy(slot->tts_values, row->values, sizeof(Datum) * n);
    memcpy(slot->tts_isnull, row->nulls, n);
    ExecStoreVirtualTuple(slot);
    ResetExprContext(context);
    context->ecxt_scantuple = slot;
    if (!ExecQual(css->ss.ps.qual, context)) {
      InstrCountFiltered1(css, 1);
      continue;
    }
    return css->ss.ps.ps_ProjInfo != nullptr ? ExecProject(css->ss.ps.ps_ProjInfo) : slot;
  }
  return nullptr;
}

void end(CustomScanState* css) {
  for (PlanState* child : of_list<PlanState>(css->custom_ps)) ExecEndNode(child);
  state_of(css)->rest.end();
}

void rescan(CustomScanState* css) {
  ScanState* s = state_of(css);
  // Its values are the same, and so is what was decided for the whole statement.
  if (s->alone) {
    s->next = 0;
    return;
  }
  s->rest.note_parameters();
  if (s->exact_begun) {
    PlanState* exact = exact_of(s);
    if (css->ss.ps.chgParam != nullptr) UpdateChangedParamSet(exact, css->ss.ps.chgParam);
    // A plan whose parameters changed is rescanned when it is asked for its first row.
    if (exact->chgParam == nullptr) ExecReScan(exact);
  }
  for (ScanPart* part : of_list<ScanPart>(s->parts)) part->dimensions.rescan(css->ss.ps.chgParam);
  s->decided = false;
}

const CustomScanMethods scan_methods = {kName, create_state};
const CustomExecMethods exec_methods = {kName,   begin,   execute,     end,     rescan,
                                        nullptr, nullptr, nullptr,     nullptr, nullptr,
                                        nullptr, nullptr, explain_scan};

// Whether a policy that applies has a subquery, which decides what a role sees.
bool asks_in_policy(Node* node, void* context) {
  if (node == nullptr) return false;
  if (!IsA(node, Query)) return expression_tree_walker(node, as_walker(asks_in_policy), context);
  auto* query = castNode(Query, node);
  for (RangeTblEntry* item : of_list<RangeTblEntry>(query->rtable))
    if (has_subquery(reinterpret_cast<Node*>(item->securityQuals), nullptr)) return true;
  return query_tree_walker(query, as_walker(asks_in_policy), context, 0);
}

}  // namespace

bool is_plain_sql_wanted(const ::Query* top) {
  switch (chosen_approximate()) {
    case Approximate::off:
      return false;
    case Approximate::top:
      if (!is_planning_client_statement()) return false;
      break;
    case Approximate::all:
      break;
  }
  return !is_of_other_node() && !is_planning_to_keep_rows() && why_exact_alone(top) == nullptr;
}

const char* why_exact_alone(const ::Query* top) {
  if (top->commandType != CMD_SELECT || top->hasModifyingCTE) return "the statement changes rows";
  if (top->rowMarks != NIL) return "the statement locks rows";
  const bool asks = top->hasRowSecurity &&
                    asks_in_policy(reinterpret_cast<Node*>(const_cast<::Query*>(top)), nullptr);
  return asks ? "a policy of the statement's has a subquery" : nullptr;
}

void plan_grouping_alone(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input,
                         RelOptInfo* output, void*) {
  if (stage != UPPERREL_GROUP_AGG) return;
  if (PlanningWatch* watch = planning_watch()) return watch->note(watch, root, input, output);
  const bool is_asked = demand_of(root) != nullptr || is_wanted(root);
  const bool is_answered = is_asked && add_plain_path(root, input, output);
  note_grouping(is_answered || (is_asked && is_without_partitions(root, input)));
}

bool is_plain_node(const Plan* plan) {
  return IsA(plan, CustomScan) &&
         reinterpret_cast<const CustomScan*>(plan)->methods == &scan_methods;
}

bool has_dimensions(const Plan* plan) {
  List* plans = read_plain_plans(reinterpret_cast<const CustomScan*>(plan));
  return static_cast<const PlainPlan*>(linitial(plans))->dimensions > 0;
}

bool decide_plain_node(PlanState* node) {
  ScanState* s = state_of(castNode(CustomScanState, node));
  decide(s);
  return is_answered(s);
}

void begin_to_try(QueryDesc* plan) {
  trying = true;
  PG_TRY();
  { standard_ExecutorStart(plan, EXEC_FLAG_EXPLAIN_ONLY); }
  PG_FINALLY();
  { trying = false; }
  PG_END_TRY();
}

const char* obstacle_to_plain_node(PlanState* node, bool after_others, const DensityKey** density) {
  ScanState* s = state_of(castNode(CustomScanState, node));
  s->after_others = after_others;
  decide(s);
  const PlainOutcome outcome = s->answers.outcome;
  if (is_answered(s) || outcome == PlainOutcome::off || outcome == PlainOutcome::nested)
    return nullptr;
  const ScanPart* part = unanswered_part(s);
  *density = part != nullptr ? &part->plan->key : &plan_in(list_head(s->parts)).key;
  return pstrdup(s->answers.detail != nullptr ? s->answers.detail : describe(outcome));
}

void say_of_plain_node(PlanState* node) { say(state_of(castNode(CustomScanState, node))); }

void register_plain_sql() {
  RegisterCustomScanMethods(&scan_methods);
  register_rest();
  register_rest_demand();
  // Planners are then counted around whoever plans twice.
  register_second_plan();
  register_client_statement_hooks();
  register_known_densities();
  own_planner_hooks.next_upper_paths = next_hook = create_upper_paths_hook;
  own_planner_hooks.upper_paths = create_upper_paths_hook = plan_grouping;
}

}  // namespace kde_pg
