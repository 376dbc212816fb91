// The densities that this backend keeps at hand: a hash table with a list in order of use, the
// least recently used of which go first.
#include "pg/catalog/cache.h"

#include "pg/base/compat.h"
#include "pg/base/options.h"
#include "pg/base/snapshot_identity.h"
#include "pg/base/text_list.h"
#include "pg/catalog/as_fitted.h"
#include "pg/type/density_datum.h"

extern "C" {
#include "lib/ilist.h"
#include "storage/proc.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
}

namespace kde_pg {

namespace {

// A column by itself by its number; of any other density attnum is 0 and `hash` that of its
// identity, which the entry has too.
struct Key {
  Oid relation;
  int32 attnum;  // no padding: the key is hashed as bytes
  uint64 hash;
};

struct Entry {
  Key key;
  dlist_node use;
  CacheHolders* holders;  // in a context of the entry's own, as all that it points to
  StoredDensity stored;
  kde::BlockSums sums;
  char* identity;            // null for a column by itself
  Size size;                 // of the context
  SnapshotIdentity seen_by;  // the last snapshot found to see the version
  uint64 compared;           // how often definitions had changed when its meaning was compared
};

}  // namespace

struct CacheHolders {
  MemoryContext context;  // of the entry
  int n;                  // contexts that its bytes outlive
  bool is_forgotten;      // by the cache
};

namespace {

MemoryContext memory = nullptr;
HTAB* table = nullptr;
dlist_head by_use = DLIST_STATIC_INIT(by_use);  // most recently used first
Size bytes_held = 0;

// dlist_container without its C-only type check.
Entry* entry_of(dlist_node* node) {
  return reinterpret_cast<Entry*>(reinterpret_cast<char*>(node) - offsetof(Entry, use));
}

// How often types, labels, functions or collations of the database have changed; from 1.
uint64 definitions = 1;

void note_definition(Datum, CacheNumber, uint32) { ++definitions; }

// A column's type, or its expression.
void note_relation(Datum, Oid relation) {
  for (dlist_node* node = by_use.head.next; node != &by_use.head; node = node->next) {
    Entry* e = entry_of(node);
    if (!OidIsValid(relation) || e->key.relation == relation) e->compared = 0;
  }
}

// Notes that a snapshot sees the entry's version. Of a version of the transaction's own nothing is
// noted: a rollback to a savepoint may undo it and leave the next snapshot like the last.
void note_seen(Entry* e, Snapshot snapshot) {
  if (TransactionIdIsCurrentTransactionId(e->stored.version.xmin)) {
    e->seen_by = {};
  } else {
    e->seen_by = identity_of(snapshot);
  }
}

bool usable(Entry* e, Snapshot snapshot) {
  if (same(e->seen_by, identity_of(snapshot))) return true;
  if (!catalog_sees(e->stored.version, snapshot)) return false;
  note_seen(e, snapshot);
  return true;
}

void free_if_unused(CacheHolders* holders) {
  if (holders->is_forgotten && holders->n == 0) MemoryContextDelete(holders->context);
}

// Of a context that ends.
void let_go(void* of) {
  auto* holders = static_cast<CacheHolders*>(of);
  --holders->n;
  free_if_unused(holders);
}

// How many entries have gone.
uint64 forgotten = 0;

void forget(Entry* e) {
  ++forgotten;
  dlist_delete(&e->use);
  bytes_held -= e->size;
  e->holders->is_forgotten = true;
  free_if_unused(e->holders);
  hash_search(table, &e->key, HASH_REMOVE, nullptr);
}

void make_room(Size wanted) {
  const Size limit = static_cast<Size>(option_cache_size) * 1024;
  while (!dlist_is_empty(&by_use) && bytes_held + wanted > limit)
    forget(entry_of(dlist_tail_node(&by_use)));
}

void create_table() {
  memory = AllocSetContextCreate(CacheMemoryContext, "kde_aqp densities", ALLOCSET_DEFAULT_SIZES);
  HASHCTL control = {};
  control.keysize = sizeof(Key);
  control.entrysize = sizeof(Entry);
  control.hcxt = memory;
  table = hash_create("kde_aqp densities", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
  for (const SysCacheIdentifier cache : {TYPEOID, ENUMTYPOIDNAME, PROCOID, COLLOID})
    CacheRegisterSyscacheCallback(cache, note_definition, 0);
  CacheRegisterRelcacheCallback(note_relation, 0);
}

// The bytes stay where they are read: a density with groups has megabytes.
Entry* load(const DensityKey& wanted, const char* identity, const Key& key, Snapshot snapshot) {
  MemoryContext own =
      AllocSetContextCreate(CurrentMemoryContext, "kde_aqp density", ALLOCSET_SMALL_SIZES);
  StoredDensity seen = catalog_find(wanted, snapshot, own);
  if (seen.value == nullptr) {
    MemoryContextDelete(own);
    return nullptr;
  }
  MemoryContext caller = MemoryContextSwitchTo(own);
  const kde::Header* density = any_density_from_datum(PointerGetDatum(seen.value)).one_column;
  kde::BlockSums sums;
  if (density != nullptr) {
    const kde::DensityView view(density);
    sums = add_up_blocks(view, palloc(Max(block_sums_size(view), Size{1})));
  }
  const bool named = identity != nullptr || (density != nullptr && density->measures > 0);
  seen.column_names = named ? DatumGetArrayTypePCopy(PointerGetDatum(seen.column_names)) : nullptr;
  seen.settings = pstrdup(seen.settings);
  seen.proof = copy_proof(seen.proof, palloc(Max(lists_size(seen.proof), Size{1})));
  if (identity != nullptr) identity = pstrdup(identity);
  auto* holders = static_cast<CacheHolders*>(palloc0(sizeof(CacheHolders)));
  holders->context = own;
  MemoryContextSwitchTo(caller);
  const Size size = MemoryContextMemAllocated(own, true);
  make_room(size);
  bool existed;
  Entry* e = static_cast<Entry*>(hash_search(table, &key, HASH_ENTER_NULL, &existed));
  if (e == nullptr) ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
  Assert(!existed);
  MemoryContextSetParent(own, memory);
  e->holders = holders;
  e->stored = seen;
  e->sums = sums;
  e->identity = const_cast<char*>(identity);
  e->size = size;
  e->compared = 0;
  note_seen(e, snapshot);
  bytes_held += size;
  dlist_push_head(&by_use, &e->use);
  return e;
}

// The entry of a key, if it is there and may be used for the snapshot.
Entry* find(const Key& key, const char* identity, Snapshot snapshot) {
  Entry* e = static_cast<Entry*>(hash_search(table, &key, HASH_FIND, nullptr));
  if (e == nullptr) return nullptr;
  const bool same_density = identity == nullptr || strcmp(e->identity, identity) == 0;
  if (!same_density || !usable(e, snapshot)) {
    forget(e);
    return nullptr;
  }
  if (by_use.head.next != &e->use) dlist_move_head(&by_use, &e->use);
  return e;
}

// Calls look_up(snapshot) with the active snapshot.
template <typename LookUp>
Entry* under_snapshot(LookUp look_up) {
  if (table == nullptr) create_table();
  // Procedures may evaluate expressions between transactions with no snapshot (a cast to a domain
  // whose constraint asks a density).
  const bool push = !ActiveSnapshotSet();
  if (push) PushActiveSnapshot(GetTransactionSnapshot());
  Entry* e = look_up(GetActiveSnapshot());
  if (push) PopActiveSnapshot();
  return e;
}

// Whether the density's key means what it did. False, or an error, if not. To find out may ask for
// other densities, as a check of a domain does: *entry is then found again. Null: it went with its
// table.
template <typename LookUp>
bool means_the_same(LookUp look_up, Tell how, Entry** entry) {
  if ((*entry)->compared == definitions) return true;
  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, "kde_aqp meaning", ALLOCSET_SMALL_SIZES);
  MemoryContext caller = MemoryContextSwitchTo(context);
  // What changes meanwhile is looked at the next time.
  const uint64 now = definitions;
  const uint64 before = forgotten;
  const bool push = !ActiveSnapshotSet();
  if (push) PushActiveSnapshot(GetTransactionSnapshot());
  const CatalogEntry* found =
      catalog_entry_at((*entry)->stored.version, (*entry)->stored.id, GetActiveSnapshot());
  if (push) PopActiveSnapshot();
  if (found != nullptr && is_gone(found->key)) {
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
    *entry = nullptr;
    return true;
  }
  const char* why = found != nullptr ? changed_since_fit(found->key, found->fitted) : nullptr;
  if (why != nullptr && how == Tell::as_asked) raise_changed_meaning(found->key, why);
  MemoryContextSwitchTo(caller);
  MemoryContextDelete(context);
  if (forgotten != before) *entry = under_snapshot(look_up);
  if (*entry != nullptr && why == nullptr) (*entry)->compared = now;
  return why == nullptr;
}

[[noreturn]] void raise_other_settings_of(const Entry& entry) {
  const CatalogEntry* found = catalog_entry(entry.key.relation, entry.stored.id);
  DensityKey gone;
  gone.relation = entry.key.relation;
  raise_other_settings(found != nullptr ? found->key : gone, entry.stored.settings);
}

// The value of the entry that look_up() finds. Looking for staleness may call functions that ask
// for other densities, for which this one makes room: it is then found again.
template <typename LookUp>
CachedDensity value_of(Oid relation, LookUp look_up, AnsweringFit* fit, Tell how) {
  Entry* entry = under_snapshot(look_up);
  if (entry == nullptr) return {};
  if (!means_the_same(look_up, how, &entry)) {
    if (fit != nullptr) fit->redefined = true;
    return {};
  }
  if (entry == nullptr) return {};
  if (how == Tell::as_asked && !has_settings(entry->stored.settings))
    raise_other_settings_of(*entry);
  const uint64 before = forgotten;
  const AnsweringFit looked_at =
      check_stale(relation, entry->stored.id, entry->stored.fitted_at, entry->stored.proof, how);
  if (fit != nullptr) *fit = looked_at;
  if (forgotten != before) entry = under_snapshot(look_up);
  if (entry == nullptr) return {};
  const StoredDensity& of = entry->stored;
  return {of.value, entry->sums, of.column_names, of.settings,
          of.proof, of.version,  entry->holders};
}

}  // namespace

void hold(const CachedDensity& density) {
  auto* callback = static_cast<MemoryContextCallback*>(palloc(sizeof(MemoryContextCallback)));
  callback->func = let_go;
  callback->arg = density.holders;
  ++density.holders->n;
  MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
}

CachedDensity cached_density(TableColumn column, AnsweringFit* fit, Tell how) {
  const Key key{column.relation, column.attnum, 0};
  const auto look_up = [&](Snapshot snapshot) {
    Entry* e = find(key, nullptr, snapshot);
    return e != nullptr ? e : load(key_of(column), nullptr, key, snapshot);
  };
  return value_of(column.relation, look_up, fit, how);
}

CachedDensity cached_density(const DensityKey& wanted, AnsweringFit* fit, Tell how) {
  if (wanted.is_plain()) return cached_density(wanted.plain(), fit, how);
  const char* identity = key_identity(wanted);
  const Key key{wanted.relation, 0, hash_text(identity)};
  const auto look_up = [&](Snapshot snapshot) {
    Entry* e = find(key, identity, snapshot);
    return e != nullptr ? e : load(wanted, identity, key, snapshot);
  };
  return value_of(wanted.relation, look_up, fit, how);
}

}  // namespace kde_pg
