// kde_fit of several columns. An array of one is the fit of a column.
#include "pg/base/number_array.h"
#include "pg/catalog/density_name.h"
#include "pg/fit/density_fit.h"
#include "pg/fit/fit_record.h"

extern "C" {
#include "access/relation.h"
#include "utils/rel.h"
}

// kde_fit(regclass, text[], ...)
KDE_FUNCTION(kde_fit_columns) {
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

  const FitRecord& record = fit.record;
  ArrayType* matrix = record.bandwidth_matrix;
  const double squared = fit.bandwidth * fit.bandwidth;
  if (fit.bandwidth != 0) matrix = matrix_array(&squared, 1);
  Row<22> row;
  put_key(&row, request.key);
  put_text(&row, request.key.has_filter() ? request.key.filter : nullptr);
  put_text(&row, fit.method);
  row.put(PointerGetDatum(matrix), matrix == nullptr);
  put_text(&row, record.bandwidth_status);
  put_text(&row, record.model);
  row.put(Float8GetDatum(fit.rows));
  row.put(Int64GetDatum(record.rows_read));
  row.put(Int64GetDatum(fit.sample_rows));
  row.put(Int64GetDatum(record.bandwidth_rows));
  row.put(Int64GetDatum(record.stored_rows), record.stored_rows == 0);
  row.put(Int32GetDatum(static_cast<int32>(fit.bytes)));
  put_cost(&row, record);
  ArrayType* measures = measures_of(request.key);
  row.put(PointerGetDatum(measures), measures == nullptr);
  ArrayType* groups = groups_of(request.key);
  row.put(PointerGetDatum(groups), groups == nullptr);
  const Datum result = row.record(fcinfo);
  relation_close(relation, NoLock);
  PG_RETURN_DATUM(result);
}
