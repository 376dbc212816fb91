// approx_count, approx_sum, approx_avg, approx_variance and approx_stddev of the rows in a range or
// box, the same with intervals, and approx_avg_as.
#include "pg/answer/answer.h"

#include "pg/answer/beyond_fit.h"
#include "pg/answer/ranges.h"
#include "pg/answer/asked_words.h"
#include "pg/values/result_set.h"
#include "pg/catalog/not_fitted.h"

extern "C" {
#include "utils/float.h"
}

#include <cmath>
#include <limits>

namespace kde_pg {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const char* name_of(Aggregate aggregate) {
  switch (aggregate) {
    case Aggregate::sum:
      return "sum";
    case Aggregate::avg:
      return "mean";
    default:
      return "variance";
  }
}

// Of rows that are not all finite: an infinity, or NaN for NULL, with a NOTICE.
double special_answer(Aggregate aggregate, const kde::RangeMoments& m) {
  const bool both = m.positive_infinities > 0 && m.negative_infinities > 0;
  const bool spread = aggregate == Aggregate::variance || aggregate == Aggregate::stddev;
  if (m.nans > 0 || both || spread) {
    const char* what = m.nans > 0 ? "NaN values" : both ? "infinities of both signs" : "infinities";
    ereport(NOTICE, (errmsg("the range includes %s, so its %s is null", what, name_of(aggregate))));
    return std::nan("");
  }
  return m.positive_infinities > 0 ? kInfinity : -kInfinity;
}

// Of finite values; NaN for NULL.
double finite_answer(Aggregate aggregate, const kde::RangeMoments& m) {
  double x;
  if (aggregate == Aggregate::sum) {
    x = m.mean * m.finite;
  } else if (aggregate == Aggregate::avg) {
    x = m.mean;
  } else {
    // The sample variance, as SQL's variance(): null for at most one row.
    if (!(m.finite > 1)) return std::nan("");
    x = m.variance * (m.finite / (m.finite - 1));
    if (aggregate == Aggregate::stddev) x = std::sqrt(x);
  }
  if (std::isinf(x)) float_overflow_error();
  return x;
}

// Of dates and timestamps: SQL has none either, and seconds since 1970 added up answer nothing.
[[noreturn]] void raise_no_sum(const Question& q, int measure) {
  const char* measures = q.is_value() ? "" : measures_there(q.asked);
  ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                  errmsg("there is no sum of type %s", value_type_label(q.type[measure])),
                  measures[0] != '\0'
                      ? errhint("Pass measure => %s.", measures)
                      : errhint("What is to be added up beside it is a measure: %s.",
                                q.is_value() ? "kde_agg(x, y), with measure => '2'"
                                             : "kde_fit(..., measures => ARRAY['amount'])")));
  pg_unreachable();
}

// One call, answered.
class Answering {
 public:
  // lower: the argument of that name; by_name_only follows its two. False: the answer is NULL.
  bool read(FunctionCallInfo fcinfo, Aggregate aggregate, int lower) {
    fcinfo_ = fcinfo;
    aggregate_ = aggregate;
    lower_ = lower;
    const Needs needs = aggregate == Aggregate::count ? Needs::rows : Needs::values;
    if (!read_call(fcinfo, lower + 2, needs, &call_)) return false;
    check_is_number();
    if (!read_asked(fcinfo, lower, call_.question, &call_.density, ranges_, &words_)) return false;
    if (is_category(call_.question)) return true;
    check_beyond_fit(call_.question, call_.density, ranges_);
    return true;
  }

  const Call& call() const { return call_; }

  // A double; NaN of a column is none of its answers.
  NullableDatum number() const {
    double x;
    if (aggregate_ == Aggregate::count) {
      x = count_of(call_.question, call_.density, ranges_);
    } else {
      const kde::RangeMoments m = moments_of(call_.question, call_.density, ranges_);
      if (has_special_values(m)) return is_exact_due() ? exact() : special(m);
      x = m.finite > 0 ? finite_answer(aggregate_, m) : std::nan("");
    }
    if (call_.accuracy.required) {
      const ExpectedError expected = error_of(interval());
      kde::Interval now;
      if (!is_enough(expected) && is_answered_with_rest(&now))
        return std::isnan(now.estimate) ? null_result() : number_result(now.estimate);
      if (!is_enough(expected)) return exact_instead(call_, expected) ? exact() : null_result();
    }
    return std::isnan(x) ? null_result() : number_result(x);
  }

  NullableDatum record() const {
    if (aggregate_ != Aggregate::count && call_.density.may_have_special_values()) {
      const kde::RangeMoments m = moments_of(call_.question, call_.density, ranges_);
      if (has_special_values(m)) return certain(is_exact_due() ? exact() : special(m));
    }
    const kde::Interval answer = interval();
    if (call_.accuracy.required) {
      const ExpectedError expected = error_of(answer);
      kde::Interval now;
      if (!is_enough(expected) && is_answered_with_rest(&now)) {
        if (std::isnan(now.lower)) return null_result();
        return {interval_record(fcinfo_, now), false};
      }
      if (!is_enough(expected))
        return exact_instead(call_, expected) ? certain(exact()) : null_result();
    }
    if (std::isnan(answer.lower)) return null_result();
    if (std::isinf(answer.estimate)) float_overflow_error();
    return {interval_record(fcinfo_, answer), false};
  }

 private:
  // Of what is added up.
  void check_is_number() const {
    const Question& q = call_.question;
    if (aggregate_ == Aggregate::count) return;
    // Of a category by itself no measure need be asked for.
    const int measure = q.measure < 0 && is_category(q) ? 0 : q.measure;
    if (measure < 0) return;
    refuse_category(q.type[measure], name_of(aggregate_));
    const kde::ValueType type = q.type[measure];
    const bool is_moment = type >= kde::ValueType::date && type <= kde::ValueType::timestamptz;
    if (aggregate_ == Aggregate::sum && is_moment) raise_no_sum(q, measure);
  }

  kde::Interval interval() const {
    return interval_of(aggregate_, call_.question, call_.density, ranges_, interval_options(call_));
  }

  // No row is known in the range: then it is the count that may be wrong.
  ExpectedError error_of(const kde::Interval& interval) const {
    if (!std::isnan(interval.estimate)) {
      ExpectedError error = expected_error(call_.density.fit, interval);
      if (aggregate_ == Aggregate::count && error.unknown != nullptr && interval.estimate == 0 &&
          !call_.density.fit.elsewhere)
        error.unknown = kNoRow;
      return error;
    }
    const kde::Interval count = interval_of(Aggregate::count, call_.question, call_.density,
                                            ranges_, interval_options(call_));
    ExpectedError error = expected_error(call_.density.fit, count);
    if (error.unknown != nullptr && !call_.density.fit.elsewhere) error.unknown = kNoRow;
    return error;
  }

  bool is_enough(const ExpectedError& expected) const {
    return expected.relative <= call_.accuracy.most_error;
  }

  // Values that are not finite have no relative error: to who asks for the exact answer theirs is
  // not accurate enough.
  bool is_exact_due() const {
    return call_.accuracy.required && call_.accuracy.otherwise == Otherwise::exact;
  }

  NullableDatum special(const kde::RangeMoments& m) const {
    const double x = special_answer(aggregate_, m);
    return std::isnan(x) ? null_result() : number_result(x);
  }

  // As a query has it. False: the answer is NULL.
  bool read_exact(SqlRange* ranges, const WordValues** words) const {
    const Question& q = call_.question;
    if (is_category(q)) {
      for (int i = 0; i < q.sides; ++i) ranges[i] = SqlRange::all();
    } else if (!read_sql_ranges(fcinfo_, lower_, q, ranges)) {
      return false;
    }
    for (int i = 0; words_ != nullptr && i < q.named; ++i)
      if (!words_[i].all) words[i] = &words_[i].values;
    return true;
  }

  NullableDatum exact() const {
    SqlRange ranges[kde::kMaxColumns] = {};
    const WordValues* words[kde::kMaxColumns] = {};
    if (!read_exact(ranges, words)) return null_result();
    return exact_answer(aggregate_, call_.question, ranges, words);
  }

  // Where rows changed that the caller does not count himself: by what is read of them. No density
  // that was looked up before is valid after it.
  bool is_answered_with_rest(kde::Interval* out) const {
    const Accuracy& accuracy = call_.accuracy;
    const bool is_summed = aggregate_ == Aggregate::count || aggregate_ == Aggregate::sum ||
                           aggregate_ == Aggregate::avg;
    if (!is_summed || call_.question.is_value() || accuracy.interval.changed_rows > 0 ||
        !(rows_changed_since(call_.density.fit) > 0))
      return false;
    SqlRange ranges[kde::kMaxColumns] = {};
    const WordValues* words[kde::kMaxColumns] = {};
    return read_exact(ranges, words) &&
           answer_with_rest(aggregate_, call_.question, ranges, words, accuracy, out);
  }

  NullableDatum certain(NullableDatum x) const {
    if (x.isnull) return x;
    return {certain_record(fcinfo_, DatumGetFloat8(x.value)), false};
  }

  static constexpr const char* kNoRow = "no row of the sample is in the range";

  FunctionCallInfo fcinfo_;
  Aggregate aggregate_;
  int lower_;
  Call call_;
  AskedWords* words_ = nullptr;  // of each side; null: no category is named
  kde::Range ranges_[kde::kMaxColumns];
};

Datum answer(FunctionCallInfo fcinfo, Aggregate aggregate) {
  Answering answering;
  if (!answering.read(fcinfo, aggregate, 1)) PG_RETURN_NULL();
  return give(fcinfo, answering.number());
}

Datum answer_with_interval(FunctionCallInfo fcinfo, Aggregate aggregate) {
  Answering answering;
  if (!answering.read(fcinfo, aggregate, 1)) PG_RETURN_NULL();
  return give(fcinfo, answering.record());
}

}  // namespace

ExpectedError expected_error(const AnsweringFit& fit, const kde::Interval& interval) {
  if (fit.elsewhere) return {kInfinity, "the rows are elsewhere since the fit"};
  if (const char* why = why_unproven(fit)) return {kInfinity, why};
  const double half = interval.upper / 2 - interval.lower / 2;
  if (half == 0) return {0, nullptr};
  if (interval.estimate == 0) return {kInfinity, "the answer is 0, but not for certain"};
  return {half / std::fabs(interval.estimate), nullptr};
}

bool exact_instead(const Call& call, const ExpectedError& expected) {
  if (call.accuracy.otherwise != Otherwise::error)
    return call.accuracy.otherwise == Otherwise::exact;
  const double changed = rows_changed_since(call.density.fit);
  ereport(ERROR,
          (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
           errmsg("the answer is not as accurate as required"),
           expected.unknown == nullptr
               ? errdetail("Its expected relative error is %.2g, that required %g.",
                           expected.relative, call.accuracy.most_error)
               : errdetail("Its relative error is not known: %s.", expected.unknown),
           changed > 0 ? errhint("Rows changed since the fit: %.0f at most. Refresh the density "
                                 "with kde_refresh(), "
                                 "ask for a wider range, or pass otherwise => 'exact'.",
                                 changed)
                       : errhint("Fit a larger sample, ask for a wider range, or pass otherwise => "
                                 "'exact'.")));
  pg_unreachable();
}

void check_own_type(FunctionCallInfo fcinfo, kde::ValueType type, int as_type) {
  const Oid asked = get_fn_expr_argtype(fcinfo->flinfo, as_type);
  const Oid own = sql_type_of(type);
  if (getBaseType(asked) != own)
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("the density is of type %s, not %s", format_type_be(own),
                           format_type_be(asked)),
                    errhint("Pass as_type => NULL::%s.", format_type_be(own))));
}

Datum in_own_type(FunctionCallInfo fcinfo, kde::ValueType type, int as_type, double x) {
  const Oid asked = get_fn_expr_argtype(fcinfo->flinfo, as_type);
  if (asked == sql_type_of(type)) return double_to_value(type, x);
  Oid input;
  Oid io_param;
  getTypeInputInfo(asked, &input, &io_param);
  return OidInputFunctionCall(input, double_to_text(type, x), io_param, -1);
}

Datum interval_record(FunctionCallInfo fcinfo, const kde::Interval& interval) {
  // Of a range in which nothing was seen there may be rows, but no estimate of their sum or mean.
  const bool unseen = std::isnan(interval.estimate) && !std::isnan(interval.lower);
  return record_of(fcinfo, Field(!unseen, Float8GetDatum(interval.estimate)),
                   Float8GetDatum(interval.lower), Float8GetDatum(interval.upper));
}

}  // namespace kde_pg

using kde_pg::Aggregate;

KDE_EXPORT(approx_count);
Datum approx_count(PG_FUNCTION_ARGS) { return kde_pg::answer(fcinfo, Aggregate::count); }
KDE_EXPORT(approx_sum);
Datum approx_sum(PG_FUNCTION_ARGS) { return kde_pg::answer(fcinfo, Aggregate::sum); }
KDE_EXPORT(approx_avg);
Datum approx_avg(PG_FUNCTION_ARGS) { return kde_pg::answer(fcinfo, Aggregate::avg); }
KDE_EXPORT(approx_variance);
Datum approx_variance(PG_FUNCTION_ARGS) { return kde_pg::answer(fcinfo, Aggregate::variance); }
KDE_EXPORT(approx_stddev);
Datum approx_stddev(PG_FUNCTION_ARGS) { return kde_pg::answer(fcinfo, Aggregate::stddev); }

KDE_EXPORT(approx_count_ci);
Datum approx_count_ci(PG_FUNCTION_ARGS) {
  return kde_pg::answer_with_interval(fcinfo, Aggregate::count);
}
KDE_EXPORT(approx_sum_ci);
Datum approx_sum_ci(PG_FUNCTION_ARGS) {
  return kde_pg::answer_with_interval(fcinfo, Aggregate::sum);
}
KDE_EXPORT(approx_avg_ci);
Datum approx_avg_ci(PG_FUNCTION_ARGS) {
  return kde_pg::answer_with_interval(fcinfo, Aggregate::avg);
}
KDE_EXPORT(approx_variance_ci);
Datum approx_variance_ci(PG_FUNCTION_ARGS) {
  return kde_pg::answer_with_interval(fcinfo, Aggregate::variance);
}
KDE_EXPORT(approx_stddev_ci);
Datum approx_stddev_ci(PG_FUNCTION_ARGS) {
  return kde_pg::answer_with_interval(fcinfo, Aggregate::stddev);
}

// approx_avg_as(density, as_type, lower, upper, ...): the mean in the column's own type.
KDE_EXPORT(approx_avg_as);
Datum approx_avg_as(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  Answering answering;
  if (!answering.read(fcinfo, Aggregate::avg, 2)) PG_RETURN_NULL();
  const Question& q = answering.call().question;
  const NullableDatum mean = answering.number();
  const kde::ValueType type = q.type[q.measure];
  check_own_type(fcinfo, type, 1);
  if (mean.isnull) PG_RETURN_NULL();
  return in_own_type(fcinfo, type, 1, DatumGetFloat8(mean.value));
}
