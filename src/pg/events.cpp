// What keeps the catalog in step with the rest of the database:
//
//   on_drop   (event trigger)  removes the densities of dropped tables and columns
//   on_alter  (event trigger)  lets densities follow renamed columns
//   on_row    (row trigger)    gives rows that come by SQL, from a restore or a subscription, the
//                              attribute numbers of this database
//   on_change (trigger)        tells all backends to forget cached densities
//
// What fits and drops write by themselves passes none of these. And kde_aqp.is_readable, which the
// view kde_densities asks.
#include "pg/relation.h"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "commands/event_trigger.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "utils/array.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
}

namespace {

void check_trigger(FunctionCallInfo fcinfo, const char* function) {
  if (!CALLED_AS_TRIGGER(fcinfo))
    ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                    errmsg("function \"%s\" was not called by trigger manager", function)));
}

void check_event_trigger(FunctionCallInfo fcinfo, const char* function) {
  if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
    ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                    errmsg("function \"%s\" was not called by event trigger manager", function)));
}

// Runs a query of the trigger's own that returns (oid, integer) and visits each row. Nothing in it
// depends on the search path.
template <typename Visit>
void for_objects(const char* query, Visit visit) {
  if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "SPI_connect failed");
  const int result = SPI_execute(query, true, 0);
  if (result != SPI_OK_SELECT)
    elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(result));
  SPITupleTable* table = SPI_tuptable;
  for (uint64 i = 0; i < table->numvals; ++i) {
    bool is_null;
    const Datum oid = SPI_getbinval(table->vals[i], table->tupdesc, 1, &is_null);
    const Datum number = SPI_getbinval(table->vals[i], table->tupdesc, 2, &is_null);
    visit(DatumGetObjectId(oid), DatumGetInt32(number));
  }
  SPI_finish();
}

}  // namespace

KDE_FUNCTION(kde_on_change) {
  check_trigger(fcinfo, "kde_aqp.on_change");
  const TriggerData* data = reinterpret_cast<TriggerData*>(fcinfo->context);
  CacheInvalidateRelcacheByRelid(RelationGetRelid(data->tg_relation));
  PG_RETURN_POINTER(nullptr);
}

KDE_FUNCTION(kde_on_row) {
  check_trigger(fcinfo, "kde_aqp.on_row");
  const TriggerData* data = reinterpret_cast<TriggerData*>(fcinfo->context);
  if (!TRIGGER_FIRED_FOR_ROW(data->tg_event) || !TRIGGER_FIRED_BEFORE(data->tg_event))
    ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                    errmsg("function \"%s\" must be fired before each row", "kde_aqp.on_row")));
  const bool update = TRIGGER_FIRED_BY_UPDATE(data->tg_event);
  HeapTuple tuple = update ? data->tg_newtuple : data->tg_trigtuple;
  TupleDesc desc = RelationGetDescr(data->tg_relation);
  const auto at = [](kde_pg::CatalogColumn c) { return static_cast<int>(c); };
  bool null_relation, null_names;
  const Datum relation =
      heap_getattr(tuple, at(kde_pg::CatalogColumn::relation), desc, &null_relation);
  const Datum names =
      heap_getattr(tuple, at(kde_pg::CatalogColumn::column_names), desc, &null_names);
  // Constraints speak of nulls.
  if (null_relation || null_names) PG_RETURN_POINTER(tuple);

  const char* name = kde_pg::single_name(DatumGetArrayTypeP(names));
  const Oid oid = DatumGetObjectId(relation);
  const AttrNumber attnum =
      name == nullptr || get_rel_name(oid) == nullptr ? InvalidAttrNumber : get_attnum(oid, name);
  if (attnum <= 0) {
    ereport(NOTICE, (errmsg("skipping a density of a column that does not exist")));
    PG_RETURN_POINTER(nullptr);
  }
  int column = at(kde_pg::CatalogColumn::attribute_numbers);
  Datum value = PointerGetDatum(kde_pg::single_number_array(attnum));
  bool is_null = false;
  PG_RETURN_POINTER(heap_modify_tuple_by_cols(tuple, desc, 1, &column, &value, &is_null));
}

KDE_FUNCTION(kde_on_drop) {
  check_event_trigger(fcinfo, "kde_aqp.on_drop");
  // The extension itself may be what is being dropped.
  if (!OidIsValid(kde_pg::catalog_oid_or_invalid())) PG_RETURN_NULL();
  for_objects(
      "SELECT objid, objsubid FROM pg_catalog.pg_event_trigger_dropped_objects()"
      " WHERE classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass"
      " AND object_type OPERATOR(pg_catalog.=) ANY ('{table,table column,foreign table,"
      "foreign table column,materialized view}'::pg_catalog.text[])",
      [](Oid relation, int32 attnum) {
        kde_pg::catalog_remove_dropped(relation, static_cast<AttrNumber>(attnum));
      });
  PG_RETURN_NULL();
}

KDE_FUNCTION(kde_on_alter) {
  check_event_trigger(fcinfo, "kde_aqp.on_alter");
  if (!OidIsValid(kde_pg::catalog_oid_or_invalid())) PG_RETURN_NULL();
  // A rename reaches the children of a table, and a type's attributes those of its typed tables.
  for_objects(
      "SELECT DISTINCT t.oid, 0 FROM pg_catalog.pg_event_trigger_ddl_commands() AS d"
      " JOIN pg_catalog.pg_class AS t"
      " ON (d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass"
      "     AND t.oid OPERATOR(pg_catalog.=) d.objid)"
      " OR (d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_type'::pg_catalog.regclass"
      "     AND t.reloftype OPERATOR(pg_catalog.=) d.objid)"
      " WHERE t.relkind OPERATOR(pg_catalog.=) ANY ('{r,m,p,f}'::pg_catalog.\"char\"[])",
      [](Oid relation, int32) {
        ListCell* cell;
        foreach (cell, find_all_inheritors(relation, NoLock, nullptr))
          kde_pg::catalog_follow_renames(lfirst_oid(cell));
      });
  PG_RETURN_NULL();
}

KDE_FUNCTION(kde_is_readable) {
  const Oid relation = PG_GETARG_OID(0);
  const char* name = kde_pg::single_name(PG_GETARG_ARRAYTYPE_P(1));
  ArrayType* numbers = PG_GETARG_ARRAYTYPE_P(2);
  if (name == nullptr || ARR_NDIM(numbers) != 1 || ARR_DIMS(numbers)[0] != 1 ||
      ARR_HASNULL(numbers) || get_rel_name(relation) == nullptr)
    PG_RETURN_BOOL(false);
  const int16 number = *reinterpret_cast<int16*>(ARR_DATA_PTR(numbers));
  const kde_pg::TableColumn column{relation, kde_pg::current_attnum(relation, number, name)};
  PG_RETURN_BOOL(column.attnum > 0 && kde_pg::is_readable(column));
}
