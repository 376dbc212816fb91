// See required_accuracy.h.
#include "pg/required_accuracy.h"

#include "pg/range_arguments.h"

#include "core/integrate/interval.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace kde_pg {

namespace {

constexpr double kConfidence = 0.95;

enum class Otherwise { error, null, exact };

Otherwise read_otherwise(FunctionCallInfo fcinfo, int argument) {
  reject_null(fcinfo, argument, "otherwise");
  const char* name = text_to_cstring(PG_GETARG_TEXT_PP(argument));
  if (strcmp(name, "error") == 0) return Otherwise::error;
  if (strcmp(name, "null") == 0) return Otherwise::null;
  if (strcmp(name, "exact") != 0)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("invalid value for otherwise: \"%s\"", name),
                    errhint("It is 'error', 'null' or 'exact'.")));
  return Otherwise::exact;
}

kde::Interval interval_of(Aggregate aggregate, const Target& target, const kde::Range& range) {
  const kde::DensityView density(target.density);
  kde::IntervalOptions options;
  options.confidence = kConfidence;
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

// Infinite where the answer is 0, or NULL for want of rows, without being certain.
double relative_error(Aggregate aggregate, const Target& target, const kde::Range& range) {
  kde::Interval interval = interval_of(aggregate, target, range);
  // No row is known in the range: then it is the count that may be wrong.
  if (std::isnan(interval.estimate)) interval = interval_of(Aggregate::count, target, range);
  const double half = interval.upper / 2 - interval.lower / 2;
  if (half == 0) return 0;
  return interval.estimate == 0 ? std::numeric_limits<double>::infinity()
                                : half / std::fabs(interval.estimate);
}

}  // namespace

Result accurate_answer(FunctionCallInfo fcinfo, const Target& target, int next, Aggregate aggregate,
                       const Result& plain) {
  const double most = PG_GETARG_FLOAT8(next + 3);
  if (!(most >= 0))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("max_relative_error must be at least 0"),
                    errdetail("The value given was %g.", most),
                    errhint("0.01 asks for an error of at most 1 %%.")));
  const Otherwise otherwise = read_otherwise(fcinfo, next + 4);
  if (otherwise == Otherwise::exact && !OidIsValid(target.column.relation))
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("a value of type kde has no table to answer from exactly"),
                    errhint("Name the column instead, or pass otherwise => 'null'.")));
  kde::Range range;
  if (!read_range(fcinfo, next, target.type, &range)) return plain;  // NULL
  const double expected = relative_error(aggregate, target, range);
  if (expected <= most) return plain;
  switch (otherwise) {
    case Otherwise::null:
      return Result::null();
    case Otherwise::exact:
      return exact_answer(fcinfo, target, next, aggregate);
    case Otherwise::error:
      break;
  }
  ereport(
      ERROR,
      (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
       errmsg("the answer is not as accurate as required"),
       std::isinf(expected)
           ? errdetail("Its relative error is not known: no row of the sample is in the range.")
           : errdetail("Its expected relative error is %.2g, that required %g.", expected, most),
       errhint("Fit a larger sample, ask for a wider range, or pass otherwise => 'exact'.")));
  pg_unreachable();
}

}  // namespace kde_pg
