// Builds and runs the query of an exact answer. Every name in it is qualified and quoted:
// search_path does not matter.
#include "pg/answer/exact.h"

#include "pg/catalog/planned_rows.h"
#include "pg/answer/range_arguments.h"

extern "C" {
#include "access/parallel.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
}

namespace kde_pg {

namespace {

// What is added up, from the quoted column.
const char* number_of(kde::ValueType type, const char* column) {
  switch (type) {
    case kde::ValueType::float4:
      // The sum of reals is a real to SQL, which loses rows once it is large.
      return psprintf("%s::pg_catalog.float8", column);
    case kde::ValueType::date:
    case kde::ValueType::timestamp:
    case kde::ValueType::timestamptz:
    case kde::ValueType::time:
      return psprintf("pg_catalog.\"extract\"('epoch', %s)", column);
    case kde::ValueType::interval:
      // SQL's epoch has years of 365.25 days, its comparisons have 360: 5.25 days too many.
      return psprintf(
          "pg_catalog.\"extract\"('epoch', %s) OPERATOR(pg_catalog.-) CASE WHEN "
          "pg_catalog.isfinite(%s) THEN pg_catalog.\"extract\"('year', %s) "
          "OPERATOR(pg_catalog.*) 453600 ELSE 0 END",
          column, column, column);
    default:
      return column;
  }
}

const char* aggregate_of(Aggregate aggregate, kde::ValueType type, const char* column) {
  switch (aggregate) {
    case Aggregate::count:
      return psprintf("pg_catalog.count(%s)", column);
    case Aggregate::sum:
      return psprintf("pg_catalog.sum(%s)", number_of(type, column));
    case Aggregate::avg:
      break;
  }
  return psprintf("pg_catalog.avg(%s)", number_of(type, column));
}

// Parameters of the query.
struct Parameters {
  int count;
  Oid types[2];
  Datum values[2];
};

void add_bound(StringInfo query, const char* column, const char* comparison, kde::ValueType type,
               const Bound& bound, Parameters* parameters) {
  if (bound.unbounded) return;
  const int i = parameters->count++;
  parameters->values[i] = bound.value;
  parameters->types[i] = bound_to_sql(type, bound.type, &parameters->values[i]);
  appendStringInfo(query, " %s %s OPERATOR(pg_catalog.%s%s) $%d", i == 0 ? "WHERE" : "AND", column,
                   comparison, bound.inclusive ? "=" : "", i + 1);
}

// What a foreign table's wrapper, or what has taken a table's place in the plan, may do in a
// parallel worker is not known; the rows of a temporary table are in the leader's memory. (Those of
// other sessions' temporary tables no query reads.)
void check_may_read(Oid relation) {
  if (!IsParallelWorker()) return;
  ListCell* cell;
  foreach (cell, find_all_inheritors(relation, AccessShareLock, nullptr)) {
    const Oid child = lfirst_oid(cell);
    const bool foreign = get_rel_relkind(child) == RELKIND_FOREIGN_TABLE;
    if (foreign || (get_rel_persistence(child) == RELPERSISTENCE_TEMP &&
                    isTempNamespace(get_rel_namespace(child))))
      ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                      errmsg("cannot query %s table \"%s\" in a parallel worker",
                             foreign ? "foreign" : "temporary", get_rel_name(child)),
                      errhint("Set max_parallel_workers_per_gather to 0.")));
  }
  if (rows_seem(relation, PlanFunctions::any) == RowsSeem::elsewhere)
    ereport(ERROR,
            (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
             errmsg("cannot query table \"%s\" in a parallel worker", get_rel_name(relation)),
             errdetail("Its rows are elsewhere."),
             errhint("Set max_parallel_workers_per_gather to 0.")));
}

}  // namespace

Result exact_answer(FunctionCallInfo fcinfo, const Target& target, int next, Aggregate aggregate) {
  SqlRange range;
  if (!read_sql_range(fcinfo, next, &range)) return Result::null();
  const Oid relation = target.column.relation;
  // Locked as the query will lock it: names looked up before might be another table's by then.
  LockRelationOid(relation, AccessShareLock);
  const char* table = get_rel_name(relation);
  const char* schema = table == nullptr ? nullptr : get_namespace_name(get_rel_namespace(relation));
  if (schema == nullptr)
    ereport(ERROR,
            (errcode(ERRCODE_UNDEFINED_TABLE), errmsg("the table asked about no longer exists")));
  const char* name = live_column_name(relation, target.column.attnum);
  if (name == nullptr)
    ereport(ERROR,
            (errcode(ERRCODE_UNDEFINED_COLUMN), errmsg("the column asked about no longer exists")));
  check_may_read(relation);

  // An alias, so that no column of the table's name is meant.
  const char* column = psprintf("t.%s", quote_identifier(name));
  StringInfoData query;
  initStringInfo(&query);
  appendStringInfo(&query, "SELECT %s::pg_catalog.float8 FROM %s AS t",
                   aggregate_of(aggregate, target.type, column),
                   quote_qualified_identifier(schema, table));
  Parameters parameters = {};
  if (range.empty) {
    appendStringInfoString(&query, " WHERE false");
  } else {
    add_bound(&query, column, ">", target.type, range.lower, &parameters);
    add_bound(&query, column, "<", target.type, range.upper, &parameters);
  }

  if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "SPI_connect failed");
  const int status = SPI_execute_with_args(query.data, parameters.count, parameters.types,
                                           parameters.values, nullptr, true, 0);
  if (status != SPI_OK_SELECT || SPI_processed != 1)
    elog(ERROR, "the exact query failed: %s", SPI_result_code_string(status));
  bool is_null;
  const Datum value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null);
  const double x = is_null ? 0 : DatumGetFloat8(value);
  SPI_finish();
  return is_null ? Result::null() : Result::number(x);
}

}  // namespace kde_pg
