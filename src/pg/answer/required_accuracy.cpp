// See required_accuracy.h.
#include "pg/answer/required_accuracy.h"

#include "pg/answer/range_arguments.h"

#include "core/kde.h"

#include <cmath>
#include <limits>
#include <string_view>

namespace kde_pg {

namespace {

constexpr double kConfidence = 0.95;

// Read in every call, so not copied.
Otherwise read_otherwise(FunctionCallInfo fcinfo, int argument) {
  reject_null(fcinfo, argument, "otherwise");
  const text* value = PG_GETARG_TEXT_PP(argument);
  const std::string_view name(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value));
  if (name == "error") return Otherwise::error;
  if (name == "null") return Otherwise::null;
  if (name != "exact")
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("invalid value for otherwise: \"%s\"", text_to_cstring(value)),
                    errhint("It is 'error', 'null' or 'exact'.")));
  return Otherwise::exact;
}

kde::Interval interval_of(Aggregate aggregate, const Target& target, const kde::Range& range) {
  const kde::DensityView density = target.view();
  kde::IntervalOptions options;
  options.confidence = kConfidence;
  options.changed_rows = rows_changed_since(target.fit);
  switch (aggregate) {
    case Aggregate::count:
      return kde::count_interval(density, range, options);
    case Aggregate::sum:
      return kde::sum_interval(density, range, options);
    case Aggregate::avg:
      break;
  }
  return kde::mean_interval(density, range, options);
}

struct ExpectedError {
  double relative;      // infinite also where it is not known
  const char* unknown;  // why it is not known; null where it is
};

// Not known where the answer is 0, or NULL for want of rows, without being certain; nor of a table
// whose rows have gone elsewhere since the fit, about which the interval knows nothing.
ExpectedError expected_error(Aggregate aggregate, const Target& target, const kde::Range& range) {
  if (target.fit.elsewhere)
    return {std::numeric_limits<double>::infinity(), "the rows are elsewhere since the fit"};
  kde::Interval interval = interval_of(aggregate, target, range);
  const char* unknown = aggregate == Aggregate::count ? "no row of the sample is in the range"
                                                      : "the answer is 0, but not for certain";
  // No row is known in the range: then it is the count that may be wrong.
  if (std::isnan(interval.estimate)) {
    interval = interval_of(Aggregate::count, target, range);
    unknown = "no row of the sample is in the range";
  }
  const double half = interval.upper / 2 - interval.lower / 2;
  if (half == 0) return {0, nullptr};
  if (interval.estimate == 0) return {std::numeric_limits<double>::infinity(), unknown};
  return {half / std::fabs(interval.estimate), nullptr};
}

}  // namespace

RequiredAccuracy required_accuracy(FunctionCallInfo fcinfo, const Target& target, int next) {
  RequiredAccuracy required = {!PG_ARGISNULL(next + 3), 0, read_otherwise(fcinfo, next + 4)};
  if (!required.asked) {
    if (required.otherwise != Otherwise::error)
      ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                      errmsg("otherwise needs max_relative_error"),
                      errhint("Pass max_relative_error => 0.01 for an error of at most 1 %%.")));
    return required;
  }
  required.most = PG_GETARG_FLOAT8(next + 3);
  if (!(required.most >= 0))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("max_relative_error must be at least 0"),
                    errdetail("The value given was %g.", required.most),
                    errhint("0.01 asks for an error of at most 1 %%.")));
  if (required.otherwise == Otherwise::exact && !OidIsValid(target.column.relation))
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("a value of type kde has no table to answer from exactly"),
                    errhint("Name the column instead, or pass otherwise => 'null'.")));
  return required;
}

Result accurate_answer(FunctionCallInfo fcinfo, const Target& target, int next, Aggregate aggregate,
                       const RequiredAccuracy& required, const Result& plain) {
  kde::Range range;
  if (!read_range(fcinfo, next, target.type, &range)) return plain;  // NULL
  const ExpectedError expected = expected_error(aggregate, target, range);
  if (expected.relative <= required.most) return plain;
  switch (required.otherwise) {
    case Otherwise::null:
      return Result::null();
    case Otherwise::exact:
      return exact_answer(fcinfo, target, next, aggregate);
    case Otherwise::error:
      break;
  }
  const double changed = rows_changed_since(target.fit);
  ereport(
      ERROR,
      (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
       errmsg("the answer is not as accurate as required"),
       expected.unknown == nullptr
           ? errdetail("Its expected relative error is %.2g, that required %g.", expected.relative,
                       required.most)
           : errdetail("Its relative error is not known: %s.", expected.unknown),
       changed > 0
           ? errhint("Rows changed since the fit: %.0f. Refresh the density with kde_refresh(), "
                     "ask for a wider range, or pass otherwise => 'exact'.",
                     changed)
           : errhint("Fit a larger sample, ask for a wider range, or pass otherwise => "
                     "'exact'.")));
  pg_unreachable();
}

}  // namespace kde_pg
