// Rows of the extension's own tables: found where they were, and intervals as seconds.
#include "pg/catalog/own_row.h"

#include "pg/catalog/extension_lock.h"

extern "C" {
#include "access/tableam.h"
#include "catalog/indexing.h"
#include "executor/tuptable.h"
#include "storage/bufmgr.h"
#include "utils/inval.h"
}

namespace kde_pg {

double seconds_of(const Interval* interval) {
  return static_cast<double>(interval->time) / USECS_PER_SEC +
         (interval->day + static_cast<double>(interval->month) * DAYS_PER_MONTH) * SECS_PER_DAY;
}

bool to_datum(Seconds x, Datum* out) {
  if (*x.value < 0) return false;
  auto* interval = static_cast<Interval*>(palloc0(sizeof(Interval)));
  // Rows that came by SQL may hold more than the functions let pass.
  const double seconds = Min(*x.value, 1e6 * SECS_PER_DAY);
  interval->day = static_cast<int32>(seconds / SECS_PER_DAY);
  interval->time = static_cast<TimeOffset>(
      (seconds - static_cast<double>(interval->day) * SECS_PER_DAY) * USECS_PER_SEC);
  *out = IntervalPGetDatum(interval);
  return true;
}

HeapTuple row_at(Relation table, ItemPointerData tid, AttrNumber id_column, int64 id,
                 Snapshot snapshot) {
  // VACUUM may have cut off the end of the file.
  if (!ItemPointerIsValid(&tid) ||
      ItemPointerGetBlockNumber(&tid) >= RelationGetNumberOfBlocks(table))
    return nullptr;
  HeapTuple out = nullptr;
  if (snapshot == nullptr) snapshot = GetCatalogSnapshot(RelationGetRelid(table));
  snapshot = RegisterSnapshot(snapshot);
  TupleTableSlot* slot = table_slot_create(table, nullptr);
  if (table_tuple_fetch_row_version(table, &tid, snapshot, slot)) {
    bool is_null;
    const Datum found = slot_getattr(slot, id_column, &is_null);
    if (!is_null && DatumGetInt64(found) == id) out = ExecCopySlotHeapTuple(slot);
  }
  ExecDropSingleTupleTableSlot(slot);
  UnregisterSnapshot(snapshot);
  return out;
}

Oid key_index_of(Relation table) {
  Oid index;
  if (table->rd_rel->relkind == RELKIND_MATVIEW) {
    index = get_relname_relid(psprintf("%s_key", RelationGetRelationName(table)),
                              RelationGetNamespace(table));
  } else {
#if PG_VERSION_NUM >= 180000
    index = RelationGetPrimaryKeyIndex(table, false);
#else
    index = RelationGetPrimaryKeyIndex(table);
#endif
  }
  if (!OidIsValid(index)) raise_other_version();
  return index;
}

void raise_concurrent_update() {
  ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                  errmsg("could not serialize access due to concurrent update"),
                  errhint("The transaction might succeed if retried.")));
  pg_unreachable();
}

void insert_row(Relation table, HeapTuple tuple) {
  CatalogTupleInsert(table, tuple);
  CacheInvalidateRelcache(table);
}

void delete_row(Relation table, HeapTuple tuple) {
  TM_FailureData failure;
  if (delete_at(table, &tuple->t_self, true, &failure) != TM_Ok) raise_concurrent_update();
  CacheInvalidateRelcache(table);
}

}  // namespace kde_pg
