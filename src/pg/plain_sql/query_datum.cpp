// See query_datum.h.
#include "pg/plain_sql/query_datum.h"

#include "pg/answer/candidates.h"
#include "pg/catalog/expression.h"
#include "pg/values/values.h"

extern "C" {
#include "utils/array.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/typcache.h"
}

#include <algorithm>
#include <cmath>

namespace kde_pg {

namespace {

constexpr double kDoubleError = 1e-15;
constexpr int kMostDecimals = 15;
// Of sums that are put together: stretches of a density, about.
constexpr double kMostSummands = 1024;

// Decimals that the values of a column or measure have; -1: not known.
int decimals_of(const kde::AnyDensity& density, int column, kde::ValueType type) {
  if (type <= kde::ValueType::int8) return 0;
  if (density.one_column == nullptr || column < 0) return -1;
  const kde::Header& h = *density.one_column;
  if (column >= density.columns()) {
    const int decimals = kde::MeasureView(&h, column - density.columns()).header().decimals;
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

bool may_have_lost(const kde::AnyDensity& density, int column) {
  if (density.one_column == nullptr) return true;
  const kde::Header& h = *density.one_column;
  if (column < density.columns()) return kde::may_have_lost_digits(h);
  const kde::MeasureHeader& m = kde::MeasureView(&h, column - density.columns()).header();
  // Of intervals beyond that doubles have not all microseconds, as of a column.
  const bool time = m.value_type == kde::ValueType::interval;
  const double most = time && m.decimals == kde::kNoDecimals ? 0x1p33 : kMostWhole;
  return kde::may_have_lost_digits(h) || !(std::fabs(m.min) < most) || !(std::fabs(m.max) < most);
}

bool is_floating(kde::ValueType type) {
  return type == kde::ValueType::float4 || type == kde::ValueType::float8;
}

Datum as_numeric(double x, int scale) {
  const Datum numeric = double_to_value(kde::ValueType::numeric, x);
  return scale < 0 ? numeric : DirectFunctionCall2(numeric_round, numeric, Int32GetDatum(scale));
}

int32 numeric_typmod(int scale) {
  return ((NUMERIC_MAX_PRECISION << 16) | scale) + static_cast<int32>(VARHDRSZ);
}

// The end that is asked for, on a grid of so many decimals outwards.
double end_of(const PlainAggregate& a, const kde::Interval& i, double unit) {
  return a.end == PlainEnd::lower ? std::floor(i.lower * unit) / unit
                                  : std::ceil(i.upper * unit) / unit;
}

}  // namespace

PlainDatums::Digits PlainDatums::digits_of(const PlainAggregate& a,
                                           const PlainTotal& answer) const {
  int decimals = decimals_of(density_, a.column, a.type);
  // What was read has its own, as far as its type tells of them.
  if (answer.together && decimals >= 0)
    decimals = is_floating(a.type) ? -1 : Max(decimals, answer.decimals);
  if (decimals > kMostDecimals) decimals = -1;
  const double unit = decimals > 0 ? std::pow(10.0, decimals) : 1;
  // Each of the parts' sums may be off by half an ulp of the whole.
  // Each of several summands is rounded, and what they come to.
  const double most = Max(std::fabs(answer.total.sum.estimate) * Max(1, answer.parts),
                          kMostSummands * answer.magnitude);
  return {decimals, unit, decimals >= 0 && most * unit < kMostWhole};
}

namespace {

// With what adding up doubles that are no whole multiples of a unit is off by.
kde::Interval with_rounding(kde::Interval i, double magnitude) {
  constexpr double kEach = kMostSummands * 0x1p-53;
  i.lower -= kEach * magnitude;
  i.upper += kEach * magnitude;
  return i;
}

}  // namespace

// Notes how far it may be off; false: too far. shown: what becomes of the estimate.
bool PlainDatums::is_close(const PlainAggregate& a, const kde::Interval& i, double shown,
                           bool lost_digits) {
  const double half = i.upper / 2 - i.lower / 2 + std::fabs(shown - i.estimate);
  double error = i.lower == i.upper ? 0 : half / std::fabs(shown);
  if (lost_digits) error = std::max(error, kDoubleError);
  if (error <= state_.asked.error) {
    state_.out.error = std::max(state_.out.error, error);
    return true;
  }
  static const char* const kWhat[] = {"count(*)",        "count",  "sum",  "sum", "avg",
                                      "variance",        "stddev", "min",  "max", "percentile_cont",
                                      "percentile_disc", "mode",   "count"};
  const char* what = kWhat[static_cast<int>(a.answer)];
  return std::isfinite(error)
             ? refuse_far(error, psprintf("%s only within %s %%", what, percent_up(error)))
             : refuse_far(kFarthest, psprintf("%s not at all", what));
}

bool PlainDatums::refuse_far(double error, const char* detail) {
  if (error > worst_) {
    worst_ = error;
    state_.out.detail = detail;
  }
  return state_.refuse(PlainOutcome::inaccurate);
}

// Into the row, of the type that the aggregate has there. False: not by this density.
bool PlainDatums::put(int k, const PlainTotal& answer, int set, PlainRow* row) {
  const PlainAggregate& a = state_.plan.aggregate[k];
  const int at = state_.plan.first + state_.keys() + k;
  const Oid type = TupleDescAttr(state_.desc(), at)->atttypid;
  if (a.answer == PlainAnswer::grouping) {
    row->values[at] = Int32GetDatum(list_nth_int(a.of_sets, set));
    row->nulls[at] = false;
    return true;
  }
  if (a.is_of_differing()) return put_differing(a, answer, &row->values[at], &row->nulls[at]);
  const bool lost = may_have_lost(density_, a.column);
  const kde::Interval& i = answer.interval(a.answer);
  const bool is_end = a.end != PlainEnd::none && i.lower != i.upper;
  const bool none = answer.total.count.upper < 0.5;
  if (none && a.open_zeros != nullptr && !(answer.zeros.upper < 0.5))
    return put_zero(answer, type, &row->values[at], &row->nulls[at]);
  if (counts(a)) {
    if (a.answer == PlainAnswer::ones) {
      if (none) return true;  // NULL
      if (!(answer.total.count.lower + answer.zeros.lower >= 0.5))
        return state_.refuse(PlainOutcome::unsure);
    }
    const double whole = std::rint(i.estimate);
    if (!none && !is_close(a, i, whole, lost)) return false;
    const double n = none ? 0 : is_end ? std::max(0.0, end_of(a, i, 1)) : whole;
    if (!(n < 9e18)) return state_.refuse(PlainOutcome::out_of_type);
    row->values[at] = Int64GetDatum(static_cast<int64>(n));
    row->nulls[at] = false;
    return true;
  }
  if (a.is_percentile() && !are_fractions(k)) return state_.refuse(PlainOutcome::unsure);
  if (none) return true;  // NULL
  if (!(answer.total.count.lower >= 0.5) || !(std::rint(answer.total.count.estimate) >= 1))
    return state_.refuse(PlainOutcome::unsure);
  if (a.is_percentile()) return put_percentiles(k, answer, type, &row->values[at], &row->nulls[at]);
  if (a.is_extreme()) return put_extreme(a, answer, type, &row->values[at], &row->nulls[at]);
  if (a.answer == PlainAnswer::variance || a.answer == PlainAnswer::stddev)
    return put_variance(a, answer, is_end, type, &row->values[at], &row->nulls[at]);
  return a.answer == PlainAnswer::sum
             ? put_sum(a, answer, is_end, type, &row->values[at], &row->nulls[at])
             : put_mean(a, answer, is_end, type, &row->values[at], &row->nulls[at]);
}

// Of a mode what the server's sort would have first: the least of several.
bool PlainDatums::put_differing(const PlainAggregate& a, const PlainTotal& answer, Datum* value,
                                bool* is_null) {
  double n = 0;
  const DistinctValues::Entry* most = nullptr;
  const DistinctValues* of = answer.differing;
  const bool is_mode = a.answer == PlainAnswer::mode;
  if (of != nullptr && !(is_mode ? of->most_frequent(&most) : of->count(&n)))
    return state_.refuse(PlainOutcome::unsure);
  *is_null = is_mode && most == nullptr;
  *value = !is_mode ? Int64GetDatum(static_cast<int64>(n)) : *is_null ? 0 : most->value;
  return true;
}

// As the server's orderedsetaggs.c has them: of n values in order percentile_disc(p) is that of number
// ceil(p n), at least 1; percentile_cont(p) lies at p (n - 1), from 0, between the two beside it. Where
// all are of one density of a sample, the density's own quantile.
bool PlainDatums::find_percentile(const PlainAggregate& a, const PlainTotal& answer, double p,
                                  kde::Interval* out) {
  const kde::Interval& rows = answer.total.count;
  if (answer.ordered->asked() > kMostAsked) return state_.refuse(PlainOutcome::buckets);
  const auto refuse = [this] { return refuse_far(kFarthest, "a percentile not for certain"); };
  if (rows.lower != rows.upper) {
    const kde::AnyDensity* whole = answer.ordered->whole();
    if (whole == nullptr || a.type > kde::ValueType::numeric) return refuse();
    *out = kde::quantile_interval(whole->view(), p, state_.asked.interval);
    return true;
  }
  int32 typmod;
  const bool is_column = state_.plan.key.column[0].attnum != 0;
  if (!is_column || !OidIsValid(key_column_type(state_.plan.key, 0, &typmod))) typmod = -1;
  if (a.type == kde::ValueType::numeric && !ValueSteps(a.type, typmod).are_steps()) {
    const int decimals = decimals_of(density_, a.column, a.type);
    if (decimals < 0) return refuse();
    typmod = numeric_typmod(Max(decimals, answer.decimals));
  }
  const ValueSteps steps(a.type, typmod);
  const double n = std::rint(rows.estimate);
  const bool is_discrete = a.answer == PlainAnswer::discrete;
  const double place = is_discrete ? std::max(std::ceil(p * n), 1.0) - 1 : p * (n - 1);
  kde::Interval low, high;
  if (!answer.ordered->find(std::floor(place) + 1, steps, state_.asked.interval, &low))
    return refuse();
  high = low;
  if (std::ceil(place) > std::floor(place) &&
      !answer.ordered->find(std::ceil(place) + 1, steps, state_.asked.interval, &high))
    return refuse();
  const double share = place - std::floor(place);
  const auto between = [share](double x, double y) { return x + share * (y - x); };
  *out = {between(low.estimate, high.estimate), between(low.lower, high.lower),
          between(low.upper, high.upper)};
  return true;
}

bool PlainDatums::put_percentile(const PlainAggregate& a, const PlainTotal& answer, double p,
                                 Oid type, Datum* value) {
  kde::Interval i;
  kde::ValueType of;
  if (!find_percentile(a, answer, p, &i)) return false;
  if (!value_type_of(type, &of) || (a.answer == PlainAnswer::discrete && !same_meaning(of, a.type)))
    return state_.refuse(PlainOutcome::other_shape);
  // Where 0 means nothing nothing is relative to it.
  if (i.lower != i.upper && a.type > kde::ValueType::numeric)
    return state_.refuse(PlainOutcome::unsure);
  const bool is_end = a.end != PlainEnd::none;
  double x = !is_end ? i.estimate : a.end == PlainEnd::lower ? i.lower : i.upper;
  if (!is_close(a, i, i.estimate, may_have_lost(density_, a.column) || is_floating(a.type)))
    return false;
  if (a.answer == PlainAnswer::discrete && a.type <= kde::ValueType::int8) x = std::rint(x);
  *value = type == NUMERICOID
               ? as_numeric(x, a.scale >= 0
                                   ? a.scale
                                   : Max(decimals_of(density_, a.column, a.type), answer.decimals))
               : double_to_value(of, x);
  return true;
}

// Of percentile k; of a scalar NULL, or of an array that is, none.
PlainDatums::Fractions PlainDatums::fractions_of(int k) const {
  int before = 0;
  for (int i = 0; i < k; ++i) before += state_.plan.aggregate[i].is_percentile() ? 1 : 0;
  const auto* node = static_cast<const Node*>(list_nth(state_.plan.fractions, before));
  const NullableDatum fraction = state_.asked.fraction[before];
  Fractions out = {nullptr, nullptr, nullptr, 0};
  if (fraction.isnull) return out;
  if (exprType(node) == FLOAT8OID) {
    out.n = 1;
    out.value = static_cast<Datum*>(palloc(sizeof(Datum)));
    out.nulls = static_cast<bool*>(palloc0(sizeof(bool)));
    *out.value = fraction.value;
    return out;
  }
  out.array = DatumGetArrayTypeP(fraction.value);
  deconstruct_array(out.array, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE,
                    &out.value, &out.nulls, &out.n);
  return out;
}

// What is none is an error of the exact plan's, of no rows, too.
bool PlainDatums::are_fractions(int k) const {
  const Fractions of = fractions_of(k);
  for (int i = 0; i < of.n; ++i) {
    const double p = of.nulls[i] ? 0 : DatumGetFloat8(of.value[i]);
    if (!(p >= 0 && p <= 1)) return false;
  }
  return true;
}

bool PlainDatums::put_percentiles(int k, const PlainTotal& answer, Oid type, Datum* value,
                                  bool* is_null) {
  const PlainAggregate& a = state_.plan.aggregate[k];
  const Fractions of = fractions_of(k);
  const Oid element = of.array != nullptr ? get_element_type(type) : type;
  if (!OidIsValid(element)) return state_.refuse(PlainOutcome::other_shape);
  for (int i = 0; i < of.n; ++i)
    if (!of.nulls[i] &&
        !put_percentile(a, answer, DatumGetFloat8(of.value[i]), element, &of.value[i]))
      return false;
  *is_null = of.array == nullptr && of.n == 0;
  if (of.array == nullptr) {
    if (!*is_null) *value = of.value[0];
    return true;
  }
  int16 length;
  bool by_value;
  char align;
  get_typlenbyvalalign(element, &length, &by_value, &align);
  *value = PointerGetDatum(of.n == 0 ? construct_empty_array(element)
                                     : construct_md_array(of.value, of.nulls, ARR_NDIM(of.array),
                                                          ARR_DIMS(of.array), ARR_LBOUND(of.array),
                                                          element, length, by_value, align));
  return true;
}

// Of rows that it adds 0 for, and no other.
bool PlainDatums::put_zero(const PlainTotal& answer, Oid type, Datum* value, bool* is_null) {
  if (!(answer.zeros.lower >= 0.5)) return state_.refuse(PlainOutcome::unsure);
  if (type == INT8OID)
    *value = Int64GetDatum(0);
  else if (type == FLOAT8OID)
    *value = Float8GetDatum(0);
  else if (type == NUMERICOID)
    *value = as_numeric(0, 0);
  else
    return state_.refuse(PlainOutcome::other_shape);
  *is_null = false;
  return true;
}

bool PlainDatums::put_sum(const PlainAggregate& a, const PlainTotal& answer, bool is_end, Oid type,
                          Datum* value, bool* is_null) {
  kde::Interval i = answer.total.sum;
  const Digits digits = digits_of(a, answer);
  if (answer.together && !digits.all) i = with_rounding(i, answer.magnitude);
  double sum = digits.round(i.estimate);
  if (!is_close(a, i, sum, may_have_lost(density_, a.column) || !digits.all)) return false;
  if (is_end)
    sum = digits.all ? end_of(a, i, digits.unit) : a.end == PlainEnd::lower ? i.lower : i.upper;
  if (type == INT8OID && std::fabs(sum) < 9e18)
    *value = Int64GetDatum(static_cast<int64>(sum));
  else if (type == FLOAT8OID)
    *value = Float8GetDatum(sum);
  else if (type == NUMERICOID)
    *value = as_numeric(sum, a.scale >= 0 ? a.scale : digits.decimals);
  else
    return state_.refuse(type == INT8OID ? PlainOutcome::out_of_type : PlainOutcome::other_shape);
  *is_null = false;
  return true;
}

// Of a sum and a count that are certain their quotient, as the server has it; else the estimate.
bool PlainDatums::put_mean(const PlainAggregate& a, const PlainTotal& answer, bool is_end, Oid type,
                           Datum* value, bool* is_null) {
  kde::Interval i = answer.total.mean;
  const kde::Interval& sum = answer.total.sum;
  const Digits digits = digits_of(a, answer);
  if (answer.together && !digits.all)
    i = with_rounding(i, answer.magnitude / answer.total.count.lower);
  if (!is_close(a, i, i.estimate, may_have_lost(density_, a.column) || !digits.all)) return false;
  const bool certain = digits.all && sum.lower == sum.upper &&
                       answer.total.count.lower == answer.total.count.upper && i.lower == i.upper;
  const double count = std::rint(answer.total.count.estimate);
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
    return state_.refuse(PlainOutcome::other_shape);
  *is_null = false;
  return true;
}

bool reaches(const PlainAggregate& a, Oid type, Datum x, Datum y) {
  const TypeCacheEntry* of = lookup_type_cache(type, TYPECACHE_CMP_PROC_FINFO);
  if (!OidIsValid(of->cmp_proc_finfo.fn_oid)) elog(ERROR, "type %u has no order", type);
  const int order = DatumGetInt32(
      FunctionCall2Coll(const_cast<FmgrInfo*>(&of->cmp_proc_finfo), InvalidOid, x, y));
  return a.answer == PlainAnswer::max ? order >= 0 : order <= 0;
}

// Of several sources: what was read, if it is as great as what the density had, or nothing else is
// left of that; what the density had, if none of it was taken out. Else it is one of those left.
bool PlainDatums::put_extreme(const PlainAggregate& a, const PlainTotal& answer, Oid type,
                              Datum* value, bool* is_null) {
  const double x = answer.extreme;
  kde::ValueType of;
  if (!value_type_of(type, &of) || !same_meaning(of, a.type))
    return state_.refuse(PlainOutcome::other_shape);
  *is_null = false;
  const bool any_read = answer.values_read > 0;
  const bool any_left = answer.total.count.upper - answer.values_read >= 0.5;
  if (any_read && !any_left) {
    *value = answer.extreme_read;
    return true;
  }
  if (!std::isnan(x) && may_have_lost(density_, a.column))
    return state_.refuse(PlainOutcome::digits);
  if (!std::isnan(x))
    *value = type == NUMERICOID
                 ? as_numeric(x, a.scale >= 0 ? a.scale : decimals_of(density_, a.column, a.type))
                 : double_to_value(of, x);
  if (!std::isnan(x) && any_read && reaches(a, type, answer.extreme_read, *value)) {
    *value = answer.extreme_read;
    return true;
  }
  const bool is_there = !answer.any_out || (a.answer == PlainAnswer::max ? answer.extreme_out < x
                                                                         : answer.extreme_out > x);
  if (!std::isnan(x) && is_there) return true;
  state_.out.extreme_went = answer.any_out;
  return refuse_far(kFarthest,
                    a.answer == PlainAnswer::max ? "max not for certain" : "min not for certain");
}

// Not to the last digit, which numeric has more of.
bool PlainDatums::put_variance(const PlainAggregate& a, const PlainTotal& answer, bool is_end,
                               Oid type, Datum* value, bool* is_null) {
  const kde::Interval& i = answer.variance;
  // Of one row: NULL.
  if (std::isnan(i.estimate))
    return answer.total.count.lower == answer.total.count.upper ||
           state_.refuse(PlainOutcome::unsure);
  if (!is_close(a, i, i.estimate, true)) return false;
  const double x = !is_end ? i.estimate : a.end == PlainEnd::lower ? i.lower : i.upper;
  if (type == NUMERICOID)
    *value = as_numeric(x, -1);
  else if (type == FLOAT8OID)
    *value = Float8GetDatum(x);
  else
    return state_.refuse(PlainOutcome::other_shape);
  *is_null = false;
  return true;
}

// Sums and means of several sources, as a row would have them.
kde::Interval PlainDatums::as_put(const PlainAggregate& a, const PlainTotal& answer) const {
  const kde::Interval& sum = answer.total.sum;
  const kde::Interval& count = answer.total.count;
  const Digits digits = digits_of(a, answer);
  const bool is_mean = a.answer == PlainAnswer::avg;
  if (!digits.all)
    return with_rounding(answer.interval(a.answer),
                         answer.magnitude / (is_mean ? Max(count.lower, 1.0) : 1));
  if (sum.lower != sum.upper || count.lower != count.upper) return answer.interval(a.answer);
  const double x = digits.round(sum.estimate) / (is_mean ? count.estimate : 1);
  return {x, x, x};
}

// What a function demanded in place of a row.
bool PlainDatums::note_intervals(const PlainTotal* answers) {
  state_.out.intervals = static_cast<kde::Interval*>(
      palloc(sizeof(kde::Interval) * static_cast<Size>(state_.plan.aggregates + 1)));
  bool all_close = true;
  for (int k = 0; k < state_.plan.aggregates; ++k) {
    const PlainAggregate& a = state_.plan.aggregate[k];
    kde::Interval* i = &state_.out.intervals[k];
    *i = answers[k].interval(a.answer);
    if (answers[k].together && !counts(a)) *i = as_put(a, answers[k]);
    const bool is_null =
        (!counts(a) || a.answer == PlainAnswer::ones) && !(answers[k].total.count.estimate > 0);
    if (is_null) i->estimate = std::numeric_limits<double>::quiet_NaN();
    if (is_null && !(answers[k].total.count.upper > 0)) i->lower = i->upper = i->estimate;
    // Where there may be rows, and no answer, that is no accurate one.
    if (std::isfinite(state_.asked.error) && !(answers[k].total.count.upper < 0.5))
      all_close &= is_close(a, *i, i->estimate, false);
  }
  return all_close;
}

}  // namespace kde_pg
