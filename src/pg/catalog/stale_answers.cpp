// What kde_aqp.stale and kde_aqp.changed_rows ask for: a look at a density's staleness, at most
// once a second and for a hundredth of the time, the warning or error that follows; what the proof
// says, once a snapshot; and where it says nothing, the rows counted, of each command.
#include "pg/catalog/stale_answers.h"

#include "pg/base/compat.h"
#include "pg/base/options.h"
#include "pg/base/snapshot_identity.h"
#include "pg/catalog/read_counters.h"
#include "pg/catalog/staleness.h"

extern "C" {
#include "mb/pg_wchar.h"
#include "storage/proc.h"
#include "utils/hsearch.h"
}

namespace kde_pg {

namespace {

// A command of a transaction: to it this session has changed what the commands before it did.
struct Command {
  LocalTransactionId transaction;
  CommandId command;
  TimestampTz statement;

  bool operator==(const Command&) const = default;
};

Command this_command() {
  return {this_transaction(), GetCurrentCommandId(false), GetCurrentStatementStartTimestamp()};
}

// What is known of a density's staleness for now.
struct Entry {
  int64 id;
  Oid relation;
  TimestampTz next_look;
  Staleness staleness;         // without what it points to
  bool warned, told;           // of this fit
  double consented_age;        // RefreshSettings::plain_sql_age
  TimestampTz fitted_at;       // the fit meant
  char reason[160];            // of a stale one
  char name[3 * NAMEDATALEN];  // of the density
  ChangeLimit limit;
  // At the fit, without the generated columns: in `memory`. Unknown where changes are not counted.
  Counters then;
  int64 changed;  // since, as counted at `counted_at`; -1: unknown
  Command counted_at;
  TimestampTz next_count;
  Proof proof;  // of this fit; in `memory`
  SnapshotIdentity judged_for;
  Judgement judgement;  // as of that
};

// A session asks about few densities; beyond so many all is forgotten.
constexpr long kMostEntries = 1000;
constexpr TimestampTz kLeastPause = USECS_PER_SEC;
constexpr TimestampTz kShareOfTime = 100;
// Tables and partitions that are counted in every command: a microsecond each. Of more, at most for
// a hundredth of the time.
constexpr int kFewLeaves = 16;

MemoryContext memory = nullptr;
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
  memory = AllocSetContextCreate(CacheMemoryContext, "kde_aqp staleness", ALLOCSET_DEFAULT_SIZES);
  HASHCTL control = {};
  control.keysize = sizeof(int64);
  control.entrysize = sizeof(Entry);
  control.hcxt = memory;
  table = hash_create("kde_aqp staleness", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

Entry* entry_of(int64 id) {
  if (table != nullptr && hash_get_num_entries(table) >= kMostEntries) {
    MemoryContextDelete(memory);
    table = nullptr;
  }
  if (table == nullptr) create_table();
  bool existed;
  auto* entry = static_cast<Entry*>(hash_search(table, &id, HASH_ENTER, &existed));
  if (!existed) {
    *entry = {};
    entry->id = id;
  }
  return entry;
}

// Brings an entry up to date: not one of the table, as planning may call functions that ask again.
void look(Entry* entry) {
  // In parallel mode none can be taken; the statement's will do.
  Snapshot latest =
      RegisterSnapshot(IsInParallelMode() ? GetActiveSnapshot() : GetLatestSnapshot());
  List* entries = catalog_list(entry->relation, latest);
  entry->staleness = {};
  entry->consented_age = -1;
  entry->then = {};
  for (const CatalogEntry* found : of_list<const CatalogEntry>(entries)) {
    if (found->id != entry->id) continue;
    Upkeep upkeep = upkeep_find(entry->id, latest);
    entry->staleness = staleness_of(*found, upkeep, read_counters(entry->relation));
    entry->consented_age = found->settings.plain_sql_age;
    if (entry->staleness.stale()) copy_text(entry->reason, staleness_text(entry->staleness));
    copy_text(entry->name, display_name(found->key));
    entry->limit = change_limit(found->settings);
    if (entry->staleness.changed < 0) break;
    // The fit that answers may be an older one, under an old snapshot.
    if (found->fitted_at != entry->fitted_at && ActiveSnapshotSet())
      upkeep = upkeep_find(entry->id, GetActiveSnapshot());
    entry->then = upkeep.counters;
    break;
  }
  UnregisterSnapshot(latest);
}

// The leaves of counters in `memory`.
Counters kept(const Counters& counters) {
  Counters out;
  out.known = counters.known;
  out.leaves = counters.leaves;
  if (counters.leaves == 0) return out;
  const Size size = sizeof(LeafCounters) * static_cast<Size>(counters.leaves);
  out.leaf = static_cast<LeafCounters*>(MemoryContextAlloc(memory, size));
  memcpy(out.leaf, counters.leaf, size);
  return out;
}

// A proof in `memory`.
Proof kept(const Proof& proof) {
  return copy_proof(proof, MemoryContextAlloc(memory, Max(lists_size(proof), Size{1})));
}

// The entry of a fit, with a look where one is due.
Entry* entry_of_fit(Oid relation, int64 density_id, TimestampTz fitted_at, const Proof& proof) {
  const TimestampTz now = GetCurrentTimestamp();
  Entry* entry = entry_of(density_id);
  // A fit of its own accord is news.
  if (now < entry->next_look && entry->fitted_at == fitted_at && entry->proof.lsn == proof.lsn &&
      entry->proof.as_of == proof.as_of)
    return entry;
  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, "kde_aqp staleness", ALLOCSET_SMALL_SIZES);
  MemoryContext caller = MemoryContextSwitchTo(context);
  Entry seen = *entry;
  if (seen.fitted_at != fitted_at) seen.warned = seen.told = false;
  seen.relation = relation;
  seen.fitted_at = fitted_at;
  look(&seen);
  MemoryContextSwitchTo(caller);
  entry = entry_of(density_id);
  seen.then = kept(seen.then);
  seen.proof = kept(proof);
  if (entry->then.leaf != nullptr) pfree(entry->then.leaf);
  if (entry->proof.leaf != nullptr) pfree(entry->proof.leaf);
  seen.judged_for = {};
  seen.counted_at = {};
  seen.next_count = 0;
  *entry = seen;
  MemoryContextDelete(context);
  const TimestampTz after = GetCurrentTimestamp();
  entry->next_look = after + Max(kLeastPause, kShareOfTime * (after - now));
  return entry;
}

// Rows changed as of this command; -1: unknown. Where the rows are has been looked at.
int64 count_changed(Entry* entry) {
  if (!entry->then.known) return -1;
  const Command command = this_command();
  if (entry->counted_at == command) return entry->changed;
  const TimestampTz now = GetCurrentTimestamp();
  if (now < entry->next_count) return entry->changed;
  const Counters counters = read_counters(entry->relation, AskPlanner::no, &entry->then);
  entry->changed = counters.known ? changed_rows(entry->then, counters) : -1;
  entry->counted_at = command;
  if (counters.leaf != nullptr) pfree(counters.leaf);
  const TimestampTz after = GetCurrentTimestamp();
  entry->next_count = counters.leaves <= kFewLeaves ? 0 : after + kShareOfTime * (after - now);
  return entry->changed;
}

// What the proof says as of the active snapshot.
const Judgement& judged(Entry* entry) {
  const SnapshotIdentity now = identity_of(GetActiveSnapshot());
  if (!same(entry->judged_for, now)) {
    entry->judgement = judge(entry->relation, entry->proof);
    entry->judged_for = now;
  }
  return entry->judgement;
}

// Rows changed at most, as far as is known: by the proof, else as counted; -1: unknown.
double most_changes(Entry* entry) {
  const Judgement& judgement = judged(entry);
  return judgement.changed == Changed::unknown ? static_cast<double>(count_changed(entry))
                                               : judgement.rows;
}

// Rows that are likely to have changed; -1: unknown.
double likely_changes(Entry* entry) {
  return judged(entry).changed == Changed::nothing ? 0 : static_cast<double>(count_changed(entry));
}

// A fit that was looked at when its density was found; null: of a value, or forgotten.
Entry* entry_of(const AnsweringFit& fit) {
  if (fit.density_id == 0 || table == nullptr) return nullptr;
  return static_cast<Entry*>(hash_search(table, &fit.density_id, HASH_FIND, nullptr));
}

// A warning once a session and fit, or an error.
void tell(Entry* entry, const char* reason) {
  const bool as_error = chosen_stale_answer() == StaleAnswer::error;
  if (!as_error && entry->warned) return;
  entry->warned = true;
  ereport(as_error ? ERROR : WARNING,
          (errcode(as_error ? ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE : ERRCODE_WARNING),
           errmsg("the density of %s is stale", entry->name), errdetail_internal("%s", reason),
           errhint("Refresh it with kde_refresh() or kde_refresh_all(), or set kde_aqp.stale to "
                   "\"ignore\".")));
}

// That an answer by name is as of a time, once a session and fit.
void tell_as_of(Entry* entry) {
  if (entry->told || chosen_stale_answer() == StaleAnswer::ignore) return;
  entry->told = true;
  ereport(NOTICE,
          (errmsg("the density of %s answers as of %s", entry->name, time_of(entry->proof.as_of)),
           errdetail("What changed since is not known: %s.", entry->judgement.why)));
}

}  // namespace

AnsweringFit check_stale(Oid relation, int64 density_id, TimestampTz fitted_at, const Proof& proof,
                         Tell how) {
  const bool silent = chosen_stale_answer() == StaleAnswer::ignore;
  AnsweringFit fit;
  fit.density_id = density_id;
  if (silent && !option_changed_rows && how == Tell::as_asked) return fit;
  Entry* entry = entry_of_fit(relation, density_id, fitted_at, proof);
  fit.stale = entry->staleness.stale();
  fit.other = entry->staleness.other();
  if ((silent && how == Tell::as_asked) || !fit.stale) return fit;
  if (how == Tell::as_asked) tell(entry, entry->reason);
  fit.elsewhere = entry->staleness.why == StaleFor::elsewhere;
  return fit;
}

Freshness freshness_of(const AnsweringFit& fit) {
  Freshness out;
  Entry* entry = entry_of(fit);
  if (entry == nullptr) {
    out.judgement.changed = fit.density_id == 0 ? Changed::nothing : Changed::unknown;
    return out;
  }
  out.judgement = judged(entry);
  out.as_of = entry->proof.as_of;
  if (entry->consented_age >= 0 && out.as_of != 0) {
    const double age =
        static_cast<double>(GetCurrentStatementStartTimestamp() - out.as_of) / USECS_PER_SEC;
    out.consented = age <= entry->consented_age;
  }
  return out;
}

double rows_changed_since(const AnsweringFit& fit) {
  if (!option_changed_rows) return 0;
  Entry* entry = entry_of(fit);
  if (entry == nullptr) return 0;
  const double changed = Max(most_changes(entry), 0);
  if (entry->judgement.changed == Changed::unknown) tell_as_of(entry);
  return changed;
}

const char* why_unproven(const AnsweringFit& fit) {
  if (fit.density_id == 0 || !option_changed_rows) return nullptr;
  const Freshness freshness = freshness_of(fit);
  if (freshness.judgement.changed != Changed::unknown || freshness.consented) return nullptr;
  return psprintf("what changed since %s is not known", time_of(freshness.as_of));
}

const char* time_of(TimestampTz as_of) {
  if (as_of == 0) return "its fit";
  // To the second, not after it.
  TimestampTz second = as_of - as_of % USECS_PER_SEC;
  if (second > as_of) second -= USECS_PER_SEC;
  return pstrdup(timestamptz_to_str(second));
}

bool may_be_stale_beyond(const AnsweringFit& fit) {
  const StaleAnswer what = chosen_stale_answer();
  if (what == StaleAnswer::ignore) return false;
  Entry* entry = entry_of(fit);
  if (entry == nullptr || (what == StaleAnswer::warn && entry->warned)) return false;
  return likely_changes(entry) > entry->limit.of(0);
}

void check_stale_beyond(const AnsweringFit& fit, double rows) {
  Entry* entry = entry_of(fit);
  const double changed = entry != nullptr ? likely_changes(entry) : -1;
  if (changed < 0 || changed <= entry->limit.of(rows)) return;
  tell(entry, psprintf("rows changed: %.0f; the range reaches beyond the values fitted", changed));
}

}  // namespace kde_pg
