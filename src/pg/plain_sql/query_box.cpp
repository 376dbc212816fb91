// See query_box.h.
#include "pg/plain_sql/query_box.h"

#include "pg/answer/candidates.h"
#include "pg/answer/asked_words.h"
#include "pg/base/subtransaction.h"
#include "pg/values/values.h"
#include "pg/plain_sql/buckets.h"

extern "C" {
#include "access/stratnum.h"
#include "executor/executor.h"
#include "utils/fmgrprotos.h"
}

#include <algorithm>
#include <cmath>

namespace kde_pg {

namespace {

void read_elements(ArrayType* array, Oid type, NullableDatum** out, int* count) {
  int16 length;
  bool by_value;
  char align;
  get_typlenbyvalalign(type, &length, &by_value, &align);
  Datum* values;
  bool* nulls;
  deconstruct_array(array, type, length, by_value, align, &values, &nulls, count);
  *out = static_cast<NullableDatum*>(palloc(sizeof(NullableDatum) * static_cast<Size>(*count + 1)));
  for (int i = 0; i < *count; ++i) {
    (*out)[i].value = values[i];
    (*out)[i].isnull = nulls[i];
  }
}

// Whether a bound is the double that it is taken for.
bool is_exactly(Oid type, Datum value, double x) {
  if (type == INT8OID) return std::fabs(x) < kMostWhole;
  if (type != NUMERICOID || !std::isfinite(x)) return true;
  return DatumGetBool(
      DirectFunctionCall2(numeric_eq, value, double_to_value(kde::ValueType::numeric, x)));
}

// Whether work() is sure. Functions are asked of values that no row may have, where they may raise
// an error: that is for the exact plan to find out.
template <typename Work>
bool is_sure(Work work) {
  bool sure = false;
  const auto ask = [&sure, &work] { sure = work(); };
  // Nothing can be undone there.
  if (IsInParallelMode())
    ask();
  else if (!without_error(ask))
    return false;
  return sure;
}

}  // namespace

bool PlainBox::read_bounds() {
  for (kde::Range& r : rows_.range) r = kde::Range();
  bool empty = false;
  for (int i = 0, v = 0; i < plan_.bounds; ++i) {
    const PlainBound& b = plan_.bound[i];
    if (!same_meaning(b.type, rows_.density.type(b.column)))
      return state_.refuse(PlainOutcome::other_shape);
    if (b.strategy == 0) continue;
    const NullableDatum value = state_.asked.value[v];
    const Oid type = state_.asked.value_type[v++];
    if (b.any || b.type == kde::ValueType::category) {
      if (!read_list(b, type, value)) return false;
      continue;
    }
    // Nothing compares with NULL.
    if (value.isnull) {
      empty = true;
      continue;
    }
    double x;
    if (!read_bound(b, type, value.value, &x)) return false;
    narrow(&rows_.range[b.column], b.strategy, x);
  }
  for (int i = 0; i < plan_.aggregates; ++i) {
    const PlainAggregate& a = plan_.aggregate[i];
    if (a.column >= 0 && !same_meaning(a.type, rows_.density.type(a.column)))
      return state_.refuse(PlainOutcome::other_shape);
  }
  if (empty)
    for (kde::Range& r : rows_.range) r.empty = true;
  // Two values may be one there, on either side of a bound.
  for (int i = 0; i < plan_.bounds; ++i)
    if (kde::may_have_lost_digits(*rows_.density.column(plan_.bound[i].column)))
      return state_.refuse(PlainOutcome::digits);
  return true;
}

bool PlainBox::read_bound(const PlainBound& b, Oid type, Datum value, double* x) {
  *x = bound_to_double(b.type, type, value);
  // Times of day, and an instant.
  if (type == TIMESTAMPTZOID && b.type != kde::ValueType::timestamptz &&
      is_at_change(value_to_double(kde::ValueType::timestamptz, value)))
    return state_.refuse(PlainOutcome::buckets);
  return (is_exactly(type, value, *x) && !(b.column == 0 && is_beside_a_value(*x))) ||
         state_.refuse(PlainOutcome::digits);
}

// Whether a bound of its only column is next to a value of it and none itself: the density takes it
// for that.
bool PlainBox::is_beside_a_value(double x) const {
  constexpr double kBeside = 1e-3;
  if (rows_.density.joint != nullptr) return false;
  const kde::Header& h = *rows_.density.one_column;
  if (!(h.lattice_step > 0) || !std::isfinite(x)) return false;
  const double point = h.lattice_point(std::rint((x - h.lattice_offset) / h.lattice_step));
  return x != point && std::fabs(x - point) < kBeside * h.lattice_step;
}

// One of several values: points of the range column, or words. Nothing is equal to NULL.
bool PlainBox::read_list(const PlainBound& b, Oid type, const NullableDatum& value) {
  Oid of = type;
  int n = value.isnull ? 0 : 1;
  NullableDatum one = value;
  NullableDatum* values = &one;
  if (b.any) {
    of = getBaseType(get_element_type(type));
    if (n > 0) read_elements(DatumGetArrayTypeP(value.value), of, &values, &n);
  }
  if (b.type == kde::ValueType::category || rows_.density.joint != nullptr) {
    const kde::Header* column = rows_.density.column(b.column);
    rows_.words[b.column] = &words_[b.column];
    words_set = true;
    return (column->words != 0 &&
            find_words(b.column_type, b.collation, column, of, values, n, &words_[b.column])) ||
           state_.refuse(PlainOutcome::other_shape);
  }
  rows_.listed = true;
  points_ = static_cast<double*>(palloc(sizeof(double) * static_cast<Size>(n + 1)));
  for (int i = 0; i < n; ++i) {
    if (values[i].isnull) continue;
    if (!read_bound(b, of, values[i].value, &points_[point_count_])) return false;
    ++point_count_;
  }
  std::sort(points_, points_ + point_count_, is_less);
  // NaN is equal to itself, as btrees have it.
  const auto is_same = [](double x, double y) { return !is_less(x, y) && !is_less(y, x); };
  point_count_ = static_cast<int>(std::unique(points_, points_ + point_count_, is_same) - points_);
  return point_count_ <= kMostParts || state_.refuse(PlainOutcome::buckets);
}

// The ends of the values that there are in the range, for functions of them; the first is above the
// last where there are none. by_all: of rows changed, too.
bool PlainBox::read_ends(bool by_all, double* first, double* last) {
  const kde::Range& whole = rows_.range[0];
  const kde::Header& h = *rows_.density.one_column;
  *first = 1;
  *last = 0;
  if (whole.empty || !(h.finite_rows() > 0))
    return rows_.is_empty(whole, by_all) || state_.refuse(PlainOutcome::unsure);
  if (h.nans + h.negative_infinities + h.positive_infinities > 0)
    return state_.refuse(PlainOutcome::not_finite);
  if (kde::may_have_lost_digits(h)) return state_.refuse(PlainOutcome::digits);
  kde::Range below = whole, above = whole;
  below.upper_unbounded = above.lower_unbounded = false;
  below.upper = h.min;
  above.lower = h.max;
  below.upper_inclusive = above.lower_inclusive = false;
  if (!rows_.is_empty(below, by_all) || !rows_.is_empty(above, by_all))
    return state_.refuse(rows_.options.changed_rows > 0 ? PlainOutcome::new_groups
                                                        : PlainOutcome::unseen);
  *first = whole.lower_unbounded || is_less(whole.lower, h.min) ? h.min : whole.lower;
  *last = whole.upper_unbounded || is_less(h.max, whole.upper) ? h.max : whole.upper;
  // From NaN or an infinity on, or up to one, there is no finite value.
  if (std::isfinite(*first) && std::isfinite(*last)) return true;
  *first = 1;
  *last = 0;
  return true;
}

bool PlainBox::read_passages() {
  rows_.before_passages = rows_.range[0];
  // Of values that came since some may pass, too.
  rows_.may_be_new = state_.asked.passages != NIL;
  for (ExprState* item : of_list<ExprState>(state_.asked.passages)) {
    double first, last;
    if (!read_ends(plan_.by_bucket, &first, &last)) return false;
    if (first > last) return true;
    Passage p;
    auto* comparison = item;
    if (!is_sure([&] {
          return find_passage(comparison, state_.asked.context, rows_.density.type(0), first, last,
                              &p);
        }))
      return state_.refuse(PlainOutcome::buckets);
    if (!p.before && !p.from) rows_.range[0].empty = true;
    if (p.before == p.from) continue;
    if (is_beside_a_value(p.place)) return state_.refuse(PlainOutcome::digits);
    narrow(&rows_.range[0], p.from ? BTGreaterEqualStrategyNumber : BTLessStrategyNumber, p.place);
  }
  return true;
}

void PlainBox::part_list() {
  part = static_cast<Part*>(palloc(sizeof(Part) * static_cast<Size>(point_count_ + 1)));
  for (int i = 0; i < point_count_; ++i) {
    kde::Range one = rows_.range[0];
    narrow(&one, BTEqualStrategyNumber, points_[i]);
    part[parts++] = {one, 0};
  }
}

bool PlainBox::part_by_bucket() {
  const kde::Range& whole = rows_.range[0];
  double first, last;
  if (!read_ends(true, &first, &last)) return false;
  if (first > last) return true;
  const Form_pg_attribute of = TupleDescAttr(state_.desc(), plan_.key.groups);
  List* buckets = NIL;
  if (!is_sure([&] {
        bool sure;
        buckets = buckets_between(state_.asked.bucket, state_.asked.context, rows_.density.type(0),
                                  of->atttypid, of->attcollation, first, last, kMostParts, &sure);
        return sure;
      }))
    return state_.refuse(PlainOutcome::buckets);
  parts = list_length(buckets);
  part = static_cast<Part*>(palloc(sizeof(Part) * static_cast<Size>(parts + 1)));
  ListCell* cell;
  foreach (cell, buckets) {
    const auto* b = static_cast<const Bucket*>(lfirst(cell));
    kde::Range r = whole;
    const int i = foreach_current_index(cell);
    if (i > 0) {
      if (is_beside_a_value(b->lower)) return state_.refuse(PlainOutcome::digits);
      r.lower = b->lower;
      r.lower_unbounded = false;
      r.lower_inclusive = true;
    }
    if (i + 1 < parts) {
      r.upper = b->upper;
      r.upper_unbounded = r.upper_inclusive = false;
    }
    part[i] = {r, b->value};
  }
  return true;
}

bool PlainBox::read_parts() {
  if (rows_.listed) {
    part_list();
    return true;
  }
  if (plan_.by_bucket) return part_by_bucket();
  part = static_cast<Part*>(palloc(sizeof(Part)));
  part[0] = {rows_.range[0], 0};
  parts = 1;
  return true;
}

}  // namespace kde_pg
