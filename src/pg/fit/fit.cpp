// kde_fit of one column.
#include "pg/fit/bandwidth.h"
#include "pg/fit/column_fit.h"
#include "pg/fit/fit_record.h"
#include "pg/fit/fit_steps.h"

#include "core/kde.h"

extern "C" {
#include "access/relation.h"
#include "utils/rel.h"
}

namespace kde_pg {

namespace {

DensityRequest read_request(FunctionCallInfo fcinfo) {
  reject_null(fcinfo, 0, "relation");
  reject_null(fcinfo, 1, "column_name");
  DensityRequest request;
  request.asked = read_asked(fcinfo, 8, 11);
  const kde::Method method = read_column_method(request.asked.method);
  check_sample_rows(request.asked.sample_rows);
  reject_null(fcinfo, 5, "exact");
  reject_null(fcinfo, 6, "kernel");
  request.asked.exact = PG_GETARG_BOOL(5);
  request.kernel = read_kernel(PG_GETARG_TEXT_PP(6));
  reject_null(fcinfo, 12, "incremental");
  request.asked.incremental = PG_GETARG_BOOL(12);
  check_kernel(method, request.kernel);
  return request;
}

}  // namespace

}  // namespace kde_pg

KDE_EXPORT(kde_fit);
Datum kde_fit(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  check_may_write("kde_fit()");
  DensityRequest request = read_request(fcinfo);
  Relation relation = open_maintained_relation(PG_GETARG_OID(0));
  check_kind(relation);
  request.key = key_by_name(PG_GETARG_OID(0), NameStr(*PG_GETARG_NAME(1)), text_argument(fcinfo, 7),
                            measures_argument(fcinfo, 9), group_by_argument(fcinfo, 10));
  check_may_fit(request.key);
  DensityFit fit;
  fit_density(request, relation, &fit);

  const Datum result = fit_record(fcinfo, request.key, fit);
  relation_close(relation, NoLock);
  PG_RETURN_DATUM(result);
}
