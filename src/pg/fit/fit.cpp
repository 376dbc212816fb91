// kde_fit of one column, and kde_drop.
#include "pg/catalog/not_fitted.h"
#include "pg/fit/bandwidth.h"
#include "pg/fit/column_fit.h"
#include "pg/fit/fit_record.h"
#include "pg/fit/fit_steps.h"

#include "core/kde.h"

extern "C" {
#include "access/relation.h"
#include "catalog/pg_type.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

namespace kde_pg {

namespace {

DensityRequest read_request(FunctionCallInfo fcinfo) {
  reject_null(fcinfo, 0, "relation");
  reject_null(fcinfo, 1, "column_name");
  DensityRequest request;
  request.asked = read_asked(fcinfo, 8);
  const kde::Method method = read_column_method(request.asked.method);
  check_sample_rows(request.asked.sample_rows);
  reject_null(fcinfo, 5, "exact");
  reject_null(fcinfo, 6, "kernel");
  request.asked.exact = PG_GETARG_BOOL(5);
  request.kernel = read_kernel(PG_GETARG_TEXT_PP(6));
  check_kernel(method, request.kernel);
  return request;
}

// The key of a stored density that has exactly these texts, whether or not they still can be read.
bool find_by_texts(Oid relation, ArrayType* columns, text* filter, DensityKey* key) {
  if (ARR_NDIM(columns) != 1 || ARR_HASNULL(columns)) return false;
  Datum* values;
  int n;
  deconstruct_array(columns, TEXTOID, -1, false, TYPALIGN_INT, &values, nullptr, &n);
  Snapshot latest = RegisterSnapshot(GetLatestSnapshot());
  List* stored = catalog_list(relation, latest);
  UnregisterSnapshot(latest);
  const char* condition = filter == nullptr ? "" : text_to_cstring(filter);
  ListCell* cell;
  foreach (cell, stored) {
    const DensityKey& candidate = static_cast<CatalogEntry*>(lfirst(cell))->key;
    bool same = candidate.columns == n && strcmp(candidate.filter, condition) == 0;
    for (int k = 0; same && k < n; ++k)
      same = strcmp(candidate.column[k].text, TextDatumGetCString(values[k])) == 0;
    if (!same) continue;
    *key = candidate;
    return true;
  }
  return false;
}

bool drop(const DensityKey& key, bool if_exists) {
  catalog_lock(key);
  const bool removed = catalog_remove(key);
  if (removed) return true;
  if (!if_exists)
    ereport(ERROR,
            (errcode(ERRCODE_UNDEFINED_OBJECT),
             errmsg("no density is fitted for %s", display_name(key)),
             errhint("%skde_densities lists those fitted; if_exists => true makes this a notice.",
                     fitted_nearby(key))));
  ereport(NOTICE, (errmsg("no density is fitted for %s, skipping", display_name(key))));
  return false;
}

}  // namespace

}  // namespace kde_pg

KDE_FUNCTION(kde_fit) {
  using namespace kde_pg;
  check_may_write("kde_fit()");
  DensityRequest request = read_request(fcinfo);
  Relation relation = open_maintained_relation(PG_GETARG_OID(0));
  check_kind(relation);
  request.key =
      key_by_name(PG_GETARG_OID(0), NameStr(*PG_GETARG_NAME(1)), text_argument(fcinfo, 7));
  check_may_fit(request.key);
  DensityFit fit;
  fit_density(request, relation, &fit);

  Row<21> row;
  put_key(&row, request.key);
  put_text(&row, fit.method);
  row.put(CStringGetTextDatum(kde::kernel_name(request.kernel)));
  row.put(Float8GetDatum(fit.bandwidth), fit.bandwidth == 0);
  put_text(&row, fit.record.bandwidth_status);
  put_text(&row, fit.record.model);
  row.put(Float8GetDatum(fit.rows));
  row.put(Int64GetDatum(fit.record.rows_read));
  row.put(Int64GetDatum(fit.sample_rows));
  row.put(Int64GetDatum(fit.record.bandwidth_rows));
  row.put(Int32GetDatum(fit.cells));
  row.put(Int32GetDatum(static_cast<int32>(fit.bytes)));
  put_text(&row, fit.expected_error);
  put_cost(&row, fit.record);
  const Datum result = row.record(fcinfo);
  relation_close(relation, NoLock);
  PG_RETURN_DATUM(result);
}

KDE_FUNCTION(kde_drop) {
  using namespace kde_pg;
  check_may_write("kde_drop()");
  reject_null(fcinfo, 0, "relation");
  reject_null(fcinfo, 1, "column_name");
  reject_null(fcinfo, 2, "if_exists");
  Relation relation = open_owned_relation(PG_GETARG_OID(0));
  const DensityKey key =
      key_by_name(PG_GETARG_OID(0), NameStr(*PG_GETARG_NAME(1)), text_argument(fcinfo, 3));
  const bool removed = drop(key, PG_GETARG_BOOL(2));
  relation_close(relation, NoLock);
  PG_RETURN_BOOL(removed);
}

// kde_drop(regclass, text[], ...)
KDE_FUNCTION(kde_drop_columns) {
  using namespace kde_pg;
  check_may_write("kde_drop()");
  reject_null(fcinfo, 0, "relation");
  reject_null(fcinfo, 1, "column_names");
  reject_null(fcinfo, 3, "if_exists");
  const Oid oid = PG_GETARG_OID(0);
  Relation relation = open_owned_relation(oid);
  ArrayType* columns = PG_GETARG_ARRAYTYPE_P(1);
  text* filter = text_argument(fcinfo, 2);
  DensityKey key;
  if (!find_by_texts(oid, columns, filter, &key)) key = key_by_arrays(oid, columns, filter);
  const bool removed = drop(key, PG_GETARG_BOOL(3));
  relation_close(relation, NoLock);
  PG_RETURN_BOOL(removed);
}
