// What keeps the catalog in step with the rest of the database: an event trigger that removes the
// densities of dropped tables and columns, and a trigger that tells all backends when somebody
// (a restore, a superuser) writes the catalog by SQL. And kde_aqp.readable_columns, which the
// view kde_densities asks.
#include "pg/relation.h"

extern "C" {
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/event_trigger.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "utils/array.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
}

KDE_FUNCTION(kde_on_catalog_change) {
  if (!CALLED_AS_TRIGGER(fcinfo))
    ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                    errmsg("function \"%s\" was not called by trigger manager",
                           "kde_aqp.on_catalog_change")));
  const TriggerData* data = reinterpret_cast<TriggerData*>(fcinfo->context);
  CacheInvalidateRelcacheByRelid(RelationGetRelid(data->tg_relation));
  PG_RETURN_POINTER(nullptr);
}

KDE_FUNCTION(kde_on_drop) {
  if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
    ereport(ERROR,
            (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
             errmsg("function \"%s\" was not called by event trigger manager", "kde_aqp.on_drop")));
  // The extension itself may be what is being dropped.
  if (!OidIsValid(kde_pg::catalog_oid_or_invalid())) PG_RETURN_NULL();

  if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "SPI_connect failed");
  const int result = SPI_execute(
      "SELECT objid, objsubid FROM pg_catalog.pg_event_trigger_dropped_objects()"
      " WHERE classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass"
      " AND object_type OPERATOR(pg_catalog.=) ANY ('{table,table column,foreign table,"
      "foreign table column,materialized view}'::pg_catalog.text[])",
      true, 0);
  if (result != SPI_OK_SELECT)
    elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(result));
  for (uint64 i = 0; i < SPI_processed; ++i) {
    bool is_null;
    HeapTuple tuple = SPI_tuptable->vals[i];
    const Oid relation = DatumGetObjectId(SPI_getbinval(tuple, SPI_tuptable->tupdesc, 1, &is_null));
    const int32 attnum = DatumGetInt32(SPI_getbinval(tuple, SPI_tuptable->tupdesc, 2, &is_null));
    kde_pg::catalog_remove_dropped(relation, static_cast<AttrNumber>(attnum));
  }
  SPI_finish();
  PG_RETURN_NULL();
}

KDE_FUNCTION(kde_readable_columns) {
  const Oid relation = PG_GETARG_OID(0);
  ArrayType* names = PG_GETARG_ARRAYTYPE_P(1);
  const Oid row_relation = PG_GETARG_OID(2);
  ArrayType* numbers = PG_GETARG_ARRAYTYPE_P(3);
  if (ARR_NDIM(names) != 1 || ARR_HASNULL(names) || ARR_NDIM(numbers) != 1 ||
      ARR_HASNULL(numbers) || ARR_DIMS(names)[0] != ARR_DIMS(numbers)[0])
    PG_RETURN_NULL();
  if (get_rel_name(relation) == nullptr) PG_RETURN_NULL();
  const int n = ARR_DIMS(names)[0];
  const NameData* name = reinterpret_cast<NameData*>(ARR_DATA_PTR(names));
  const int16* number = reinterpret_cast<int16*>(ARR_DATA_PTR(numbers));
  Datum* present = static_cast<Datum*>(palloc(sizeof(Datum) * static_cast<Size>(n)));
  for (int i = 0; i < n; ++i) {
    const kde_pg::TableColumn column{
        relation, kde_pg::current_attnum(relation, row_relation, number[i], NameStr(name[i]))};
    if (column.attnum == InvalidAttrNumber || !kde_pg::is_readable(column)) PG_RETURN_NULL();
    NameData* copy = static_cast<NameData*>(palloc(sizeof(NameData)));
    namestrcpy(copy, kde_pg::column_name(relation, column.attnum));
    present[i] = NameGetDatum(copy);
  }
  PG_RETURN_ARRAYTYPE_P(construct_array(present, n, NAMEOID, NAMEDATALEN, false, TYPALIGN_CHAR));
}
