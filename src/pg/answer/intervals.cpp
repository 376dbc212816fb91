// approx_count_ci, approx_sum_ci, approx_avg_ci and approx_quantile_ci: an answer and the interval
// about it, as a record.
#include "pg/answer/intervals.h"

#include "pg/base/row.h"
#include "pg/answer/answer.h"
#include "pg/answer/beyond_fit.h"
#include "pg/answer/range_arguments.h"

extern "C" {
#include "utils/float.h"
}

#include <algorithm>
#include <cmath>

namespace kde_pg {

double read_confidence(FunctionCallInfo fcinfo, int argument) {
  reject_null(fcinfo, argument, "confidence");
  const double confidence = PG_GETARG_FLOAT8(argument);
  if (!(confidence > 0 && confidence < 1))
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
             errmsg("confidence must be between 0 and 1, exclusive"),
             errdetail("The value given was %g.", confidence),
             errhint("0.95 asks for intervals that hold the exact answer 95 times in 100.")));
  return confidence;
}

kde::IntervalOptions read_interval_options(FunctionCallInfo fcinfo, int first) {
  kde::IntervalOptions options;
  options.confidence = read_confidence(fcinfo, first);
  reject_null(fcinfo, first + 1, "changed_rows");
  options.changed_rows = PG_GETARG_FLOAT8(first + 1);
  if (!(options.changed_rows >= 0) || std::isinf(options.changed_rows))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("changed_rows must be a finite number of at least 0"),
                    errdetail("The value given was %g.", options.changed_rows),
                    errhint("It is the number of rows inserted, updated and deleted since the "
                            "fit.")));
  return options;
}

void take_in_changes(const AnsweringFit& fit, kde::IntervalOptions* options) {
  options->changed_rows = std::max(options->changed_rows, rows_changed_since(fit));
}

Result interval_record(FunctionCallInfo fcinfo, const kde::Interval& interval) {
  Row<3> row;
  // Of a range in which nothing was seen there may be rows, but no estimate of their sum or mean.
  const bool unseen = std::isnan(interval.estimate) && !std::isnan(interval.lower);
  row.put(Float8GetDatum(interval.estimate), unseen);
  for (double x : {interval.lower, interval.upper}) row.put(Float8GetDatum(x));
  return {false, row.record(fcinfo)};
}

Result interval_record_of(FunctionCallInfo fcinfo, const Result& special) {
  if (special.is_null) return special;
  const double x = DatumGetFloat8(special.value);
  return interval_record(fcinfo, {x, x, x});
}

namespace {

Result answer_count_ci(FunctionCallInfo fcinfo, const Target& target, int next) {
  kde::IntervalOptions options = read_interval_options(fcinfo, next + 3);
  kde::Range range;
  if (!read_range(fcinfo, next, target.type, &range)) return Result::null();
  check_beyond_fit(target, range);
  take_in_changes(target.fit, &options);
  return interval_record(fcinfo, kde::count_interval(target.view(), range, options));
}

// The sum's or the mean's, where it is not decided by values that are not finite.
using RangeInterval = kde::Interval (*)(const kde::DensityView&, const kde::Range&,
                                        const kde::IntervalOptions&);

Result moment_ci(FunctionCallInfo fcinfo, const Target& target, int next, const char* what,
                 RangeInterval interval_of) {
  kde::IntervalOptions options = read_interval_options(fcinfo, next + 3);
  kde::Range range;
  if (!read_range(fcinfo, next, target.type, &range)) return Result::null();
  check_beyond_fit(target, range);
  take_in_changes(target.fit, &options);
  const kde::DensityView density = target.view();
  Result special;
  const kde::Header& h = density.header();
  if (h.nans + h.negative_infinities + h.positive_infinities > 0 &&
      special_values(kde::moments(density, range), what, &special))
    return interval_record_of(fcinfo, special);
  const kde::Interval interval = interval_of(density, range, options);
  if (std::isnan(interval.lower)) return Result::null();
  if (std::isinf(interval.estimate)) float_overflow_error();
  return interval_record(fcinfo, interval);
}

Result answer_sum_ci(FunctionCallInfo fcinfo, const Target& target, int next) {
  return moment_ci(fcinfo, target, next, "sum", kde::sum_interval);
}

Result answer_avg_ci(FunctionCallInfo fcinfo, const Target& target, int next) {
  return moment_ci(fcinfo, target, next, "mean", kde::mean_interval);
}

Result answer_quantile_ci(FunctionCallInfo fcinfo, const Target& target, int next) {
  const double fraction = PG_GETARG_FLOAT8(next);
  kde::IntervalOptions options = read_interval_options(fcinfo, next + 2);
  check_fraction(fraction);
  take_in_changes(target.fit, &options);
  return interval_record(fcinfo, kde::quantile_interval(target.view(), fraction, options));
}

}  // namespace

}  // namespace kde_pg

KDE_ANSWER(approx_count_ci, answer_count_ci)
KDE_ANSWER(approx_sum_ci, answer_sum_ci)
KDE_ANSWER(approx_avg_ci, answer_avg_ci)
KDE_ANSWER(approx_quantile_ci, answer_quantile_ci)
