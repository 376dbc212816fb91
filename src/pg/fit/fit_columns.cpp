// kde_fit of several columns. An array of one is the fit of a column.
#include "pg/catalog/density_name.h"
#include "pg/fit/density_fit.h"
#include "pg/fit/fit_record.h"

extern "C" {
#include "access/relation.h"
#include "utils/rel.h"
}

// kde_fit(regclass, text[], ...)
KDE_EXPORT(kde_fit_columns);
Datum kde_fit_columns(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  check_may_write("kde_fit()");
  reject_null(fcinfo, 0, "relation");
  reject_null(fcinfo, 1, "column_names");
  DensityRequest request;
  request.asked = read_asked(fcinfo, 6, 9);
  Relation relation = open_maintained_relation(PG_GETARG_OID(0));
  check_kind(relation);
  request.key = key_by_arrays(PG_GETARG_OID(0), PG_GETARG_ARRAYTYPE_P(1), text_argument(fcinfo, 5),
                              measures_argument(fcinfo, 7), group_by_argument(fcinfo, 8));
  check_may_fit(request.key);
  DensityFit fit;
  fit_density(request, relation, &fit);

  const Datum result = fit_record(fcinfo, request.key, fit);
  relation_close(relation, NoLock);
  PG_RETURN_DATUM(result);
}
