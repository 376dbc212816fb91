// See plain_answer.h. Values are those that the exact plan would have, as far as the density knows
// them: of the aggregate's type, sums of numeric with the column's decimals, means as numeric_div()
// of sum and count.
#include "pg/plan/plain_answer.h"

#include "pg/answer/candidates.h"
#include "pg/answer/moments.h"
#include "pg/answer/value_bounds.h"
#include "pg/answer/words.h"
#include "pg/base/options.h"
#include "pg/base/pinned.h"
#include "pg/base/subtransaction.h"
#include "pg/base/values.h"
#include "pg/catalog/as_fitted.h"
#include "pg/catalog/cache.h"
#include "pg/catalog/expression.h"
#include "pg/catalog/extension_lock.h"
#include "pg/plan/buckets.h"
#include "pg/type/density_datum.h"

extern "C" {
#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/typcache.h"
}

#include <algorithm>
#include <cmath>
#include <limits>

namespace kde_pg {

namespace {

// Whole numbers beyond it are not all doubles; answers by it are off by so much, at most.
constexpr double kMostWhole = 9007199254740992.0;
constexpr double kDoubleError = 1e-15;
constexpr int kMostDecimals = 15;
// Rows of an answer at most: beyond it the exact plan is as fast.
constexpr int kMostParts = 20000;

// Of one aggregate over the rows of a range, or of several groups of them: as of the fit, but for
// variances, until as_of_now() takes in the rows changed, which are k however many groups there
// are.
struct Answer {
  kde::ChangedRows changed;
  kde::Interval interval = {0, 0, 0};  // of a mean: of the sum
  kde::Interval count = {0, 0, 0};     // of the values of the column
  kde::Interval mean = {0, 0, 0};
  kde::Interval variance = {0, 0, 0};                         // or its root; all NaN for NULL
  double extreme = std::numeric_limits<double>::quiet_NaN();  // NaN: of no row
};

// Certainly none: every row was read, whatever its group, and no NULL met.
bool may_have_nulls_in(const kde::Header* column, const kde::JointHeader* joint, int columns) {
  for (int i = 0; columns >> i != 0; ++i) {
    if ((columns >> i & 1) == 0) continue;
    const kde::Header& h = joint != nullptr ? *kde::JointView(joint).marginal(i) : *column;
    if ((h.flags & kde::kEveryRowRead) == 0 || h.nulls > 0) return true;
  }
  return false;
}

// Nobody who drops the extension is waited for: none then.
CachedDensity density_if_there(const DensityKey& key, AnsweringFit* fit) {
  const Oid extension = hold_extension_at_once();
  if (!OidIsValid(extension)) return {};
  const CachedDensity found = cached_density(key, fit, Tell::nothing);
  release_extension(extension);
  return found;
}

class Answering {
 public:
  // as_of_then: by the owner's consent, whatever changed since.
  Answering(const PlainAsked& asked, bool as_of_then)
      : asked_(asked), plan_(*asked.plan), as_of_then_(as_of_then) {}

  PlainAnswers run() {
    answer();
    if (as_of_then_ && out_.outcome == PlainOutcome::answered && !any_row_)
      (void)refuse(PlainOutcome::beyond);
    return out_;
  }

  // Whether it may be answered as of the fit, where it is not as of now.
  bool has_consent() const { return consented_; }

 private:
  void answer() {
    if (!open() || !read_bounds() || is_mostly_beyond() || !read_passages()) return;
    if (plan_.of_words)
      answer_words();
    else if (may_have_nulls())
      (void)refuse(PlainOutcome::nulls);
    else if (plan_.with_nulls != 0 && plan_.by_bucket && options_.changed_rows >= 0.5)
      (void)refuse(PlainOutcome::new_groups);  // that of NULL
    else if (density_.one_column != nullptr && density_.one_column->grouped != 0)
      answer_groups();
    else
      answer_all();
  }

  bool refuse(PlainOutcome why) {
    out_.outcome = why;
    out_.rows = NIL;
    return false;
  }

  bool open() {
    const CachedDensity cached = plan_.demanded ? cached_density(plan_.key, &density_.fit)
                                                : density_if_there(plan_.key, &density_.fit);
    if (cached.value == nullptr)
      return refuse(density_.fit.redefined ? PlainOutcome::other_shape : PlainOutcome::gone);
    if (!has_settings(cached.settings)) return refuse(PlainOutcome::other_settings);
    if ((density_.fit.elsewhere || density_.fit.other) && !plan_.demanded)
      return refuse(PlainOutcome::stale);
    if (!is_fresh()) return false;
    const struct varlena* value = cached.value;
    // Conditions on groups, values that buckets are compared with, and types of words may have
    // functions that ask for other densities.
    if (asked_.conditions != nullptr || asked_.passages != NIL || has_words()) {
      const Size size = VARSIZE(value);
      auto* copy = static_cast<struct varlena*>(palloc(size));
      memcpy(copy, value, size);
      value = copy;
    }
    const AnyDensity any = any_density_from_datum(PointerGetDatum(value));
    density_.one_column = any.one_column;
    density_.joint = any.joint;
    const int columns = any.joint != nullptr ? any.joint->columns : 1;
    const int measures = any.joint != nullptr ? 0 : any.one_column->measures;
    const bool grouped = any.one_column != nullptr && any.one_column->grouped != 0;
    if (columns != plan_.key.columns || measures < plan_.key.measures ||
        grouped != (plan_.key.groups > 0) ||
        plan_.of_words != (any.one_column != nullptr && any.one_column->words != 0))
      return refuse(PlainOutcome::other_shape);
    return true;
  }

  // What changed since the fit, and whether the answer may be as of now, or of then. A function
  // demands what is answered within what is known.
  bool is_fresh() {
    options_ = asked_.interval;
    const Freshness freshness = freshness_of(density_.fit);
    const bool is_unknown = freshness.judgement.changed == Changed::unknown;
    out_.as_of = freshness.as_of;
    out_.changed_rows =
        is_unknown ? std::numeric_limits<double>::infinity() : freshness.judgement.rows;
    if (plan_.demanded) {
      options_.changed_rows = std::max(options_.changed_rows, rows_changed_since(density_.fit));
      if (std::isfinite(asked_.error)) out_.detail = why_unproven(density_.fit);
      return out_.detail == nullptr || refuse(PlainOutcome::unproven);
    }
    consented_ = freshness.consented && freshness.judgement.changed != Changed::nothing;
    out_.as_of_then = as_of_then_;
    if (as_of_then_) return consented_ || refuse(PlainOutcome::unproven);
    if (is_unknown) {
      out_.detail =
          psprintf("what changed since the fit is not known: %s", freshness.judgement.why);
      return refuse(PlainOutcome::unproven);
    }
    options_.changed_rows = std::max(options_.changed_rows, out_.changed_rows);
    return true;
  }

  // As of then, a range more than half of which lies beyond the values that there were: what is
  // there now came since.
  bool is_mostly_beyond() {
    if (!as_of_then_) return false;
    const int columns = density_.joint != nullptr ? plan_.key.columns : 1;
    for (int i = 0; i < columns; ++i) {
      const kde::Header& h = density_.joint != nullptr ? *kde::JointView(density_.joint).marginal(i)
                                                       : *density_.one_column;
      const kde::Range& r = range_[i];
      if (r.empty || h.words != 0 || !(h.finite_rows() > 0)) continue;
      const bool no_lower = r.lower_unbounded || std::isinf(r.lower);
      const bool no_upper = r.upper_unbounded || std::isinf(r.upper);
      const double lower = no_lower ? h.min : r.lower, upper = no_upper ? h.max : r.upper;
      const double inside = std::min(upper, h.max) - std::max(lower, h.min);
      if (inside < 0 || inside < (upper - lower) / 2) {
        (void)refuse(PlainOutcome::beyond);
        return true;
      }
    }
    return false;
  }

  bool has_words() const {
    for (int i = 0; i < plan_.bounds; ++i)
      if (plan_.bound[i].type == kde::ValueType::category) return true;
    return plan_.of_words;
  }

  // Of a column or a measure of the density.
  kde::ValueType type_of(int column) const {
    if (density_.joint != nullptr) return kde::JointView(density_.joint).column(column).value_type;
    return column == 0 ? density_.one_column->value_type
                       : kde::MeasureView(density_.one_column, column - 1).header().value_type;
  }

  bool read_bounds() {
    for (kde::Range& r : range_) r = kde::Range();
    bool empty = false;
    for (int i = 0, v = 0; i < plan_.bounds; ++i) {
      const PlainBound& b = plan_.bound[i];
      if (!same_meaning(b.type, type_of(b.column))) return refuse(PlainOutcome::other_shape);
      if (b.strategy == 0) continue;
      const NullableDatum value = asked_.value[v];
      const Oid type = asked_.value_type[v++];
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
      narrow(b.column, b.strategy, x);
    }
    for (int i = 0; i < plan_.aggregates; ++i) {
      const PlainAggregate& a = plan_.aggregate[i];
      if (a.column >= 0 && !same_meaning(a.type, type_of(a.column)))
        return refuse(PlainOutcome::other_shape);
    }
    if (empty)
      for (kde::Range& r : range_) r.empty = true;
    // Two values may be one there, on either side of a bound.
    for (int i = 0; i < plan_.bounds; ++i)
      if (kde::may_have_lost_digits(*density_of(plan_.bound[i].column)))
        return refuse(PlainOutcome::digits);
    return true;
  }

  // That of one of its columns.
  const kde::Header* density_of(int column) const {
    return density_.one_column != nullptr ? density_.one_column
                                          : kde::JointView(density_.joint).marginal(column);
  }

  bool read_bound(const PlainBound& b, Oid type, Datum value, double* x) {
    *x = bound_to_double(b.type, type, value);
    // Times of day, and an instant.
    if (type == TIMESTAMPTZOID && b.type != kde::ValueType::timestamptz &&
        is_at_change(value_to_double(kde::ValueType::timestamptz, value)))
      return refuse(PlainOutcome::buckets);
    return (is_exactly(type, value, *x) && !is_beside_a_value(b.column, *x)) ||
           refuse(PlainOutcome::digits);
  }

  // One of several values: points of the range column, or words. Nothing is equal to NULL.
  bool read_list(const PlainBound& b, Oid type, const NullableDatum& value) {
    Oid of = type;
    int n = value.isnull ? 0 : 1;
    NullableDatum one = value;
    NullableDatum* values = &one;
    if (b.any) {
      of = getBaseType(get_element_type(type));
      if (n > 0) read_elements(DatumGetArrayTypeP(value.value), of, &values, &n);
    }
    if (density_.joint != nullptr) {
      const kde::Header* column = kde::JointView(density_.joint).marginal(b.column);
      density_.side_words[b.column] = &side_words_[b.column];
      return (column->words != 0 && find_words(b.column_type, b.collation, column, of, values, n,
                                               &side_words_[b.column])) ||
             refuse(PlainOutcome::other_shape);
    }
    if (plan_.of_words) {
      words_set_ = true;
      density_.words = &words_;
      return find_words(b.column_type, b.collation, density_.one_column, of, values, n, &words_) ||
             refuse(PlainOutcome::other_shape);
    }
    listed_ = true;
    points_ = static_cast<double*>(palloc(sizeof(double) * static_cast<Size>(n + 1)));
    for (int i = 0; i < n; ++i) {
      if (values[i].isnull) continue;
      if (!read_bound(b, of, values[i].value, &points_[point_count_])) return false;
      ++point_count_;
    }
    std::sort(points_, points_ + point_count_, is_less);
    // NaN is equal to itself, as btrees have it.
    const auto is_same = [](double x, double y) { return !is_less(x, y) && !is_less(y, x); };
    point_count_ =
        static_cast<int>(std::unique(points_, points_ + point_count_, is_same) - points_);
    return point_count_ <= kMostParts || refuse(PlainOutcome::buckets);
  }

  static void read_elements(ArrayType* array, Oid type, NullableDatum** out, int* count) {
    int16 length;
    bool by_value;
    char align;
    get_typlenbyvalalign(type, &length, &by_value, &align);
    Datum* values;
    bool* nulls;
    deconstruct_array(array, type, length, by_value, align, &values, &nulls, count);
    *out =
        static_cast<NullableDatum*>(palloc(sizeof(NullableDatum) * static_cast<Size>(*count + 1)));
    for (int i = 0; i < *count; ++i) {
      (*out)[i].value = values[i];
      (*out)[i].isnull = nulls[i];
    }
  }

  // Whether a bound is the double that it is taken for.
  static bool is_exactly(Oid type, Datum value, double x) {
    if (type == INT8OID) return std::fabs(x) < kMostWhole;
    if (type != NUMERICOID || !std::isfinite(x)) return true;
    return DatumGetBool(
        DirectFunctionCall2(numeric_eq, value, double_to_value(kde::ValueType::numeric, x)));
  }

  // Whether a bound is next to a value of the column and none itself: the density takes it for
  // that.
  bool is_beside_a_value(int column, double x) const {
    constexpr double kBeside = 1e-3;
    if (density_.one_column == nullptr || column > 0) return false;
    const kde::Header& h = *density_.one_column;
    if (!(h.lattice_step > 0) || !std::isfinite(x)) return false;
    const double point = h.lattice_point(std::rint((x - h.lattice_offset) / h.lattice_step));
    return x != point && std::fabs(x - point) < kBeside * h.lattice_step;
  }

  // As btrees have it: NaN is above all else.
  static bool is_less(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

  void narrow(int column, int strategy, double x) {
    kde::Range& r = range_[column];
    const bool below = strategy <= BTEqualStrategyNumber;
    const bool above = strategy >= BTEqualStrategyNumber;
    const bool inclusive = strategy != BTLessStrategyNumber && strategy != BTGreaterStrategyNumber;
    if (above && (r.lower_unbounded || is_less(r.lower, x) || (r.lower == x && !inclusive))) {
      r.lower = x;
      r.lower_unbounded = false;
      r.lower_inclusive = inclusive;
    }
    if (below && (r.upper_unbounded || is_less(x, r.upper) || (r.upper == x && !inclusive))) {
      r.upper = x;
      r.upper_unbounded = false;
      r.upper_inclusive = inclusive;
    }
  }

  // The question of an aggregate, and where its columns are in the density.
  Question question_of(const PlainAggregate& a, AnsweringDensity* density) const {
    Question q;
    q.asked.relation = plan_.key.relation;
    q.measure = -1;
    const auto add = [&](int column) {
      const int at = q.asked.columns++;
      q.type[at] = type_of(column);
      if (column >= 0) q.asked.column[at] = plan_.key.column[column];
      density->place[at] = column;
      if (column == a.column) q.measure = at;
    };
    for (int i = 0; i < plan_.key.columns; ++i) add(i);
    q.named = q.sides = q.asked.columns;
    if (a.column >= plan_.key.columns) add(a.column);
    return q;
  }

  // As of the fit: what changed since comes to all that is added up.
  static kde::Interval as_fitted(Aggregate aggregate, kde::Evidence evidence) {
    evidence.changed = {};
    return interval_of(aggregate, evidence);
  }

  // What rows changed may do to an answer about the rows in range_.
  kde::ChangedRows changes(const PlainAggregate& a, const kde::Evidence& evidence) const {
    kde::ChangedRows out = evidence.changed;
    if (may_be_new_ && options_.changed_rows > 0)
      out.take_in(changes_by_new(a, listed_ || plan_.by_bucket ? range_[0] : before_passages_));
    return out;
  }

  // The same of rows of groups or values that there were none of.
  kde::ChangedRows changes_by_new(const PlainAggregate& a, const kde::Range& range) const {
    const bool of_nulls = plan_.null_of >= 0 && plan_.is_null && a.column >= 0;
    if (!(options_.changed_rows > 0) || of_nulls) return {};
    AnsweringDensity unused = density_;
    const Question q = question_of(a, &unused);
    const kde::IntervalOptions given = with_value_bounds(q, q.measure, options_);
    kde::ChangedRows out = kde::changed_rows(no_rows(), range, given);
    if (out.rows > 0 && a.column != 0) out.came = {given.least_value, given.greatest_value};
    return out;
  }

  static kde::Header no_rows() {
    kde::Header none = {};
    none.flags = kde::kEveryRowRead;
    return none;
  }

  // A count of rows in the range, with those changed.
  void change(const kde::Range& range, kde::Interval* count) const {
    kde::changed_rows(no_rows(), range, options_).count(count);
  }

  Answer as_of_now(const PlainAggregate& a, Answer answer) const {
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    const kde::ChangedRows& changed = answer.changed;
    if (!(changed.rows > 0)) return answer;
    const kde::Interval fitted = answer.count;
    changed.count(&answer.count);
    if (!(fitted.upper > 0)) answer.interval = answer.mean = {kNone, kNone, kNone};
    changed.sum(&answer.interval);
    if (a.answer == PlainAnswer::avg) changed.mean(fitted.lower, &answer.mean);
    return answer;
  }

  // What several aggregates ask alike, of the rows that were asked about last.
  struct Asked {
    const kde::Header* density = nullptr;
    kde::Range range;
    std::size_t words = 0;
    std::uint32_t first_word = 0;
    double unknown_words = 0;

    bool operator==(const Asked& o) const {
      return density == o.density && words == o.words && first_word == o.first_word &&
             unknown_words == o.unknown_words && range.lower == o.range.lower &&
             range.upper == o.range.upper && range.lower_inclusive == o.range.lower_inclusive &&
             range.upper_inclusive == o.range.upper_inclusive &&
             range.lower_unbounded == o.range.lower_unbounded &&
             range.upper_unbounded == o.range.upper_unbounded && range.empty == o.range.empty;
    }
  };

  Asked asked_of(const AnsweringDensity& density) const {
    Asked out;
    out.density = density.one_column;
    out.range = range_[0];
    if (density.words == nullptr) return out;
    out.words = density.words->ranks.size();
    out.first_word = out.words > 0 ? density.words->ranks[0] : 0;
    out.unknown_words = density.words->unknown;
    return out;
  }

  // Of a column or measure; -1: the rows.
  const kde::Evidence& known(kde::Wanted wanted, const PlainAggregate& a,
                             const AnsweringDensity& density, const Question& q) {
    const Asked now = asked_of(density);
    if (!(now == last_)) {
      last_ = now;
      std::fill_n(is_known_, std::size(is_known_), false);
    }
    const int at = 2 * (a.column + 1) + (wanted == kde::Wanted::count ? 0 : 1);
    if (!is_known_[at]) {
      known_[at] = evidence_of(wanted, q, density, range_, options_);
      is_known_[at] = true;
    }
    return known_[at];
  }

  static bool counts(const PlainAggregate& a) { return a.answer <= PlainAnswer::ones; }

  // False: an answer with values that are not finite.
  bool ask(const PlainAggregate& a, AnsweringDensity density, Answer* out) {
    if (plan_.null_of >= 0 && plan_.is_null && a.column >= 0) return true;  // of NULLs alone
    const AnsweringDensity whole = density;
    const Question q = question_of(a, &density);
    const kde::Evidence& counted = known(kde::Wanted::count, a, density, q);
    out->changed = changes(a, counted);
    if (plan_.null_of >= 0 && a.column < 0) {
      out->count = rows(whole);
      return true;
    }
    out->count = counted.count;
    if (counts(a)) return true;
    // Measures have none.
    if (a.column < plan_.key.columns && has_special_values(moments_of(q, density, range_)))
      return false;
    if (a.answer == PlainAnswer::variance || a.answer == PlainAnswer::stddev) {
      out->variance = variance_of(a, q, density, out->count);
      return true;
    }
    if (a.answer >= PlainAnswer::min) {
      if (!(out->count.upper < 0.5))
        out->extreme = extreme_of(a.answer == PlainAnswer::max, q, density);
      return true;
    }
    const kde::Evidence& added = known(kde::Wanted::sum, a, density, q);
    out->changed = changes(a, added);
    // Where no row was met there may be some.
    if (!(out->count.upper > 0)) return true;
    out->interval = as_fitted(Aggregate::sum, added);
    if (!(out->count.estimate > 0)) out->interval.estimate = 0;
    if (a.answer == PlainAnswer::avg) out->mean = as_fitted(Aggregate::avg, added);
    return true;
  }

  kde::Interval variance_of(const PlainAggregate& a, const Question& q,
                            const AnsweringDensity& density, const kde::Interval& count) const {
    const double n = std::rint(count.estimate);
    const bool changed = options_.changed_rows > 0;
    if (a.population && n == 1 && count.lower == count.upper && !changed) return {0, 0, 0};
    const bool is_root = a.answer == PlainAnswer::stddev;
    kde::Interval out = interval_of(is_root ? Aggregate::stddev : Aggregate::variance, q, density,
                                    range_, options_);
    if (!a.population) return out;
    const double part = is_root ? std::sqrt((n - 1) / n) : (n - 1) / n;
    for (double* x : {&out.estimate, &out.lower, &out.upper}) *x *= part;
    return out;
  }

  // The least or greatest value in the range, which has rows: by bisection of the counts up to its
  // end, which no row may have changed. NaN: it is not known.
  double extreme_of(bool is_max, const Question& q, const AnsweringDensity& density) const {
    constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
    const kde::Header& h = *density.one_column;
    if ((h.flags & kde::kEveryRowRead) == 0 || options_.changed_rows > 0) return kUnknown;
    const kde::Range& r = range_[0];
    const double end = is_max ? h.max : h.min;
    if (has_in(r, end)) return end;
    if (!(h.lattice_step > 0)) return kUnknown;
    const auto place_of = [&h](double x) {
      return std::rint((x - h.lattice_offset) / h.lattice_step);
    };
    // Of the range from `near` on there are rows, from `far` on none.
    double near = place_of(is_max ? h.min : h.max) - (is_max ? 1 : -1);
    double far = place_of(end) + (is_max ? 1 : -1);
    while (std::fabs(far - near) > 1) {
      const double middle = near + std::trunc((far - near) / 2);
      kde::Range part[kde::kMaxColumns];
      part[0] = r;
      const double x = h.lattice_point(middle);
      if (is_max && (r.lower_unbounded || is_less(r.lower, x))) {
        part[0].lower = x;
        part[0].lower_unbounded = false;
        part[0].lower_inclusive = true;
      }
      if (!is_max && (r.upper_unbounded || is_less(x, r.upper))) {
        part[0].upper = x;
        part[0].upper_unbounded = false;
        part[0].upper_inclusive = true;
      }
      const bool beyond = is_max ? !r.upper_unbounded && is_less(r.upper, x)
                                 : !r.lower_unbounded && is_less(x, r.lower);
      const kde::Interval there = beyond
                                      ? kde::Interval{0, 0, 0}
                                      : interval_of(Aggregate::count, q, density, part, options_);
      if (there.lower < 0.5 && !(there.upper < 0.5)) return kUnknown;
      (there.upper < 0.5 ? far : near) = middle;
    }
    return h.lattice_point(near);
  }

  static bool has_in(const kde::Range& r, double x) {
    const bool above =
        r.lower_unbounded || is_less(r.lower, x) || (r.lower == x && r.lower_inclusive);
    const bool below =
        r.upper_unbounded || is_less(x, r.upper) || (r.upper == x && r.upper_inclusive);
    return above && below && !r.empty;
  }

  // Values of a column or measure in the range; -1: its rows.
  kde::Interval values(int column, AnsweringDensity density) {
    const PlainAggregate counted = {nullptr, 0,      PlainAnswer::rows,      PlainEnd::none,
                                    false,   column, kde::ValueType::float8, -1};
    const Question q = question_of(counted, &density);
    return known(kde::Wanted::count, counted, density, q).count;
  }

  // Rows of the range that the query is of, as of the fit.
  kde::Interval rows(const AnsweringDensity& density) {
    if (plan_.null_of < 0) return values(-1, density);
    if (plan_.null_of == 0) return nulls(*density.one_column);
    kde::Interval there = values(plan_.null_of, density);
    const kde::Interval all = values(-1, density);
    // Of a sample, which may have met none.
    const kde::MeasureHeader& m =
        kde::MeasureView(density.one_column, plan_.null_of - plan_.key.columns).header();
    if (m.nulls == 0 && m.has(kde::MeasurePart::rows)) there.lower = 0;
    if (!plan_.is_null) return there;
    return {std::max(0.0, all.estimate - there.estimate), std::max(0.0, all.lower - there.upper),
            std::max(0.0, all.upper - there.lower)};
  }

  // Rows where the density's column is NULL: by a sample any number.
  kde::Interval nulls(const kde::Header& h) const {
    if ((h.flags & kde::kEveryRowRead) == 0) return {h.nulls, 0, h.rows + h.nulls};
    return {h.nulls, h.nulls, h.nulls};
  }

  static void add(kde::Interval* to, const kde::Interval& x) {
    to->estimate += x.estimate;
    to->lower += x.lower;
    to->upper += x.upper;
  }

  // Columns of a row before the aggregates.
  int keys() const { return plan_.groups + (plan_.by_bucket ? 1 : 0); }
  PlainRow* new_row() const {
    const auto n = static_cast<Size>(asked_.slot->tts_tupleDescriptor->natts);
    auto* row = static_cast<PlainRow*>(palloc(sizeof(PlainRow)));
    row->values = static_cast<Datum*>(palloc0(sizeof(Datum) * (n + 1)));
    row->nulls = static_cast<bool*>(palloc(n + 1));
    std::fill_n(row->nulls, n + 1, true);
    return row;
  }

  // Notes how far it may be off; false: too far. shown: what becomes of the estimate.
  bool is_close(const PlainAggregate& a, const kde::Interval& i, double shown, bool lost_digits) {
    const double half = i.upper / 2 - i.lower / 2 + std::fabs(shown - i.estimate);
    double error = i.lower == i.upper ? 0 : half / std::fabs(shown);
    if (lost_digits) error = std::max(error, kDoubleError);
    if (error <= asked_.error) {
      out_.error = std::max(out_.error, error);
      return true;
    }
    static const char* const kWhat[] = {"count(*)", "count",  "sum", "sum", "avg",
                                        "variance", "stddev", "min", "max"};
    const char* what = kWhat[static_cast<int>(a.answer)];
    out_.detail = std::isfinite(error) ? psprintf("%s only within %s %%", what, percent_up(error))
                                       : psprintf("%s not at all", what);
    return refuse(PlainOutcome::inaccurate);
  }

  // Decimals that the values of a column or measure have; -1: not known.
  int decimals_of(int column, kde::ValueType type) const {
    if (type <= kde::ValueType::int8) return 0;
    if (density_.one_column == nullptr || column < 0) return -1;
    const kde::Header& h = *density_.one_column;
    if (column >= plan_.key.columns) {
      const int decimals = kde::MeasureView(&h, column - plan_.key.columns).header().decimals;
      return decimals == kde::kNoDecimals ? -1 : decimals;
    }
    if (!(h.lattice_step > 0)) return -1;
    double unit = 1;
    for (int d = 0; d <= kMostDecimals; ++d, unit *= 10) {
      const auto is_whole = [unit](double x) { return x * unit == std::rint(x * unit); };
      if (unit == h.lattice_scale ||
          (h.lattice_scale == 0 && is_whole(h.lattice_step) && is_whole(h.lattice_offset)))
        return d;
    }
    return -1;
  }

  bool may_have_lost(const PlainAggregate& a) const {
    if (density_.one_column == nullptr) return true;
    const kde::Header& h = *density_.one_column;
    if (a.column < plan_.key.columns) return kde::may_have_lost_digits(h);
    const kde::MeasureHeader& m = kde::MeasureView(&h, a.column - plan_.key.columns).header();
    // Of intervals beyond that doubles have not all microseconds, as of a column.
    const bool time = m.value_type == kde::ValueType::interval;
    const double most = time && m.decimals == kde::kNoDecimals ? 0x1p33 : kMostWhole;
    return kde::may_have_lost_digits(h) || !(std::fabs(m.min) < most) || !(std::fabs(m.max) < most);
  }

  static Datum as_numeric(double x, int scale) {
    const Datum numeric = double_to_value(kde::ValueType::numeric, x);
    return scale < 0 ? numeric : DirectFunctionCall2(numeric_round, numeric, Int32GetDatum(scale));
  }

  static const kde::Interval& interval_asked(const PlainAggregate& a, const Answer& answer) {
    switch (a.answer) {
      case PlainAnswer::rows:
      case PlainAnswer::values:
      case PlainAnswer::ones:
        return answer.count;
      case PlainAnswer::sum:
        return answer.interval;
      case PlainAnswer::avg:
        return answer.mean;
      default:
        return answer.variance;
    }
  }

  // The end that is asked for, on a grid of so many decimals outwards.
  static double end_of(const PlainAggregate& a, const kde::Interval& i, double unit) {
    return a.end == PlainEnd::lower ? std::floor(i.lower * unit) / unit
                                    : std::ceil(i.upper * unit) / unit;
  }

  // Into the row, of the type that the aggregate has there. False: not by this density.
  bool put(int k, const Answer& answer, PlainRow* row) {
    const PlainAggregate& a = plan_.aggregate[k];
    const int at = plan_.first + keys() + k;
    const Oid type = TupleDescAttr(asked_.slot->tts_tupleDescriptor, at)->atttypid;
    const bool lost = may_have_lost(a);
    const kde::Interval& i = interval_asked(a, answer);
    const bool is_end = a.end != PlainEnd::none && i.lower != i.upper;
    if (counts(a)) {
      if (a.answer == PlainAnswer::ones) {
        if (answer.count.upper < 0.5) return true;  // NULL
        if (!(answer.count.lower >= 0.5)) return refuse(PlainOutcome::unsure);
      }
      const double whole = std::rint(i.estimate);
      if (!(answer.count.upper < 0.5) && !is_close(a, i, whole, lost)) return false;
      const double n = answer.count.upper < 0.5 ? 0
                       : is_end                 ? std::max(0.0, end_of(a, i, 1))
                                                : whole;
      if (!(n < 9e18)) return refuse(PlainOutcome::out_of_type);
      row->values[at] = Int64GetDatum(static_cast<int64>(n));
      row->nulls[at] = false;
      return true;
    }
    if (answer.count.upper < 0.5) return true;  // NULL
    if (!(answer.count.lower >= 0.5) || !(std::rint(answer.count.estimate) >= 1))
      return refuse(PlainOutcome::unsure);
    if (a.answer >= PlainAnswer::min)
      return put_extreme(a, answer.extreme, type, &row->values[at], &row->nulls[at]);
    if (a.answer == PlainAnswer::variance || a.answer == PlainAnswer::stddev)
      return put_variance(a, answer, is_end, type, &row->values[at], &row->nulls[at]);
    return a.answer == PlainAnswer::sum
               ? put_sum(a, i, is_end, type, &row->values[at], &row->nulls[at])
               : put_mean(a, answer, is_end, type, &row->values[at], &row->nulls[at]);
  }

  // A sum with the decimals of its values, as far as double precision has them.
  struct Digits {
    int decimals;  // -1: not known
    double unit;   // so many make one
    bool all;      // whether a sum has them
    double round(double sum) const { return all ? std::rint(sum * unit) / unit : sum; }
  };
  Digits digits_of(const PlainAggregate& a, double sum) const {
    const int decimals = decimals_of(a.column, a.type);
    const double unit = decimals > 0 ? std::pow(10.0, decimals) : 1;
    return {decimals, unit, decimals >= 0 && std::fabs(sum) * unit < kMostWhole};
  }

  bool put_sum(const PlainAggregate& a, const kde::Interval& i, bool is_end, Oid type, Datum* value,
               bool* is_null) {
    const Digits digits = digits_of(a, i.estimate);
    double sum = digits.round(i.estimate);
    if (!is_close(a, i, sum, may_have_lost(a) || !digits.all)) return false;
    if (is_end)
      sum = digits.all ? end_of(a, i, digits.unit) : a.end == PlainEnd::lower ? i.lower : i.upper;
    if (type == INT8OID && std::fabs(sum) < 9e18)
      *value = Int64GetDatum(static_cast<int64>(sum));
    else if (type == FLOAT8OID)
      *value = Float8GetDatum(sum);
    else if (type == NUMERICOID)
      *value = as_numeric(sum, a.scale >= 0 ? a.scale : digits.decimals);
    else
      return refuse(type == INT8OID ? PlainOutcome::out_of_type : PlainOutcome::other_shape);
    *is_null = false;
    return true;
  }

  // Of a sum and a count that are certain their quotient, as the server has it; else the estimate.
  bool put_mean(const PlainAggregate& a, const Answer& answer, bool is_end, Oid type, Datum* value,
                bool* is_null) {
    const kde::Interval& i = answer.mean;
    const kde::Interval& sum = answer.interval;
    const Digits digits = digits_of(a, sum.estimate);
    if (!is_close(a, i, i.estimate, may_have_lost(a) || !digits.all)) return false;
    const bool certain = digits.all && sum.lower == sum.upper &&
                         answer.count.lower == answer.count.upper && i.lower == i.upper;
    const double count = std::rint(answer.count.estimate);
    const double x = is_end    ? (a.end == PlainEnd::lower ? i.lower : i.upper)
                     : certain ? digits.round(sum.estimate) / count
                               : i.estimate;
    if (type == FLOAT8OID)
      *value = Float8GetDatum(x);
    else if (type == NUMERICOID && certain)
      *value = DirectFunctionCall2(
          numeric_div,
          as_numeric(digits.round(sum.estimate), a.scale >= 0 ? a.scale : digits.decimals),
          NumericGetDatum(int64_to_numeric(static_cast<int64>(count))));
    else if (type == NUMERICOID)
      *value = as_numeric(x, -1);
    else
      return refuse(PlainOutcome::other_shape);
    *is_null = false;
    return true;
  }

  bool put_extreme(const PlainAggregate& a, double x, Oid type, Datum* value, bool* is_null) {
    kde::ValueType of;
    if (!value_type_of(type, &of) || !same_meaning(of, a.type))
      return refuse(PlainOutcome::other_shape);
    if (std::isnan(x)) {
      out_.detail = a.answer == PlainAnswer::max ? "max not for certain" : "min not for certain";
      return refuse(PlainOutcome::inaccurate);
    }
    if (may_have_lost(a)) return refuse(PlainOutcome::digits);
    *value = type == NUMERICOID ? as_numeric(x, a.scale >= 0 ? a.scale : decimals_of(0, a.type))
                                : double_to_value(of, x);
    *is_null = false;
    return true;
  }

  // Not to the last digit, which numeric has more of.
  bool put_variance(const PlainAggregate& a, const Answer& answer, bool is_end, Oid type,
                    Datum* value, bool* is_null) {
    const kde::Interval& i = answer.variance;
    // Of one row: NULL.
    if (std::isnan(i.estimate))
      return answer.count.lower == answer.count.upper || refuse(PlainOutcome::unsure);
    if (!is_close(a, i, i.estimate, true)) return false;
    const double x = !is_end ? i.estimate : a.end == PlainEnd::lower ? i.lower : i.upper;
    if (type == NUMERICOID)
      *value = as_numeric(x, -1);
    else if (type == FLOAT8OID)
      *value = Float8GetDatum(x);
    else
      return refuse(PlainOutcome::other_shape);
    *is_null = false;
    return true;
  }

  // What a function demanded in place of a row.
  bool note_intervals(const Answer* answers) {
    out_.intervals = static_cast<kde::Interval*>(
        palloc(sizeof(kde::Interval) * static_cast<Size>(plan_.aggregates + 1)));
    for (int k = 0; k < plan_.aggregates; ++k) {
      const PlainAggregate& a = plan_.aggregate[k];
      kde::Interval* i = &out_.intervals[k];
      *i = interval_asked(a, answers[k]);
      const bool is_null =
          (!counts(a) || a.answer == PlainAnswer::ones) && !(answers[k].count.estimate > 0);
      if (is_null) i->estimate = std::numeric_limits<double>::quiet_NaN();
      if (is_null && !(answers[k].count.upper > 0)) i->lower = i->upper = i->estimate;
      // Where there may be rows, and no answer, that is no accurate one.
      if (std::isfinite(asked_.error) && !(answers[k].count.upper < 0.5) &&
          !is_close(a, *i, i->estimate, false))
        return false;
    }
    return true;
  }

  bool put_all(Answer* answers, PlainRow* row) {
    for (int k = 0; k < plan_.aggregates; ++k) {
      answers[k] = as_of_now(plan_.aggregate[k], answers[k]);
      any_row_ |= answers[k].count.upper >= 0.5;
    }
    if (plan_.demanded) return note_intervals(answers);
    for (int k = 0; k < plan_.aggregates; ++k)
      if (!put(k, answers[k], row)) return false;
    out_.rows = lappend(out_.rows, row);
    return true;
  }

  bool ask_all(const AnsweringDensity& density, Answer* answers) {
    for (int k = 0; k < plan_.aggregates; ++k) {
      Answer one;
      if (!ask(plan_.aggregate[k], density, &one)) return refuse(PlainOutcome::not_finite);
      if (!add_variance(plan_.aggregate[k], one, &answers[k])) return false;
      add_extreme(plan_.aggregate[k], one, &answers[k]);
      add(&answers[k].interval, one.interval);
      // The mean of several groups: that of their sums and counts, each as far off as it may be.
      const bool first = !(answers[k].count.upper > 0);
      answers[k].changed.take_in(one.changed);
      add(&answers[k].count, one.count);
      if (first || one.count.upper > 0) answers[k].mean = first ? one.mean : mean_of(answers[k]);
    }
    return true;
  }

  // Of one group alone: they are not added up.
  bool add_variance(const PlainAggregate& a, const Answer& one, Answer* to) {
    if (a.answer != PlainAnswer::variance && a.answer != PlainAnswer::stddev) return true;
    if (one.count.upper < 0.5) return true;
    if (!(to->count.upper < 0.5)) {
      out_.detail = "variances of several groups are not put together";
      return refuse(PlainOutcome::inaccurate);
    }
    to->variance = one.variance;
    return true;
  }

  static void add_extreme(const PlainAggregate& a, const Answer& one, Answer* to) {
    if (a.answer < PlainAnswer::min || one.count.upper < 0.5) return;
    if (to->count.upper < 0.5 || std::isnan(one.extreme))
      to->extreme = one.extreme;
    else
      to->extreme = a.answer == PlainAnswer::max ? std::max(to->extreme, one.extreme)
                                                 : std::min(to->extreme, one.extreme);
  }

  static kde::Interval mean_of(const Answer& a) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const double mean = a.interval.estimate / a.count.estimate;
    const double half =
        (std::max(a.interval.upper - a.interval.estimate, a.interval.estimate - a.interval.lower) +
         std::fabs(mean) *
             std::max(a.count.upper - a.count.estimate, a.count.estimate - a.count.lower)) /
        a.count.lower;
    if (!(a.count.lower > 0)) return {mean, -kInfinity, kInfinity};
    return {mean, mean - half, mean + half};
  }

  Answer* new_answers() const {
    auto* answers =
        static_cast<Answer*>(palloc(sizeof(Answer) * static_cast<Size>(plan_.aggregates + 1)));
    std::fill_n(answers, plan_.aggregates, Answer());
    return answers;
  }

  // Ranges that are asked about one by one: the buckets, or the whole.
  struct Part {
    kde::Range range;
    Datum bucket;
  };

  // Whether there is certainly no row of a range; by_all: not of rows changed either.
  bool is_empty(const kde::Range& range, bool by_all) {
    const kde::Range whole = range_[0];
    range_[0] = range;
    kde::Interval there = values(-1, density_);
    if (by_all) change(range, &there);
    range_[0] = whole;
    return there.upper < 0.5;
  }

  // The ends of the values that there are in the range, for functions of them; the first is above
  // the last where there are none. by_all: of rows changed, too. False: not known.
  bool read_ends(bool by_all, double* first, double* last) {
    const kde::Range& whole = range_[0];
    const kde::Header& h = *density_.one_column;
    *first = 1;
    *last = 0;
    if (whole.empty || !(h.finite_rows() > 0))
      return is_empty(whole, by_all) || refuse(PlainOutcome::unsure);
    if (h.nans + h.negative_infinities + h.positive_infinities > 0)
      return refuse(PlainOutcome::not_finite);
    if (kde::may_have_lost_digits(h)) return refuse(PlainOutcome::digits);
    kde::Range below = whole, above = whole;
    below.upper_unbounded = above.lower_unbounded = false;
    below.upper = h.min;
    above.lower = h.max;
    below.upper_inclusive = above.lower_inclusive = false;
    if (!is_empty(below, by_all) || !is_empty(above, by_all))
      return refuse(options_.changed_rows > 0 ? PlainOutcome::new_groups : PlainOutcome::unseen);
    *first = whole.lower_unbounded || is_less(whole.lower, h.min) ? h.min : whole.lower;
    *last = whole.upper_unbounded || is_less(h.max, whole.upper) ? h.max : whole.upper;
    // From NaN or an infinity on, or up to one, there is no finite value.
    if (std::isfinite(*first) && std::isfinite(*last)) return true;
    *first = 1;
    *last = 0;
    return true;
  }

  // Whether work() is sure. Functions are asked of values that no row may have, where they may
  // raise an error: that is for the exact plan to find out.
  template <typename Work>
  static bool is_sure(Work work) {
    bool sure = false;
    const auto ask = [&sure, &work] { sure = work(); };
    // Nothing can be undone there.
    if (IsInParallelMode())
      ask();
    else if (!without_error(ask))
      return false;
    return sure;
  }

  // What comparisons of the column's functions leave of the range. False: not known.
  bool read_passages() {
    before_passages_ = range_[0];
    // Of values that came since some may pass, too.
    may_be_new_ = asked_.passages != NIL;
    ListCell* cell;
    foreach (cell, asked_.passages) {
      double first, last;
      if (!read_ends(plan_.by_bucket, &first, &last)) return false;
      if (first > last) return true;
      Passage p;
      auto* comparison = static_cast<ExprState*>(lfirst(cell));
      if (!is_sure([&] {
            return find_passage(comparison, asked_.context, type_of(0), first, last, &p);
          }))
        return refuse(PlainOutcome::buckets);
      if (!p.before && !p.from) range_[0].empty = true;
      if (p.before == p.from) continue;
      if (is_beside_a_value(0, p.place)) return refuse(PlainOutcome::digits);
      narrow(0, p.from ? BTGreaterEqualStrategyNumber : BTLessStrategyNumber, p.place);
    }
    return true;
  }

  // False: which buckets there are is not known.
  bool read_parts() {
    if (listed_) {
      part_ = static_cast<Part*>(palloc(sizeof(Part) * static_cast<Size>(point_count_ + 1)));
      const kde::Range whole = range_[0];
      for (int i = 0; i < point_count_; ++i) {
        range_[0] = whole;
        narrow(0, BTEqualStrategyNumber, points_[i]);
        part_[parts_++] = {range_[0], 0};
      }
      range_[0] = whole;
      return true;
    }
    if (!plan_.by_bucket) {
      part_ = static_cast<Part*>(palloc(sizeof(Part)));
      part_[0] = {range_[0], 0};
      parts_ = 1;
      return true;
    }
    const kde::Range& whole = range_[0];
    double first, last;
    if (!read_ends(true, &first, &last)) return false;
    if (first > last) return true;
    const Form_pg_attribute of = TupleDescAttr(asked_.slot->tts_tupleDescriptor, plan_.key.groups);
    List* buckets = NIL;
    if (!is_sure([&] {
          bool sure;
          buckets = buckets_between(asked_.bucket, asked_.context, type_of(0), of->atttypid,
                                    of->attcollation, first, last, kMostParts, &sure);
          return sure;
        }))
      return refuse(PlainOutcome::buckets);
    parts_ = list_length(buckets);
    part_ = static_cast<Part*>(palloc(sizeof(Part) * static_cast<Size>(parts_ + 1)));
    ListCell* cell;
    foreach (cell, buckets) {
      const auto* b = static_cast<const Bucket*>(lfirst(cell));
      kde::Range r = whole;
      const int i = foreach_current_index(cell);
      if (i > 0) {
        if (is_beside_a_value(0, b->lower)) return refuse(PlainOutcome::digits);
        r.lower = b->lower;
        r.lower_unbounded = false;
        r.lower_inclusive = true;
      }
      if (i + 1 < parts_) {
        r.upper = b->upper;
        r.upper_unbounded = r.upper_inclusive = false;
      }
      part_[i] = {r, b->value};
    }
    return true;
  }

  // Rows of a group, or of all: one for each part, but those without rows. False: not by this
  // density.
  bool put_parts(const AnsweringDensity& density, const PlainRow* key) {
    if (listed_) return put_list(density, key);
    for (int i = 0; i < parts_; ++i) {
      CHECK_FOR_INTERRUPTS();
      range_[0] = part_[i].range;
      if (plan_.by_groups != 0 || plan_.by_bucket) {
        kde::Interval there = rows(density);
        change(range_[0], &there);
        if (there.upper < 0.5) continue;
        if (there.lower < 0.5) return refuse(PlainOutcome::unsure);
      }
      Answer* answers = new_answers();
      if (!ask_all(density, answers) || !put_all(answers, row_of(part_[i], key))) return false;
    }
    return true;
  }

  // All the parts in one row.
  bool put_list(const AnsweringDensity& density, const PlainRow* key) {
    Answer* answers = new_answers();
    kde::Interval there = {0, 0, 0};
    for (int i = 0; i < parts_; ++i) {
      CHECK_FOR_INTERRUPTS();
      range_[0] = part_[i].range;
      add(&there, rows(density));
      if (!ask_all(density, answers)) return false;
    }
    if (plan_.by_groups != 0) {
      if (parts_ > 0) change(before_passages_, &there);
      if (there.upper < 0.5) return true;
      if (there.lower < 0.5) return refuse(PlainOutcome::unsure);
    }
    return put_all(answers, row_of({}, key));
  }

  PlainRow* row_of(const Part& part, const PlainRow* key) const {
    PlainRow* row = new_row();
    if (key != nullptr) {
      std::copy_n(key->values, plan_.groups, row->values);
      std::copy_n(key->nulls, plan_.groups, row->nulls);
    }
    if (plan_.by_bucket) {
      row->values[plan_.groups] = part.bucket;
      row->nulls[plan_.groups] = false;
    }
    return row;
  }

  bool may_have_nulls() const {
    return may_have_nulls_in(density_.one_column, density_.joint, plan_.with_nulls);
  }

  // Of a column as it is now; an expression's type is that of the query's.
  bool are_current_words() const {
    const bool is_column = plan_.key.column[0].attnum != 0;
    const Form_pg_attribute of = TupleDescAttr(asked_.slot->tts_tupleDescriptor, plan_.first);
    int32 typmod;
    return are_words_of(is_column ? key_column_type(plan_.key, 0, &typmod) : of->atttypid,
                        is_column ? key_column_collation(plan_.key, 0) : of->attcollation,
                        density_.one_column);
  }

  // Of a category: the values asked for at once, or where the query is by them, or has other
  // conditions, value by value.
  void answer_words() {
    if (plan_.by_groups == 0 && asked_.conditions == nullptr) {
      if (may_have_nulls())
        (void)refuse(PlainOutcome::nulls);
      else
        answer_all();
      return;
    }
    if (!are_current_words()) {
      (void)refuse(PlainOutcome::other_shape);
      return;
    }
    const kde::WordsView words(density_.one_column);
    if (words.others() > 0) {
      (void)refuse(PlainOutcome::rest);
      return;
    }
    if (!knows_groups(kde::most_unseen(words.header(), options_.confidence))) return;
    if (may_have_nulls() && is_wanted(new_row())) {
      (void)refuse(PlainOutcome::nulls);
      return;
    }
    if (read_parts()) answer_by_word(words);
  }

  // Whether all groups are known that the answer needs: those that a sample did not meet, and by
  // GROUP BY those that came since. Without, rows of these are among those changed.
  bool knows_groups(double unseen) {
    if (plan_.by_groups != 0 && options_.changed_rows >= 0.5)
      return refuse(PlainOutcome::new_groups);
    may_be_new_ = true;
    return !(unseen >= 0.5) || refuse(PlainOutcome::unseen);
  }

  void answer_by_word(const kde::WordsView& words) {
    const auto n = words_set_ ? words_.ranks.size() : static_cast<std::size_t>(words.words());
    auto* ranks = static_cast<std::uint32_t*>(palloc(sizeof(std::uint32_t) * (n + 1)));
    std::size_t wanted = 0;
    for (std::size_t i = 0; i < n; ++i) {
      CHECK_FOR_INTERRUPTS();
      std::uint32_t rank = words_set_ ? words_.ranks[i] : static_cast<std::uint32_t>(i);
      const kde::WordSet one = {{&rank, 1}, 0};
      AnsweringDensity own = density_;
      own.words = &one;
      // A condition may raise an error of a value that there is no more.
      if (!may_have_rows(own)) continue;
      PlainRow* key = new_row();
      const std::string_view word = words.word(rank);
      Datum text =
          PointerGetDatum(cstring_to_text_with_len(word.data(), static_cast<int>(word.size())));
      bool is_null = false;
      if (!read_pinned(&text, &is_null, 1, key)) return;
      if (!is_wanted(key)) continue;
      ranks[wanted++] = rank;
      if (plan_.by_groups != 0 && !put_parts(own, key)) return;
    }
    if (plan_.by_groups != 0) return;
    words_ = {{ranks, wanted}, 0};
    density_.words = &words_;
    (void)put_parts(density_, nullptr);
  }

  void answer_all() {
    if (read_parts()) (void)put_parts(density_, nullptr);
  }

  // The values that the group's key stands for. False: they are not those of the query's types.
  bool read_key(const kde::GroupView& group, PlainRow* row) {
    const int n = plan_.key.groups;
    Datum* texts = nullptr;
    bool* nulls = nullptr;
    Datum one = 0;
    bool none = !group.has_key();
    if (!none)
      one = PointerGetDatum(
          cstring_to_text_with_len(group.key().data(), static_cast<int>(group.key().size())));
    if (n == 1) {
      texts = &one;
      nulls = &none;
    } else {
      Oid input, io_param;
      getTypeInputInfo(TEXTARRAYOID, &input, &io_param);
      ArrayType* array =
          DatumGetArrayTypeP(OidInputFunctionCall(input, TextDatumGetCString(one), io_param, -1));
      int count;
      deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &texts, &nulls, &count);
      if (count != n)
        ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
                        errmsg("a group's key has %d values where there are %d", count, n)));
    }
    return read_values(texts, nulls, n, row);
  }

  bool read_values(const Datum* texts, const bool* nulls, int n, PlainRow* row) {
    const TupleDesc desc = asked_.slot->tts_tupleDescriptor;
    for (int i = 0; i < n; ++i) {
      row->nulls[i] = nulls[i];
      if (nulls[i]) continue;
      const Oid type = TupleDescAttr(desc, i)->atttypid;
      // It was renamed.
      if (type_is_enum(type) &&
          !SearchSysCacheExists2(ENUMTYPOIDNAME, ObjectIdGetDatum(type),
                                 CStringGetDatum(TextDatumGetCString(texts[i]))))
        return refuse(PlainOutcome::other_shape);
      Oid input, io_param;
      getTypeInputInfo(type, &input, &io_param);
      row->values[i] = OidInputFunctionCall(input, TextDatumGetCString(texts[i]), io_param,
                                            TupleDescAttr(desc, i)->atttypmod);
    }
    return true;
  }

  // Under the settings that they were printed with.
  bool read_pinned(const Datum* texts, const bool* nulls, int n, PlainRow* row) {
    PinnedSettings settings;
    settings.begin();
    const bool good = read_values(texts, nulls, n, row);
    settings.end();
    return good;
  }

  bool is_wanted(const PlainRow* row) const {
    if (asked_.conditions == nullptr) return true;
    TupleTableSlot* slot = asked_.slot;
    ExecClearTuple(slot);
    const int n = slot->tts_tupleDescriptor->natts;
    std::copy_n(row->values, n, slot->tts_values);
    std::copy_n(row->nulls, n, slot->tts_isnull);
    ExecStoreVirtualTuple(slot);
    ResetExprContext(asked_.context);
    asked_.context->ecxt_scantuple = slot;
    return ExecQual(asked_.conditions, asked_.context);
  }

  // All groups', PlainRow*; under the settings that they were printed with.
  List* read_keys() {
    PinnedSettings settings;
    settings.begin();
    List* keys = NIL;
    kde::GroupsView groups(density_.one_column);
    kde::GroupView group;
    while (groups.next(&group)) {
      PlainRow* key = new_row();
      if (!read_key(group, key)) break;
      keys = lappend(keys, key);
    }
    settings.end();
    return keys;
  }

  bool may_have_rows(const AnsweringDensity& density) {
    for (int i = 0; i < parts_; ++i) {
      range_[0] = part_[i].range;
      if (!(rows(density).upper < 0.5)) return true;
    }
    return false;
  }

  void answer_groups() {
    kde::GroupsView groups(density_.one_column);
    if (groups.header().rest > 0) {
      (void)refuse(PlainOutcome::rest);
      return;
    }
    if (!knows_groups(kde::most_unseen(groups.header(), options_.confidence))) return;
    if (!read_parts()) return;
    if (static_cast<double>(groups.header().groups) * parts_ > kMostParts) {
      (void)refuse(PlainOutcome::buckets);
      return;
    }
    List* keys = read_keys();
    if (out_.outcome != PlainOutcome::answered) return;
    if (plan_.by_groups != 0 && plan_.is_by_all_groups())
      answer_by_group(&groups, keys);
    else
      answer_together(&groups, keys);
  }

  // A condition may raise an error of a group that has no row in the range.
  bool is_asked(const AnsweringDensity& density, const PlainRow* key) {
    CHECK_FOR_INTERRUPTS();
    return may_have_rows(density) && is_wanted(key);
  }

  void answer_by_group(kde::GroupsView* groups, List* keys) {
    kde::GroupView group;
    for (int k = 0; groups->next(&group); ++k) {
      const auto* key = static_cast<const PlainRow*>(list_nth(keys, k));
      AnsweringDensity own = density_;
      own.one_column = group.density();
      if (is_asked(own, key) && !put_parts(own, key)) return;
    }
  }

  // Several groups, all or those that are alike in what the query is by, part by part.
  void answer_together(kde::GroupsView* groups, List* keys) {
    List* kinds = NIL;  // PlainRow*, the first of each
    const int* kind = kinds_of(keys, &kinds);
    const int slots = listed_ ? 1 : parts_;
    const auto all = static_cast<Size>(list_length(kinds)) * static_cast<Size>(slots);
    auto** together = static_cast<Answer**>(palloc(sizeof(Answer*) * (all + 1)));
    auto* there = static_cast<kde::Interval*>(palloc(sizeof(kde::Interval) * (all + 1)));
    for (Size i = 0; i < all; ++i) {
      together[i] = new_answers();
      there[i] = {0, 0, 0};
    }
    kde::GroupView group;
    for (int k = 0; groups->next(&group); ++k) {
      AnsweringDensity own = density_;
      own.one_column = group.density();
      if (!is_asked(own, static_cast<const PlainRow*>(list_nth(keys, k)))) continue;
      for (int i = 0; i < parts_; ++i) {
        const int at = kind[k] * slots + (listed_ ? 0 : i);
        range_[0] = part_[i].range;
        add(&there[at], rows(own));
        if (!ask_all(own, together[at])) return;
      }
    }
    for (int at = 0; at < static_cast<int>(all); ++at) {
      take_new_groups_in(at % slots, together[at]);
      if (plan_.by_groups != 0 || plan_.by_bucket) {
        if (parts_ > 0) change(listed_ ? before_passages_ : part_[at % slots].range, &there[at]);
        if (there[at].upper < 0.5) continue;
        if (there[at].lower < 0.5) {
          (void)refuse(PlainOutcome::unsure);
          return;
        }
      }
      const auto* key = static_cast<const PlainRow*>(list_nth(kinds, at / slots));
      if (!put_all(together[at], row_of(listed_ ? Part{} : part_[at % slots], key))) return;
    }
  }

  // Of the part, or of all of a list: also where none of the groups was asked about.
  void take_new_groups_in(int part, Answer* answers) const {
    const int end = listed_ ? parts_ : part + 1;
    for (int i = listed_ ? 0 : part; i < end; ++i) {
      const kde::Range& range = listed_ || plan_.by_bucket ? part_[i].range : before_passages_;
      for (int k = 0; k < plan_.aggregates; ++k)
        answers[k].changed.take_in(changes_by_new(plan_.aggregate[k], range));
    }
  }

  // How values of what the query is by are compared.
  struct Comparing {
    int columns = 0;
    int column[kde::kMaxGroupBy];
    FmgrInfo* function[kde::kMaxGroupBy];
    Oid collation[kde::kMaxGroupBy];
  };

  struct Numbered {
    const PlainRow* key;
    int number;
  };

  static int compare_keys(const void* a, const void* b, void* context) {
    const auto* by = static_cast<const Comparing*>(context);
    const PlainRow& left = *static_cast<const Numbered*>(a)->key;
    const PlainRow& right = *static_cast<const Numbered*>(b)->key;
    for (int c = 0; c < by->columns; ++c) {
      const int i = by->column[c];
      if (left.nulls[i] || right.nulls[i]) {
        if (left.nulls[i] != right.nulls[i]) return left.nulls[i] ? 1 : -1;
        continue;
      }
      const int order = DatumGetInt32(
          FunctionCall2Coll(by->function[c], by->collation[c], left.values[i], right.values[i]));
      if (order != 0) return order;
    }
    return 0;
  }

  // For each of the keys the number, in `kinds`, of those that are alike in what the query is by:
  // equal, though texts may differ, as 1.0 and 1.00 do.
  const int* kinds_of(List* keys, List** kinds) const {
    Comparing by;
    for (int i = 0; i < plan_.groups; ++i) {
      if ((plan_.by_groups >> i & 1) == 0) continue;
      const Form_pg_attribute of = TupleDescAttr(asked_.slot->tts_tupleDescriptor, i);
      TypeCacheEntry* type = lookup_type_cache(of->atttypid, TYPECACHE_CMP_PROC_FINFO);
      by.column[by.columns] = i;
      by.function[by.columns] = &type->cmp_proc_finfo;
      by.collation[by.columns++] = of->attcollation;
    }
    const auto n = static_cast<Size>(list_length(keys));
    auto* sorted = static_cast<Numbered*>(palloc(sizeof(Numbered) * (n + 1)));
    auto* kind = static_cast<int*>(palloc(sizeof(int) * (n + 1)));
    for (int k = 0; k < static_cast<int>(n); ++k)
      sorted[k] = {static_cast<const PlainRow*>(list_nth(keys, k)), k};
    qsort_arg(sorted, n, sizeof(Numbered), compare_keys, &by);
    for (Size k = 0; k < n; ++k) {
      if (k == 0 || compare_keys(&sorted[k - 1], &sorted[k], &by) != 0)
        *kinds = lappend(*kinds, const_cast<PlainRow*>(sorted[k].key));
      kind[sorted[k].number] = list_length(*kinds) - 1;
    }
    // All together, also of no group.
    if (*kinds == NIL && plan_.by_groups == 0) *kinds = list_make1(new_row());
    return kind;
  }

  const PlainAsked& asked_;
  const PlainPlan& plan_;
  const bool as_of_then_;
  bool consented_ = false;
  bool any_row_ = false;  // of those answered
  AnsweringDensity density_;
  kde::IntervalOptions options_;
  kde::Range range_[kde::kMaxColumns];
  kde::Range before_passages_;  // range_[0], before comparisons of its functions
  bool may_be_new_ = false;     // rows changed may be of groups or values not met
  Asked last_;
  bool is_known_[2 * (kde::kMaxColumns + 1)] = {};
  kde::Evidence known_[2 * (kde::kMaxColumns + 1)];
  Part* part_ = nullptr;
  int parts_ = 0;
  // IN: points of the range column, each a part of the one row; or words.
  bool listed_ = false;
  double* points_ = nullptr;
  int point_count_ = 0;
  bool words_set_ = false;
  kde::WordSet words_;
  kde::WordSet side_words_[kde::kMaxColumns];  // of a density of several columns
  PlainAnswers out_;
};

}  // namespace

double most_plain_rows(const PlainQuery& query) {
  if (query.bucket != nullptr) return kMostParts;
  if (query.by_groups == 0) return 1;
  const struct varlena* value =
      ActiveSnapshotSet() ? density_if_there(query.key, nullptr).value : nullptr;
  if (value == nullptr) return kMostParts;
  const kde::Header* h = any_density_from_datum(PointerGetDatum(value)).one_column;
  if (h == nullptr) return kMostParts;
  if (query.of_words) return h->words != 0 ? kde::WordsView(h).words() : kMostParts;
  return h->grouped != 0 ? kde::GroupsView(h).header().groups : kMostParts;
}

bool may_have_nulls(const DensityKey& key, int columns) {
  const struct varlena* value =
      ActiveSnapshotSet() ? density_if_there(key, nullptr).value : nullptr;
  if (value == nullptr) return true;
  const AnyDensity any = any_density_from_datum(PointerGetDatum(value));
  if (key.columns != (any.joint != nullptr ? any.joint->columns : 1)) return true;
  return may_have_nulls_in(any.one_column, any.joint, columns);
}

PlainAnswers plain_answers(const PlainAsked& asked) {
  Answering now(asked, false);
  const PlainAnswers answers = now.run();
  if (answers.outcome == PlainOutcome::answered || !now.has_consent()) return answers;
  Answering then(asked, true);
  return then.run();
}

}  // namespace kde_pg
