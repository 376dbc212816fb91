// What keeps the catalog in step with the rest of the database:
//
//   on_drop   (event trigger)  removes the densities of dropped tables and columns
//   on_alter  (event trigger)  lets densities follow renamed columns
//   on_row    (row trigger)    gives rows that come by SQL, from a restore or a subscription, the
//                              attribute numbers of this database, its canonical texts and a
//                              number of their own
//   on_upkeep (row trigger)    skips rows of kde_aqp.upkeep that a subscription brings
//   on_change (trigger)        does nothing; version 0.1.0 had it
//
// What fits and drops write by themselves passes none of these. And kde_aqp.is_readable, which the
// view kde_densities asks.
#include "pg/expression.h"
#include "pg/fault.h"
#include "pg/refresh_shared.h"
#include "pg/relation.h"
#include "pg/subtransaction.h"

extern "C" {
#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "commands/event_trigger.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "utils/array.h"
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

// A row's key as it was brought: which elements are expressions say the zeros among the attribute
// numbers it brought, if there are as many as names. False if it is not a key, or speaks of columns
// that do not exist.
bool read_key(HeapTuple tuple, TupleDesc desc, kde_pg::DensityKey* key) {
  using kde_pg::CatalogColumn;
  const auto get = [&](CatalogColumn c) {
    bool is_null;
    return heap_getattr(tuple, static_cast<int>(c), desc, &is_null);
  };
  ArrayType* names = DatumGetArrayTypeP(get(CatalogColumn::column_names));
  ArrayType* numbers = DatumGetArrayTypeP(get(CatalogColumn::attribute_numbers));
  kde_pg::NamedColumns columns;
  if (!kde_pg::read_named_columns(names, numbers, kde::kMaxColumns, &columns) || columns.count == 0)
    return false;
  key->relation = DatumGetObjectId(get(CatalogColumn::relation));
  if (get_rel_name(key->relation) == nullptr) return false;
  key->columns = columns.count;
  for (int i = 0; i < columns.count; ++i) {
    const bool expression = columns.number[i] == 0;
    const AttrNumber attnum =
        expression ? InvalidAttrNumber : get_attnum(key->relation, columns.name[i]);
    if (!expression && attnum <= 0) return false;
    key->column[i] = {attnum, columns.name[i], nullptr};
  }
  key->filter = TextDatumGetCString(get(CatalogColumn::filter));
  return true;
}

// The references that a row brought, under this database's numbers. False if they do not exist.
bool take_references(HeapTuple tuple, TupleDesc desc, kde_pg::DensityKey* key) {
  using kde_pg::CatalogColumn;
  const auto array = [&](CatalogColumn c) {
    bool is_null;
    return DatumGetArrayTypeP(heap_getattr(tuple, static_cast<int>(c), desc, &is_null));
  };
  kde_pg::NamedColumns brought;
  if (!kde_pg::read_named_columns(array(CatalogColumn::reference_names),
                                  array(CatalogColumn::reference_numbers), MaxHeapAttributeNumber,
                                  &brought))
    return false;
  for (int i = 0; i < brought.count; ++i) {
    brought.number[i] = get_attnum(key->relation, brought.name[i]);
    if (brought.number[i] <= 0) return false;
  }
  key->references = brought.count;
  key->reference = brought.number;
  return true;
}

// Gives a key this database's texts and references. False if the texts mean nothing here. A restore
// grants privileges last, so that the owner may not yet use a schema: then all is kept as it came.
bool complete_key(HeapTuple tuple, TupleDesc desc, kde_pg::DensityKey* key) {
  bool plain = !key->has_filter();
  for (int i = 0; i < key->columns; ++i) plain = plain && key->column[i].attnum != 0;
  if (plain) return true;
  const kde_pg::DensityKey brought = *key;
  int sqlstate = 0;
  const auto analyse = [key] {
    Relation rel = relation_open(key->relation, AccessShareLock);
    kde_pg::analyse_key(rel, nullptr, key);
    relation_close(rel, NoLock);
  };
  if (kde_pg::without_error(analyse, &sqlstate)) return true;
  *key = brought;
  return sqlstate == ERRCODE_INSUFFICIENT_PRIVILEGE && take_references(tuple, desc, key);
}

}  // namespace

// It told all sessions to forget what they had cached. They look for themselves (cache.h).
KDE_FUNCTION(kde_on_change) {
  check_trigger(fcinfo, "kde_aqp.on_change");
  PG_RETURN_POINTER(nullptr);
}

KDE_FUNCTION(kde_on_upkeep) {
  check_trigger(fcinfo, "kde_aqp.on_upkeep");
  const TriggerData* data = reinterpret_cast<TriggerData*>(fcinfo->context);
  if (!TRIGGER_FIRED_FOR_ROW(data->tg_event) || !TRIGGER_FIRED_BEFORE(data->tg_event))
    ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                    errmsg("function \"%s\" must be fired before each row", "kde_aqp.on_upkeep")));
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
  for (int i = 1; i <= kde_pg::kCatalogKeyColumns; ++i) {
    // Constraints speak of nulls.
    if (heap_attisnull(tuple, i, desc)) PG_RETURN_POINTER(tuple);
  }

  kde_pg::DensityKey key;
  if (!read_key(tuple, desc, &key)) {
    ereport(NOTICE, (errmsg("skipping a density of a column that does not exist")));
    PG_RETURN_POINTER(nullptr);
  }
  // The extension's owner may insert, but his expressions would be computed, and any table of
  // others read, with its owner's rights at the next refresh.
  if (!kde_pg::is_owner(key.relation)) {
    ereport(NOTICE,
            (errmsg("skipping a density of table \"%s\", which the current user does not own",
                    get_rel_name(key.relation))));
    PG_RETURN_POINTER(nullptr);
  }
  if (!complete_key(tuple, desc, &key)) {
    ereport(NOTICE, (errmsg("skipping a density whose expressions or filter cannot be read"),
                     errdetail("It was fitted to %s.", kde_pg::display_name(key))));
    PG_RETURN_POINTER(nullptr);
  }
  KDE_FAULT("row.completed");
  int columns[kde_pg::kCatalogKeyColumns + 1];
  Datum values[kde_pg::kCatalogKeyColumns + 1];
  bool nulls[kde_pg::kCatalogKeyColumns + 1] = {};
  int n = kde_pg::kCatalogKeyColumns;
  for (int i = 0; i < n; ++i) columns[i] = i + 1;
  kde_pg::catalog_key_datums(key, values);
  // The number it brought is that of another density here, or will be; an UPDATE that comes by a
  // subscription brings one, too.
  constexpr int kId = static_cast<int>(kde_pg::CatalogColumn::id);
  columns[n] = kId;
  values[n] = update ? heap_getattr(data->tg_trigtuple, kId, desc, &nulls[n])
                     : Int64GetDatum(kde_pg::new_density_id());
  ++n;
  kde_pg::note_changed_densities();
  PG_RETURN_POINTER(heap_modify_tuple_by_cols(tuple, desc, n, columns, values, nulls));
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
  KDE_FAULT("drop.done");
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
      " OR (d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass"
      "     AND t.reloftype OPERATOR(pg_catalog.=) (SELECT c.reltype FROM pg_catalog.pg_class AS c"
      "         WHERE c.oid OPERATOR(pg_catalog.=) d.objid"
      "         AND c.relkind OPERATOR(pg_catalog.=) 'c'))"
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
  using namespace kde_pg;
  const Oid relation = PG_GETARG_OID(0);
  const auto readable = [&](int names, int numbers) {
    NamedColumns columns;
    if (!read_named_columns(PG_GETARG_ARRAYTYPE_P(names), PG_GETARG_ARRAYTYPE_P(numbers),
                            MaxHeapAttributeNumber, &columns) ||
        !are_current(relation, columns))
      return false;
    for (int i = 0; i < columns.count; ++i) {
      const AttrNumber number = columns.number[i];
      if (number < 0 || (number > 0 && !is_readable(TableColumn{relation, number}))) return false;
    }
    return true;
  };
  PG_RETURN_BOOL(get_rel_name(relation) != nullptr && readable(1, 2) && readable(3, 4));
}
