// See advise_ends.h. Whether a bucket is constant between whole hours is tried, as it never falls
// (buckets.h): on those of a day at the end of a quarter, and on days at the turn of a year.
#include "pg/advise/advise_ends.h"

#include "pg/base/tree_walk.h"
#include "pg/plain_sql/buckets.h"

extern "C" {
#include "catalog/pg_statistic.h"
#include "executor/executor.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/timestamp.h"
}

namespace kde_pg {

namespace {

constexpr Timestamp kHour = USECS_PER_HOUR, kDay = USECS_PER_DAY;
// From 2000-01-01.
constexpr Timestamp kEndOfQuarter = 9677 * kDay, kTurnOfYear = 9491 * kDay;

class BucketValues {
 public:
  BucketValues(Node* node, AttrNumber column)
      : context_(CreateStandaloneExprContext()),
        value_(ExecInitExpr(open_bucket(node, column), nullptr)) {
    get_typlenbyval(exprType(node), &length_, &by_value_);
  }
  void end() { FreeExprContext(context_, true); }

  bool are_same(Timestamp first, Timestamp cell, int cells) {
    for (int i = 0; i < cells; ++i) {
      const NullableDatum a = at(first + i * cell), b = at(first + (i + 1) * cell - 1);
      const bool same = a.isnull || b.isnull ? a.isnull == b.isnull
                                             : datum_image_eq(a.value, b.value, by_value_, length_);
      ResetExprContext(context_);
      if (!same) return false;
    }
    return true;
  }

 private:
  NullableDatum at(Timestamp instant) {
    context_->caseValue_datum = TimestampGetDatum(instant);
    context_->caseValue_isNull = false;
    NullableDatum out;
    out.value = ExecEvalExprSwitchContext(value_, context_, &out.isnull);
    return out;
  }

  ExprContext* context_;
  ExprState* value_;
  int16 length_;
  bool by_value_;
};

}  // namespace

void EndsOfColumn::add(Node* node, bool is_grouping) {
  if (node == nullptr) return;
  List* vars = pull_var_clause(node, PVC_RECURSE_AGGREGATES | PVC_RECURSE_PLACEHOLDERS);
  bool is_of = false;
  for (const Var* var : of_list<const Var>(vars)) is_of = is_of || var->varattno == column_;
  if (!is_of) return;
  if (is_grouping && IsA(node, Var)) asked_.buckets = kNoEnds;
  (void)walk(estimate_expression_value(root_, node), this);
}

bool EndsOfColumn::walk(Node* node, void* context) {
  if (node == nullptr || static_cast<EndsOfColumn*>(context)->look_at(node)) return false;
  return expression_tree_walker(node, as_walker(walk), context);
}

// Whether there is nothing to be looked at within it.
bool EndsOfColumn::look_at(Node* node) {
  if (IsA(node, Const)) {
    const auto* bound = castNode(Const, node);
    if (bound->consttype != type_ || bound->constisnull) return true;
    const Timestamp instant = DatumGetTimestamp(bound->constvalue);
    if (instant % kDay != 0) asked_.bounds &= ~kDayEnds;
    if (instant % kHour != 0) asked_.bounds &= ~kHourEnds;
    return true;
  }
  if (IsA(node, Param)) asked_.hidden = true;
  if (IsA(node, Var)) return true;
  Node* bucket = is_bucket(node, column_) ? node : bucket_of_part(node);
  if (bucket == nullptr || !is_bucket(bucket, column_)) return false;
  add_bucket(bucket);
  return true;
}

void EndsOfColumn::add_bucket(Node* node) {
  BucketValues values(node, column_);
  if (!values.are_same(kEndOfQuarter, kHour, 24)) asked_.buckets &= ~kHourEnds;
  if (!values.are_same(kTurnOfYear, kDay, 14)) asked_.buckets &= ~kDayEnds;
  values.end();
}

double hours_of(PlannerInfo* root, Node* column) {
  VariableStatData data;
  examine_variable(root, column, 0, &data);
  AttStatsSlot slot;
  double out = 0;
  if (HeapTupleIsValid(data.statsTuple) && data.acl_ok &&
      get_attstatsslot(&slot, data.statsTuple, STATISTIC_KIND_HISTOGRAM, InvalidOid,
                       ATTSTATSSLOT_VALUES)) {
    const Timestamp first = DatumGetTimestamp(slot.values[0]);
    const Timestamp last = DatumGetTimestamp(slot.values[slot.nvalues - 1]);
    if (!TIMESTAMP_NOT_FINITE(first) && !TIMESTAMP_NOT_FINITE(last))
      out = 1 + static_cast<double>(last - first) / static_cast<double>(kHour);
    free_attstatsslot(&slot);
  }
  ReleaseVariableStats(data);
  return out;
}

}  // namespace kde_pg
