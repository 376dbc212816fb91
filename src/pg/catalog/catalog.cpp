// Access to kde_aqp.fitted by the index of its key, fitted_key: what is found and read. What writes it:
// catalog_write.cpp, and catalog_follow.cpp beside others' DDL.
#include "pg/catalog/catalog.h"

#include "pg/base/text_list.h"
#include "pg/catalog/as_fitted.h"
#include "pg/catalog/catalog_rows.h"
#include "pg/catalog/stretches.h"

extern "C" {
#include "access/tableam.h"
#include "executor/tuptable.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/inval.h"
}

namespace kde_pg {

using C = CatalogColumn;

namespace {

constexpr auto kIdNumber = static_cast<AttrNumber>(C::id);

// As it is stored: perhaps elsewhere.
Datum density_of(HeapTuple tuple, TupleDesc desc) {
  struct varlena* value = nullptr;
  RowReader read(tuple, desc);
  if (!read(C::density, &value))
    ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED), errmsg("catalog row without a density"),
                    errhint("Fit it again with kde_fit().")));
  return PointerGetDatum(value);
}

struct varlena* value_of(HeapTuple tuple, TupleDesc desc) {
  return PG_DETOAST_DATUM_COPY(density_of(tuple, desc));
}

}  // namespace

bool catalog_hold() {
  if (!OidIsValid(hold_extension_at_once())) return false;
  for (const OwnTable table : {OwnTable::fitted, OwnTable::fitted_stretches, OwnTable::upkeep}) {
    const Oid oid = own_table_oid(table);
    if (!OidIsValid(oid) || !ConditionalLockRelationOid(oid, AccessShareLock) ||
        !SearchSysCacheExists1(RELOID, ObjectIdGetDatum(oid)))
      return false;
  }
  return true;
}

bool catalog_seems_empty() {
  const Oid oid = catalog_oid_or_invalid();
  if (!OidIsValid(oid)) return true;
  if (!ConditionalLockRelationOid(oid, AccessShareLock)) return false;
  Relation catalog = try_relation_open(oid, NoLock);
  bool any = false;
  if (catalog != nullptr && RelationGetNumberOfBlocks(catalog) > 0) {
    // Not by the index, which somebody may have locked, too.
    const auto found = [&](HeapTuple) { return !(any = true); };
    for_rows(catalog, nullptr, nullptr, found, false);
  }
  if (catalog != nullptr) relation_close(catalog, NoLock);
  UnlockRelationOid(oid, AccessShareLock);
  return !any;
}

StoredDensity catalog_find(const DensityKey& key, Snapshot snapshot, MemoryContext value) {
  StoredDensity out;
  Relation catalog = open_catalog(AccessShareLock);
  TupleDesc desc = RelationGetDescr(catalog);
  if (HeapTuple row = row_of(catalog, key, snapshot)) {
    RowReader read(row, desc);
    ArrayType* fitted = nullptr;
    MemoryContext caller = MemoryContextSwitchTo(value != nullptr ? value : CurrentMemoryContext);
    out.value = value_of(row, desc);
    MemoryContextSwitchTo(caller);
    out.version = {file_of(catalog), row->t_self, HeapTupleHeaderGetRawXmin(row->t_data)};
    read(C::id, &out.id);
    read(C::fitted_at, &out.fitted_at);
    columns_of(read, &out.proof);
    read(C::column_names, &out.column_names);
    read(C::as_fitted, &fitted);
    out.settings = settings_in(fitted);
    read(C::model, &out.model);
  }
  table_close(catalog, AccessShareLock);
  return out;
}

bool catalog_sees(const RowVersion& version, Snapshot snapshot) {
  Relation catalog = open_catalog(AccessShareLock);
  ItemPointerData tid = version.tid;
  bool sees = false;
  // VACUUM may have cut off the end of the file, though not now, under our lock.
  if (file_of(catalog) == version.file &&
      ItemPointerGetBlockNumber(&tid) < RelationGetNumberOfBlocks(catalog)) {
    TupleTableSlot* slot = table_slot_create(catalog, nullptr);
    if (table_tuple_fetch_row_version(catalog, &tid, snapshot, slot)) {
      bool is_null;
      const Datum xmin = slot_getsysattr(slot, MinTransactionIdAttributeNumber, &is_null);
      sees = DatumGetTransactionId(xmin) == version.xmin;
    }
    ExecDropSingleTupleTableSlot(slot);
  }
  table_close(catalog, AccessShareLock);
  return sees;
}

void read_stretches(const RowVersion& version, int64 id, Snapshot snapshot,
                    kde::FunctionRef<void(const StretchReader&)> visit) {
  Relation catalog = open_catalog(AccessShareLock);
  HeapTuple row = file_of(catalog) == version.file
                      ? row_at(catalog, version.tid, kIdNumber, id, snapshot)
                      : nullptr;
  int64 seed = 0;
  const bool any = row != nullptr && RowReader(row, RelationGetDescr(catalog))(C::hash_seed, &seed);
  table_close(catalog, AccessShareLock);
  if (!any) return;
  Relation table = open_stretches(AccessShareLock);
  visit(StretchReader(table, id, static_cast<uint64>(seed), snapshot));
  table_close(table, AccessShareLock);
}

List* catalog_list(Oid relation, Snapshot snapshot) {
  List* out = NIL;
  Relation catalog = open_catalog(AccessShareLock);
  for_rows_of(catalog, relation, snapshot, [&](HeapTuple tuple, const CatalogRow& row) {
    if (is_current(row)) out = lappend(out, read_entry(tuple, RelationGetDescr(catalog), row));
    return true;
  });
  table_close(catalog, AccessShareLock);
  return out;
}

void catalog_visit(Snapshot snapshot, CatalogVisitor visit, void* state) {
  MemoryContext each =
      AllocSetContextCreate(CurrentMemoryContext, "kde_aqp density", ALLOCSET_SMALL_SIZES);
  Relation catalog = open_catalog(AccessShareLock);
  for_rows_of(catalog, InvalidOid, snapshot, [&](HeapTuple tuple, const CatalogRow& row) {
    MemoryContext caller = MemoryContextSwitchTo(each);
    if (is_current(row)) {
      const CatalogEntry* entry = read_entry(tuple, RelationGetDescr(catalog), row);
      visit(tuple, RelationGetDescr(catalog), *entry, state);
    }
    MemoryContextSwitchTo(caller);
    MemoryContextReset(each);
    return true;
  });
  table_close(catalog, AccessShareLock);
  MemoryContextDelete(each);
}

void catalog_copy(Snapshot snapshot, RowVisitor visit, void* state) {
  Relation catalog = open_catalog(AccessShareLock);
  // Not by the index: it may not be there yet.
  const auto pass = [&](HeapTuple tuple) {
    visit(tuple, RelationGetDescr(catalog), state);
    return true;
  };
  for_rows(catalog, nullptr, snapshot, pass, false);
  table_close(catalog, AccessShareLock);
}

UnusableDensities catalog_unusable(Snapshot snapshot) {
  UnusableDensities out = {0, NIL};
  Relation catalog = open_catalog(AccessShareLock);
  for_rows_of(catalog, InvalidOid, snapshot, [&](HeapTuple, const CatalogRow& row) {
    if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(row.key.relation))) {
      ++out.gone;
    } else if (!is_current(row)) {
      out.renamed = list_append_unique_oid(out.renamed, row.key.relation);
    }
    return true;
  });
  table_close(catalog, AccessShareLock);
  return out;
}

namespace {

// The first entry of a relation that is wanted(), in its newest state; null: there is none.
template <typename Wanted>
CatalogEntry* find_entry(Oid relation, Wanted wanted) {
  for (CatalogEntry* entry : of_list<CatalogEntry>(catalog_list(relation))) {
    if (wanted(*entry)) return entry;
  }
  return nullptr;
}

}  // namespace

CatalogEntry* catalog_entry(const DensityKey& key) {
  return find_entry(key.relation,
                    [&](const CatalogEntry& entry) { return same_key(entry.key, key); });
}

CatalogEntry* catalog_entry(Oid relation, int64 id) {
  return find_entry(relation, [id](const CatalogEntry& entry) { return entry.id == id; });
}

CatalogEntry* catalog_entry_at(const RowVersion& version, int64 id, Snapshot snapshot) {
  Relation catalog = open_catalog(AccessShareLock);
  CatalogEntry* found = nullptr;
  HeapTuple tuple = row_at(catalog, version.tid, kIdNumber, id, snapshot);
  CatalogRow row;
  if (tuple != nullptr && read_row(tuple, RelationGetDescr(catalog), &row))
    found = read_entry(tuple, RelationGetDescr(catalog), row);
  table_close(catalog, AccessShareLock);
  return found;
}

CatalogEntry* catalog_entry_by_alias(const char* alias, Snapshot snapshot) {
  Relation catalog = open_catalog(AccessShareLock);
  CatalogEntry* found = nullptr;
  for_rows_of(catalog, InvalidOid, snapshot, [&](HeapTuple tuple, const CatalogRow& row) {
    const char* name = nullptr;
    RowReader read(tuple, RelationGetDescr(catalog));
    if (!read(C::alias, &name) || strcmp(name, alias) != 0) return true;
    if (is_current(row)) found = read_entry(tuple, RelationGetDescr(catalog), row);
    return false;
  });
  table_close(catalog, AccessShareLock);
  return found;
}

struct varlena* catalog_value(const CatalogEntry& entry) {
  Relation catalog = open_catalog(AccessShareLock);
  struct varlena* out = value_of(locked_row(catalog, entry), RelationGetDescr(catalog));
  table_close(catalog, AccessShareLock);
  return out;
}

namespace {

LOCKTAG lock_tag(const DensityKey& key) {
  uint16 number = static_cast<uint16>(key.column[0].attnum);
  if (!key.is_plain()) number = static_cast<uint16>(hash_text(key_identity(key)));
  LOCKTAG tag;
  SET_LOCKTAG_OBJECT(tag, MyDatabaseId, catalog_oid(), key.relation, number);
  return tag;
}

int compare_tags(const ListCell* a, const ListCell* b) {
  return memcmp(lfirst(a), lfirst(b), sizeof(LOCKTAG));
}

}  // namespace

void catalog_lock(const DensityKey& key) {
  const LOCKTAG tag = lock_tag(key);
  (void)LockAcquire(&tag, ExclusiveLock, false, false);
  // What the holder before us committed must be seen from here on.
  AcceptInvalidationMessages();
}

bool catalog_try_lock(const DensityKey& key) {
  const LOCKTAG tag = lock_tag(key);
  if (LockAcquire(&tag, ExclusiveLock, false, true) == LOCKACQUIRE_NOT_AVAIL) return false;
  AcceptInvalidationMessages();
  return true;
}

void catalog_lock_all(List* keys) {
  List* tags = NIL;
  for (const DensityKey* item : of_list<const DensityKey>(keys)) {
    auto* tag = static_cast<LOCKTAG*>(palloc(sizeof(LOCKTAG)));
    *tag = lock_tag(*item);
    tags = lappend(tags, tag);
  }
  list_sort(tags, compare_tags);
  for (LOCKTAG* item : of_list<LOCKTAG>(tags)) (void)LockAcquire(item, ExclusiveLock, false, false);
  list_free_deep(tags);
  AcceptInvalidationMessages();
}

}  // namespace kde_pg
