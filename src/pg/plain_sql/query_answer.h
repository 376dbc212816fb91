// The rows of a query by its density: all of them as accurate as is asked for, or none.
#pragma once

#include "pg/plain_sql/outcome.h"
#include "pg/plain_sql/plan_fields.h"
#include "pg/plain_sql/rest.h"

#include "core/kde.h"

extern "C" {
#include "nodes/execnodes.h"
}

namespace kde_pg {

struct OpenExpressions;  // part_values.h
class DimensionRows;     // dimension_rows.h

// Where the range column is cut.
struct PlainCutAt {
  PlainCut kind;
  ExprState* bucket;    // the function with its argument open
  Oid type, collation;  // of its result, or of the value
  NullableDatum value;  // of others
};

// What is asked, with what is known when the query runs.
struct PlainAsked {
  double error;                   // required: half an interval's width over its estimate, at most
  kde::IntervalOptions interval;  // changed_rows: those that are known to the caller
  const PlainPlan* plan;
  const NullableDatum* value;  // of each bound that has one, in their order
  const Oid* value_type;
  TupleTableSlot* slot;  // of custom_scan_tlist's columns
  ExprContext* context;  // in which open expressions are evaluated on the slot
  const OpenExpressions* open;
  const DimensionRows* dimensions;
  const PlainCutAt* cut;          // of each of the plan's
  const NullableDatum* fraction;  // of each percentile
  List* passages;                 // ExprState*, comparisons of buckets
  double most_parts;              // that are asked about: beyond it the exact plan costs less
  PlainRest* rest;                // by which rows that changed are read; null: it cannot be had
  // The transaction may have changed rows: no answer is as of the fit, or within those that changed.
  bool own_changes;
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
  // Rows that may have changed since: taken in by the intervals, or by consent none of them, and
  // the answers are as of that time.
  double changed_rows = 0;
  bool as_of_then = false;
  TimestampTz as_of = 0;
  bool extreme_went = false;     // a least or greatest value is not there any more, perhaps
  double blocks_read = 0;        // that are not proven, beside the density
  double cells = 0;              // asked: parts of its groups
  const char* detail = nullptr;  // of what is inaccurate: palloc'ed
};

// The most rows that the answer has, as of the active snapshot's density: its groups, where the
// query is by nothing else.
double most_plain_rows(const PlainQuery& query);

// Whether there may be, or have been when it was fitted, rows where one of those columns of the
// density is NULL: a bit for each. By the active snapshot's density; true where there is none.
bool may_have_nulls(const DensityKey& key, int columns);

// As of now, where that is proven or may be told within the required error; else as of the fit,
// where the density's owner consented to answers so old. In the current memory context. Errors:
// those of the types' functions.
PlainAnswers plain_answers(const PlainAsked& asked);

}  // namespace kde_pg
