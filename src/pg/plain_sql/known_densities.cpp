// See known_densities.h. What is forgotten while a planner still has it goes with the planner's
// memory.
#include "pg/plain_sql/known_densities.h"

#include "pg/catalog/catalog.h"
#include "pg/catalog/expression.h"

extern "C" {
#include "access/parallel.h"
#include "access/sysattr.h"
#include "access/xact.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
}

#include <initializer_list>

namespace kde_pg {

namespace {

// Beyond so many tables all are forgotten.
constexpr long kMostTables = 10000;

struct KnownTable {
  MemoryContext memory;  // and this lies in it
  List* entries;         // CatalogEntry*
  int users;             // planners that have it
  bool forgotten;
  uint64 definitions;  // as of when; 0: whatever they are
};

struct Place {
  Oid relation;
  KnownTable* table;  // null: none may answer
};

HTAB* places = nullptr;
Oid catalog = InvalidOid;  // what they were read from
uint64 invalidations = 0;
uint64 definitions = 1;  // how often types, functions and the like have changed

void forget(KnownTable* table) {
  if (table == nullptr) return;
  table->forgotten = true;
  if (table->users == 0) MemoryContextDelete(table->memory);
}

const Place* place_of(Oid relation) {
  if (places == nullptr) return nullptr;
  return static_cast<const Place*>(hash_search(places, &relation, HASH_FIND, nullptr));
}

void forget(Oid relation) {
  const Place* place = place_of(relation);
  if (place == nullptr) return;
  forget(place->table);
  hash_search(places, &relation, HASH_REMOVE, nullptr);
}

void forget_all() {
  HASH_SEQ_STATUS all;
  hash_seq_init(&all, places);
  while (const auto* place = static_cast<Place*>(hash_seq_search(&all))) forget(place->table);
  hash_destroy(places);
  places = nullptr;
}

void on_relation(Datum, Oid relation) {
  ++invalidations;
  if (places == nullptr) return;
  if (OidIsValid(relation) && relation != catalog)
    forget(relation);
  else
    forget_all();
}

void on_definition(Datum, int, uint32) { ++definitions; }

void leave(void* table) {
  auto* of = static_cast<KnownTable*>(table);
  if (--of->users == 0 && of->forgotten) MemoryContextDelete(of->memory);
}

// Until the current memory context goes.
List* in_use(KnownTable* table) {
  if (table == nullptr) return NIL;
  auto* callback = static_cast<MemoryContextCallback*>(palloc0(sizeof(MemoryContextCallback)));
  callback->func = leave;
  callback->arg = table;
  MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
  ++table->users;
  return table->entries;
}

DensityKey copy_of(const DensityKey& key) {
  DensityKey out = key;
  for (int i = 0; i < key.all(); ++i)
    out.column[i] = {key.column[i].attnum, pstrdup(key.column[i].text), nullptr};
  out.filter = pstrdup(key.filter);
  out.condition = nullptr;
  auto* references =
      static_cast<AttrNumber*>(palloc(sizeof(AttrNumber) * static_cast<Size>(key.references + 1)));
  for (int i = 0; i < key.references; ++i) references[i] = key.reference[i];
  out.reference = references;
  if (key.settings != nullptr) out.settings = pstrdup(key.settings);
  return out;
}

bool has_expressions(const DensityKey& key) {
  bool out = false;
  for (int i = 0; i < key.all(); ++i) out = out || key.column[i].attnum == 0;
  return out;
}

// With the measures, in their order.
bool is_written_alike(const DensityKey& a, const DensityKey& b) {
  bool out = strcmp(a.filter, b.filter) == 0;
  for (int i = 0; out && i < a.all(); ++i)
    out =
        a.column[i].attnum == b.column[i].attnum && strcmp(a.column[i].text, b.column[i].text) == 0;
  return out;
}

Bitmapset* as_planner_has(const Bitmapset* columns) {
  Bitmapset* out = nullptr;
  for (int i = -1; (i = bms_next_member(columns, i)) >= 0;)
    out = bms_add_member(out, i - FirstLowInvalidHeapAttributeNumber);
  return out;
}

// Names of what is not the server's own are qualified in it.
bool may_name_others(const DensityKey& key) {
  bool out = strchr(key.filter, '.') != nullptr;
  for (int i = 0; i < key.all(); ++i)
    out = out || (key.column[i].attnum == 0 && strchr(key.column[i].text, '.') != nullptr);
  return out;
}

// Of what plans need to know.
CatalogEntry* kept(const CatalogEntry& entry) {
  auto* out = static_cast<CatalogEntry*>(palloc(sizeof(CatalogEntry)));
  *out = {};
  out->key = copy_of(entry.key);
  out->id = entry.id;
  out->settings = entry.settings;
  out->known = static_cast<KnownDensity*>(palloc0(sizeof(KnownDensity)));
  out->known->memory = CurrentMemoryContext;
  out->known->columns = as_planner_has(columns_read_by(out->key));
  if (out->key.has_filter() && !has_expressions(out->key)) {
    DensityKey filter = out->key;
    filter.columns = filter.measures = filter.groups = 0;
    out->known->of_filter = as_planner_has(columns_read_by(filter));
  }
  return out;
}

KnownTable* kept(List* entries) {
  MemoryContext memory =
      AllocSetContextCreate(CurrentMemoryContext, "kde_aqp known densities", ALLOCSET_SMALL_SIZES);
  MemoryContext caller = MemoryContextSwitchTo(memory);
  auto* out = static_cast<KnownTable*>(palloc0(sizeof(KnownTable)));
  out->memory = memory;
  for (const CatalogEntry* entry : of_list<const CatalogEntry>(entries)) {
    if (!entry->settings.plain_sql) continue;
    out->entries = lappend(out->entries, kept(*entry));
    if (may_name_others(entry->key)) out->definitions = definitions;
  }
  MemoryContextSwitchTo(caller);
  // An error before has left nothing behind.
  MemoryContextSetParent(memory, CacheMemoryContext);
  return out;
}

bool is_allowed(List* entries) {
  for (const CatalogEntry* entry : of_list<const CatalogEntry>(entries))
    if (entry->settings.plain_sql) return true;
  return false;
}

void keep(Oid relation, KnownTable* table) {
  if (places != nullptr && hash_get_num_entries(places) >= kMostTables) forget_all();
  if (catalog != catalog_oid_or_invalid()) {
    if (places != nullptr) forget_all();
    catalog = catalog_oid_or_invalid();
  }
  if (places == nullptr) {
    HASHCTL control = {};
    control.keysize = sizeof(Oid);
    control.entrysize = sizeof(Place);
    control.hcxt = CacheMemoryContext;
    places = hash_create("kde_aqp tables of plain SQL", 64, &control,
                         HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
  }
  static_cast<Place*>(hash_search(places, &relation, HASH_ENTER, nullptr))->table = table;
}

// As of now, whatever the statement sees: what it sees is looked at when it runs. While the
// extension is dropped there are none, and nobody is waited for. False: nothing is known.
bool read(Oid relation, List** entries) {
  *entries = NIL;
  if (!catalog_is_installed()) return true;
  const Oid extension = hold_extension_at_once();
  if (!OidIsValid(extension)) return false;
  Snapshot latest = RegisterSnapshot(GetLatestSnapshot());
  *entries = catalog_list(relation, latest);
  UnregisterSnapshot(latest);
  release_extension(extension);
  return true;
}

}  // namespace

bool is_known_to_have_none(Oid relation) {
  const Place* place = place_of(relation);
  return place != nullptr && place->table == nullptr;
}

List* known_densities(Oid relation, bool any) {
  if (!any && is_known_to_have_none(relation)) return NIL;
  // In a long transaction nothing else may look.
  AcceptInvalidationMessages();
  const Place* place = any ? nullptr : place_of(relation);
  if (place != nullptr) {
    KnownTable* table = place->table;
    if (table == nullptr || table->definitions == 0 || table->definitions == definitions)
      return in_use(table);
    forget(relation);
  }
  // There is no such snapshot in parallel mode, nor does a worker plan much.
  if (IsInParallelMode()) return NIL;
  const uint64 before = invalidations;
  List* entries;
  const bool is_known = read(relation, &entries);
  if (any) return entries;
  KnownTable* table = is_allowed(entries) ? kept(entries) : nullptr;
  if (is_known && before == invalidations)
    keep(relation, table);
  else if (table != nullptr)
    table->forgotten = true;
  return in_use(table);
}

const DensityKey* folded_key(Relation relation, const CatalogEntry& entry) {
  KnownDensity* known = entry.known;
  if (known != nullptr && known->is_folded) return known->folded;
  auto* key = static_cast<DensityKey*>(palloc(sizeof(DensityKey)));
  *key = entry.key;
  if (!fold_key(relation, key) || is_written_alike(*key, entry.key)) key = nullptr;
  if (known == nullptr) return key;
  MemoryContext caller = MemoryContextSwitchTo(known->memory);
  if (key != nullptr) {
    auto* own = static_cast<DensityKey*>(palloc(sizeof(DensityKey)));
    *own = copy_of(*key);
    known->folded = own;
  }
  known->is_folded = true;
  MemoryContextSwitchTo(caller);
  return known->folded;
}

void register_known_densities() {
  CacheRegisterRelcacheCallback(on_relation, 0);
  for (const SysCacheIdentifier cache :
       {TYPEOID, PROCOID, OPEROID, COLLOID, NAMESPACEOID, CASTSOURCETARGET})
    CacheRegisterSyscacheCallback(cache, on_definition, 0);
}

}  // namespace kde_pg
