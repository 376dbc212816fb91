// See client_statement.h. The hooks hold nothing but a number each; an error takes it back.
#include "pg/plain_sql/client_statement.h"

#include "pg/base/pg.h"
#include "pg/catalog/planned_rows.h"

extern "C" {
#include "executor/executor.h"
#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "optimizer/planner.h"
#include "replication/logicalworker.h"
#include "tcop/utility.h"
#include "utils/fmgrprotos.h"
}

namespace kde_pg {

namespace {

// Executors and utility commands that are at work, and planners.
int running = 0, planning = 0;
PlanningWatch* watching = nullptr;
// Of those: that keep a query's rows, or change others; that explain.
int keeping = 0, explaining = 0;
// The begin of the client's statement in which the library was loaded: what of it had begun by then
// is not known. 0: of none.
TimestampTz loaded_in = 0;

planner_hook_type next_planner = nullptr;
ExecutorRun_hook_type next_run = nullptr;
ExecutorFinish_hook_type next_finish = nullptr;
ProcessUtility_hook_type next_utility = nullptr;

bool is_known() { return loaded_in == 0 || GetCurrentStatementStartTimestamp() != loaded_in; }

// The arguments of the hooks are those of the server's version. Nothing but numbers lives across
// what may raise an error.
template <typename... Arguments>
PlannedStmt* plan(Query* query, Arguments... arguments) {
  PlannedStmt* volatile out = nullptr;
  const volatile bool has_policies = query->hasRowSecurity;
  ++planning;
  PG_TRY();
  {
    out = next_planner != nullptr ? next_planner(query, arguments...)
                                  : standard_planner(query, arguments...);
  }
  PG_FINALLY();
  { --planning; }
  PG_END_TRY();
  // The server says so of the query alone; keeps_rows() has the plan.
  if (has_policies) out->dependsOnRole = true;
  return out;
}

// Whether what a plan computes may stay, or decides what a role sees.
bool keeps_rows(const QueryDesc* query) {
  const PlannedStmt* plan = query->plannedstmt;
  return query->operation != CMD_SELECT || plan->hasModifyingCTE || plan->dependsOnRole;
}

template <typename... Arguments>
void run(QueryDesc* query, Arguments... arguments) {
  // Volatile for compilers that take PG_TRY's jump for one that may change it.
  const volatile int kept = keeps_rows(query) ? 1 : 0;
  ++running;
  keeping += kept;
  PG_TRY();
  {
    if (next_run != nullptr)
      next_run(query, arguments...);
    else
      standard_ExecutorRun(query, arguments...);
  }
  PG_FINALLY();
  {
    --running;
    keeping -= kept;
  }
  PG_END_TRY();
}

void finish(QueryDesc* query) {
  // As above.
  const volatile int kept = keeps_rows(query) ? 1 : 0;
  ++running;
  keeping += kept;
  PG_TRY();
  {
    if (next_finish != nullptr)
      next_finish(query);
    else
      standard_ExecutorFinish(query);
  }
  PG_FINALLY();
  {
    --running;
    keeping -= kept;
  }
  PG_END_TRY();
}

// Whether what the command plans and runs is what the client asked to see.
bool shows_a_query(Node* command) {
  switch (nodeTag(command)) {
    case T_ExecuteStmt:
    case T_PrepareStmt:
    case T_FetchStmt:
    case T_DeclareCursorStmt:
      return true;
    case T_ExplainStmt: {
      const auto* query = reinterpret_cast<Query*>(castNode(ExplainStmt, command)->query);
      return query == nullptr || !IsA(query, Query) || query->utilityStmt == nullptr ||
             shows_a_query(query->utilityStmt);
    }
    default:
      return false;
  }
}

// Whether what the command computes may stay in the database. It does of all but those that hand
// rows on, and those whose statements are looked at one by one: also what defaults, checks,
// triggers and the expressions of indexes ask for.
bool keeps_rows(Node* command) {
  switch (nodeTag(command)) {
    case T_ExecuteStmt:
    case T_PrepareStmt:
    case T_FetchStmt:
    case T_DeclareCursorStmt:
    case T_CallStmt:
    case T_DoStmt:
      return false;
    case T_CopyStmt:
      return castNode(CopyStmt, command)->is_from;
    case T_ExplainStmt: {
      const auto* query = reinterpret_cast<Query*>(castNode(ExplainStmt, command)->query);
      return query != nullptr && IsA(query, Query) && query->utilityStmt != nullptr &&
             keeps_rows(query->utilityStmt);
    }
    default:
      return true;
  }
}

template <typename... Arguments>
void process(PlannedStmt* statement, Arguments... arguments) {
  Node* command = statement->utilityStmt;
  const int nested = shows_a_query(command) ? 0 : 1;
  const int kept = keeps_rows(command) ? 1 : 0;
  const int explained = IsA(command, ExplainStmt) ? 1 : 0;
  running += nested;
  keeping += kept;
  explaining += explained;
  PG_TRY();
  {
    if (next_utility != nullptr)
      next_utility(statement, arguments...);
    else
      standard_ProcessUtility(statement, arguments...);
  }
  PG_FINALLY();
  {
    running -= nested;
    keeping -= kept;
    explaining -= explained;
  }
  PG_END_TRY();
}

// Deferred triggers, and functions that parameters are read by, run in none of the hooks: but what
// they run has an error context, as all that SPI runs. So has what Bind and Execute plan and begin,
// a callback of their own that prints the parameters.
bool has_context() {
  const ErrorContextCallback* context = error_context_stack;
  return context != nullptr &&
         (context->previous != nullptr || context->callback != ParamsErrorCallback);
}

// Deferred triggers run in none of the hooks. Who applies another server's changes, or analyses
// expressions, sends no statements. What runs while a statement is planned may become a constant of
// its plan, which others use, too.
bool is_keeping_rows(int planners) {
  return keeping > 0 || planning > planners ||
         DatumGetInt32(DirectFunctionCall1(pg_trigger_depth, Datum(0))) > 0 || IsLogicalWorker() ||
         MyBackendType == B_AUTOVAC_WORKER;
}

}  // namespace

bool is_planning_client_statement() {
  return running == 0 && planning == 1 && !has_context() && is_known();
}
int planning_depth() { return planning; }

PlanningWatch* watch_planning(PlanningWatch* watch) {
  PlanningWatch* before = watching;
  watching = watch;
  return before;
}

PlanningWatch* planning_watch() {
  return watching != nullptr && watching->depth == planning ? watching : nullptr;
}

void run_nested(void (*what)(void* argument), void* argument) {
  ++running;
  PG_TRY();
  { what(argument); }
  PG_FINALLY();
  { --running; }
  PG_END_TRY();
}

bool is_explaining() { return explaining > 0; }

bool is_of_other_node() {
  static const char kCitus[] = "citus_internal ";
  return application_name != nullptr && strncmp(application_name, kCitus, sizeof(kCitus) - 1) == 0;
}

bool is_planning_to_keep_rows() { return is_keeping_rows(1); }
bool is_beginning_to_keep_rows() { return is_keeping_rows(0); }
bool is_beginning_client_statement() {
  return running == 0 && planning == 0 && !has_context() && is_known();
}

void register_client_statement_hooks() {
  loaded_in = GetCurrentStatementStartTimestamp();
  own_planner_hooks.next_planner = next_planner = planner_hook;
  own_planner_hooks.planner = planner_hook = plan;
  next_run = ExecutorRun_hook;
  ExecutorRun_hook = run;
  next_finish = ExecutorFinish_hook;
  ExecutorFinish_hook = finish;
  next_utility = ProcessUtility_hook;
  ProcessUtility_hook = process;
}

}  // namespace kde_pg
