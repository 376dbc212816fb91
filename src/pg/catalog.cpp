// Access to kde_aqp.density by its primary key's index. The layout here is that of the install
// script.
#include "pg/catalog.h"

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_type.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
}

namespace kde_pg {

namespace {

enum Column {
  kRelation = 1,
  kColumnNames,
  kAttributeNumbers,
  kDensity,
  kRequestedMethod,
  kRequestedExact,
  kRequestedSampleRows,
  kSeed,
  kRowsRead,
  kDesignEffect,
  kBandwidthRows,
  kBandwidthStatus,
  kModel,
  kEngine,
  kThreads,
  kScanMs,
  kSelectMs,
  kEstimateMs,
  kFittedAt,
  kColumns = kFittedAt
};

// A row's one column. Rows may also come from a dump or from the extension owner's hand, so
// anything but one non-null element is skipped (by name == nullptr).
struct RowColumn {
  const char* name;
  AttrNumber attnum;
};

bool is_single(ArrayType* array, Oid type) {
  return ARR_NDIM(array) == 1 && ARR_DIMS(array)[0] == 1 && !ARR_HASNULL(array) &&
         ARR_ELEMTYPE(array) == type;
}

RowColumn row_column(HeapTuple tuple, TupleDesc desc) {
  bool null_names, null_numbers;
  const Datum names = heap_getattr(tuple, kColumnNames, desc, &null_names);
  const Datum numbers = heap_getattr(tuple, kAttributeNumbers, desc, &null_numbers);
  if (null_names || null_numbers) return {};
  ArrayType* number_array = DatumGetArrayTypeP(numbers);
  const char* name = single_name(DatumGetArrayTypeP(names));
  if (name == nullptr || !is_single(number_array, INT2OID)) return {};
  return {name, *reinterpret_cast<int16*>(ARR_DATA_PTR(number_array))};
}

// Opens the catalog. Its layout must be the one this library was built for: between the files of a
// new version and ALTER EXTENSION UPDATE it is not.
Relation open_catalog(LOCKMODE lock) {
  Relation catalog = table_open(catalog_oid(), lock);
  if (RelationGetNumberOfAttributes(catalog) != kColumns)
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("the catalog of extension \"kde_aqp\" is of another version than its "
                           "library"),
                    errhint("Run ALTER EXTENSION kde_aqp UPDATE, or reconnect.")));
  return catalog;
}

Oid primary_key_index(Relation catalog) {
#if PG_VERSION_NUM >= 180000
  return RelationGetPrimaryKeyIndex(catalog, false);
#else
  return RelationGetPrimaryKeyIndex(catalog);
#endif
}

// Calls visit(tuple, row) for each row of a relation until it returns false.
template <typename Visit>
void for_rows_of(Relation catalog, Oid relation, Snapshot snapshot, Visit visit) {
  ScanKeyData key;
  ScanKeyInit(&key, kRelation, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relation));
  SysScanDesc scan =
      systable_beginscan(catalog, primary_key_index(catalog), true, snapshot, 1, &key);
  HeapTuple tuple;
  while (HeapTupleIsValid(tuple = systable_getnext(scan))) {
    const RowColumn row = row_column(tuple, RelationGetDescr(catalog));
    if (row.name == nullptr) continue;
    if (!visit(tuple, row)) break;
  }
  systable_endscan(scan);
}

// The newest committed (or own) state, registered until released.
class LatestSnapshot {
 public:
  // Trivially destructible: an error releases it with the resource owner.
  void take() { snapshot_ = RegisterSnapshot(GetLatestSnapshot()); }
  void release() { UnregisterSnapshot(snapshot_); }
  Snapshot get() const { return snapshot_; }

 private:
  Snapshot snapshot_ = nullptr;
};

ArrayType* single(Datum element, Oid type) {
  int16 length;
  bool by_value;
  char align;
  get_typlenbyvalalign(type, &length, &by_value, &align);
  return construct_array(&element, 1, type, length, by_value, align);
}

// In REPEATABLE READ and up: what is about to be replaced or removed must be what the transaction
// sees; anything else another transaction has changed meanwhile.
void check_snapshot_agrees(TableColumn column, const StoredDensity& latest) {
  if (!IsolationUsesXactSnapshot() || latest.own) return;
  const StoredDensity seen = catalog_find(column, GetTransactionSnapshot(), false);
  const bool same = seen.found == latest.found &&
                    (!seen.found || ItemPointerEquals(const_cast<ItemPointer>(&seen.tid),
                                                      const_cast<ItemPointer>(&latest.tid)));
  if (!same)
    ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                    errmsg("could not serialize access due to concurrent update")));
}

// Rows are written under locks that exclude each other (a column's lock here, the table's in DDL),
// so only a change by SQL to the catalog itself can come between.
void delete_row(Relation catalog, ItemPointer tid) {
  TM_FailureData failure;
  const TM_Result result =
      table_tuple_delete(catalog, tid, GetCurrentCommandId(true), InvalidSnapshot, InvalidSnapshot,
                         true, &failure, false);
  if (result != TM_Ok)
    ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                    errmsg("could not serialize access due to concurrent update")));
}

}  // namespace

const char* live_column_name(Oid relation, AttrNumber attnum) {
  HeapTuple tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relation), Int16GetDatum(attnum));
  if (!HeapTupleIsValid(tuple)) return nullptr;
  const Form_pg_attribute attribute = reinterpret_cast<Form_pg_attribute>(GETSTRUCT(tuple));
  const char* name = attribute->attisdropped ? nullptr : pstrdup(NameStr(attribute->attname));
  ReleaseSysCache(tuple);
  return name;
}

ArrayType* single_name_array(const char* name) {
  NameData data;
  namestrcpy(&data, name);
  return single(NameGetDatum(&data), NAMEOID);
}

ArrayType* single_number_array(AttrNumber attnum) { return single(Int16GetDatum(attnum), INT2OID); }

const char* single_name(ArrayType* array) {
  return is_single(array, NAMEOID) ? NameStr(*reinterpret_cast<Name>(ARR_DATA_PTR(array)))
                                   : nullptr;
}

Oid catalog_oid_or_invalid() {
  const Oid schema = get_namespace_oid("kde_aqp", true);
  return OidIsValid(schema) ? get_relname_relid("density", schema) : InvalidOid;
}

Oid catalog_oid() {
  const Oid oid = catalog_oid_or_invalid();
  if (!OidIsValid(oid))
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("extension \"kde_aqp\" is not installed in this database"),
                    errhint("Run CREATE EXTENSION kde_aqp.")));
  return oid;
}

AttrNumber current_attnum(Oid relation, AttrNumber row_attnum, const char* row_name) {
  const AttrNumber attnum = get_attnum(relation, row_name);
  return attnum == row_attnum ? attnum : InvalidAttrNumber;
}

StoredDensity catalog_find(TableColumn column, Snapshot snapshot, bool want_value) {
  StoredDensity out;
  Relation catalog = open_catalog(AccessShareLock);
  for_rows_of(catalog, column.relation, snapshot, [&](HeapTuple tuple, const RowColumn& row) {
    if (current_attnum(column.relation, row.attnum, row.name) != column.attnum) return true;
    out.found = true;
    out.tid = tuple->t_self;
    out.xmin = HeapTupleHeaderGetXmin(tuple->t_data);
    out.own = TransactionIdIsCurrentTransactionId(out.xmin);
    if (out.own) out.cmin = HeapTupleHeaderGetCmin(tuple->t_data);
    if (want_value) {
      bool is_null;
      const Datum value = heap_getattr(tuple, kDensity, RelationGetDescr(catalog), &is_null);
      if (is_null)
        ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED), errmsg("catalog row without a density")));
      out.value = PG_DETOAST_DATUM_COPY(value);
    }
    return false;
  });
  table_close(catalog, AccessShareLock);
  return out;
}

void catalog_lock_column(TableColumn column) {
  LOCKTAG tag;
  SET_LOCKTAG_OBJECT(tag, MyDatabaseId, catalog_oid(), column.relation,
                     static_cast<uint16>(column.attnum));
  (void)LockAcquire(&tag, ExclusiveLock, false, false);
  // What the holder before us committed must be seen from here on.
  AcceptInvalidationMessages();
}

void catalog_store(TableColumn column, const FitRecord& record) {
  Relation catalog = open_catalog(RowExclusiveLock);
  LatestSnapshot latest;
  latest.take();
  const StoredDensity old = catalog_find(column, latest.get(), false);
  check_snapshot_agrees(column, old);
  if (old.found) {
    delete_row(catalog, const_cast<ItemPointer>(&old.tid));
    CommandCounterIncrement();
  }
  latest.release();

  const char* name = live_column_name(column.relation, column.attnum);
  if (name == nullptr)
    elog(ERROR, "column %d of relation %u is gone", column.attnum, column.relation);
  Datum values[kColumns] = {};
  bool nulls[kColumns] = {};
  const auto put = [&values](int at, Datum value) { values[at - 1] = value; };
  put(kRelation, ObjectIdGetDatum(column.relation));
  put(kColumnNames, PointerGetDatum(single_name_array(name)));
  put(kAttributeNumbers, PointerGetDatum(single_number_array(column.attnum)));
  put(kDensity, PointerGetDatum(record.density));
  put(kRequestedMethod, CStringGetTextDatum(record.requested_method));
  put(kRequestedExact, BoolGetDatum(record.requested_exact));
  put(kRequestedSampleRows, Int64GetDatum(record.requested_sample_rows));
  put(kSeed, Int64GetDatum(record.seed));
  put(kRowsRead, Int64GetDatum(record.rows_read));
  put(kDesignEffect, Float8GetDatum(record.design_effect));
  put(kBandwidthRows, Int64GetDatum(record.bandwidth_rows));
  const auto put_or_null = [&](int at, const char* text) {
    nulls[at - 1] = text == nullptr;
    if (text != nullptr) put(at, CStringGetTextDatum(text));
  };
  put_or_null(kBandwidthStatus, record.bandwidth_status);
  put_or_null(kModel, record.model);
  put_or_null(kEngine, record.engine);
  put(kThreads, Int32GetDatum(record.threads));
  put(kScanMs, Float8GetDatum(record.scan_ms));
  put(kSelectMs, Float8GetDatum(record.select_ms));
  put(kEstimateMs, Float8GetDatum(record.estimate_ms));
  put(kFittedAt, TimestampTzGetDatum(GetCurrentTimestamp()));
  CatalogTupleInsert(catalog, heap_form_tuple(RelationGetDescr(catalog), values, nulls));
  CacheInvalidateRelcacheByRelid(RelationGetRelid(catalog));
  table_close(catalog, RowExclusiveLock);
  CommandCounterIncrement();
}

bool catalog_remove(TableColumn column) {
  Relation catalog = open_catalog(RowExclusiveLock);
  LatestSnapshot latest;
  latest.take();
  const StoredDensity old = catalog_find(column, latest.get(), false);
  check_snapshot_agrees(column, old);
  if (old.found) {
    delete_row(catalog, const_cast<ItemPointer>(&old.tid));
    CacheInvalidateRelcacheByRelid(RelationGetRelid(catalog));
  }
  latest.release();
  table_close(catalog, RowExclusiveLock);
  CommandCounterIncrement();
  return old.found;
}

void catalog_remove_dropped(Oid relation, AttrNumber attnum) {
  Relation catalog = open_catalog(RowExclusiveLock);
  LatestSnapshot latest;
  latest.take();
  bool any = false;
  for_rows_of(catalog, relation, latest.get(), [&](HeapTuple tuple, const RowColumn& row) {
    if (attnum != 0 && row.attnum != attnum) return true;
    delete_row(catalog, &tuple->t_self);
    any = true;
    return true;
  });
  latest.release();
  if (any) CacheInvalidateRelcacheByRelid(RelationGetRelid(catalog));
  table_close(catalog, RowExclusiveLock);
  if (any) CommandCounterIncrement();
}

void catalog_follow_renames(Oid relation) {
  Relation catalog = open_catalog(RowExclusiveLock);
  LatestSnapshot latest;
  latest.take();
  List* renamed = NIL;
  for_rows_of(catalog, relation, latest.get(), [&](HeapTuple tuple, const RowColumn& row) {
    const char* name = live_column_name(relation, row.attnum);
    if (name == nullptr || strcmp(name, row.name) == 0) return true;
    Datum values[kColumns] = {};
    bool nulls[kColumns] = {};
    bool replace[kColumns] = {};
    values[kColumnNames - 1] = PointerGetDatum(single_name_array(name));
    replace[kColumnNames - 1] = true;
    renamed = lappend(renamed,
                      heap_modify_tuple(tuple, RelationGetDescr(catalog), values, nulls, replace));
    delete_row(catalog, &tuple->t_self);
    return true;
  });
  latest.release();
  if (renamed != NIL) {
    // All are deleted before one is inserted: columns may have swapped their names.
    CommandCounterIncrement();
    ListCell* cell;
    foreach (cell, renamed) CatalogTupleInsert(catalog, static_cast<HeapTuple>(lfirst(cell)));
    CacheInvalidateRelcacheByRelid(RelationGetRelid(catalog));
    CommandCounterIncrement();
  }
  table_close(catalog, RowExclusiveLock);
}

}  // namespace kde_pg
