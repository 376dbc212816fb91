// See query_box.h.
#include "pg/plain_sql/query_box.h"

#include "pg/answer/candidates.h"
#include "pg/answer/asked_words.h"
#include "pg/base/subtransaction.h"
#include "pg/values/values.h"
#include "pg/catalog/expression.h"
#include "pg/plain_sql/buckets.h"
#include "pg/plain_sql/value_steps.h"
#include "pg/read/look_up.h"

extern "C" {
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/pg_inherits.h"
#include "executor/executor.h"
#include "utils/fmgrprotos.h"
#include "utils/rangetypes.h"
#include "utils/snapmgr.h"
#include "utils/typcache.h"
}

#include <algorithm>
#include <cmath>
#include <limits>

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
  return may_undo() && without_error(ask) && sure;
}

}  // namespace

bool PlainBox::read_bounds() {
  for (kde::Range& r : rows_.range) r = kde::Range();
  point_count_ = 0;
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
    if (!read_bound(b, type, value.value, &x) || !narrow_by(b, x)) return false;
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
  return is_exactly(type, value, *x) || state_.refuse(PlainOutcome::digits);
}

// The value of its only column that a bound is next to and none itself: the density takes it for that. NaN:
// none is there.
double PlainBox::value_beside(double x) const {
  constexpr double kBeside = 1e-3, kNone = std::numeric_limits<double>::quiet_NaN();
  if (rows_.density.joint != nullptr) return kNone;
  const kde::Header& h = *rows_.density.one_column;
  if (!(h.lattice_step > 0) || !std::isfinite(x)) return kNone;
  const double point = h.lattice_point(std::rint((x - h.lattice_offset) / h.lattice_step));
  return x != point && std::fabs(x - point) < kBeside * h.lattice_step ? point : kNone;
}

bool PlainBox::is_told(double x) {
  return std::isnan(value_beside(x)) || state_.refuse(PlainOutcome::digits);
}

// Of a density of every row no other values are between them: up to 23:59:59.999 is before midnight.
bool PlainBox::narrow_by(const PlainBound& b, double x) {
  kde::Range* range = &rows_.range[b.column];
  const double beside = b.column == 0 ? value_beside(x) : std::numeric_limits<double>::quiet_NaN();
  if (std::isnan(beside)) {
    narrow(range, b.strategy, x);
    return true;
  }
  if ((rows_.density.one_column->flags & kde::kEveryRowRead) == 0 ||
      rows_.options.changed_rows > 0 || b.strategy == BTEqualStrategyNumber)
    return state_.refuse(PlainOutcome::digits);
  const bool is_before = x < beside;
  if (b.strategy < BTEqualStrategyNumber)
    narrow(range, is_before ? BTLessStrategyNumber : BTLessEqualStrategyNumber, beside);
  else
    narrow(range, is_before ? BTGreaterEqualStrategyNumber : BTGreaterStrategyNumber, beside);
  return true;
}

// Whether the range ends, at the last of its values, less than a second before a minute does.
bool PlainBox::finds_minute(int64* last, int64* minute) const {
  const kde::Range& r = rows_.range[0];
  if (r.empty || r.upper_unbounded || !r.upper_inclusive || !std::isfinite(r.upper)) return false;
  *last = ValueSteps(rows_.density.type(0), -1).nearest(r.upper);
  const int64 after = *last % USECS_PER_MINUTE;
  *minute = *last - after + (after < 0 ? 0 : USECS_PER_MINUTE);
  return *minute - *last <= USECS_PER_SEC;
}

bool PlainBox::is_free_to_minute() {
  constexpr int kMostLeaves = 1000;
  constexpr Size kMostEntries = 1000;
  const KeyColumn& column = plan_.key.column[0];
  int64 last, minute;
  const kde::ValueType type = rows_.density.type(0);
  if ((type != kde::ValueType::timestamp && type != kde::ValueType::timestamptz) ||
      plan_.key.columns > 1 || column.attnum <= 0 ||
      (rows_.density.one_column->flags & kde::kEveryRowRead) == 0 || !read_bounds() ||
      !finds_minute(&last, &minute))
    return false;
  const ValueSteps steps(type, -1);
  List* leaves = find_all_inheritors(plan_.key.relation, NoLock, nullptr);
  bool is_free = list_length(leaves) <= kMostLeaves;
  for (const Oid leaf : oids(leaves)) {
    Relation table = is_free ? try_table_open(leaf, AccessShareLock) : nullptr;
    if (table == nullptr) return false;
    const AttrNumber attnum = get_attnum(leaf, column.text);
    LookUp look_up;
    if (table->rd_rel->relkind != RELKIND_PARTITIONED_TABLE) {
      is_free = table->rd_rel->relkind != RELKIND_FOREIGN_TABLE && attnum > 0 &&
                look_up.begin(table, GetActiveSnapshot(), attnum);
      if (is_free) {
        is_free = look_up.has_none_between(steps.datum(last), steps.datum(minute), kMostEntries);
        look_up.end();
      }
    }
    table_close(table, NoLock);
  }
  return is_free;
}

void PlainBox::go_to_minute() {
  int64 last, minute;
  if (!finds_minute(&last, &minute)) return;
  rows_.range[0].upper = ValueSteps(rows_.density.type(0), -1).at(minute);
  rows_.range[0].upper_inclusive = false;
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
    double* x = &points_[point_count_];
    if (!read_bound(b, of, values[i].value, x) || !is_told(*x)) return false;
    ++point_count_;
  }
  std::sort(points_, points_ + point_count_, is_less);
  // NaN is equal to itself, as btrees have it.
  const auto is_same = [](double x, double y) { return !is_less(x, y) && !is_less(y, x); };
  point_count_ = static_cast<int>(std::unique(points_, points_ + point_count_, is_same) - points_);
  return point_count_ <= kMostParts || state_.refuse(PlainOutcome::buckets);
}

// The ends of the values that there are in the range, for functions of them; the first is above the
// last where there are none. by_all: of rows changed, too. beyond: whether there may be values before or
// after them; null: where there may the density does not answer.
bool PlainBox::read_ends(bool by_all, double* first, double* last, bool* beyond) {
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
  const bool may_be_beyond = !rows_.is_empty(below, by_all) || !rows_.is_empty(above, by_all);
  if (beyond != nullptr) *beyond = may_be_beyond;
  if (may_be_beyond && beyond == nullptr)
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
    if (!read_ends(plan_.is_by_column(), &first, &last, nullptr)) return false;
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
    if (!is_told(p.place)) return false;
    narrow(&rows_.range[0], p.from ? BTGreaterEqualStrategyNumber : BTLessStrategyNumber, p.place);
  }
  return true;
}

// A place of the column: before a value, or after it.
struct PlainBox::Edge {
  double at;
  bool after;

  bool operator<(const Edge& o) const { return at < o.at || (at == o.at && !after && o.after); }
  bool operator==(const Edge& o) const { return at == o.at && after == o.after; }
};

class PlainBox::Edges {
 public:
  Edges(const ValueSteps& steps, double first, double last)
      : steps_(steps), first_(first), last_(last) {}

  // Before the value there, and after it, there may be rows: the ends are then beyond it.
  void reach(double x) {
    if (!std::isfinite(x)) return;
    const auto beside = [&](int by) {
      return steps_.are_steps() ? steps_.at(steps_.nearest(x) + by)
                                : x + by * std::max(1.0, std::fabs(x) / 0x1p30);
    };
    first_ = std::min(first_, beside(-1));
    last_ = std::max(last_, beside(1));
  }
  double first() const { return first_; }
  double last() const { return last_; }

  // In the range, and beside a value where the type has steps: behind one rather than before the next,
  // which densities may take for the same.
  void add(Edge e) {
    if (!(first_ <= e.at && e.at <= last_)) return;
    if (steps_.are_steps() && !(e.after && steps_.at(steps_.up_to(e.at)) == e.at))
      e = {steps_.at(first_from(steps_, e)), false};
    if (e == Edge{first_, false} || e.at > last_ || (e.at == last_ && e.after)) return;
    if (n_ == room_) {
      room_ = Max(2 * room_, 64);
      const Size size = sizeof(Edge) * static_cast<Size>(room_);
      edge_ = static_cast<Edge*>(edge_ == nullptr ? palloc(size) : repalloc(edge_, size));
    }
    edge_[n_++] = e;
  }
  void add_both(double x) {
    add({x, false});
    add({x, true});
  }
  void sort() {
    const auto is_same = [this](const Edge& a, const Edge& b) {
      return steps_.are_steps() ? first_from(steps_, a) == first_from(steps_, b) : a == b;
    };
    std::sort(edge_, edge_ + n_);
    n_ = static_cast<int>(std::unique(edge_, edge_ + n_, is_same) - edge_);
  }
  // The value, where there are steps, from the edge on.
  static int64 first_from(const ValueSteps& steps, const Edge& e) {
    return e.after ? steps.up_to(e.at) + 1 : steps.from(e.at);
  }
  int size() const { return n_; }
  const Edge& operator[](int i) const { return edge_[i]; }

 private:
  const ValueSteps& steps_;
  double first_, last_;
  Edge* edge_ = nullptr;
  int n_ = 0, room_ = 0;
};

bool PlainBox::part_list() {
  part = static_cast<Part*>(palloc(sizeof(Part) * static_cast<Size>(point_count_ + 1)));
  for (int i = 0; i < point_count_; ++i) {
    kde::Range one = rows_.range[0];
    narrow(&one, BTEqualStrategyNumber, points_[i]);
    part[parts++] = {one, 0};
    if (plan_.cuts_column && !value_of(points_[i], &part[parts - 1].value))
      return state_.refuse(PlainOutcome::other_shape);
  }
  return true;
}

// The column's type now is the density's.
bool PlainBox::value_of(double x, Datum* out) const {
  const kde::ValueType type = rows_.density.type(0);
  const ValueSteps steps(type, column_typmod_);
  if (std::isfinite(x) && steps.are_steps())
    *out = steps.datum(steps.nearest(x));
  else if (!try_double_to_value(type, x, out))
    return false;
  return true;
}

bool PlainBox::read_value(Oid type, const NullableDatum& value, Edges* to) {
  // Nothing compares with NULL.
  if (value.isnull) return true;
  const PlainBound beside = {0, rows_.density.type(0), 0, false, nullptr, InvalidOid, InvalidOid};
  double x;
  if (!read_bound(beside, type, value.value, &x) || !is_told(x)) return false;
  if (beyond_) to->reach(x);
  to->add_both(x);
  return true;
}

bool PlainBox::read_cut(const PlainCutAt& cut, double first, double last, Edges* to) {
  switch (cut.kind) {
    case PlainCut::bucket: {
      List* buckets = NIL;
      if (!is_sure([&] {
            bool sure;
            buckets = buckets_between(cut.bucket, state_.asked.context, rows_.density.type(0),
                                      cut.type, cut.collation, first, last, kMostParts, &sure);
            return sure;
          }))
        return state_.refuse(PlainOutcome::buckets);
      bool is_first = true;
      for (const Bucket* b : of_list<const Bucket>(buckets)) {
        if (!is_first && !is_told(b->lower)) return false;
        if (!is_first) to->add({b->lower, false});
        is_first = false;
      }
      return true;
    }
    case PlainCut::value:
      return read_value(cut.type, cut.value, to);
    case PlainCut::list: {
      if (cut.value.isnull) return true;
      const Oid of = getBaseType(get_element_type(cut.type));
      NullableDatum* values;
      int n;
      read_elements(DatumGetArrayTypeP(cut.value.value), of, &values, &n);
      for (int i = 0; i < n; ++i)
        if (!read_value(of, values[i], to)) return false;
      return true;
    }
    case PlainCut::range:
      break;
  }
  if (cut.value.isnull) return true;
  RangeType* range = DatumGetRangeTypeP(cut.value.value);
  TypeCacheEntry* type = lookup_type_cache(RangeTypeGetOid(range), TYPECACHE_RANGE_INFO);
  RangeBound lower, upper;
  bool empty;
  range_deserialize(type, range, &lower, &upper, &empty);
  for (const RangeBound& end : {lower, upper})
    if (!empty && !end.infinite &&
        !read_value(getBaseType(type->rngelemtype->type_id), {end.val, false}, to))
      return false;
  return true;
}

// A value of the column there. False: double precision tells none.
bool PlainBox::value_between(const Edge& a, const Edge& b, Datum* out) const {
  const kde::ValueType type = rows_.density.type(0);
  const ValueSteps steps(type, column_typmod_);
  if (steps.are_steps()) {
    *out = steps.datum(Edges::first_from(steps, a));
    return true;
  }
  double x = a.at;
  if (a.after) {
    if (type == kde::ValueType::float8)
      x = std::nextafter(a.at, INFINITY);
    else if (type == kde::ValueType::float4)
      x = std::nextafter(static_cast<float>(a.at), INFINITY);
    else
      x = a.at + (b.at - a.at) / 2;
    // There is no value between, nor a row.
    if (!(x < b.at) && type != kde::ValueType::numeric) x = b.at;
    if (type == kde::ValueType::numeric && !(a.at < x && x < b.at)) return false;
  }
  return try_double_to_value(type, x, out);
}

// From one cut to the next, the first and the last as far as the range goes.
bool PlainBox::part_by_cuts() {
  const kde::Range& whole = rows_.range[0];
  double first, last;
  // A comparison is the same from its last value on; of buckets there may be more than those met.
  bool* beyond =
      list_member_int(plan_.cut_kinds, static_cast<int>(PlainCut::bucket)) ? nullptr : &beyond_;
  if (!read_ends(plan_.is_by_column(), &first, &last, beyond)) return false;
  if (first > last) return true;
  const kde::ValueType type = rows_.density.type(0);
  const ValueSteps steps(type, column_typmod_);
  Edges edges(steps, first, last);
  for (int i = 0; i < list_length(plan_.cut_kinds); ++i)
    if (!read_cut(state_.asked.cut[i], first, last, &edges)) return false;
  first = edges.first();
  last = edges.last();
  if (steps.are_steps() && (!steps.are_told_apart(first) || !steps.are_told_apart(last)))
    return state_.refuse(PlainOutcome::buckets);
  edges.sort();
  parts = edges.size() + 1;
  if (parts > kMostParts) return state_.refuse(PlainOutcome::buckets);
  part = static_cast<Part*>(palloc(sizeof(Part) * static_cast<Size>(parts)));
  for (int i = 0; i < parts; ++i) {
    const Edge a = i > 0 ? edges[i - 1] : Edge{first, false};
    const Edge b = i + 1 < parts ? edges[i] : Edge{last, true};
    kde::Range r = whole;
    if (i > 0) {
      r.lower = a.at;
      r.lower_unbounded = false;
      r.lower_inclusive = !a.after;
    }
    if (i + 1 < parts) {
      r.upper = b.at;
      r.upper_unbounded = false;
      r.upper_inclusive = b.after;
    }
    part[i].range = r;
    if (!value_between(a, b, &part[i].value)) return state_.refuse(PlainOutcome::digits);
  }
  return true;
}

bool PlainBox::read_parts() {
  if (plan_.cuts_column) {
    kde::ValueType type;
    if (!value_type_of(key_column_type(plan_.key, 0, &column_typmod_), &type) ||
        !same_meaning(type, rows_.density.type(0)))
      return state_.refuse(PlainOutcome::other_shape);
  }
  if (rows_.listed) return part_list();
  if (plan_.cuts_column) return part_by_cuts();
  part = static_cast<Part*>(palloc(sizeof(Part)));
  part[0] = {rows_.range[0], 0};
  parts = 1;
  return true;
}

}  // namespace kde_pg
