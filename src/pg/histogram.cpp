// approx_histogram and approx_histogram_at: the counts of consecutive bins, as rows.
//
// Bins are [lower, upper), the last is closed, so their counts add up to that of the whole span.
#include "pg/answer.h"

#include <algorithm>
#include <cmath>
#include <limits>

extern "C" {
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/tuplestore.h"
}

namespace kde_pg {

namespace {

constexpr int kMostBins = 10000;
constexpr int kColumns = 7;

// The rows go to a tuplestore of the caller's memory: few, and gone through once.
Tuplestorestate* begin_rows(FunctionCallInfo fcinfo, TupleDesc* desc) {
  ReturnSetInfo* info = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
  if (info == nullptr || !IsA(info, ReturnSetInfo) || (info->allowedModes & SFRM_Materialize) == 0)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("set-valued function called in context that cannot accept a set")));
  MemoryContext old = MemoryContextSwitchTo(info->econtext->ecxt_per_query_memory);
  if (get_call_result_type(fcinfo, nullptr, desc) != TYPEFUNC_COMPOSITE ||
      (*desc)->natts != kColumns)
    elog(ERROR, "return type must be a row type of %d columns", kColumns);
  Tuplestorestate* rows =
      tuplestore_begin_heap((info->allowedModes & SFRM_Materialize_Random) != 0, false, work_mem);
  info->returnMode = SFRM_Materialize;
  info->setResult = rows;
  info->setDesc = *desc;
  MemoryContextSwitchTo(old);
  return rows;
}

void check_bins(int bins) {
  if (bins < 1 || bins > kMostBins)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("a histogram has 1 to %d bins, not %d", kMostBins, bins)));
}

// An edge between two values of the column is not rounded to one: it is a number, a time of day.
char* edge_text(kde::ValueType type, double x) {
  const double step = lattice_step_of(type, -1);
  if (step > 0 && std::isfinite(x) && std::fmod(x, step) != 0)
    type = type == kde::ValueType::date ? kde::ValueType::timestamp : kde::ValueType::float8;
  return double_to_text(type, x);
}

// edges: bins + 1 of them, ascending.
void put_rows(FunctionCallInfo fcinfo, const Target& target, const double* edges, int bins) {
  TupleDesc desc;
  Tuplestorestate* rows = begin_rows(fcinfo, &desc);
  const kde::DensityView density(target.density);
  const double all = density.header().rows;
  kde::Range range;
  range.lower_unbounded = range.upper_unbounded = false;
  for (int i = 0; i < bins; ++i) {
    CHECK_FOR_INTERRUPTS();
    range.lower = edges[i];
    range.upper = edges[i + 1];
    range.upper_inclusive = i + 1 == bins;
    const double count = kde::count(density, range);
    char* lower = edge_text(target.type, edges[i]);
    char* upper = edge_text(target.type, edges[i + 1]);
    Datum values[kColumns] = {Int32GetDatum(i + 1),
                              Float8GetDatum(edges[i]),
                              Float8GetDatum(edges[i + 1]),
                              Float8GetDatum(count),
                              Float8GetDatum(all > 0 ? count / all : 0),
                              CStringGetTextDatum(lower),
                              CStringGetTextDatum(upper)};
    bool nulls[kColumns] = {};
    tuplestore_putvalues(rows, desc, values, nulls);
    pfree(lower);
    pfree(upper);
  }
}

double* new_edges(int bins) {
  return static_cast<double*>(palloc(sizeof(double) * (static_cast<Size>(bins) + 1)));
}

// The bound at `argument`, or `otherwise` where it is NULL.
double read_end(FunctionCallInfo fcinfo, const Target& target, int argument, double otherwise) {
  if (PG_ARGISNULL(argument)) return otherwise;
  const double x = bound_to_double(target.type, get_fn_expr_argtype(fcinfo->flinfo, argument),
                                   PG_GETARG_DATUM(argument));
  if (!std::isfinite(x))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("bins of equal width need finite bounds"),
                    errhint("Give the bounds of all bins to approx_histogram_at().")));
  return x;
}

// bins, by_name_only, lower, upper.
Result answer_histogram(FunctionCallInfo fcinfo, const Target& target, int next) {
  reject_null(fcinfo, next, "bins");
  int bins = PG_GETARG_INT32(next);
  check_bins(bins);
  const kde::Header* h = target.density;
  const double lower = read_end(fcinfo, target, next + 2, h->min);
  const double upper = read_end(fcinfo, target, next + 3, h->max);
  const bool has_span =
      h->finite_rows() > 0 || (!PG_ARGISNULL(next + 2) && !PG_ARGISNULL(next + 3));
  if (has_span && lower > upper)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("the lower bound of the histogram is above the upper"),
                    errdetail("The bounds are %s and %s.", double_to_text(target.type, lower),
                              double_to_text(target.type, upper))));
  if (!has_span)
    bins = 0;
  else if (lower == upper)
    bins = 1;
  double* edges = new_edges(bins);
  edges[0] = lower;
  for (int i = 1; i < bins; ++i) {
    // The second where the span overflows.
    const double t = static_cast<double>(i) / bins;
    const double edge = std::isfinite((upper - lower) * bins) ? lower + (upper - lower) * i / bins
                                                              : lower * (1 - t) + upper * t;
    edges[i] = std::clamp(edge, edges[i - 1], upper);
  }
  edges[bins] = upper;
  put_rows(fcinfo, target, edges, bins);
  return Result::null();
}

// bounds.
Result answer_histogram_at(FunctionCallInfo fcinfo, const Target& target, int next) {
  reject_null(fcinfo, next, "bounds");
  ArrayType* array = PG_GETARG_ARRAYTYPE_P(next);
  const int count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
  if (ARR_NDIM(array) != 1 || count < 2)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("the bounds of a histogram are an array of one dimension and at least "
                           "two elements")));
  check_bins(count - 1);
  int16 length;
  bool by_value;
  char align;
  get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &align);
  Datum* values;
  bool* nulls;
  int n;
  deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, align, &values, &nulls, &n);
  double* edges = new_edges(n - 1);
  for (int i = 0; i < n; ++i) {
    if (!nulls[i]) edges[i] = bound_to_double(target.type, ARR_ELEMTYPE(array), values[i]);
    if (nulls[i] || std::isnan(edges[i]) || (i > 0 && !(edges[i] > edges[i - 1])))
      ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                      errmsg("the bounds of a histogram must be ascending, neither null nor NaN"),
                      errdetail("Element %d is not.", i + 1)));
  }
  put_rows(fcinfo, target, edges, n - 1);
  return Result::null();
}

// A NULL density has no rows.
Datum histogram_by_value(FunctionCallInfo fcinfo, Answer answer) {
  TupleDesc desc;
  if (!PG_ARGISNULL(0)) return answer_by_value(fcinfo, answer);
  (void)begin_rows(fcinfo, &desc);
  PG_RETURN_NULL();
}

}  // namespace

}  // namespace kde_pg

#define KDE_HISTOGRAM(name, answer)                                                        \
  KDE_FUNCTION(name##_text) { return kde_pg::answer_by_text(fcinfo, kde_pg::answer); }     \
  KDE_FUNCTION(name##_column) { return kde_pg::answer_by_column(fcinfo, kde_pg::answer); } \
  KDE_FUNCTION(name##_kde) { return kde_pg::histogram_by_value(fcinfo, kde_pg::answer); }

KDE_HISTOGRAM(approx_histogram, answer_histogram)
KDE_HISTOGRAM(approx_histogram_at, answer_histogram_at)
