// See buckets.h. Where a bucket ends is searched for by bisection, first where the one before would
// have put it: some three calls of the function a bucket where they are equally wide.
#include "pg/plan/buckets.h"

#include "pg/base/tree_walk.h"

extern "C" {
#include "datatype/timestamp.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "pgtime.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"
}

#include <cmath>

namespace kde_pg {

namespace {

// Which argument a function never falls in, the others being constants; -1: not known.
int rising_argument(Oid function) {
  switch (function) {
    case F_FLOOR_FLOAT8:
    case F_CEIL_FLOAT8:
    case F_CEILING_FLOAT8:
    case F_TRUNC_FLOAT8:
    case F_FLOOR_NUMERIC:
    case F_CEIL_NUMERIC:
    case F_CEILING_NUMERIC:
    case F_TRUNC_NUMERIC:
    case F_TRUNC_NUMERIC_INT4:
    case F_DATE_TIMESTAMP:
    case F_DATE_TIMESTAMPTZ:
    case F_TIMESTAMP_DATE:
    case F_TIMESTAMPTZ_DATE:
    case F_TIMESTAMP_TIMESTAMPTZ:
    case F_TIMESTAMPTZ_TIMESTAMP:
    case F_FLOAT8_INT2:
    case F_FLOAT8_INT4:
    case F_FLOAT8_INT8:
    case F_FLOAT8_FLOAT4:
    case F_NUMERIC_INT2:
    case F_NUMERIC_INT4:
    case F_NUMERIC_INT8:
    case F_INT4_INT2:
    case F_INT8_INT2:
    case F_INT8_INT4:
    case F_INT4_FLOAT8:
    case F_INT8_FLOAT8:
    case F_INT4_NUMERIC:
    case F_INT8_NUMERIC:
      return 0;
    case F_DATE_TRUNC_TEXT_TIMESTAMP:
    case F_DATE_TRUNC_TEXT_TIMESTAMPTZ:
    case F_DATE_BIN_INTERVAL_TIMESTAMP_TIMESTAMP:
    case F_DATE_BIN_INTERVAL_TIMESTAMPTZ_TIMESTAMPTZ:
      return 1;
    default:
      return -1;
  }
}

// The same of an operator's function, with a positive constant where there is a product.
int rising_operand(Oid function, bool* positive) {
  *positive = false;
  switch (function) {
    case F_INT4PL:
    case F_INT8PL:
    case F_FLOAT8PL:
    case F_NUMERIC_ADD:
    case F_INT4MI:
    case F_INT8MI:
    case F_FLOAT8MI:
    case F_NUMERIC_SUB:
      return 0;
    case F_INT4MUL:
    case F_INT8MUL:
    case F_FLOAT8MUL:
    case F_NUMERIC_MUL:
    case F_INT4DIV:
    case F_INT8DIV:
    case F_FLOAT8DIV:
    case F_NUMERIC_DIV:
      *positive = true;
      return 0;
    default:
      return -1;
  }
}

bool is_positive(Node* node) {
  if (!IsA(node, Const)) return false;
  const auto* c = castNode(Const, node);
  kde::ValueType type;
  return !c->constisnull && value_type_of(c->consttype, &type) && type <= kde::ValueType::numeric &&
         value_to_double(type, c->constvalue) > 0;
}

// extract(epoch FROM x).
bool is_epoch(const FuncExpr* f) {
  switch (f->funcid) {
    case F_EXTRACT_TEXT_DATE:
    case F_EXTRACT_TEXT_TIMESTAMP:
    case F_EXTRACT_TEXT_TIMESTAMPTZ:
    case F_DATE_PART_TEXT_TIMESTAMP:
    case F_DATE_PART_TEXT_TIMESTAMPTZ:
      break;
    default:
      return false;
  }
  Node* field = static_cast<Node*>(linitial(f->args));
  return IsA(field, Const) && !castNode(Const, field)->constisnull &&
         pg_strcasecmp(TextDatumGetCString(castNode(Const, field)->constvalue), "epoch") == 0;
}

bool are_constants(List* args, int but) {
  ListCell* cell;
  foreach (cell, args)
    if (foreach_current_index(cell) != but && !IsA(lfirst(cell), Const)) return false;
  return true;
}

Node* open(Node* node, void* state) {
  if (node == nullptr) return nullptr;
  if (IsA(node, Var) && castNode(Var, node)->varattno == *static_cast<const AttrNumber*>(state)) {
    const auto* var = castNode(Var, node);
    auto* value = makeNode(CaseTestExpr);
    value->typeId = var->vartype;
    value->typeMod = var->vartypmod;
    value->collation = var->varcollid;
    return reinterpret_cast<Node*>(value);
  }
  return expression_tree_mutator(node, as_mutator(open), state);
}

}  // namespace

bool is_bucket(Node* node, AttrNumber column) {
  for (;;) {
    int inner = -1;
    List* args = NIL;
    if (IsA(node, Var)) return castNode(Var, node)->varattno == column;
    if (IsA(node, RelabelType)) {
      node = reinterpret_cast<Node*>(castNode(RelabelType, node)->arg);
      continue;
    }
    if (IsA(node, FuncExpr)) {
      const auto* f = castNode(FuncExpr, node);
      args = f->args;
      inner = is_epoch(f) ? 1 : rising_argument(f->funcid);
    } else if (IsA(node, OpExpr)) {
      const auto* op = castNode(OpExpr, node);
      args = op->args;
      bool positive;
      inner = rising_operand(get_opcode(op->opno), &positive);
      if (inner == 0 && positive && !is_positive(static_cast<Node*>(lsecond(args)))) return false;
    }
    if (inner < 0 || !are_constants(args, inner)) return false;
    node = static_cast<Node*>(list_nth(args, inner));
  }
}

Expr* open_bucket(Node* node, AttrNumber column) {
  return reinterpret_cast<Expr*>(open(node, &column));
}

namespace {

// Of a time zone's offset that are looked at: those of a thousand years.
constexpr int kMostChanges = 2000;

class Search {
 public:
  Search(ExprState* function, ExprContext* context, kde::ValueType type, Oid result, Oid collation)
      : function_(function), context_(context), type_(type), collation_(collation) {
    const int32 none = -1;
    step_ = type == kde::ValueType::timestamp || type == kde::ValueType::timestamptz ||
                    type == kde::ValueType::time
                ? 1e-6
                : lattice_step_of(type, none);
    result_ = lookup_type_cache(result, TYPECACHE_CMP_PROC_FINFO);
  }

  bool can_compare() const { return OidIsValid(result_->cmp_proc_finfo.fn_oid); }

  NullableDatum at(double x) {
    CHECK_FOR_INTERRUPTS();
    NullableDatum out = {0, true};
    context_->caseValue_datum = double_to_value(type_, x);
    context_->caseValue_isNull = false;
    out.value = ExecEvalExpr(function_, context_, &out.isnull);
    return out;
  }

  int compare(Datum a, Datum b) const {
    return DatumGetInt32(FunctionCall2Coll(&result_->cmp_proc_finfo, collation_, a, b));
  }

  // The first value of the column from x on, the last one up to x.
  double from(double x) const { return step_ >= 1 ? std::ceil(x / step_) * step_ : x; }
  double up_to(double x) const { return step_ >= 1 ? std::floor(x / step_) * step_ : x; }
  // The value of the column at x: of a time, the double nearest to its microsecond.
  double value_at(double x) const {
    constexpr double kMicroseconds = 1e6;
    return step_ < 1 ? std::rint(x * kMicroseconds) / kMicroseconds : x;
  }
  // The value before x.
  double before(double x) const { return value_at(x - step_); }
  // Whether there is a value between.
  bool is_wide(double low, double high) const { return high - low > 1.5 * step_; }

  // Where the function first differs from what it is at x, at most at `last`, where it does.
  double end_of(double x, Datum value, double guess, double last) {
    double low = x, high = last;
    guess = value_at(guess);
    for (const double g : {guess, before(guess)}) {
      if (!(g > low && g < high)) continue;
      const NullableDatum there = at(g);
      (!there.isnull && compare(there.value, value) == 0 ? low : high) = g;
    }
    while (is_wide(low, high)) {
      const double middle = value_at(low + std::ceil((high - low) / 2 / step_ - 0.5) * step_);
      if (!(middle > low && middle < high)) break;
      const NullableDatum there = at(middle);
      (!there.isnull && compare(there.value, value) == 0 ? low : high) = middle;
    }
    return high;
  }

  // Whether it falls where the session's time zone changes its offset, or that is too often to
  // look.
  bool falls(double first, double last) {
    if (type_ != kde::ValueType::date && type_ != kde::ValueType::timestamp &&
        type_ != kde::ValueType::timestamptz)
      return false;
    constexpr double kDay = 86400;
    auto t = static_cast<pg_time_t>(std::max(first - 2 * kDay, -1e11));
    for (int looked = 0; looked < kMostChanges; ++looked) {
      long offset_before, offset_after;
      int dst_before, dst_after;
      pg_time_t boundary;
      if (pg_next_dst_boundary(&t, &offset_before, &dst_before, &boundary, &offset_after,
                               &dst_after, session_timezone) != 1 ||
          static_cast<double>(boundary) > last + 2 * kDay)
        return false;
      // As an instant, and as a time of day there, which a column without a zone has.
      for (const double x :
           {static_cast<double>(boundary), static_cast<double>(boundary + offset_before),
            static_cast<double>(boundary + offset_after)}) {
        const double at_step = step_ >= 1 ? std::floor(x / step_) * step_ : x;
        if (!(before(at_step) >= first && at_step <= last)) continue;
        const NullableDatum a = at(before(at_step));
        const NullableDatum b = at(at_step);
        if (a.isnull || b.isnull || compare(a.value, b.value) > 0) return true;
      }
      t = boundary;
    }
    return true;
  }

 private:
  ExprState* function_;
  ExprContext* context_;
  kde::ValueType type_;
  Oid collation_;
  double step_;
  TypeCacheEntry* result_;
};

}  // namespace

List* buckets_between(ExprState* function, ExprContext* context, kde::ValueType type, Oid result,
                      Oid collation, double first, double last, int most, bool* sure) {
  Search search(function, context, type, result, collation);
  first = search.from(first);
  last = search.up_to(last);
  *sure = first > last;
  if (*sure) return NIL;
  if (!search.can_compare() || search.falls(first, last)) return NIL;
  List* out = NIL;
  double width = 0;
  const NullableDatum end = search.at(last);
  if (end.isnull) return NIL;
  for (double x = first; x <= last;) {
    const NullableDatum value = search.at(x);
    if (value.isnull || list_length(out) == most) return NIL;
    auto* bucket = static_cast<Bucket*>(palloc(sizeof(Bucket)));
    *bucket = {value.value, x, INFINITY};
    out = lappend(out, bucket);
    const int left = search.compare(value.value, end.value);
    if (left > 0) return NIL;
    if (left == 0) break;
    bucket->upper = search.end_of(x, value.value, x + width, last);
    if (list_length(out) > 1 || bucket->upper > x) width = bucket->upper - x;
    x = bucket->upper;
  }
  *sure = true;
  return out;
}

}  // namespace kde_pg
