// Access to kde_aqp.fitted by the index of its key. The layout here is that of the install script.
#include "pg/catalog/catalog.h"

#include "pg/base/fault.h"
#include "pg/base/subtransaction.h"
#include "pg/catalog/as_fitted.h"
#include "pg/catalog/changed_databases.h"
#include "pg/catalog/expression.h"
#include "pg/catalog/extension_lock.h"
#include "pg/catalog/not_fitted.h"
#include "pg/catalog/parts.h"

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "commands/sequence.h"
#include "common/hashfn.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/typcache.h"
}

namespace kde_pg {

namespace {

enum Column {
  kRelation = 1,
  kColumnNames,
  kAttributeNumbers,
  kFilter,
  kReferenceNames,
  kReferenceNumbers,
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
  kBandwidthMatrix,
  kStoredRows,
  kFittedAt,
  kId,
  kRequestedSeed,
  kRefreshEnabled,
  kRefreshScaleFactor,
  kRefreshThreshold,
  kRefreshMaxAge,
  kRequestedError,
  kMeasures,
  kGroups,
  kAlias,
  kPlainSql,
  kIncremental,
  kRefreshQuery,
  kPlainSqlAge,
  kAsFitted,
  kAsOf,
  kProof,
  kColumns = kProof
};
static_assert(kColumns == kCatalogColumns);

// A row's key. What is in it may have come by a dump: rows that are not what is written here are
// skipped.
struct CatalogRow {
  DensityKey key;  // without trees
  NamedColumns columns, references;
};

bool is_vector(ArrayType* array, Oid type) {
  return ARR_NDIM(array) <= 1 && !ARR_HASNULL(array) && ARR_ELEMTYPE(array) == type;
}

int length_of(ArrayType* array) { return ARR_NDIM(array) == 0 ? 0 : ARR_DIMS(array)[0]; }

// A number of the key's columns.
int number_of(HeapTuple tuple, TupleDesc desc, int column) {
  bool is_null;
  const Datum number = heap_getattr(tuple, column, desc, &is_null);
  return is_null ? -1 : DatumGetInt16(number);
}

// null: it is not known.
ArrayType* fitted_of(HeapTuple tuple, TupleDesc desc) {
  bool is_null;
  const Datum value = heap_getattr(tuple, kAsFitted, desc, &is_null);
  return is_null ? nullptr : DatumGetArrayTypePCopy(value);
}

bool read_row(HeapTuple tuple, TupleDesc desc, CatalogRow* row) {
  Datum values[kReferenceNumbers];
  for (int i = kRelation; i <= kReferenceNumbers; ++i) {
    bool is_null;
    values[i - 1] = heap_getattr(tuple, i, desc, &is_null);
    if (is_null) return false;
  }
  const auto array = [&](int i) { return DatumGetArrayTypeP(values[i - 1]); };
  if (!read_named_columns(array(kColumnNames), array(kAttributeNumbers), kde::kMaxColumns,
                          &row->columns) ||
      !read_named_columns(array(kReferenceNames), array(kReferenceNumbers), MaxHeapAttributeNumber,
                          &row->references) ||
      row->columns.count == 0)
    return false;
  row->key = {};
  row->key.relation = DatumGetObjectId(values[kRelation - 1]);
  if (!divide_columns(row->columns.count, number_of(tuple, desc, kMeasures),
                      number_of(tuple, desc, kGroups), &row->key))
    return false;
  for (int i = 0; i < row->columns.count; ++i)
    row->key.column[i] = {row->columns.number[i], row->columns.name[i], nullptr};
  row->key.filter = TextDatumGetCString(values[kFilter - 1]);
  row->key.references = row->references.count;
  row->key.reference = row->references.number;
  row->key.settings = settings_in(fitted_of(tuple, desc));
  return true;
}

bool is_current(const CatalogRow& row) {
  return are_current(row.key.relation, row.columns) &&
         are_current(row.key.relation, row.references);
}

bool uses(const NamedColumns& columns, AttrNumber attnum) {
  for (int i = 0; i < columns.count; ++i) {
    if (columns.number[i] == attnum) return true;
  }
  return false;
}

// Opens the catalog. Writers keep their lock to the end of the transaction, as SQL does: VACUUM
// FULL, REINDEX and ALTER TABLE must not meet rows whose transaction still runs. Its layout must be
// the one this library was built for: between the files of a new version and ALTER EXTENSION UPDATE
// it is not.
Relation open_catalog(LOCKMODE lock) {
  Relation catalog = open_own_table(catalog_oid, lock);
  if (RelationGetNumberOfAttributes(catalog) != kColumns) raise_other_version();
  return catalog;
}

// For event triggers, which must not fail all DDL until ALTER EXTENSION UPDATE. Null: it is of
// another version, or the extension was dropped, perhaps while we waited.
Relation open_catalog_to_follow() {
  hold_extension();
  const Oid oid = catalog_oid_or_invalid();
  Relation catalog = OidIsValid(oid) ? try_table_open(oid, RowExclusiveLock) : nullptr;
  if (catalog != nullptr && RelationGetNumberOfAttributes(catalog) != kColumns) {
    table_close(catalog, RowExclusiveLock);
    return nullptr;
  }
  return catalog;
}

// Calls visit(tuple, row) for each row of a relation, or (InvalidOid) of all, until it returns
// false.
template <typename Visit>
void for_rows_of(Relation catalog, Oid relation, Snapshot snapshot, Visit visit) {
  ScanKeyData key;
  ScanKeyInit(&key, kRelation, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relation));
  SysScanDesc scan = systable_beginscan(catalog, key_index_of(catalog), true, snapshot,
                                        OidIsValid(relation) ? 1 : 0, &key);
  HeapTuple tuple;
  while (HeapTupleIsValid(tuple = systable_getnext(scan))) {
    CatalogRow row;
    if (!read_row(tuple, RelationGetDescr(catalog), &row)) continue;
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

ArrayType* text_array(int n, const char* const* texts) {
  Datum* values = static_cast<Datum*>(palloc(sizeof(Datum) * (n + 1)));
  for (int i = 0; i < n; ++i) values[i] = CStringGetTextDatum(texts[i]);
  return construct_array(values, n, TEXTOID, -1, false, TYPALIGN_INT);
}

ArrayType* number_array(int n, const AttrNumber* numbers) {
  Datum* values = static_cast<Datum*>(palloc(sizeof(Datum) * (n + 1)));
  for (int i = 0; i < n; ++i) values[i] = Int16GetDatum(numbers[i]);
  return construct_array(values, n, INT2OID, sizeof(int16), true, TYPALIGN_SHORT);
}

// What a row has beside key and density.
void read_settings(HeapTuple tuple, TupleDesc desc, RefreshSettings* settings) {
  *settings = {};
  bool is_null;
  const auto get = [&](int i) { return heap_getattr(tuple, i, desc, &is_null); };
  Datum value = get(kRefreshEnabled);
  if (!is_null) settings->enabled = DatumGetBool(value);
  value = get(kRefreshScaleFactor);
  if (!is_null) settings->scale_factor = DatumGetFloat8(value);
  value = get(kRefreshThreshold);
  if (!is_null) settings->threshold = DatumGetInt64(value);
  value = get(kRefreshMaxAge);
  if (!is_null) settings->max_age = seconds_of(DatumGetIntervalP(value));
  value = get(kPlainSql);
  if (!is_null) settings->plain_sql = DatumGetBool(value);
  value = get(kPlainSqlAge);
  if (!is_null) settings->plain_sql_age = seconds_of(DatumGetIntervalP(value));
}

Proof proof_of(HeapTuple row, TupleDesc desc) {
  bool is_null;
  const Datum bytes = heap_getattr(row, kProof, desc, &is_null);
  Proof out = proof_from_bytes(is_null ? nullptr : DatumGetByteaPP(bytes));
  const Datum as_of = heap_getattr(row, kAsOf, desc, &is_null);
  if (!is_null && out.as_of == 0) out.as_of = DatumGetTimestampTz(as_of);
  return out;
}

CatalogEntry* read_entry(HeapTuple tuple, TupleDesc desc, const CatalogRow& row) {
  auto* entry = static_cast<CatalogEntry*>(palloc0(sizeof(CatalogEntry)));
  entry->key = row.key;
  entry->tid = tuple->t_self;
  bool is_null;
  const auto get = [&](int i) { return heap_getattr(tuple, i, desc, &is_null); };
  // Constraints let nothing but what is looked at below be null.
  entry->fitted_at = DatumGetTimestampTz(get(kFittedAt));
  entry->id = DatumGetInt64(get(kId));
  entry->cost_ms = DatumGetFloat8(get(kScanMs)) + DatumGetFloat8(get(kSelectMs)) +
                   DatumGetFloat8(get(kEstimateMs));
  FitRequest& request = entry->request;
  request.method = TextDatumGetCString(get(kRequestedMethod));
  request.exact = DatumGetBool(get(kRequestedExact));
  request.sample_rows = DatumGetInt64(get(kRequestedSampleRows));
  const Datum seed = get(kRequestedSeed);
  request.seed_given = !is_null;
  if (!is_null) request.seed = DatumGetInt64(seed);
  const Datum error = get(kRequestedError);
  request.max_error = is_null ? 0 : DatumGetFloat8(error);
  const Datum alias = get(kAlias);
  request.alias = is_null ? nullptr : TextDatumGetCString(alias);
  const Datum incremental = get(kIncremental);
  request.incremental = !is_null && DatumGetBool(incremental);
  const Datum query = get(kRefreshQuery);
  request.query = is_null ? nullptr : TextDatumGetCString(query);
  read_settings(tuple, desc, &entry->settings);
  entry->fitted = fitted_of(tuple, desc);
  entry->proof = proof_of(tuple, desc);
  return entry;
}

[[noreturn]] void raise_concurrent_update() {
  ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                  errmsg("could not serialize access due to concurrent update"),
                  errhint("The transaction might succeed if retried.")));
  pg_unreachable();
}

int64 id_of(Relation catalog, HeapTuple tuple) {
  bool is_null;
  return DatumGetInt64(heap_getattr(tuple, kId, RelationGetDescr(catalog), &is_null));
}

// As it is stored: perhaps elsewhere.
Datum density_of(HeapTuple tuple, TupleDesc desc) {
  bool is_null;
  const Datum value = heap_getattr(tuple, kDensity, desc, &is_null);
  if (is_null)
    ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED), errmsg("catalog row without a density"),
                    errhint("Fit it again with kde_fit().")));
  return value;
}

struct varlena* value_of(HeapTuple tuple, TupleDesc desc) {
  return PG_DETOAST_DATUM_COPY(density_of(tuple, desc));
}

// The current row of a key, copied, or null.
HeapTuple row_of(Relation catalog, const DensityKey& key, Snapshot snapshot) {
  HeapTuple out = nullptr;
  for_rows_of(catalog, key.relation, snapshot, [&](HeapTuple tuple, const CatalogRow& row) {
    if (same_key(row.key, key) && is_current(row)) out = heap_copytuple(tuple);
    return out == nullptr;
  });
  return out;
}

// The same of an entry: where it was read, else (as after VACUUM FULL) where it is now.
HeapTuple row_of(Relation catalog, const CatalogEntry& entry, Snapshot snapshot) {
  HeapTuple out = row_at(catalog, entry.tid, kId, entry.id, snapshot);
  return out != nullptr ? out : row_of(catalog, entry.key, snapshot);
}

// In REPEATABLE READ and up: what is about to be replaced or removed (null: nothing) must be what
// the transaction sees; anything else another transaction has changed meanwhile.
void check_snapshot_agrees(Relation catalog, const DensityKey& key, HeapTuple latest) {
  if (!IsolationUsesXactSnapshot()) return;
  Snapshot own = GetTransactionSnapshot();
  if (latest == nullptr
          ? row_of(catalog, key, own) == nullptr
          : TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(latest->t_data)) ||
                row_at(catalog, latest->t_self, kId, id_of(catalog, latest), own))
    return;
  raise_concurrent_update();
}

// Rows are written under locks that exclude each other (a key's lock here, the table's in DDL),
// so only a change by SQL to the catalog itself can come between.
void delete_row(Relation catalog, ItemPointer tid) {
  TM_FailureData failure;
  if (delete_at(catalog, tid, true, &failure) != TM_Ok) raise_concurrent_update();
}

}  // namespace

HeapTuple row_at(Relation table, ItemPointerData tid, AttrNumber id_column, int64 id,
                 Snapshot snapshot) {
  // VACUUM may have cut off the end of the file.
  if (!ItemPointerIsValid(&tid) ||
      ItemPointerGetBlockNumber(&tid) >= RelationGetNumberOfBlocks(table))
    return nullptr;
  HeapTuple out = nullptr;
  TupleTableSlot* slot = table_slot_create(table, nullptr);
  if (table_tuple_fetch_row_version(table, &tid, snapshot, slot)) {
    bool is_null;
    const Datum found = slot_getattr(slot, id_column, &is_null);
    if (!is_null && DatumGetInt64(found) == id) out = ExecCopySlotHeapTuple(slot);
  }
  ExecDropSingleTupleTableSlot(slot);
  return out;
}

Oid key_index_of(Relation table) {
  Oid index;
  if (table->rd_rel->relkind == RELKIND_MATVIEW) {
    index = get_relname_relid("fitted_key", RelationGetNamespace(table));
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

void raise_not_installed() {
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("extension \"kde_aqp\" is not installed in this database"),
                  errhint("Run CREATE EXTENSION kde_aqp.")));
  pg_unreachable();
}

bool catalog_hold() {
  if (!OidIsValid(hold_extension_at_once())) return false;
  const Oid catalog = catalog_oid_or_invalid();
  const Oid upkeep = upkeep_oid_or_invalid();
  const Oid parts = parts_oid_or_invalid();
  return OidIsValid(catalog) && OidIsValid(upkeep) &&
         ConditionalLockRelationOid(catalog, AccessShareLock) &&
         ConditionalLockRelationOid(upkeep, AccessShareLock) && OidIsValid(parts) &&
         ConditionalLockRelationOid(parts, AccessShareLock) &&
         SearchSysCacheExists1(RELOID, ObjectIdGetDatum(catalog)) &&
         SearchSysCacheExists1(RELOID, ObjectIdGetDatum(upkeep));
}

void raise_other_version() {
  ereport(ERROR,
          (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
           errmsg("the catalog of extension \"kde_aqp\" is of another version than its library"),
           errhint("Run ALTER EXTENSION kde_aqp UPDATE, or reconnect.")));
  pg_unreachable();
}

int64 new_density_id() {
  const Oid schema = get_namespace_oid("kde_aqp", false);
  const Oid sequence = get_relname_relid("density_id", schema);
  if (!OidIsValid(sequence)) raise_other_version();
  return nextval_internal(sequence, false);
}

const char* live_column_name(Oid relation, AttrNumber attnum) {
  HeapTuple tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relation), Int16GetDatum(attnum));
  if (!HeapTupleIsValid(tuple)) return nullptr;
  const Form_pg_attribute attribute = reinterpret_cast<Form_pg_attribute>(GETSTRUCT(tuple));
  const char* name = attribute->attisdropped ? nullptr : pstrdup(NameStr(attribute->attname));
  ReleaseSysCache(tuple);
  return name;
}

bool read_named_columns(ArrayType* names, ArrayType* numbers, int most, NamedColumns* out) {
  if (!is_vector(names, TEXTOID) || !is_vector(numbers, INT2OID)) return false;
  const int n = length_of(names);
  if (n != length_of(numbers) || n > most) return false;
  Datum* values;
  int count;
  deconstruct_array(names, TEXTOID, -1, false, TYPALIGN_INT, &values, nullptr, &count);
  out->count = n;
  out->name = static_cast<const char**>(palloc(sizeof(char*) * (n + 1)));
  out->number = static_cast<AttrNumber*>(palloc(sizeof(AttrNumber) * (n + 1)));
  for (int i = 0; i < n; ++i) {
    out->name[i] = TextDatumGetCString(values[i]);
    out->number[i] = reinterpret_cast<int16*>(ARR_DATA_PTR(numbers))[i];
  }
  return true;
}

bool are_current(Oid relation, const NamedColumns& columns) {
  for (int i = 0; i < columns.count; ++i) {
    if (columns.number[i] != 0 && get_attnum(relation, columns.name[i]) != columns.number[i])
      return false;
  }
  return true;
}

bool divide_columns(int count, int measures, int groups, DensityKey* key) {
  key->measures = measures;
  key->groups = groups;
  key->columns = count - measures - groups;
  return measures >= 0 && measures <= kde::kMaxMeasures && groups >= 0 &&
         groups <= kde::kMaxGroupBy && key->columns >= 1 &&
         (key->columns == 1 || (measures == 0 && groups == 0));
}

namespace {

// So many of a key's columns, from `first` on.
ArrayType* texts_of(const DensityKey& key, int first, int count) {
  const char* texts[kde::kMaxColumns];
  for (int i = 0; i < count; ++i) texts[i] = key.column[first + i].text;
  return text_array(count, texts);
}

}  // namespace

ArrayType* measures_of(const DensityKey& key) {
  return key.measures > 0 ? texts_of(key, key.columns, key.measures) : nullptr;
}

ArrayType* groups_of(const DensityKey& key) {
  return key.groups > 0 ? texts_of(key, key.first_group(), key.groups) : nullptr;
}

ArrayType* column_names_of(const DensityKey& key) { return texts_of(key, 0, key.columns); }

void catalog_key_datums(const DensityKey& key, Datum values[kCatalogKeyColumns]) {
  AttrNumber numbers[kde::kMaxColumns];
  const char* names[kde::kMaxColumns];
  for (int i = 0; i < key.all(); ++i) {
    names[i] = key.column[i].text;
    numbers[i] = key.column[i].attnum;
    if (key.column[i].text == nullptr)
      elog(ERROR, "column %d of relation %u is gone", numbers[i], key.relation);
  }
  const char** references = static_cast<const char**>(palloc(sizeof(char*) * (key.references + 1)));
  for (int i = 0; i < key.references; ++i) {
    references[i] = live_column_name(key.relation, key.reference[i]);
    if (references[i] == nullptr)
      elog(ERROR, "column %d of relation %u is gone", key.reference[i], key.relation);
  }
  const auto put = [values](CatalogColumn c, Datum value) {
    values[static_cast<int>(c) - 1] = value;
  };
  put(CatalogColumn::relation, ObjectIdGetDatum(key.relation));
  put(CatalogColumn::column_names, PointerGetDatum(text_array(key.all(), names)));
  put(CatalogColumn::attribute_numbers, PointerGetDatum(number_array(key.all(), numbers)));
  put(CatalogColumn::filter, CStringGetTextDatum(key.filter));
  put(CatalogColumn::reference_names, PointerGetDatum(text_array(key.references, references)));
  put(CatalogColumn::reference_numbers,
      PointerGetDatum(number_array(key.references, key.reference)));
}

namespace {

Oid relation_of_schema(const char* name) {
  const Oid schema = get_namespace_oid("kde_aqp", true);
  return OidIsValid(schema) ? get_relname_relid(name, schema) : InvalidOid;
}

}  // namespace

Oid catalog_oid_or_invalid() { return relation_of_schema("fitted"); }
Oid upkeep_oid_or_invalid() { return relation_of_schema("upkeep"); }
Oid parts_oid_or_invalid() { return relation_of_schema("part"); }
Oid door_oid_or_invalid() { return relation_of_schema("density"); }

Oid catalog_oid() {
  const Oid oid = catalog_oid_or_invalid();
  if (!OidIsValid(oid)) raise_not_installed();
  return oid;
}

bool catalog_is_installed() {
  const Oid extension = get_extension_oid("kde_aqp", true);
  const Oid schema = get_namespace_oid("kde_aqp", true);
  if (!OidIsValid(extension) || !OidIsValid(schema)) return false;
  for (const char* name : {"fitted", "upkeep", "part"}) {
    const Oid table = get_relname_relid(name, schema);
    if (!OidIsValid(table) || getExtensionOfObject(RelationRelationId, table) != extension)
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
    LatestSnapshot latest;
    latest.take();
    // Not by the index, which somebody may have locked, too.
    SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, latest.get(), 0, nullptr);
    any = HeapTupleIsValid(systable_getnext(scan));
    systable_endscan(scan);
    latest.release();
  }
  if (catalog != nullptr) relation_close(catalog, NoLock);
  UnlockRelationOid(oid, AccessShareLock);
  return !any;
}

StoredDensity catalog_find(const DensityKey& key, Snapshot snapshot) {
  StoredDensity out;
  Relation catalog = open_catalog(AccessShareLock);
  TupleDesc desc = RelationGetDescr(catalog);
  if (HeapTuple row = row_of(catalog, key, snapshot)) {
    out.value = value_of(row, desc);
    out.version = {file_of(catalog), row->t_self, HeapTupleHeaderGetRawXmin(row->t_data)};
    out.id = id_of(catalog, row);
    bool is_null;
    out.fitted_at = DatumGetTimestampTz(heap_getattr(row, kFittedAt, desc, &is_null));
    out.proof = proof_of(row, desc);
    out.column_names = DatumGetArrayTypePCopy(
        heap_getattr(row, static_cast<int>(CatalogColumn::column_names), desc, &is_null));
    out.settings = settings_in(fitted_of(row, desc));
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

List* catalog_list_all(Snapshot snapshot) { return catalog_list(InvalidOid, snapshot); }

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
  SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, snapshot, 0, nullptr);
  HeapTuple tuple;
  while (HeapTupleIsValid(tuple = systable_getnext(scan)))
    visit(tuple, RelationGetDescr(catalog), state);
  systable_endscan(scan);
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

List* catalog_ids(Snapshot snapshot) {
  List* out = NIL;
  Relation catalog = open_catalog(AccessShareLock);
  // Also of rows that are not current.
  SysScanDesc scan = systable_beginscan(catalog, key_index_of(catalog), true, snapshot, 0, nullptr);
  HeapTuple tuple;
  while (HeapTupleIsValid(tuple = systable_getnext(scan))) {
    auto* id = static_cast<int64*>(palloc(sizeof(int64)));
    *id = id_of(catalog, tuple);
    out = lappend(out, id);
  }
  systable_endscan(scan);
  table_close(catalog, AccessShareLock);
  return out;
}

namespace {

// The first entry of a relation that is wanted(), in its newest state; null: there is none.
template <typename Wanted>
CatalogEntry* find_entry(Oid relation, Wanted wanted) {
  LatestSnapshot latest;
  latest.take();
  List* entries = catalog_list(relation, latest.get());
  latest.release();
  ListCell* cell;
  foreach (cell, entries) {
    auto* entry = static_cast<CatalogEntry*>(lfirst(cell));
    if (wanted(*entry)) return entry;
  }
  return nullptr;
}

// The row of an entry whose key is locked. It may have gone with an extension that was made anew.
HeapTuple locked_row(Relation catalog, const CatalogEntry& entry) {
  LatestSnapshot latest;
  latest.take();
  HeapTuple row = row_of(catalog, entry, latest.get());
  latest.release();
  if (row == nullptr) raise_not_fitted(entry.key);
  return row;
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
  HeapTuple tuple = row_at(catalog, version.tid, kId, id, snapshot);
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
    bool is_null;
    const Datum value = heap_getattr(tuple, kAlias, RelationGetDescr(catalog), &is_null);
    if (is_null || strcmp(TextDatumGetCString(value), alias) != 0) return true;
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

kde::Kernel catalog_kernel(const CatalogEntry& entry) {
  constexpr int kPrefix = offsetof(kde::Header, flags) - VARHDRSZ;
  Relation catalog = open_catalog(AccessShareLock);
  const Datum value = density_of(locked_row(catalog, entry), RelationGetDescr(catalog));
  const auto* header =
      reinterpret_cast<const kde::Header*>(PG_DETOAST_DATUM_SLICE(value, 0, kPrefix));
  table_close(catalog, AccessShareLock);
  if (static_cast<int>(header->kernel) >= kde::kKernels) {
    ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED), errmsg("stored density has an unknown kernel"),
                    errhint("Drop the density and fit it again.")));
  }
  return header->kernel;
}

namespace {

// Columns kRefreshEnabled and on, kPlainSql and kPlainSqlAge.
void put_settings(const RefreshSettings& settings, Datum* values, bool* nulls) {
  const auto put = [&](int at, bool is_null, Datum value) {
    nulls[at - 1] = is_null;
    values[at - 1] = value;
  };
  put(kRefreshEnabled, false, BoolGetDatum(settings.enabled));
  put(kRefreshScaleFactor, settings.scale_factor < 0, Float8GetDatum(settings.scale_factor));
  put(kRefreshThreshold, settings.threshold < 0, Int64GetDatum(settings.threshold));
  const bool aged = settings.max_age >= 0;
  put(kRefreshMaxAge, !aged, aged ? IntervalPGetDatum(interval_of(settings.max_age)) : 0);
  put(kPlainSql, false, BoolGetDatum(settings.plain_sql));
  const bool may_be_old = settings.plain_sql_age >= 0;
  put(kPlainSqlAge, !may_be_old,
      may_be_old ? IntervalPGetDatum(interval_of(settings.plain_sql_age)) : 0);
}

void put_proof(const Proof& proof, Datum* values, bool* nulls) {
  nulls[kAsOf - 1] = proof.as_of == 0;
  values[kAsOf - 1] = TimestampTzGetDatum(proof.as_of);
  bytea* bytes = proof_to_bytes(proof);
  nulls[kProof - 1] = bytes == nullptr;
  values[kProof - 1] = PointerGetDatum(bytes);
}

// Replaces columns of an entry's row.
void change_row(const CatalogEntry& entry, const Datum* values, const bool* nulls,
                const bool* replace) {
  Relation catalog = open_catalog(RowExclusiveLock);
  HeapTuple old = locked_row(catalog, entry);
  check_snapshot_agrees(catalog, entry.key, old);
  HeapTuple changed = heap_modify_tuple(old, RelationGetDescr(catalog), const_cast<Datum*>(values),
                                        const_cast<bool*>(nulls), const_cast<bool*>(replace));
  delete_row(catalog, &old->t_self);
  CommandCounterIncrement();
  KDE_FAULT("set.deleted");
  CatalogTupleInsert(catalog, changed);
  CommandCounterIncrement();
  KDE_FAULT("set.done");
  table_close(catalog, NoLock);
}

}  // namespace

void catalog_set(const CatalogEntry& entry, const RefreshSettings& settings) {
  Datum values[kColumns] = {};
  bool nulls[kColumns] = {};
  bool replace[kColumns] = {};
  put_settings(settings, values, nulls);
  for (int c = kRefreshEnabled; c <= kRefreshMaxAge; ++c) replace[c - 1] = true;
  replace[kPlainSql - 1] = replace[kPlainSqlAge - 1] = true;
  change_row(entry, values, nulls, replace);
}

void catalog_prove(const CatalogEntry& entry, const Proof& proof) {
  Datum values[kColumns] = {};
  bool nulls[kColumns] = {};
  bool replace[kColumns] = {};
  put_proof(proof, values, nulls);
  replace[kAsOf - 1] = replace[kProof - 1] = true;
  change_row(entry, values, nulls, replace);
}

namespace {

LOCKTAG lock_tag(const DensityKey& key) {
  uint16 number = static_cast<uint16>(key.column[0].attnum);
  if (!key.is_plain()) {
    const char* identity = key_identity(key);
    number = static_cast<uint16>(hash_bytes(reinterpret_cast<const unsigned char*>(identity),
                                            static_cast<int>(strlen(identity))));
  }
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
  ListCell* cell;
  foreach (cell, keys) {
    auto* tag = static_cast<LOCKTAG*>(palloc(sizeof(LOCKTAG)));
    *tag = lock_tag(*static_cast<const DensityKey*>(lfirst(cell)));
    tags = lappend(tags, tag);
  }
  list_sort(tags, compare_tags);
  foreach (cell, tags)
    (void)LockAcquire(static_cast<LOCKTAG*>(lfirst(cell)), ExclusiveLock, false, false);
  list_free_deep(tags);
  AcceptInvalidationMessages();
}

namespace {

// An alias is one density's: who gives it waits for others who do, to see theirs before the
// catalog's index fitted_alias refuses it.
void lock_alias(const char* alias) {
  const auto hash = static_cast<uint16>(
      hash_bytes(reinterpret_cast<const unsigned char*>(alias), static_cast<int>(strlen(alias))));
  LOCKTAG tag;
  SET_LOCKTAG_OBJECT(tag, MyDatabaseId, catalog_oid(), InvalidOid, hash);
  (void)LockAcquire(&tag, ExclusiveLock, false, false);
}

void check_alias(const DensityKey& key, const char* alias, Snapshot snapshot) {
  const CatalogEntry* entry = catalog_entry_by_alias(alias, snapshot);
  if (entry == nullptr || same_key(entry->key, key)) return;
  ereport(ERROR,
          (errcode(ERRCODE_DUPLICATE_OBJECT), errmsg("another density is named \"%s\"", alias),
           errhint("Drop it with kde_drop(%s), or choose another name.",
                   quote_literal_cstr(quote_identifier(alias)))));
}

bool same_texts(const DensityKey& a, const DensityKey& b) {
  bool same = a.columns == b.columns && a.groups == b.groups && strcmp(a.filter, b.filter) == 0;
  const auto compare = [&](int i, int j) {
    same = same && strcmp(a.column[i].text, b.column[j].text) == 0;
  };
  for (int i = 0; i < a.columns && same; ++i) compare(i, i);
  for (int i = 0; i < a.groups && same; ++i) compare(a.first_group() + i, b.first_group() + i);
  return same;
}

// A row of the same texts under other numbers than this table's, as it comes by a restore with
// triggers disabled, is nobody's density; it would only be in the way of the key's own.
void remove_unusable(Relation catalog, const DensityKey& key, Snapshot snapshot) {
  for_rows_of(catalog, key.relation, snapshot, [&](HeapTuple tuple, const CatalogRow& row) {
    if (is_current(row) || !same_texts(row.key, key)) return true;
    delete_row(catalog, &tuple->t_self);
    upkeep_remove(id_of(catalog, tuple));
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
  LatestSnapshot latest;
  latest.take();
  HeapTuple old = locked != nullptr ? row_of(catalog, *locked->entry, latest.get())
                                    : row_of(catalog, key, latest.get());
  check_snapshot_agrees(catalog, key, old);
  KDE_FAULT("store.found");
  RefreshSettings settings;
  Upkeep upkeep;
  if (alias != nullptr && locked == nullptr) check_alias(key, alias, latest.get());
  if (locked != nullptr) upkeep = locked->upkeep;
  if (old != nullptr) {
    read_settings(old, RelationGetDescr(catalog), &settings);
    upkeep.density_id = id_of(catalog, old);
    bool is_null;
    const Datum before = heap_getattr(old, kAlias, RelationGetDescr(catalog), &is_null);
    if (alias == nullptr && !is_null) alias = TextDatumGetCString(before);
    delete_row(catalog, &old->t_self);
    CommandCounterIncrement();
    if (!record.request.incremental) parts_remove(upkeep.density_id);
  } else {
    upkeep.density_id = new_density_id();
    remove_unusable(catalog, key, latest.get());
  }
  if (locked == nullptr) catalog_remove_gone();
  KDE_FAULT("store.deleted");
  latest.release();

  Datum values[kColumns] = {};
  bool nulls[kColumns] = {};
  const auto put = [&values](int at, Datum value) { values[at - 1] = value; };
  catalog_key_datums(key, values);
  put(kDensity, PointerGetDatum(record.density));
  put(kRequestedMethod, CStringGetTextDatum(record.request.method));
  put(kRequestedExact, BoolGetDatum(record.request.exact));
  put(kRequestedSampleRows, Int64GetDatum(record.request.sample_rows));
  put(kSeed, Int64GetDatum(record.request.seed));
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
  nulls[kBandwidthMatrix - 1] = record.bandwidth_matrix == nullptr;
  put(kBandwidthMatrix, PointerGetDatum(record.bandwidth_matrix));
  nulls[kStoredRows - 1] = record.stored_rows == 0;
  put(kStoredRows, Int64GetDatum(record.stored_rows));
  put(kFittedAt, TimestampTzGetDatum(GetCurrentTimestamp()));
  put(kId, Int64GetDatum(upkeep.density_id));
  nulls[kRequestedSeed - 1] = !record.request.seed_given;
  put(kRequestedSeed, Int64GetDatum(record.request.seed));
  nulls[kRequestedError - 1] = record.request.max_error == 0;
  put(kRequestedError, Float8GetDatum(record.request.max_error));
  put(kMeasures, Int16GetDatum(static_cast<int16>(key.measures)));
  put(kGroups, Int16GetDatum(static_cast<int16>(key.groups)));
  put_or_null(kAlias, alias);
  put(kIncremental, BoolGetDatum(record.request.incremental));
  put_or_null(kRefreshQuery, record.request.query);
  put(kAsFitted, PointerGetDatum(as_fitted(key)));
  put_settings(settings, values, nulls);
  Proof proof = record.proof;
  note_definition(key.relation, columns_read_by(key), &proof);
  put_proof(proof, values, nulls);
  upkeep_fitted(&upkeep, record.counters, record.table_rows);
  CatalogTupleInsert(catalog, heap_form_tuple(RelationGetDescr(catalog), values, nulls));
  KDE_FAULT("store.inserted");
  note_changed_densities();
  table_close(catalog, NoLock);
  CommandCounterIncrement();
  KDE_FAULT("store.done");
  return upkeep.density_id;
}

bool catalog_restore(const DensityKey& key, HeapTuple row, TupleDesc desc) {
  if (desc->natts != kCatalogColumns) raise_other_version();
  Datum values[kCatalogColumns];
  bool nulls[kCatalogColumns];
  heap_deform_tuple(row, desc, values, nulls);
  const char* alias = nulls[kAlias - 1] ? nullptr : TextDatumGetCString(values[kAlias - 1]);
  if (alias != nullptr) lock_alias(alias);
  Relation catalog = open_catalog(RowExclusiveLock);
  LatestSnapshot latest;
  latest.take();
  remove_unusable(catalog, key, latest.get());
  const bool taken = row_of(catalog, key, latest.get()) != nullptr;
  const bool alias_taken =
      alias != nullptr && catalog_entry_by_alias(alias, latest.get()) != nullptr;
  latest.release();
  if (taken) {
    table_close(catalog, NoLock);
    return false;
  }
  NamedColumns brought;
  ArrayType* fitted = nullptr;
  if (!nulls[kAsFitted - 1] && read_named_columns(DatumGetArrayTypeP(values[kReferenceNames - 1]),
                                                  DatumGetArrayTypeP(values[kReferenceNumbers - 1]),
                                                  MaxHeapAttributeNumber, &brought))
    fitted = reorder_fitted(DatumGetArrayTypeP(values[kAsFitted - 1]), key.all(), brought, key);
  nulls[kAsFitted - 1] = fitted == nullptr;
  values[kAsFitted - 1] = PointerGetDatum(fitted);
  catalog_key_datums(key, values);
  // What another server's files prove is nothing here.
  nulls[kProof - 1] = true;
  values[kMeasures - 1] = Int16GetDatum(static_cast<int16>(key.measures));
  values[kGroups - 1] = Int16GetDatum(static_cast<int16>(key.groups));
  if (alias_taken) {
    ereport(WARNING, (errmsg("the density of %s is restored without its name \"%s\"",
                             display_name(key), alias),
                      errdetail("Another density has it.")));
    nulls[kAlias - 1] = true;
  }
  // Who has planned queries of the table may take it for one without a density for plain SQL.
  CacheInvalidateRelcacheByRelid(key.relation);
  // The number it brought is that of another density here, or will be.
  values[kId - 1] = Int64GetDatum(new_density_id());
  CatalogTupleInsert(catalog, heap_form_tuple(RelationGetDescr(catalog), values, nulls));
  note_changed_densities();
  table_close(catalog, NoLock);
  CommandCounterIncrement();
  KDE_FAULT("restore.done");
  return true;
}

bool catalog_remove(const DensityKey& key) {
  Relation catalog = open_catalog(RowExclusiveLock);
  LatestSnapshot latest;
  latest.take();
  HeapTuple old = row_of(catalog, key, latest.get());
  check_snapshot_agrees(catalog, key, old);
  KDE_FAULT("remove.found");
  if (old != nullptr) {
    delete_row(catalog, &old->t_self);
    KDE_FAULT("remove.deleted");
    upkeep_remove(id_of(catalog, old));
  }
  latest.release();
  table_close(catalog, NoLock);
  CommandCounterIncrement();
  KDE_FAULT("remove.done");
  return old != nullptr;
}

namespace {

void delete_with_upkeep(Relation catalog, HeapTuple tuple) {
  delete_row(catalog, &tuple->t_self);
  upkeep_remove(id_of(catalog, tuple));
}

// Who drops a column may not know what else uses it: measures, groups, expressions and filters.
void report_dropped_user(const CatalogRow& row, AttrNumber attnum) {
  for (int i = 0; i < row.key.columns; ++i)
    if (row.key.column[i].attnum == attnum) return;
  const char* name = nullptr;
  for (const NamedColumns* of : {&row.columns, &row.references})
    for (int i = 0; i < of->count; ++i)
      if (of->number[i] == attnum) name = of->name[i];
  if (name == nullptr) return;
  ereport(NOTICE, (errmsg("the density of %s is dropped, as it uses column \"%s\"",
                          display_name(row.key), name),
                   errhint("Fit it again without that column.")));
}

}  // namespace

void catalog_remove_dropped(Oid relation, AttrNumber attnum) {
  Relation catalog = open_catalog_to_follow();
  if (catalog == nullptr) return;
  LatestSnapshot latest;
  latest.take();
  bool any = false;
  for_rows_of(catalog, relation, latest.get(), [&](HeapTuple tuple, const CatalogRow& row) {
    if (attnum != 0 && !uses(row.columns, attnum) && !uses(row.references, attnum)) return true;
    delete_with_upkeep(catalog, tuple);
    if (attnum != 0) report_dropped_user(row, attnum);
    any = true;
    KDE_FAULT("drop.deleted");
    return true;
  });
  latest.release();
  table_close(catalog, NoLock);
  if (any) CommandCounterIncrement();
}

namespace {

bool relation_exists(Oid relation, Snapshot snapshot) {
  ScanKeyData key;
  ScanKeyInit(&key, Anum_pg_class_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relation));
  Relation classes = table_open(RelationRelationId, AccessShareLock);
  SysScanDesc scan = systable_beginscan(classes, ClassOidIndexId, true, snapshot, 1, &key);
  const bool exists = HeapTupleIsValid(systable_getnext(scan));
  systable_endscan(scan);
  table_close(classes, AccessShareLock);
  return exists;
}

}  // namespace

void catalog_remove_gone() {
  Relation catalog = open_catalog(RowExclusiveLock);
  LatestSnapshot latest;
  latest.take();
  bool any = false;
  SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, latest.get(), 0, nullptr);
  HeapTuple tuple;
  while (HeapTupleIsValid(tuple = systable_getnext(scan))) {
    bool is_null;
    const Oid relation =
        DatumGetObjectId(heap_getattr(tuple, kRelation, RelationGetDescr(catalog), &is_null));
    // The cache may not have heard yet of what another transaction made and fitted.
    if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relation)) ||
        relation_exists(relation, latest.get()))
      continue;
    const int64 id = id_of(catalog, tuple);
    // Another session that removes it at this moment is not waited for, nor is that an error.
    TM_FailureData failure;
    if (delete_at(catalog, &tuple->t_self, false, &failure) != TM_Ok) continue;
    upkeep_remove(id);
    any = true;
  }
  systable_endscan(scan);
  latest.release();
  table_close(catalog, NoLock);
  if (any) CommandCounterIncrement();
}

namespace {

enum class Names { same, changed, unclear, gone };

// What has become of a row's columns. Where an old name is another column's now, none was renamed
// (a command renames one): the row's numbers are not this table's.
Names look_at_names(Oid relation, const NamedColumns& columns) {
  Names found = Names::same;
  for (int i = 0; i < columns.count; ++i) {
    if (columns.number[i] == 0) continue;
    const char* name = live_column_name(relation, columns.number[i]);
    if (name == nullptr) return Names::gone;
    if (strcmp(name, columns.name[i]) == 0 || found == Names::unclear) continue;
    const bool taken = get_attnum(relation, columns.name[i]) != InvalidAttrNumber;
    found = taken ? Names::unclear : Names::changed;
  }
  return found;
}

// The key under the columns' present names. False if its texts can no longer be read.
bool renamed_key(Oid relation, const CatalogRow& row, DensityKey* key) {
  *key = row.key;
  if (row.references.count == 0) {
    for (int i = 0; i < key->all(); ++i)
      key->column[i].text = live_column_name(relation, key->column[i].attnum);
    return true;
  }
  const OldNames names{row.references.count, row.references.number, row.references.name};
  return without_error([&] {
    Relation rel = table_open(relation, NoLock);
    analyse_key(rel, &names, key);
    table_close(rel, NoLock);
    if (!fits_catalog(*key))
      ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("the texts are too long")));
  });
}

}  // namespace

namespace {

// The row under the columns' present names; null, with a NOTICE, if its texts can no longer be
// read.
HeapTuple renamed_row(Relation catalog, HeapTuple tuple, const CatalogRow& row) {
  DensityKey key;
  if (!renamed_key(row.key.relation, row, &key)) {
    ereport(NOTICE, (errmsg("dropping the density of %s", display_name(row.key)),
                     errdetail("Its expressions or its filter could not be renamed.")));
    return nullptr;
  }
  const Size width = static_cast<Size>(RelationGetNumberOfAttributes(catalog));
  Datum* values = static_cast<Datum*>(palloc0(sizeof(Datum) * width));
  bool* nulls = static_cast<bool*>(palloc0(sizeof(bool) * width));
  bool* replace = static_cast<bool*>(palloc0(sizeof(bool) * width));
  catalog_key_datums(key, values);
  for (int i = 0; i < kCatalogKeyColumns; ++i) replace[i] = true;
  return heap_modify_tuple(tuple, RelationGetDescr(catalog), values, nulls, replace);
}

// Whether the key of a row that is to be inserted is another's: of a fit since a rename that the
// row could not follow.
bool is_taken(Relation catalog, Oid relation, HeapTuple tuple, Snapshot snapshot) {
  CatalogRow wanted;
  if (!read_row(tuple, RelationGetDescr(catalog), &wanted)) return true;
  bool taken = false;
  for_rows_of(catalog, relation, snapshot, [&](HeapTuple, const CatalogRow& row) {
    taken = same_texts(row.key, wanted.key);
    return !taken;
  });
  return taken;
}

void insert_renamed(Relation catalog, Oid relation, List* rows) {
  ListCell* cell;
  foreach (cell, rows) {
    auto* tuple = static_cast<HeapTuple>(lfirst(cell));
    LatestSnapshot latest;
    latest.take();
    if (is_taken(catalog, relation, tuple, latest.get())) {
      upkeep_remove(id_of(catalog, tuple));
    } else {
      CatalogTupleInsert(catalog, tuple);
    }
    latest.release();
    CommandCounterIncrement();
  }
}

}  // namespace

void catalog_follow_renames(Oid relation) {
  Relation catalog = open_catalog_to_follow();
  if (catalog == nullptr) return;
  LatestSnapshot latest;
  latest.take();
  List* changed = NIL;
  bool any = false;
  for_rows_of(catalog, relation, latest.get(), [&](HeapTuple tuple, const CatalogRow& row) {
    const Names columns = look_at_names(relation, row.columns);
    const Names references = look_at_names(relation, row.references);
    if (columns == Names::gone || references == Names::gone) {
      delete_with_upkeep(catalog, tuple);
      any = true;
      return true;
    }
    if (columns == Names::unclear || references == Names::unclear ||
        (columns == Names::same && references == Names::same))
      return true;
    any = true;
    HeapTuple follows = renamed_row(catalog, tuple, row);
    if (follows == nullptr) {
      delete_with_upkeep(catalog, tuple);
    } else {
      changed = lappend(changed, follows);
      delete_row(catalog, &tuple->t_self);
    }
    return true;
  });
  latest.release();
  if (any) {
    // All are deleted before one is inserted: columns may have swapped their names.
    CommandCounterIncrement();
    KDE_FAULT("rename.deleted");
    insert_renamed(catalog, relation, changed);
    KDE_FAULT("rename.inserted");
    CommandCounterIncrement();
    KDE_FAULT("rename.done");
  }
  table_close(catalog, NoLock);
}

}  // namespace kde_pg
