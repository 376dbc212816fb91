// What a function asks of a query that it plans and runs itself, in place of the session's options
// and the owner's consent: approx_where(), kde_explain_query().
#pragma once

#include "pg/plain_sql/outcome.h"
#include "pg/plain_sql/query.h"

#include "core/kde.h"

extern "C" {
#include "nodes/params.h"
#include "nodes/plannodes.h"
}

#include <limits>

namespace kde_pg {

struct PlainDemand {
  // The most that an answer may be off, relative to it; infinite: any.
  double error = std::numeric_limits<double>::infinity();
  kde::IntervalOptions interval;
  // Whether the exact plan may answer; else there is no row where no density does.
  bool may_be_exact = false;
  // Whether a query's subqueries count, too.
  bool of_subqueries = false;

  // What came of it, palloc'ed in `memory`.
  MemoryContext memory = nullptr;
  List* reasons = NIL;  // PlainReason*
  bool found = false;   // a density that may answer, in the plan
  PlainOutcome outcome = PlainOutcome::answered;
  const char* detail = nullptr;            // of what is inaccurate
  const char* density = nullptr;           // that answered
  bool as_of_now = true;                   // no more changed since than the intervals take in
  const kde::Interval* answers = nullptr;  // of the plan's aggregates, all NaN for NULL
};

// What running a query checks: that the current user may read its tables. Before it is planned, so
// that nobody hears which densities would answer what he may not ask. Error 42501.
void check_may_run(Query* query);

// Plans a query for a demand, in the current memory context. Subqueries of functions that are
// called meanwhile are none of its own.
PlannedStmt* plan_demanded(PlainDemand* demand, Query* query, const char* text);

// Runs it, as the current user, under the active snapshot. parameters: null where it has none.
// columns, nulls: of the only row, of double precision; they are the exact plan's, and of no meaning
// where a density answers.
void run_demanded(PlainDemand* demand, PlannedStmt* plan, const char* text,
                  ParamListInfo parameters, double* columns, bool* nulls);

// The planner knows that there is no row: counting them costs nothing.
void demand_of_no_row(PlainDemand* demand);

// That of a query that is being planned, or of a plan that is about to run; null: none.
PlainDemand* demand_of(const PlannerInfo* root);
// Of the query that planning_depth() planners are at.
PlainDemand* demand_to_plan();
PlainDemand* demand_to_run();

}  // namespace kde_pg
