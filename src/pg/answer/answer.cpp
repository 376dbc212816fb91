// The answer functions that are a number, or a value of the column's type.
#include "pg/answer/answer.h"

#include "pg/type/density_datum.h"
#include "pg/answer/beyond_fit.h"
#include "pg/answer/range_arguments.h"
#include "pg/answer/required_accuracy.h"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
}

#include <cmath>

namespace kde_pg {

namespace {

Datum give(FunctionCallInfo fcinfo, const Result& result) {
  if (result.is_null) PG_RETURN_NULL();
  return result.value;
}

}  // namespace

Datum answer_by_text(FunctionCallInfo fcinfo, Answer answer) {
  if (is_null_density(fcinfo, 1)) PG_RETURN_NULL();
  return give(fcinfo, answer(fcinfo, target_by_text(fcinfo), 1));
}

Datum answer_by_column(FunctionCallInfo fcinfo, Answer answer) {
  if (is_null_density(fcinfo, 2)) PG_RETURN_NULL();
  return give(fcinfo, answer(fcinfo, target_by_column(fcinfo), 2));
}

Datum answer_by_value(FunctionCallInfo fcinfo, Answer answer) {
  if (is_null_density(fcinfo, 1)) PG_RETURN_NULL();
  return give(fcinfo, answer(fcinfo, target_by_value(fcinfo), 1));
}

void check_fraction(double fraction) {
  if (!(fraction >= 0 && fraction <= 1))
    ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                    errmsg("fraction %g is not between 0 and 1", fraction)));
}

bool read_moments(FunctionCallInfo fcinfo, const Target& target, int next, kde::RangeMoments* m) {
  kde::Range range;
  if (!read_range(fcinfo, next, target.type, &range)) return false;
  check_beyond_fit(target, range);
  *m = kde::moments(target.view(), range);
  return m->count > 0;
}

// The sum or mean of rows that are not all finite. True if it decides the answer.
bool special_values(const kde::RangeMoments& m, const char* what, Result* result) {
  if (m.nans > 0 || (m.positive_infinities > 0 && m.negative_infinities > 0)) {
    ereport(NOTICE, (errmsg("the range includes %s, so its %s is null",
                            m.nans > 0 ? "NaN values" : "infinities of both signs", what)));
    *result = Result::null();
    return true;
  }
  if (m.positive_infinities > 0 || m.negative_infinities > 0) {
    const double infinity = get_float8_infinity();
    *result = Result::number(m.positive_infinities > 0 ? infinity : -infinity);
    return true;
  }
  return false;
}

namespace {

Result answer_count(FunctionCallInfo fcinfo, const Target& target, int next) {
  const RequiredAccuracy required = required_accuracy(fcinfo, target, next);
  kde::Range range;
  if (!read_range(fcinfo, next, target.type, &range)) return Result::null();
  check_beyond_fit(target, range);
  const Result plain = Result::number(kde::count(target.view(), range));
  if (!required.asked) return plain;
  return accurate_answer(fcinfo, target, next, Aggregate::count, required, plain);
}

// A sum or mean with values that are not finite has no relative error: to who asks for the exact
// answer it is not accurate enough.
bool is_exact_due(const kde::RangeMoments& m, const RequiredAccuracy& required) {
  return required.asked && required.otherwise == Otherwise::exact &&
         m.nans + m.positive_infinities + m.negative_infinities > 0;
}

Result answer_sum(FunctionCallInfo fcinfo, const Target& target, int next) {
  const RequiredAccuracy required = required_accuracy(fcinfo, target, next);
  kde::RangeMoments m;
  Result result = Result::null();
  if (read_moments(fcinfo, target, next, &m)) {
    if (is_exact_due(m, required)) return exact_answer(fcinfo, target, next, Aggregate::sum);
    if (special_values(m, "sum", &result)) return result;
    const double sum = m.mean * m.finite;
    if (std::isinf(sum)) float_overflow_error();
    result = Result::number(sum);
  }
  if (!required.asked) return result;
  return accurate_answer(fcinfo, target, next, Aggregate::sum, required, result);
}

Result answer_avg(FunctionCallInfo fcinfo, const Target& target, int next) {
  const RequiredAccuracy required = required_accuracy(fcinfo, target, next);
  kde::RangeMoments m;
  Result result = Result::null();
  if (read_moments(fcinfo, target, next, &m)) {
    if (is_exact_due(m, required)) return exact_answer(fcinfo, target, next, Aggregate::avg);
    if (special_values(m, "mean", &result)) return result;
    result = Result::number(m.mean);
  }
  if (!required.asked) return result;
  return accurate_answer(fcinfo, target, next, Aggregate::avg, required, result);
}

// The column's own type must be the one asked for.
void check_own_type(FunctionCallInfo fcinfo, const Target& target, int argument) {
  const Oid asked = get_fn_expr_argtype(fcinfo->flinfo, argument);
  const Oid own = sql_type_of(target.type);
  if (getBaseType(asked) != own)
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("the density is of type %s, not %s", format_type_be(own),
                           format_type_be(asked)),
                    errhint("Pass as_type => NULL::%s.", format_type_be(own))));
}

// x in the type asked for. A domain's values obey its modifier and its constraints.
Datum in_own_type(FunctionCallInfo fcinfo, const Target& target, int argument, double x) {
  const Oid asked = get_fn_expr_argtype(fcinfo->flinfo, argument);
  if (asked == sql_type_of(target.type)) return double_to_value(target.type, x);
  Oid input;
  Oid io_param;
  getTypeInputInfo(asked, &input, &io_param);
  return OidInputFunctionCall(input, double_to_text(target.type, x), io_param, -1);
}

Result answer_avg_as(FunctionCallInfo fcinfo, const Target& target, int next) {
  check_own_type(fcinfo, target, next);
  kde::RangeMoments m;
  Result special;
  if (!read_moments(fcinfo, target, next + 1, &m)) return Result::null();
  double mean = m.mean;
  if (special_values(m, "mean", &special)) {
    if (special.is_null) return special;
    mean = DatumGetFloat8(special.value);
  }
  return {false, in_own_type(fcinfo, target, next, mean)};
}

// The sample variance, as SQL's variance(): null for at most one row.
bool read_variance(FunctionCallInfo fcinfo, const Target& target, int next, double* variance) {
  kde::RangeMoments m;
  if (!read_moments(fcinfo, target, next, &m)) return false;
  Result special;
  if (special_values(m, "variance", &special)) {
    if (!special.is_null)
      ereport(NOTICE, (errmsg("the range includes infinities, so its variance is null")));
    return false;
  }
  if (!(m.finite > 1)) return false;
  *variance = m.variance * (m.finite / (m.finite - 1));
  if (std::isinf(*variance)) float_overflow_error();
  return true;
}

Result answer_variance(FunctionCallInfo fcinfo, const Target& target, int next) {
  double variance;
  if (!read_variance(fcinfo, target, next, &variance)) return Result::null();
  return Result::number(variance);
}

Result answer_stddev(FunctionCallInfo fcinfo, const Target& target, int next) {
  double variance;
  if (!read_variance(fcinfo, target, next, &variance)) return Result::null();
  return Result::number(std::sqrt(variance));
}

// False where there are no rows: an aggregated density may count NULLs alone.
bool read_quantile(const Target& target, double fraction, double* x) {
  check_fraction(fraction);
  *x = kde::quantile(target.view(), fraction);
  return target.density->rows > 0;
}

Result quantile_at(const Target& target, double fraction) {
  double x;
  return read_quantile(target, fraction, &x) ? Result::number(x) : Result::null();
}

Result answer_quantile(FunctionCallInfo fcinfo, const Target& target, int next) {
  return quantile_at(target, PG_GETARG_FLOAT8(next));
}

Result answer_quantile_of_text(FunctionCallInfo fcinfo, const Target& target, int next) {
  const Datum fraction =
      DirectFunctionCall1(float8in, CStringGetDatum(text_to_cstring(PG_GETARG_TEXT_PP(next))));
  return quantile_at(target, DatumGetFloat8(fraction));
}

Result answer_quantile_as(FunctionCallInfo fcinfo, const Target& target, int next) {
  check_own_type(fcinfo, target, next + 1);
  if (PG_ARGISNULL(next)) return Result::null();
  double x;
  if (!read_quantile(target, PG_GETARG_FLOAT8(next), &x)) return Result::null();
  return {false, in_own_type(fcinfo, target, next + 1, x)};
}

// An array of the same shape; null elements stay null.
Result answer_quantiles(FunctionCallInfo fcinfo, const Target& target, int next) {
  ArrayType* fractions = PG_GETARG_ARRAYTYPE_P(next);
  Datum* values;
  bool* nulls;
  int n;
  deconstruct_array(fractions, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &values,
                    &nulls, &n);
  for (int i = 0; i < n; ++i) {
    if (nulls[i]) continue;
    double x;
    nulls[i] = !read_quantile(target, DatumGetFloat8(values[i]), &x);
    values[i] = Float8GetDatum(x);
  }
  ArrayType* out = construct_md_array(values, nulls, ARR_NDIM(fractions), ARR_DIMS(fractions),
                                      ARR_LBOUND(fractions), FLOAT8OID, sizeof(float8),
                                      FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
  return {false, PointerGetDatum(out)};
}

double point_argument(FunctionCallInfo fcinfo, const Target& target, int next) {
  const Oid type = get_fn_expr_argtype(fcinfo->flinfo, next);
  if (!OidIsValid(type))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("could not determine the type of the value")));
  return bound_to_double(target.type, type, PG_GETARG_DATUM(next));
}

Result answer_pdf(FunctionCallInfo fcinfo, const Target& target, int next) {
  const double x = point_argument(fcinfo, target, next);
  return Result::number(kde::pdf(target.view(), x));
}

Result answer_cdf(FunctionCallInfo fcinfo, const Target& target, int next) {
  const double x = point_argument(fcinfo, target, next);
  return Result::number(kde::cdf(target.view(), x));
}

Datum copy_of(const Target& target) {
  return density_to_datum(target.density, VARSIZE(target.density));
}

}  // namespace

}  // namespace kde_pg

KDE_ANSWER(approx_count, answer_count)
KDE_ANSWER(approx_sum, answer_sum)
KDE_ANSWER(approx_avg, answer_avg)
KDE_ANSWER(approx_avg_as, answer_avg_as)
KDE_ANSWER(approx_variance, answer_variance)
KDE_ANSWER(approx_stddev, answer_stddev)
KDE_ANSWER(approx_quantile, answer_quantile)
KDE_ANSWER(approx_quantiles, answer_quantiles)
KDE_ANSWER(approx_quantile_of_text, answer_quantile_of_text)
KDE_ANSWER(approx_quantile_as, answer_quantile_as)
KDE_ANSWER(kde_pdf, answer_pdf)
KDE_ANSWER(kde_cdf, answer_cdf)

KDE_FUNCTION(kde_density_text) {
  const kde_pg::AnyDensity density = kde_pg::density_by_text(PG_GETARG_TEXT_PP(0));
  const void* bytes = density.joint;
  if (bytes == nullptr) bytes = density.one_column;
  return kde_pg::density_to_datum(bytes, VARSIZE(bytes));
}

KDE_FUNCTION(kde_density_column) { return kde_pg::copy_of(kde_pg::target_by_column(fcinfo)); }
