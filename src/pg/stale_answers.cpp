// The look-up of stale_answers.h.
#include "pg/stale_answers.h"

#include "pg/catalog.h"
#include "pg/options.h"

extern "C" {
#include "access/xact.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
}

namespace kde_pg {

namespace {

// What is known of a density's staleness for now.
struct Entry {
  int64 id;
  TimestampTz next_look;
  bool stale;
  bool warned;            // of this fit
  TimestampTz fitted_at;  // the fit meant
  char reason[sizeof(Staleness::reason)];
  char name[3 * NAMEDATALEN];  // of the density, where it is stale
};

// A session asks about few densities; beyond so many all is forgotten.
constexpr long kMostEntries = 1000;
constexpr TimestampTz kLeastPause = USECS_PER_SEC;
constexpr TimestampTz kShareOfTime = 100;

HTAB* table = nullptr;

void create_table() {
  HASHCTL control = {};
  control.keysize = sizeof(int64);
  control.entrysize = sizeof(Entry);
  control.hcxt = CacheMemoryContext;
  table = hash_create("kde_aqp staleness", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

Entry* entry_of(int64 id) {
  if (table != nullptr && hash_get_num_entries(table) >= kMostEntries) {
    hash_destroy(table);
    table = nullptr;
  }
  if (table == nullptr) create_table();
  bool existed;
  auto* entry = static_cast<Entry*>(hash_search(table, &id, HASH_ENTER, &existed));
  if (!existed) {
    entry->next_look = 0;
    entry->stale = entry->warned = false;
    entry->fitted_at = 0;
  }
  return entry;
}

// Brings an entry up to date.
void look(Oid relation, Entry* entry) {
  // In parallel mode none can be taken; the statement's will do.
  Snapshot latest =
      RegisterSnapshot(IsInParallelMode() ? GetActiveSnapshot() : GetLatestSnapshot());
  List* entries = catalog_list(relation, latest);
  entry->stale = false;
  ListCell* cell;
  foreach (cell, entries) {
    const auto* found = static_cast<const CatalogEntry*>(lfirst(cell));
    if (found->id != entry->id) continue;
    const Staleness staleness =
        staleness_of(relation, found->fitted_at, upkeep_find(entry->id, latest), found->settings);
    // The fit that answers may be an older one, under an old snapshot.
    entry->stale = staleness.stale;
    if (!staleness.stale) break;
    strlcpy(entry->reason, staleness.reason, sizeof entry->reason);
    strlcpy(entry->name, display_name(found->key), sizeof entry->name);
    break;
  }
  UnregisterSnapshot(latest);
}

void tell(const Entry& entry, bool as_error) {
  ereport(as_error ? ERROR : WARNING,
          (errcode(as_error ? ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE : ERRCODE_WARNING),
           errmsg("the density of %s is stale", entry.name), errdetail_internal("%s", entry.reason),
           errhint("Refresh it with kde_refresh() or kde_refresh_all(), or set kde_aqp.stale to "
                   "\"ignore\".")));
}

}  // namespace

void check_stale(Oid relation, int64 density_id, TimestampTz fitted_at) {
  if (chosen_stale_answer() == StaleAnswer::ignore) return;
  const TimestampTz now = GetCurrentTimestamp();
  Entry* entry = entry_of(density_id);
  // A fit of its own accord is news.
  if (now >= entry->next_look || entry->fitted_at != fitted_at) {
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "kde_aqp staleness", ALLOCSET_SMALL_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);
    if (entry->fitted_at != fitted_at) entry->warned = false;
    entry->fitted_at = fitted_at;
    look(relation, entry);
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
    const TimestampTz after = GetCurrentTimestamp();
    entry->next_look = after + Max(kLeastPause, kShareOfTime * (after - now));
  }
  if (!entry->stale) return;
  const bool as_error = chosen_stale_answer() == StaleAnswer::error;
  if (!as_error && entry->warned) return;
  entry->warned = true;
  tell(*entry, as_error);
}

}  // namespace kde_pg
