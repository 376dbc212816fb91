// approx_quantile, approx_quantile_as and approx_quantile_ci, kde_pdf and kde_cdf: what is asked of
// one column without a range.
#include "pg/answer/answer.h"

#include "pg/answer/value_bounds.h"
#include "pg/catalog/stale_answers.h"

namespace kde_pg {

namespace {

void check_fraction(double fraction) {
  if (!(fraction >= 0 && fraction <= 1))
    ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                    errmsg("fraction %g is not between 0 and 1", fraction)));
}

kde::Interval quantile_interval(const Call& call, double fraction) {
  return kde::quantile_interval(call.density.view(), fraction,
                                with_value_bounds(call.question, 0, interval_options(call)));
}

// NULL where there are no rows: an aggregated density may count NULLs alone.
NullableDatum quantile_of(const Call& call, double fraction) {
  check_fraction(fraction);
  if (call.accuracy.required) {
    const ExpectedError expected =
        expected_error(call.density.fit, quantile_interval(call, fraction));
    if (!(expected.relative <= call.accuracy.most_error))
      return exact_instead(call, expected) ? exact_quantile(call.question, fraction)
                                           : null_result();
  }
  if (!(call.density.one_column->rows > 0)) return null_result();
  return number_result(kde::quantile(call.density.view(), fraction));
}

Datum answer_quantile(FunctionCallInfo fcinfo, double fraction) {
  Call call;
  if (!read_call(fcinfo, 2, Needs::order, &call)) PG_RETURN_NULL();
  return give(fcinfo, quantile_of(call, fraction));
}

// An array of the same shape; null elements stay null.
ArrayType* quantiles_of(const Call& call, ArrayType* fractions) {
  Datum* values;
  bool* nulls;
  int n;
  deconstruct_array(fractions, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &values,
                    &nulls, &n);
  for (int i = 0; i < n; ++i) {
    if (nulls[i]) continue;
    const NullableDatum x = quantile_of(call, DatumGetFloat8(values[i]));
    values[i] = x.value;
    nulls[i] = x.isnull;
  }
  return construct_md_array(values, nulls, ARR_NDIM(fractions), ARR_DIMS(fractions),
                            ARR_LBOUND(fractions), FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL,
                            TYPALIGN_DOUBLE);
}

// Argument 1, of any type that the column's bounds may have.
double point_argument(FunctionCallInfo fcinfo, const Call& call) {
  const Oid type = get_fn_expr_argtype(fcinfo->flinfo, 1);
  if (!OidIsValid(type))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("could not determine the type of the value"),
                    errhint("Cast it to the type of the column.")));
  return bound_to_double(call.question.type[0], type, PG_GETARG_DATUM(1));
}

using AtPoint = double (*)(const kde::DensityView&, double);

// (density, x, by_name_only, filter)
Datum answer_at_point(FunctionCallInfo fcinfo, AtPoint at) {
  if (PG_ARGISNULL(0) || PG_ARGISNULL(1)) PG_RETURN_NULL();
  check_by_name_only(fcinfo, 2);
  Call call;
  (void)read_density(fcinfo, -1, 3, Needs::order, &call);
  PG_RETURN_FLOAT8(at(call.density.view(), point_argument(fcinfo, call)));
}

}  // namespace

}  // namespace kde_pg

KDE_EXPORT(approx_quantile);
Datum approx_quantile(PG_FUNCTION_ARGS) {
  if (PG_ARGISNULL(1)) PG_RETURN_NULL();
  return kde_pg::answer_quantile(fcinfo, PG_GETARG_FLOAT8(1));
}

KDE_EXPORT(approx_quantile_of_text);
Datum approx_quantile_of_text(PG_FUNCTION_ARGS) {
  if (PG_ARGISNULL(1)) PG_RETURN_NULL();
  const Datum fraction =
      DirectFunctionCall1(float8in, CStringGetDatum(text_to_cstring(PG_GETARG_TEXT_PP(1))));
  return kde_pg::answer_quantile(fcinfo, DatumGetFloat8(fraction));
}

KDE_EXPORT(approx_quantiles);
Datum approx_quantiles(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  Call call;
  if (PG_ARGISNULL(1) || !read_call(fcinfo, 2, Needs::order, &call)) PG_RETURN_NULL();
  PG_RETURN_ARRAYTYPE_P(quantiles_of(call, PG_GETARG_ARRAYTYPE_P(1)));
}

// approx_quantile_as(density, fraction, as_type, ...)
KDE_EXPORT(approx_quantile_as);
Datum approx_quantile_as(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  Call call;
  if (!read_call(fcinfo, 3, Needs::order, &call)) PG_RETURN_NULL();
  const kde::ValueType type = call.question.type[0];
  check_own_type(fcinfo, type, 2);
  if (PG_ARGISNULL(1)) PG_RETURN_NULL();
  const NullableDatum x = quantile_of(call, PG_GETARG_FLOAT8(1));
  if (x.isnull) PG_RETURN_NULL();
  return in_own_type(fcinfo, type, 2, DatumGetFloat8(x.value));
}

KDE_EXPORT(approx_quantile_ci);
Datum approx_quantile_ci(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  Call call;
  if (PG_ARGISNULL(1) || !read_call(fcinfo, 2, Needs::order, &call)) PG_RETURN_NULL();
  const double fraction = PG_GETARG_FLOAT8(1);
  check_fraction(fraction);
  const kde::Interval interval = quantile_interval(call, fraction);
  if (call.accuracy.required) {
    const ExpectedError expected = expected_error(call.density.fit, interval);
    if (!(expected.relative <= call.accuracy.most_error)) {
      if (!exact_instead(call, expected)) PG_RETURN_NULL();
      const NullableDatum x = exact_quantile(call.question, fraction);
      if (x.isnull) PG_RETURN_NULL();
      return certain_record(fcinfo, DatumGetFloat8(x.value));
    }
  }
  return interval_record(fcinfo, interval);
}

KDE_EXPORT(kde_pdf);
Datum kde_pdf(PG_FUNCTION_ARGS) { return kde_pg::answer_at_point(fcinfo, kde::pdf); }
KDE_EXPORT(kde_cdf);
Datum kde_cdf(PG_FUNCTION_ARGS) { return kde_pg::answer_at_point(fcinfo, kde::cdf); }
