// What the plan's node is as it runs, and what EXPLAIN says of it. Internal to src/pg/plain_sql.
#pragma once

#include "pg/plain_sql/demand.h"
#include "pg/plain_sql/dimension_rows.h"
#include "pg/plain_sql/part_values.h"
#include "pg/plain_sql/query_answer.h"
#include "pg/plain_sql/rest.h"

extern "C" {
#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_state.h"
#endif
#include "nodes/execnodes.h"
}

namespace kde_pg {

// What one density is asked.
struct ScanPart {
  const PlainPlan* plan;
  List* values;     // ExprState*
  Oid* value_type;  // of each
  OpenExpressions open;
  DimensionRows dimensions;
  List* cuts;            // ExprState*, of a bucket or of values
  List* fractions;       // ExprState*, of percentiles
  List* passage_values;  // ExprState*: what each of the plan's passages is compared with
  bool asked;            // when it ran last, with what came of it
  PlainAnswers answers;
};

struct ScanState {
  CustomScanState css;
  List* parts;           // ScanPart*
  int aggregates;        // of the query
  PlainDemand* demand;   // null: of the session
  MemoryContext memory;  // of the answers
  bool client_statement, keeps_rows, decided, noticed;
  bool after_others;  // of the same transaction
  bool own_changes;   // the transaction may have changed a table of the statement
  bool alone;         // without the exact plan, which is beside it: second_plan.h
  int eflags;         // by which the exact plan begins
  bool exact_begun;   // whether it can run: before, it can be shown alone
  PlainAnswers answers;
  int next;
  PlainRest rest;
};

inline ScanState* state_of(CustomScanState* css) { return reinterpret_cast<ScanState*>(css); }
inline const PlainPlan& plan_in(ListCell* cell) {
  return *static_cast<ScanPart*>(lfirst(cell))->plan;
}
inline bool is_answered(const ScanState* s) { return s->answers.outcome == PlainOutcome::answered; }
// Null: none was asked.
const ScanPart* unanswered_part(const ScanState* s);

// Of all that answer, for messages. palloc'ed.
const char* density_names(const ScanState* s);
// What is promised of answers: never more than what is proven. palloc'ed.
const char* promise_of(const PlainAnswers& a);

// As CustomExecMethods has it.
void explain_scan(CustomScanState* css, List* ancestors, ExplainState* es);

}  // namespace kde_pg
