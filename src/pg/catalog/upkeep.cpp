// Access to kde_aqp.upkeep by its primary key. The layout here is that of the install script.
#include "pg/catalog/upkeep.h"

#include "pg/base/fault.h"
#include "pg/catalog/catalog.h"
#include "pg/catalog/extension_lock.h"
#include "pg/catalog/parts.h"

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

namespace kde_pg {

namespace {

enum Column {
  kDensityId = 1,
  kCounters,
  kDrift,
  kDriftPValue,
  kDriftAt,
  kFailures,
  kLastError,
  kFailedAt,
  kTableRows,
  kColumns = kTableRows
};

// Writers keep their lock to the end of the transaction, as those of catalog.cpp.
Relation open_upkeep(LOCKMODE lock) {
  Relation upkeep = open_own_table(upkeep_oid_or_invalid, lock);
  if (RelationGetNumberOfAttributes(upkeep) != kColumns) raise_other_version();
  return upkeep;
}

// The row of a density, copied, or null.
HeapTuple find_row(Relation table, int64 density_id, Snapshot snapshot) {
  ScanKeyData key;
  ScanKeyInit(&key, kDensityId, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(density_id));
  SysScanDesc scan = systable_beginscan(table, key_index_of(table), true, snapshot, 1, &key);
  HeapTuple tuple = systable_getnext(scan);
  HeapTuple out = HeapTupleIsValid(tuple) ? heap_copytuple(tuple) : nullptr;
  systable_endscan(scan);
  return out;
}

// The same in its newest state, where it was read or written last.
HeapTuple newest_row(Relation table, const Upkeep& upkeep) {
  Snapshot latest = RegisterSnapshot(GetLatestSnapshot());
  HeapTuple out = row_at(table, upkeep.tid, kDensityId, upkeep.density_id, latest);
  if (out == nullptr) out = find_row(table, upkeep.density_id, latest);
  UnregisterSnapshot(latest);
  return out;
}

// A row to be, column by column.
class Change {
 public:
  void put(Column c, Datum value) {
    values_[c - 1] = value;
    nulls_[c - 1] = false;
    replace_[c - 1] = true;
  }
  void put_null(Column c) {
    nulls_[c - 1] = true;
    replace_[c - 1] = true;
  }
  void put_text_or_null(Column c, const char* text) {
    if (text == nullptr) {
      put_null(c);
    } else {
      put(c, CStringGetTextDatum(text));
    }
  }

  // Changes the density's row, as it stands now, or makes one of these columns alone. A key's lock
  // keeps others from it.
  void apply(Upkeep* upkeep) {
    Relation table = open_upkeep(RowExclusiveLock);
    HeapTuple row;
    if (HeapTuple old = newest_row(table, *upkeep)) {
      row = heap_modify_tuple(old, RelationGetDescr(table), values_, nulls_, replace_);
      CatalogTupleUpdate(table, &old->t_self, row);
    } else {
      for (int i = 0; i < kColumns; ++i) nulls_[i] = nulls_[i] || !replace_[i];
      put(kDensityId, Int64GetDatum(upkeep->density_id));
      if (!replace_[kFailures - 1]) put(kFailures, Int32GetDatum(0));
      row = heap_form_tuple(RelationGetDescr(table), values_, nulls_);
      CatalogTupleInsert(table, row);
    }
    upkeep->tid = row->t_self;
    table_close(table, NoLock);
    CommandCounterIncrement();
    KDE_FAULT("upkeep.changed");
  }

 private:
  Datum values_[kColumns] = {};
  bool nulls_[kColumns] = {};
  bool replace_[kColumns] = {};
};

}  // namespace

Upkeep upkeep_find(int64 density_id, Snapshot snapshot) {
  Upkeep out;
  out.density_id = density_id;
  if (RecoveryInProgress()) return out;
  Relation table = open_upkeep(AccessShareLock);
  if (HeapTuple tuple = find_row(table, density_id, snapshot)) {
    TupleDesc desc = RelationGetDescr(table);
    bool is_null;
    out.tid = tuple->t_self;
    Datum value = heap_getattr(tuple, kCounters, desc, &is_null);
    if (!is_null) out.counters = counters_from_array(DatumGetArrayTypePCopy(value));
    value = heap_getattr(tuple, kTableRows, desc, &is_null);
    if (!is_null) out.table_rows = DatumGetFloat8(value);
    value = heap_getattr(tuple, kDrift, desc, &is_null);
    if (!is_null) out.drift = DatumGetFloat8(value);
    value = heap_getattr(tuple, kDriftPValue, desc, &is_null);
    if (!is_null) out.drift_p_value = DatumGetFloat8(value);
    value = heap_getattr(tuple, kDriftAt, desc, &is_null);
    if (!is_null) out.drift_at = DatumGetTimestampTz(value);
    value = heap_getattr(tuple, kFailures, desc, &is_null);
    if (!is_null) out.failures = DatumGetInt32(value);
    value = heap_getattr(tuple, kFailedAt, desc, &is_null);
    if (!is_null) out.failed_at = DatumGetTimestampTz(value);
    value = heap_getattr(tuple, kLastError, desc, &is_null);
    if (!is_null) out.last_error = TextDatumGetCString(value);
  }
  table_close(table, AccessShareLock);
  return out;
}

void upkeep_fitted(Upkeep* upkeep, const Counters& counters, double table_rows) {
  Change change;
  change.put(kTableRows, Float8GetDatum(table_rows));
  ArrayType* array = counters_to_array(counters);
  if (array != nullptr) {
    change.put(kCounters, PointerGetDatum(array));
  } else {
    change.put_null(kCounters);
  }
  const Column forgotten[] = {kDrift, kDriftPValue, kDriftAt, kLastError, kFailedAt};
  for (const Column c : forgotten) change.put_null(c);
  change.put(kFailures, Int32GetDatum(0));
  change.apply(upkeep);
}

void upkeep_note_counters(Upkeep* upkeep, const Counters& counters) {
  ArrayType* array = counters.known ? counters_to_array(counters) : nullptr;
  if (array == nullptr) return;
  Change change;
  change.put(kCounters, PointerGetDatum(array));
  change.apply(upkeep);
}

void upkeep_note_drift(Upkeep* upkeep, double distance, double p_value) {
  upkeep->drift = distance;
  upkeep->drift_p_value = p_value;
  upkeep->drift_at = GetCurrentTimestamp();
  Change change;
  change.put(kDrift, Float8GetDatum(distance));
  change.put(kDriftPValue, Float8GetDatum(p_value));
  change.put(kDriftAt, TimestampTzGetDatum(upkeep->drift_at));
  change.apply(upkeep);
}

void upkeep_note_failure(Upkeep* upkeep, const char* error) {
  Change change;
  change.put(kFailures, Int32GetDatum(Max(Min(upkeep->failures, 1000000), 0) + 1));
  change.put_text_or_null(kLastError, error);
  change.put(kFailedAt, TimestampTzGetDatum(GetCurrentTimestamp()));
  change.apply(upkeep);
}

void upkeep_note_no_rows(Upkeep* upkeep) {
  Change change;
  change.put(kFailures, Int32GetDatum(Min(Max(upkeep->failures, -1000000), 0) - 1));
  change.put_null(kLastError);
  change.put(kFailedAt, TimestampTzGetDatum(GetCurrentTimestamp()));
  change.apply(upkeep);
}

void upkeep_forget_failures(Upkeep* upkeep) {
  Change change;
  change.put(kFailures, Int32GetDatum(0));
  change.put_null(kLastError);
  change.put_null(kFailedAt);
  change.apply(upkeep);
}

void upkeep_remove(int64 density_id) {
  Relation table = open_upkeep(RowExclusiveLock);
  Upkeep upkeep;
  upkeep.density_id = density_id;
  HeapTuple row = newest_row(table, upkeep);
  if (row != nullptr) CatalogTupleDelete(table, &row->t_self);
  table_close(table, NoLock);
  if (row != nullptr) CommandCounterIncrement();
  parts_remove(density_id);
  KDE_FAULT("upkeep.removed");
}

namespace {

bool has_number(List* ascending, int64 wanted) {
  int low = 0, high = list_length(ascending);
  while (low < high) {
    const int middle = (low + high) / 2;
    if (*static_cast<int64*>(list_nth(ascending, middle)) < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < list_length(ascending) && *static_cast<int64*>(list_nth(ascending, low)) == wanted;
}

// Rows of a table, whose first column is a density's number, of densities that `known` has not.
bool remove_unknown(Relation table, List* known, Snapshot snapshot) {
  bool any = false;
  SysScanDesc scan = systable_beginscan(table, key_index_of(table), true, snapshot, 0, nullptr);
  HeapTuple tuple;
  // No order is promised of a scan without a key, hence the search for each.
  while (HeapTupleIsValid(tuple = systable_getnext(scan))) {
    bool is_null;
    const int64 id =
        DatumGetInt64(heap_getattr(tuple, kDensityId, RelationGetDescr(table), &is_null));
    if (has_number(known, id)) continue;
    // Another session that removes it at this moment is not waited for, nor is that an error.
    TM_FailureData failure;
    if (delete_at(table, &tuple->t_self, false, &failure) == TM_Ok) any = true;
  }
  systable_endscan(scan);
  return any;
}

}  // namespace

void upkeep_remove_orphans() {
  catalog_remove_gone();
  Relation upkeep = open_upkeep(RowExclusiveLock);
  Relation parts = open_parts(RowExclusiveLock);
  Snapshot latest = RegisterSnapshot(GetLatestSnapshot());
  List* known = catalog_ids(latest);
  list_sort(known, [](const ListCell* a, const ListCell* b) {
    const int64 x = *static_cast<int64*>(lfirst(a)), y = *static_cast<int64*>(lfirst(b));
    return x < y ? -1 : x > y ? 1 : 0;
  });
  const bool any_upkeep = remove_unknown(upkeep, known, latest);
  const bool any_parts = remove_unknown(parts, known, latest);
  UnregisterSnapshot(latest);
  table_close(parts, NoLock);
  table_close(upkeep, NoLock);
  if (any_upkeep || any_parts) CommandCounterIncrement();
}

}  // namespace kde_pg
