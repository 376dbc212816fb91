// The look-up of stale_answers.h.
#include "pg/catalog/stale_answers.h"

#include "pg/catalog/catalog.h"
#include "pg/base/options.h"

extern "C" {
#include "access/xact.h"
#include "mb/pg_wchar.h"
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
  bool elsewhere;         // Staleness::elsewhere
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

// Cut, where it must be, between characters: half of one is no text to a client of another
// encoding.
template <Size room>
void copy_text(char (&out)[room], const char* text) {
  const int length = pg_mbcliplen(text, static_cast<int>(strlen(text)), room - 1);
  memcpy(out, text, static_cast<Size>(length));
  out[length] = '\0';
}

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
    entry->stale = entry->elsewhere = entry->warned = false;
    entry->fitted_at = 0;
  }
  return entry;
}

// Brings an entry up to date: not one of the table, as planning may call functions that ask again.
void look(Oid relation, Entry* entry) {
  // In parallel mode none can be taken; the statement's will do.
  Snapshot latest =
      RegisterSnapshot(IsInParallelMode() ? GetActiveSnapshot() : GetLatestSnapshot());
  List* entries = catalog_list(relation, latest);
  entry->stale = entry->elsewhere = false;
  ListCell* cell;
  foreach (cell, entries) {
    const auto* found = static_cast<const CatalogEntry*>(lfirst(cell));
    if (found->id != entry->id) continue;
    const Staleness staleness =
        staleness_of(relation, found->fitted_at, upkeep_find(entry->id, latest), found->settings);
    // The fit that answers may be an older one, under an old snapshot.
    entry->stale = staleness.stale;
    entry->elsewhere = staleness.elsewhere;
    if (!staleness.stale) break;
    copy_text(entry->reason, staleness.reason);
    copy_text(entry->name, display_name(found->key));
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

bool check_stale(Oid relation, int64 density_id, TimestampTz fitted_at) {
  if (chosen_stale_answer() == StaleAnswer::ignore) return false;
  const TimestampTz now = GetCurrentTimestamp();
  Entry* entry = entry_of(density_id);
  // A fit of its own accord is news.
  if (now >= entry->next_look || entry->fitted_at != fitted_at) {
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "kde_aqp staleness", ALLOCSET_SMALL_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);
    Entry seen = *entry;
    if (seen.fitted_at != fitted_at) seen.warned = false;
    seen.fitted_at = fitted_at;
    look(relation, &seen);
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
    const TimestampTz after = GetCurrentTimestamp();
    seen.next_look = after + Max(kLeastPause, kShareOfTime * (after - now));
    entry = entry_of(density_id);
    *entry = seen;
  }
  if (!entry->stale) return false;
  const bool as_error = chosen_stale_answer() == StaleAnswer::error;
  if (as_error || !entry->warned) {
    entry->warned = true;
    tell(*entry, as_error);
  }
  return entry->elsewhere;
}

}  // namespace kde_pg
