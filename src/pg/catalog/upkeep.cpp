// Access to kde_aqp.upkeep by its primary key. The layout here is that of the install script.
#include "pg/catalog/upkeep.h"

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

#include "pg/catalog/catalog.h"
#include "pg/base/fault.h"

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
  kSampler,
  kTableRows,
  kColumns = kTableRows
};

// Writers keep their lock to the end of the transaction, as those of catalog.cpp.
Relation open_upkeep(LOCKMODE lock) {
  const Oid oid = upkeep_oid_or_invalid();
  if (!OidIsValid(oid)) raise_other_version();
  Relation upkeep = try_table_open(oid, lock);
  if (upkeep == nullptr) raise_not_installed();  // dropped while we waited
  if (RelationGetNumberOfAttributes(upkeep) != kColumns) raise_other_version();
  return upkeep;
}

// Calls visit(tuple) for the row of a density, if there is one.
template <typename Visit>
void for_row_of(Relation upkeep, int64 density_id, Snapshot snapshot, Visit visit) {
  ScanKeyData key;
  ScanKeyInit(&key, kDensityId, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(density_id));
  SysScanDesc scan = systable_beginscan(upkeep, key_index_of(upkeep), true, snapshot, 1, &key);
  HeapTuple tuple = systable_getnext(scan);
  if (HeapTupleIsValid(tuple)) visit(tuple);
  systable_endscan(scan);
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
  void apply(int64 density_id) {
    Relation upkeep = open_upkeep(RowExclusiveLock);
    Snapshot latest = RegisterSnapshot(GetLatestSnapshot());
    bool found = false;
    for_row_of(upkeep, density_id, latest, [&](HeapTuple tuple) {
      found = true;
      HeapTuple changed =
          heap_modify_tuple(tuple, RelationGetDescr(upkeep), values_, nulls_, replace_);
      CatalogTupleUpdate(upkeep, &tuple->t_self, changed);
    });
    UnregisterSnapshot(latest);
    if (!found) {
      for (int i = 0; i < kColumns; ++i) nulls_[i] = nulls_[i] || !replace_[i];
      put(kDensityId, Int64GetDatum(density_id));
      if (!replace_[kFailures - 1]) put(kFailures, Int32GetDatum(0));
      CatalogTupleInsert(upkeep, heap_form_tuple(RelationGetDescr(upkeep), values_, nulls_));
    }
    table_close(upkeep, NoLock);
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
  if (RecoveryInProgress()) return out;
  Relation upkeep = open_upkeep(AccessShareLock);
  for_row_of(upkeep, density_id, snapshot, [&](HeapTuple tuple) {
    TupleDesc desc = RelationGetDescr(upkeep);
    bool is_null;
    out.found = true;
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
  });
  table_close(upkeep, AccessShareLock);
  return out;
}

void upkeep_fitted(int64 density_id, const Counters& counters, double table_rows, bytea* sampler) {
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
  if (sampler != nullptr) {
    change.put(kSampler, PointerGetDatum(sampler));
  } else {
    change.put_null(kSampler);
  }
  change.apply(density_id);
}

void upkeep_note_counters(int64 density_id, const Counters& counters) {
  ArrayType* array = counters.known ? counters_to_array(counters) : nullptr;
  if (array == nullptr) return;
  Change change;
  change.put(kCounters, PointerGetDatum(array));
  change.apply(density_id);
}

void upkeep_note_drift(int64 density_id, double distance, double p_value) {
  Change change;
  change.put(kDrift, Float8GetDatum(distance));
  change.put(kDriftPValue, Float8GetDatum(p_value));
  change.put(kDriftAt, TimestampTzGetDatum(GetCurrentTimestamp()));
  change.apply(density_id);
}

void upkeep_note_failure(int64 density_id, const char* error) {
  Snapshot latest = RegisterSnapshot(GetLatestSnapshot());
  const int before = upkeep_find(density_id, latest).failures;
  UnregisterSnapshot(latest);
  Change change;
  change.put(kFailures, Int32GetDatum(Min(before, 1000000) + 1));
  change.put_text_or_null(kLastError, error);
  change.put(kFailedAt, TimestampTzGetDatum(GetCurrentTimestamp()));
  change.apply(density_id);
}

bytea* upkeep_sampler(int64 density_id, Snapshot snapshot) {
  bytea* out = nullptr;
  Relation upkeep = open_upkeep(AccessShareLock);
  for_row_of(upkeep, density_id, snapshot, [&](HeapTuple tuple) {
    bool is_null;
    const Datum value = heap_getattr(tuple, kSampler, RelationGetDescr(upkeep), &is_null);
    if (!is_null) out = DatumGetByteaPCopy(value);
  });
  table_close(upkeep, AccessShareLock);
  return out;
}

void upkeep_remove(int64 density_id) {
  Relation upkeep = open_upkeep(RowExclusiveLock);
  Snapshot latest = RegisterSnapshot(GetLatestSnapshot());
  bool found = false;
  for_row_of(upkeep, density_id, latest, [&](HeapTuple tuple) {
    CatalogTupleDelete(upkeep, &tuple->t_self);
    found = true;
  });
  UnregisterSnapshot(latest);
  table_close(upkeep, NoLock);
  if (found) CommandCounterIncrement();
  KDE_FAULT("upkeep.removed");
}

void upkeep_remove_orphans() {
  catalog_remove_gone();
  Relation upkeep = open_upkeep(RowExclusiveLock);
  Snapshot latest = RegisterSnapshot(GetLatestSnapshot());
  List* known = catalog_ids(latest);
  list_sort(known, [](const ListCell* a, const ListCell* b) {
    const int64 x = *static_cast<int64*>(lfirst(a)), y = *static_cast<int64*>(lfirst(b));
    return x < y ? -1 : x > y ? 1 : 0;
  });
  SysScanDesc scan = systable_beginscan(upkeep, key_index_of(upkeep), true, latest, 0, nullptr);
  HeapTuple tuple;
  bool any = false;
  // No order is promised of a scan without a key, hence the search for each.
  while (HeapTupleIsValid(tuple = systable_getnext(scan))) {
    bool is_null;
    const int64 id =
        DatumGetInt64(heap_getattr(tuple, kDensityId, RelationGetDescr(upkeep), &is_null));
    int low = 0, high = list_length(known);
    while (low < high) {
      const int middle = (low + high) / 2;
      if (*static_cast<int64*>(list_nth(known, middle)) < id) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low < list_length(known) && *static_cast<int64*>(list_nth(known, low)) == id) continue;
    // Another session that removes it at this moment is not waited for, nor is that an error.
    TM_FailureData failure;
    if (delete_at(upkeep, &tuple->t_self, false, &failure) == TM_Ok) any = true;
  }
  systable_endscan(scan);
  UnregisterSnapshot(latest);
  table_close(upkeep, NoLock);
  if (any) CommandCounterIncrement();
}

}  // namespace kde_pg
