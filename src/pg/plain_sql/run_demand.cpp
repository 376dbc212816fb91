// See demand.h. An error takes back what is set while a query is planned or begins.
#include "pg/plain_sql/demand.h"

#include "pg/base/compat.h"
#include "pg/base/tree_walk.h"
#include "pg/plain_sql/client_statement.h"
#include "pg/plain_sql/second_plan.h"

extern "C" {
#include "executor/executor.h"
#include "executor/tstoreReceiver.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "utils/tuplestore.h"
}

namespace kde_pg {

namespace {

PlainDemand* planned = nullptr;
int planned_depth = 0;
PlainDemand* beginning = nullptr;

}  // namespace

namespace {

bool check_permissions(Node* node, void* context) {
  if (node == nullptr) return false;
  if (!IsA(node, Query)) return expression_tree_walker(node, as_walker(check_permissions), context);
  auto* query = castNode(Query, node);
  check_range_table(query);
  return query_tree_walker(query, as_walker(check_permissions), context, 0);
}

}  // namespace

void check_may_run(Query* query) {
  (void)check_permissions(reinterpret_cast<Node*>(query), nullptr);
}

PlannedStmt* plan_demanded(PlainDemand* demand, Query* query, const char* text) {
  PlannedStmt* volatile plan = nullptr;
  PlainDemand* const outer = planned;
  const int outer_depth = planned_depth;
  const bool is_grouped = query->hasAggs || query->groupClause != NIL;
  demand->memory = CurrentMemoryContext;
  planned = demand;
  planned_depth = planning_depth() + 1;
  PG_TRY();
  { plan = plan_query(query, text); }
  PG_FINALLY();
  {
    planned = outer;
    planned_depth = outer_depth;
  }
  PG_END_TRY();
  demand->found = has_plain_node(plan);
  // Where another planner has taken its place. One that leaves out the server's gives no reason.
  if (is_grouped && demand->reasons == NIL) {
    auto* reason = static_cast<PlainReason*>(palloc0(sizeof(PlainReason)));
    reason->why = "another extension plans the query";
    demand->reasons = lappend(demand->reasons, reason);
  }
  for (PlainReason* reason : of_list<PlainReason>(demand->found ? NIL : demand->reasons)) {
    if (!reason->answers) continue;
    reason->answers = false;
    reason->why = "would answer, but another extension plans the query";
  }
  return plan;
}

PlainDemand* demand_to_plan() {
  return planned != nullptr && planning_depth() == planned_depth ? planned : nullptr;
}

PlainDemand* demand_of(const PlannerInfo* root) {
  PlainDemand* demand = demand_to_plan();
  if (demand == nullptr) return nullptr;
  return demand->of_subqueries || root->parent_root == nullptr ? demand : nullptr;
}

void demand_of_no_row(PlainDemand* demand) {
  demand->may_be_exact = true;
  auto* reason = static_cast<PlainReason*>(palloc0(sizeof(PlainReason)));
  reason->why = "no row meets its conditions";
  demand->reasons = lappend(demand->reasons, reason);
}

PlainDemand* demand_to_run() { return beginning; }

void run_demanded(PlainDemand* demand, PlannedStmt* plan, const char* text,
                  ParamListInfo parameters, double* columns, bool* nulls) {
  Tuplestorestate* rows = tuplestore_begin_heap(false, false, work_mem);
  DestReceiver* into = CreateDestReceiver(DestTuplestore);
  SetTuplestoreDestReceiverParams(into, rows, CurrentMemoryContext, false, nullptr, nullptr);
  QueryDesc* query = CreateQueryDesc(plan, text, GetActiveSnapshot(), InvalidSnapshot, into,
                                     parameters, nullptr, 0);
  // Plans that begin may call functions, as where partitions are ruled out, and those run others.
  PlainDemand* const outer = beginning;
  beginning = demand;
  PG_TRY();
  { ExecutorStart(query, 0); }
  PG_FINALLY();
  { beginning = outer; }
  PG_END_TRY();
  run_once(query);
  ExecutorFinish(query);
  TupleTableSlot* slot = MakeSingleTupleTableSlot(query->tupDesc, &TTSOpsMinimalTuple);
  const bool is_there = tuplestore_gettupleslot(rows, true, false, slot);
  for (int i = 0; i < query->tupDesc->natts; ++i) {
    nulls[i] = true;
    const Datum value = is_there ? slot_getattr(slot, i + 1, &nulls[i]) : 0;
    columns[i] = nulls[i] ? 0 : DatumGetFloat8(value);
  }
  ExecDropSingleTupleTableSlot(slot);
  ExecutorEnd(query);
  FreeQueryDesc(query);
  tuplestore_end(rows);
}

}  // namespace kde_pg
