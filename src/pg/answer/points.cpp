// kde_points: a density and its distribution function at equally spaced points, as rows to plot.
#include "pg/answer/call.h"
#include "pg/values/result_set.h"
#include "pg/values/values.h"
#include "pg/type/curve.h"

#include "core/kde.h"

#include <cmath>

namespace kde_pg {

namespace {

constexpr int kFewestPoints = 2, kMostPoints = 10000;
constexpr int kColumns = 4;

int read_points(FunctionCallInfo fcinfo, int argument) {
  reject_null(fcinfo, argument, "points");
  const int points = PG_GETARG_INT32(argument);
  if (points < kFewestPoints || points > kMostPoints)
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
             errmsg("points must be from %d to %d, not %d", kFewestPoints, kMostPoints, points)));
  return points;
}

double read_end(FunctionCallInfo fcinfo, int argument, double otherwise) {
  if (PG_ARGISNULL(argument)) return otherwise;
  const double x = PG_GETARG_FLOAT8(argument);
  if (!std::isfinite(x))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("equally spaced points need finite bounds"),
                    errhint("Give finite lower and upper bounds, or leave them out.")));
  return x;
}

}  // namespace

}  // namespace kde_pg

// kde_points(density, points, lower, upper). A NULL density has none.
KDE_EXPORT(kde_points);
Datum kde_points(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  const ResultRows rows = begin_rows(fcinfo, kColumns);
  if (PG_ARGISNULL(0)) PG_RETURN_NULL();
  int points = read_points(fcinfo, 1);
  Call call;
  (void)read_density(fcinfo, -1, -1, Needs::order, &call);
  const kde::Header* h = call.density.one_column;
  if (!(h->finite_rows() > 0)) PG_RETURN_NULL();
  const double lower = read_end(fcinfo, 2, h->min);
  const double upper = read_end(fcinfo, 3, h->max);
  if (lower > upper)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("the lower bound of the points is above the upper"),
                    errdetail("The bounds are %s and %s.", place_to_text(h->value_type, lower),
                              place_to_text(h->value_type, upper))));
  if (lower == upper) points = 1;
  const Curve curve = {kde::DensityView(h), lower, upper, points};
  for (int i = 0; i < points; ++i) {
    CHECK_FOR_INTERRUPTS();
    const double x = curve.x(i);
    char* x_text = place_to_text(h->value_type, x);
    rows.put(x, curve.height(i), kde::cdf(curve.density, x), x_text);
    pfree(x_text);
  }
  PG_RETURN_NULL();
}
