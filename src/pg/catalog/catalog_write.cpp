// Writes kde_aqp.fitted: what a fit stores, what a restore brings, settings and proofs.
#include "pg/base/fault.h"
#include "pg/base/text_list.h"
#include "pg/catalog/as_fitted.h"
#include "pg/catalog/catalog.h"
#include "pg/catalog/catalog_rows.h"
#include "pg/catalog/changed_databases.h"
#include "pg/catalog/stretches.h"

extern "C" {
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "commands/sequence.h"
#include "storage/lock.h"
#include "utils/inval.h"
}

namespace kde_pg {

using C = CatalogColumn;

namespace {

// In REPEATABLE READ and up: what is about to be replaced or removed (null: nothing) must be what
// the transaction sees; anything else another transaction has changed meanwhile.
void check_snapshot_agrees(Relation catalog, const DensityKey& key, HeapTuple latest) {
  if (!IsolationUsesXactSnapshot()) return;
  Snapshot own = GetTransactionSnapshot();
  if (latest == nullptr
          ? row_of(catalog, key, own) == nullptr
          : TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(latest->t_data)) ||
                row_at(catalog, latest->t_self, static_cast<AttrNumber>(C::id),
                       id_of(latest, RelationGetDescr(catalog)), own))
    return;
  raise_concurrent_update();
}

// A number for a density that is new here.
int64 new_density_id() {
  const Oid schema = get_namespace_oid("kde_aqp", false);
  const Oid sequence = get_relname_relid("density_id", schema);
  if (!OidIsValid(sequence)) raise_other_version();
  return nextval_internal(sequence, false);
}

void columns_of(CatalogWriter& row, FitRecord* fit) {
  columns_of(row, &fit->request);
  row(C::density, &fit->density);
  row(C::seed, &fit->request.seed);
  if (fit->request.seed_given) row(C::requested_seed, &fit->request.seed);
  row(C::rows_read, &fit->rows_read);
  row(C::design_effect, &fit->design_effect);
  row(C::bandwidth_rows, &fit->bandwidth_rows);
  row(C::bandwidth_status, &fit->bandwidth_status);
  row(C::model, &fit->model);
  row(C::engine, &fit->engine);
  row(C::threads, &fit->threads);
  row(C::scan_ms, &fit->scan_ms);
  row(C::select_ms, &fit->select_ms);
  row(C::estimate_ms, &fit->estimate_ms);
  row(C::bandwidth_matrix, &fit->bandwidth_matrix);
  row(C::stored_rows, Or{&fit->stored_rows, int64{0}});
  auto seed = static_cast<int64>(fit->hash_seed);
  if (fit->stretches != NIL) row(C::hash_seed, &seed);
}

// Replaces what change(&row) puts into an entry's row.
template <typename Change>
void change_row(const CatalogEntry& entry, Change change) {
  Relation catalog = open_catalog(RowExclusiveLock);
  HeapTuple old = locked_row(catalog, entry);
  check_snapshot_agrees(catalog, entry.key, old);
  CatalogWriter row;
  change(row);
  HeapTuple changed = row.change(old, RelationGetDescr(catalog));
  delete_row(catalog, old);
  CommandCounterIncrement();
  KDE_FAULT("set.deleted");
  insert_row(catalog, changed);
  CommandCounterIncrement();
  KDE_FAULT("set.done");
  table_close(catalog, NoLock);
}

}  // namespace

void catalog_set(const CatalogEntry& entry, const RefreshSettings& settings) {
  RefreshSettings wanted = settings;
  change_row(entry, [&](CatalogWriter& row) { columns_of(row, &wanted); });
}

void catalog_prove(const CatalogEntry& entry, const Proof& proof) {
  Proof noted = proof;
  change_row(entry, [&](CatalogWriter& row) { columns_of(row, &noted); });
}

namespace {

// An alias is one density's: who gives it waits for others who do, to see theirs before the
// catalog's index fitted_alias refuses it.
void lock_alias(const char* alias) {
  const auto hash = static_cast<uint16>(hash_text(alias));
  LOCKTAG tag;
  SET_LOCKTAG_OBJECT(tag, MyDatabaseId, catalog_oid(), InvalidOid, hash);
  (void)LockAcquire(&tag, ExclusiveLock, false, false);
}

void check_alias(const DensityKey& key, const char* alias) {
  const CatalogEntry* entry = catalog_entry_by_alias(alias, nullptr);
  if (entry == nullptr || same_key(entry->key, key)) return;
  ereport(ERROR,
          (errcode(ERRCODE_DUPLICATE_OBJECT), errmsg("another density is named \"%s\"", alias),
           errhint("Drop it with kde_drop(%s), or choose another name.",
                   quote_literal_cstr(quote_identifier(alias)))));
}

// A row of the same texts under other numbers than this table's, as it comes by a restore with
// triggers disabled, is nobody's density; it would only be in the way of the key's own.
void remove_unusable(Relation catalog, const DensityKey& key) {
  for_rows_of(catalog, key.relation, nullptr, [&](HeapTuple tuple, const CatalogRow& row) {
    if (is_current(row) || !same_texts(row.key, key)) return true;
    delete_whole(catalog, tuple);
    return false;
  });
}

}  // namespace

int64 catalog_store(const DensityKey& key, const FitRecord& record, LockedDensity* locked) {
  const char* alias = record.request.alias;
  // A refresh gives none: it keeps the one there is.
  if (alias != nullptr && locked == nullptr) lock_alias(alias);
  Relation catalog = open_catalog(RowExclusiveLock);
  // The locks are of the catalog. Where another has come in its place, they are taken of that.
  catalog_lock(key);
  if (alias != nullptr && locked == nullptr) lock_alias(alias);
  HeapTuple old =
      locked != nullptr ? row_of(catalog, *locked->entry, nullptr) : row_of(catalog, key, nullptr);
  check_snapshot_agrees(catalog, key, old);
  KDE_FAULT("store.found");
  RefreshSettings settings;
  Upkeep upkeep;
  if (alias != nullptr && locked == nullptr) check_alias(key, alias);
  if (locked != nullptr) upkeep = locked->upkeep;
  if (old != nullptr) {
    RowReader before(old, RelationGetDescr(catalog));
    columns_of(before, &settings);
    before(C::id, &upkeep.density_id);
    if (alias == nullptr) before(C::alias, &alias);
    delete_row(catalog, old);
    CommandCounterIncrement();
  } else {
    upkeep.density_id = new_density_id();
    remove_unusable(catalog, key);
  }
  if (locked == nullptr) catalog_remove_gone();
  KDE_FAULT("store.deleted");

  CatalogWriter row;
  FitRecord fit = record;
  fit.request.alias = alias;
  put_key(&row, key);
  columns_of(row, &fit);
  ArrayType* meaning = as_fitted(key);
  row(C::as_fitted, &meaning);
  TimestampTz now = GetCurrentTimestamp();
  row(C::fitted_at, &now);
  row(C::id, &upkeep.density_id);
  columns_of(row, &settings);
  note_definition(key.relation, columns_read_by(key), &fit.proof);
  columns_of(row, &fit.proof);
  upkeep = {upkeep.density_id, upkeep.tid, record.counters, record.table_rows};
  upkeep_write(&upkeep);
  stretches_store(upkeep.density_id, record.stretches);
  insert_row(catalog, row.make(RelationGetDescr(catalog)));
  KDE_FAULT("store.inserted");
  note_changed_densities();
  table_close(catalog, NoLock);
  CommandCounterIncrement();
  KDE_FAULT("store.done");
  return upkeep.density_id;
}

bool catalog_restore(const DensityKey& key, HeapTuple row, TupleDesc desc) {
  if (desc->natts != kCatalogColumns) raise_other_version();
  RowReader brought(row, desc);
  const char* alias = nullptr;
  if (brought(C::alias, &alias)) lock_alias(alias);
  Relation catalog = open_catalog(RowExclusiveLock);
  remove_unusable(catalog, key);
  const bool taken = row_of(catalog, key, nullptr) != nullptr;
  const bool alias_taken = alias != nullptr && catalog_entry_by_alias(alias, nullptr) != nullptr;
  if (taken) {
    table_close(catalog, NoLock);
    return false;
  }
  ArrayType *names, *numbers, *fitted = nullptr;
  NamedColumns references;
  if (brought(C::as_fitted, &fitted))
    fitted = brought(C::reference_names, &names) && brought(C::reference_numbers, &numbers) &&
                     read_named_columns(names, numbers, MaxHeapAttributeNumber, &references)
                 ? reorder_fitted(fitted, key.all(), references, key)
                 : nullptr;
  CatalogWriter changed;
  put_key(&changed, key);
  changed(C::as_fitted, &fitted);
  // What another server's files prove is nothing here.
  Proof none;
  changed(C::proof, &none);
  const char* no_seed = nullptr;
  changed(C::hash_seed, &no_seed);
  if (alias_taken) {
    ereport(WARNING, (errmsg("the density of %s is restored without its name \"%s\"",
                             display_name(key), alias),
                      errdetail("Another density has it.")));
    alias = nullptr;
    changed(C::alias, &alias);
  }
  // Who has planned queries of the table may take it for one without a density for plain SQL.
  CacheInvalidateRelcacheByRelid(key.relation);
  // The number it brought is that of another density here, or will be.
  int64 id = new_density_id();
  changed(C::id, &id);
  // By the catalog's own types: that of its first column is not the door's.
  insert_row(catalog, changed.change(row, desc, RelationGetDescr(catalog)));
  note_changed_densities();
  table_close(catalog, NoLock);
  CommandCounterIncrement();
  KDE_FAULT("restore.done");
  return true;
}

bool catalog_remove(const DensityKey& key) {
  Relation catalog = open_catalog(RowExclusiveLock);
  HeapTuple old = row_of(catalog, key, nullptr);
  check_snapshot_agrees(catalog, key, old);
  KDE_FAULT("remove.found");
  if (old != nullptr) {
    delete_row(catalog, old);
    KDE_FAULT("remove.deleted");
    remove_beside(id_of(old, RelationGetDescr(catalog)));
  }
  table_close(catalog, NoLock);
  CommandCounterIncrement();
  KDE_FAULT("remove.done");
  return old != nullptr;
}

}  // namespace kde_pg
