// kde_sample: a density of one's own, as a value: of the rows that the current user may read.
#include "pg/catalog/column_name.h"
#include "pg/catalog/privileges.h"
#include "pg/fit/road.h"
#include "pg/type/density_datum.h"

extern "C" {
#include "access/relation.h"
#include "utils/rel.h"
}

// kde_sample(regclass, name, seed)
KDE_EXPORT(kde_sample);
Datum kde_sample(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  reject_null(fcinfo, 0, "relation");
  reject_null(fcinfo, 1, "column_name");
  const TableColumn column = column_by_name(PG_GETARG_OID(0), NameStr(*PG_GETARG_NAME(1)));
  // Before the lock, so that nobody queues for what he may not read, and again with it.
  (void)check_selectable(column);
  Relation relation = try_relation_open(column.relation, AccessShareLock);
  if (relation == nullptr)
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
                    errmsg("relation with OID %u does not exist", column.relation)));
  check_kind(relation);
  const bool has_policies = check_selectable(column);
  DensityRequest request;
  request.key = key_of(column);
  request.asked = {};
  request.asked.method = "auto";
  request.asked.sample_rows = kAllRowsRead;
  request.asked.seed = PG_ARGISNULL(2) ? random_seed() : PG_GETARG_INT64(2);
  Road road;
  road.begin(&request, 1, relation);
  progress_begin(request.key, request.operation);
  ScanOptions options = scan_options(request);
  options.as_owner = false;
  options.by_query = has_policies;
  road.read(options, false);
  road.check_something_to_fit();
  road.fit();
  const Datum density = density_to_datum(road.estimate().density());
  progress_end();
  road.end();
  relation_close(relation, NoLock);
  return density;
}
