// Whether a statement is one that the client sent, and not one within a function, a trigger, a
// procedure or a utility command that keeps its result (CREATE TABLE AS, INSERT, COPY, REFRESH).
//
// Counted as pg_stat_statements counts its levels: what ExecutorRun, ExecutorFinish, the planner
// and utility commands call is nested in them. EXPLAIN, EXECUTE, PREPARE, DECLARE and FETCH are the
// client's own way to run a statement.
#pragma once

struct PlannerInfo;
struct RelOptInfo;

namespace kde_pg {

// While a statement is planned: whether that is it. While an executor begins: whether its plan is.
bool is_planning_client_statement();
bool is_beginning_client_statement();

// Whether what is planned or begins is a part of what may keep what it computes (INSERT, a utility
// command, a trigger, a constant of a plan), or of what decides which rows a role sees (a policy's
// functions).
bool is_planning_to_keep_rows();
bool is_beginning_to_keep_rows();

// Whether EXPLAIN has a statement planned, or run.
bool is_explaining();

// Planners at work, one within another.
int planning_depth();

// Of a statement that is planned to be looked at alone: by the planner of that depth, whose groupings
// are told to note() and get no other path.
struct PlanningWatch {
  int depth;
  void (*note)(PlanningWatch* watch, PlannerInfo* root, RelOptInfo* input, RelOptInfo* output);
};
// Returns the one before, which the caller sets again, after an error too; null: none.
PlanningWatch* watch_planning(PlanningWatch* watch);
// That of what is being planned; null: none.
PlanningWatch* planning_watch();

// Runs what(argument) as what a statement calls: none of what it plans and runs is the client's.
void run_nested(void (*what)(void* argument), void* argument);

// Whether another node of a cluster sent the session's statements as parts of one of its own: what
// that asked for exactly must not be answered otherwise here. Citus says so by application_name.
bool is_of_other_node();

// Once, from _PG_init.
void register_client_statement_hooks();

}  // namespace kde_pg
