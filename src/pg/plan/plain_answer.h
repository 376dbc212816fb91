// The rows of a query by its density: all of them as accurate as is asked for, or none.
#pragma once

#include "pg/plan/plain_outcome.h"
#include "pg/plan/plain_plan.h"

#include "core/kde.h"

extern "C" {
#include "nodes/execnodes.h"
}

namespace kde_pg {

// What is asked, with what is known when the query runs.
struct PlainAsked {
  double error;                   // required: half an interval's width over its estimate, at most
  kde::IntervalOptions interval;  // changed_rows: those that are known to the caller
  const PlainPlan* plan;
  const NullableDatum* value;  // of each bound that has one, in their order
  const Oid* value_type;
  TupleTableSlot* slot;   // of custom_scan_tlist's columns
  ExprContext* context;   // in which the conditions on groups are evaluated on the slot
  ExprState* conditions;  // null: none
  ExprState* bucket;      // the function with its argument open; null: none
  List* passages;         // ExprState*, comparisons of such functions
};

struct PlainRow {
  Datum* values;
  bool* nulls;
};

struct PlainAnswers {
  List* rows = NIL;  // PlainRow*, of custom_scan_tlist's columns
  double error = 0;  // the largest of all answers, relative
  // Of a plan that a function demanded instead of rows: of each of its aggregates, all NaN for
  // NULL.
  kde::Interval* intervals = nullptr;
  PlainOutcome outcome = PlainOutcome::answered;
  const char* detail = nullptr;  // of what is inaccurate: palloc'ed
};

// The most rows that the answer has, as of the active snapshot's density: its groups, where the
// query is by nothing else.
double most_plain_rows(const PlainQuery& query);

// In the current memory context. Errors: those of the types' functions.
PlainAnswers plain_answers(const PlainAsked& asked);

}  // namespace kde_pg
