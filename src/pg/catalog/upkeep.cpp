// Access to kde_aqp.upkeep by its primary key. The layout here is that of the install script.
#include "pg/catalog/upkeep.h"

#include "pg/base/fault.h"
#include "pg/catalog/extension_lock.h"
#include "pg/catalog/own_row.h"

extern "C" {
#include "access/xlog.h"
#include "catalog/indexing.h"
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

template <typename Row>
void columns_of(Row& row, Upkeep* u) {
  row(kDensityId, &u->density_id);
  row(kCounters, &u->counters);
  row(kDrift, Or{&u->drift, -1.0});
  row(kDriftPValue, Or{&u->drift_p_value, 1.0});
  row(kDriftAt, Or{&u->drift_at, TimestampTz{0}});
  row(kFailures, &u->failures);
  row(kLastError, &u->last_error);
  row(kFailedAt, Or{&u->failed_at, TimestampTz{0}});
  row(kTableRows, Or{&u->table_rows, 0.0});
}

// The row of a density, copied, or null.
HeapTuple find_row(Relation table, int64 density_id, Snapshot snapshot) {
  HeapTuple out = nullptr;
  const FirstColumn key = is_density(density_id);
  for_rows(table, &key, snapshot, [&](HeapTuple tuple) {
    out = heap_copytuple(tuple);
    return false;
  });
  return out;
}

// In its newest state, where it was read or written last.
HeapTuple newest_row(Relation table, const Upkeep& upkeep) {
  HeapTuple out = row_at(table, upkeep.tid, kDensityId, upkeep.density_id, nullptr);
  if (out == nullptr) out = find_row(table, upkeep.density_id, nullptr);
  return out;
}

}  // namespace

Relation open_upkeep(LOCKMODE lock) { return open_own_table(OwnTable::upkeep, kColumns, lock); }

Upkeep upkeep_find(int64 density_id, Snapshot snapshot) {
  Upkeep out;
  out.density_id = density_id;
  if (RecoveryInProgress()) return out;
  Relation table = open_upkeep(AccessShareLock);
  if (HeapTuple tuple = find_row(table, density_id, snapshot)) {
    RowReader row(tuple, RelationGetDescr(table));
    columns_of(row, &out);
    out.tid = tuple->t_self;
  }
  table_close(table, AccessShareLock);
  return out;
}

void upkeep_write(Upkeep* upkeep) {
  Relation table = open_upkeep(RowExclusiveLock);
  RowWriter<kColumns> row;
  columns_of(row, upkeep);
  HeapTuple written = row.make(RelationGetDescr(table));
  if (HeapTuple old = newest_row(table, *upkeep)) {
    CatalogTupleUpdate(table, &old->t_self, written);
  } else {
    CatalogTupleInsert(table, written);
  }
  upkeep->tid = written->t_self;
  table_close(table, NoLock);
  CommandCounterIncrement();
  KDE_FAULT("upkeep.changed");
}

void upkeep_remove(int64 density_id) {
  Relation table = open_upkeep(RowExclusiveLock);
  Upkeep upkeep;
  upkeep.density_id = density_id;
  HeapTuple row = newest_row(table, upkeep);
  if (row != nullptr) CatalogTupleDelete(table, &row->t_self);
  table_close(table, NoLock);
  if (row != nullptr) CommandCounterIncrement();
  KDE_FAULT("upkeep.removed");
}

}  // namespace kde_pg
