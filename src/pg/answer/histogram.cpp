// approx_histogram and approx_histogram_at: the counts of consecutive bins, as rows.
//
// Bins are [lower, upper), the last is closed, so their counts add up to that of the whole span.
#include "pg/values/equally_spaced.h"
#include "pg/values/result_set.h"
#include "pg/answer/call.h"
#include "pg/answer/beyond_fit.h"
#include "pg/answer/round_edges.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace kde_pg {

namespace {

constexpr int kMostBins = 10000;
constexpr int kColumns = 7;

void check_bins(int bins) {
  if (bins < 1 || bins > kMostBins)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("a histogram has 1 to %d bins, not %d", kMostBins, bins)));
}

// edges: bins + 1 of them, ascending.
void put_rows(FunctionCallInfo fcinfo, const Call& call, const double* edges, int bins) {
  const ResultRows rows = begin_rows(fcinfo, kColumns);
  const kde::DensityView density = call.density.view();
  const double all = density.header().rows;
  kde::Range range;
  range.lower_unbounded = range.upper_unbounded = false;
  if (bins > 0) {
    range.lower = edges[0];
    range.upper = edges[bins];
    check_beyond_fit(call.question, call.density, &range);
  }
  for (int i = 0; i < bins; ++i) {
    CHECK_FOR_INTERRUPTS();
    range.lower = edges[i];
    range.upper = edges[i + 1];
    range.upper_inclusive = i + 1 == bins;
    const double count = kde::count(density, range);
    char* lower = place_to_text(call.question.type[0], edges[i]);
    char* upper = place_to_text(call.question.type[0], edges[i + 1]);
    rows.put(i + 1, edges[i], edges[i + 1], count * call.density.scale, all > 0 ? count / all : 0.0,
             lower, upper);
    pfree(lower);
    pfree(upper);
  }
}

double* new_edges(int bins) {
  return static_cast<double*>(palloc(sizeof(double) * (static_cast<Size>(bins) + 1)));
}

// The bound at `argument`, or `otherwise` where it is missing.
double read_end(FunctionCallInfo fcinfo, const Call& call, int argument, double otherwise) {
  if (PG_ARGISNULL(argument)) return otherwise;
  const double x =
      bound_to_double(call.question.type[0], get_fn_expr_argtype(fcinfo->flinfo, argument),
                      PG_GETARG_DATUM(argument));
  if (!std::isfinite(x))
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("equal bins need finite bounds"),
             errhint("Give the bounds of all bins to approx_histogram_at().")));
  return x;
}

enum class Equal { width, rows, round };

Equal read_equal(FunctionCallInfo fcinfo, int argument) {
  reject_null(fcinfo, argument, "equal");
  const text* value = PG_GETARG_TEXT_PP(argument);
  const std::string_view name(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value));
  if (name == "width") return Equal::width;
  if (name == "round") return Equal::round;
  if (name != "rows")
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("invalid value for equal: \"%s\"", text_to_cstring(value)),
                    errhint("It is 'width', 'rows' or 'round'.")));
  return Equal::rows;
}

// Bins of as many rows each between the ends, as near as values that many rows have allow: edges at
// quantiles, each once. Returns how many bins there are.
int divide_rows(const Call& call, int bins, double* edges) {
  const kde::DensityView density = call.density.view();
  kde::Range range;
  range.lower_unbounded = false;
  range.lower = edges[0];
  const double below = density.header().rows - kde::count(density, range);
  range.upper_unbounded = false;
  range.upper = edges[bins];
  const double within = kde::count(density, range);
  const double last = edges[bins];
  int at = 0;
  for (int i = 1; i < bins; ++i) {
    const double share = (below + within * i / bins) / density.header().rows;
    const double edge = kde::quantile(density, std::clamp(share, 0.0, 1.0));
    if (edge > edges[at] && edge < last) edges[++at] = edge;
  }
  edges[++at] = last;
  return at;
}

// (density, bins, by_name_only, lower, upper, filter, equal)
void put_equal_bins(FunctionCallInfo fcinfo, const Call& call) {
  reject_null(fcinfo, 1, "bins");
  int bins = PG_GETARG_INT32(1);
  check_bins(bins);
  const Equal equal = read_equal(fcinfo, 6);
  const kde::Header* h = call.density.one_column;
  const double lower = read_end(fcinfo, call, 3, h->min);
  const double upper = read_end(fcinfo, call, 4, h->max);
  const bool has_span = h->finite_rows() > 0 || (!PG_ARGISNULL(3) && !PG_ARGISNULL(4));
  if (has_span && lower > upper)
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
             errmsg("the lower bound of the histogram is above the upper"),
             errdetail("The bounds are %s and %s.", double_to_text(call.question.type[0], lower),
                       double_to_text(call.question.type[0], upper))));
  if (!has_span)
    bins = 0;
  else if (lower == upper)
    bins = 1;
  if (bins > 0 && lower < upper && equal == Equal::round) {
    const RoundBins wanted = {lower, upper, !PG_ARGISNULL(4), bins, kMostBins, h->lattice_step};
    int round_bins;
    const double* round = round_edges(call.question.type[0], wanted, &round_bins);
    if (round != nullptr) return put_rows(fcinfo, call, round, round_bins);
  }
  double* edges = new_edges(bins);
  edges[0] = lower;
  for (int i = 1; i <= bins; ++i)
    edges[i] = std::max(equally_spaced(lower, upper, i, bins), edges[i - 1]);
  if (bins > 1 && equal == Equal::rows && h->rows > 0) bins = divide_rows(call, bins, edges);
  put_rows(fcinfo, call, edges, bins);
}

// (density, bounds, by_name_only, filter)
void put_bins_between(FunctionCallInfo fcinfo, const Call& call) {
  reject_null(fcinfo, 1, "bounds");
  ArrayType* array = PG_GETARG_ARRAYTYPE_P(1);
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
    if (!nulls[i])
      edges[i] = bound_to_double(call.question.type[0], ARR_ELEMTYPE(array), values[i]);
    if (nulls[i] || std::isnan(edges[i]) || (i > 0 && !(edges[i] > edges[i - 1])))
      ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                      errmsg("the bounds of a histogram must be ascending, neither null nor NaN"),
                      errdetail("Element %d is not.", i + 1)));
  }
  put_rows(fcinfo, call, edges, n - 1);
}

// A NULL density has no rows. filter: that argument.
Datum histogram(FunctionCallInfo fcinfo, int filter, void (*put)(FunctionCallInfo, const Call&)) {
  if (PG_ARGISNULL(0)) {
    (void)begin_rows(fcinfo, kColumns);
    PG_RETURN_NULL();
  }
  check_by_name_only(fcinfo, 2);
  Call call;
  (void)read_density(fcinfo, -1, filter, Needs::order, &call);
  put(fcinfo, call);
  PG_RETURN_NULL();
}

}  // namespace

}  // namespace kde_pg

KDE_EXPORT(approx_histogram);
Datum approx_histogram(PG_FUNCTION_ARGS) {
  return kde_pg::histogram(fcinfo, 5, kde_pg::put_equal_bins);
}
KDE_EXPORT(approx_histogram_at);
Datum approx_histogram_at(PG_FUNCTION_ARGS) {
  return kde_pg::histogram(fcinfo, 3, kde_pg::put_bins_between);
}
