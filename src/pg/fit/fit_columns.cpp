// kde_fit of several columns. An array of one is the fit of a column.
#include "pg/fit/column_fit.h"
#include "pg/fit/fit_record.h"
#include "pg/fit/joint_fit.h"

#include "core/density/text.h"

extern "C" {
#include "access/relation.h"
#include "utils/rel.h"
}

namespace kde_pg {

namespace {

// What both kinds of fit tell, in the record's order.
struct Told {
  const char* method;
  ArrayType* matrix;  // null: no bandwidth
  double rows;
  int64 sample_rows;
  Size bytes;
};

Datum record_of(FunctionCallInfo fcinfo, const DensityKey& key, const FitRecord& record,
                const Told& told) {
  Row<20> row;
  put_key(&row, key);
  put_text(&row, key.has_filter() ? key.filter : nullptr);
  put_text(&row, told.method);
  row.put(PointerGetDatum(told.matrix), told.matrix == nullptr);
  put_text(&row, record.bandwidth_status);
  put_text(&row, record.model);
  row.put(Float8GetDatum(told.rows));
  row.put(Int64GetDatum(record.rows_read));
  row.put(Int64GetDatum(told.sample_rows));
  row.put(Int64GetDatum(record.bandwidth_rows));
  row.put(Int64GetDatum(record.stored_rows), record.stored_rows == 0);
  row.put(Int32GetDatum(static_cast<int32>(told.bytes)));
  put_cost(&row, record);
  return row.record(fcinfo);
}

Datum fit_one(FunctionCallInfo fcinfo, const JointFitRequest& joint, Relation relation) {
  ColumnFitRequest request;
  request.key = joint.key;
  request.method_name = joint.method_name;
  request.method = read_column_method(joint.method_name);
  request.sample_rows = joint.sample_rows;
  check_sample_rows(request.sample_rows);
  request.seed = joint.seed;
  request.seed_given = joint.seed_given;
  ColumnFit fit;
  fit_one_column(request, relation, &fit);
  Told told = {};
  told.method = kde::method_name(fit.report.method);
  const double squared = fit.report.bandwidth * fit.report.bandwidth;
  if (fit.report.bandwidth != 0) told.matrix = matrix_array(&squared, 1);
  told.rows = fit.rows;
  told.sample_rows = fit.report.sample_rows;
  told.bytes = fit.bytes;
  return record_of(fcinfo, request.key, fit.record, told);
}

Datum fit_several(FunctionCallInfo fcinfo, const JointFitRequest& request, Relation relation) {
  JointFit fit;
  fit_several_columns(request, relation, &fit);
  Told told = {};
  told.method = fit.method;
  told.matrix = fit.record.bandwidth_matrix;
  told.rows = fit.rows;
  told.sample_rows = fit.sample_rows;
  told.bytes = fit.bytes;
  return record_of(fcinfo, request.key, fit.record, told);
}

}  // namespace

}  // namespace kde_pg

KDE_FUNCTION(kde_fit_columns) {
  using namespace kde_pg;
  check_may_write("kde_fit()");
  reject_null(fcinfo, 0, "relation");
  reject_null(fcinfo, 1, "column_names");
  reject_null(fcinfo, 2, "method");
  reject_null(fcinfo, 3, "sample_rows");
  JointFitRequest request;
  request.method_name = text_to_cstring(PG_GETARG_TEXT_PP(2));
  request.sample_rows = PG_GETARG_INT64(3);
  request.seed_given = !PG_ARGISNULL(4);
  request.seed = request.seed_given ? PG_GETARG_INT64(4) : random_seed();
  Relation relation = open_maintained_relation(PG_GETARG_OID(0));
  check_kind(relation);
  request.key = key_by_arrays(PG_GETARG_OID(0), PG_GETARG_ARRAYTYPE_P(1), text_argument(fcinfo, 5));
  check_may_fit(request.key);
  const Datum result = request.key.columns == 1 ? fit_one(fcinfo, request, relation)
                                                : fit_several(fcinfo, request, relation);
  relation_close(relation, NoLock);
  PG_RETURN_DATUM(result);
}
