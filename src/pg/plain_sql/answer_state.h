// What the parts of an answer to plain SQL share. Internal to src/pg/plain_sql.
#pragma once

#include "pg/plain_sql/query_answer.h"

namespace kde_pg {

// Rows of an answer at most, and parts that are asked about: beyond it the exact plan is as fast.
inline constexpr int kMostRows = 20000;
inline constexpr int kMostParts = 100000;
inline constexpr double kMostAsked = 1e6;

struct PlainState {
  const PlainAsked& asked;
  const PlainPlan& plan;
  PlainAnswers out;

  // Always false. What is inaccurate stays so, with its detail: the others are looked at for what is
  // worst.
  bool refuse(PlainOutcome why) {
    if (out.outcome != PlainOutcome::inaccurate) out.outcome = why;
    out.rows = NIL;
    return false;
  }

  // Columns of a row before the aggregates.
  int keys() const { return plan.keys(); }
  TupleDesc desc() const { return asked.slot->tts_tupleDescriptor; }
  PlainRow* new_row() const {
    const auto n = static_cast<Size>(desc()->natts);
    auto* row = static_cast<PlainRow*>(palloc(sizeof(PlainRow)));
    row->values = static_cast<Datum*>(palloc0(sizeof(Datum) * (n + 1)));
    row->nulls = static_cast<bool*>(palloc(n + 1));
    for (Size i = 0; i <= n; ++i) row->nulls[i] = true;
    return row;
  }
};

}  // namespace kde_pg
