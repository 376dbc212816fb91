// The fit anew of a stale density: in a subtransaction, under its key's lock, as the table's
// owner; its error is noted beside it and ends none of the others.
#include "pg/refresh/refresh.h"

#include "pg/base/cancel_watch.h"
#include "pg/base/fault.h"
#include "pg/base/pinned.h"
#include "pg/base/subtransaction.h"
#include "pg/catalog/expression.h"
#include "pg/catalog/column_name.h"
#include "pg/catalog/privileges.h"
#include "pg/catalog/read_counters.h"
#include "pg/catalog/shards.h"
#include "pg/catalog/staleness.h"
#include "pg/fit/density_fit.h"
#include "pg/fit/fit_steps.h"
#include "pg/refresh/density_drift.h"

extern "C" {
#include "catalog/pg_inherits.h"
#include "storage/lmgr.h"
}

namespace kde_pg {

namespace {

// Drift is measured again after so long, of densities whose tables have no statistics.
constexpr TimestampTz kDriftEvery = INT64CONST(3600) * USECS_PER_SEC;
// But no more often than takes a hundredth of the time, if it reads what the fit did.
constexpr double kUsecsPerCost = 100 * 1000.0;

Pace pace_of(bool background) { return background ? Pace::rested : Pace::at_once; }

int compare_items(const ListCell* a, const ListCell* b) {
  const auto* x = static_cast<const RefreshItem*>(lfirst(a));
  const auto* y = static_cast<const RefreshItem*>(lfirst(b));
  if (x->cost_ms != y->cost_ms) return x->cost_ms < y->cost_ms ? -1 : 1;
  return x->id < y->id ? -1 : x->id > y->id ? 1 : 0;
}

// The key with its texts read again, as the owner.
DensityKey analysed_key(const CatalogEntry& entry, Relation relation) {
  DensityKey key = entry.key;
  if (key.has_texts()) analyse_key(relation, nullptr, &key);
  return key;
}

double cost_of(const FitRecord& record) {
  return record.scan_ms + record.select_ms + record.estimate_ms;
}

// The fit as it was asked for. seed: where none was given.
DensityRequest request_of(LockedDensity* locked, Relation relation, int64 seed) {
  const CatalogEntry& entry = *locked->entry;
  DensityRequest request;
  request.key = analysed_key(entry, relation);
  request.asked = entry.request;
  if (!request.asked.seed_given) request.asked.seed = seed;
  request.operation = Operation::refresh;
  request.locked = locked;
  return request;
}

// One of those that are refreshed together.
struct Work {
  const RefreshItem* item;
  RefreshResult result;
  // Of one that is to be fitted:
  bool due;
  LockedDensity locked;
  DensityRequest request;
  bool has_road;
  Road road;
};

void note_failures(Upkeep* upkeep, int failures, const char* error) {
  upkeep->failures = failures;
  upkeep->last_error = error;
  upkeep->failed_at = failures != 0 ? GetCurrentTimestamp() : 0;
  upkeep_write(upkeep);
}

void skip(RefreshResult* result, const char* why) {
  result->action = RefreshAction::skipped;
  result->reason = why;
}

// Whether the tests of a fresh sample are due.
bool wants_drift(const Staleness& staleness, const Upkeep& upkeep, double cost_ms,
                 const RefreshHow& how) {
  if (staleness.due()) return false;
  if (how.check_drift) return true;
  const TimestampTz pause = Max(kDriftEvery, static_cast<TimestampTz>(cost_ms * kUsecsPerCost));
  return how.own_transaction && staleness.unknown &&
         (upkeep.drift < 0 || GetCurrentTimestamp() - upkeep.drift_at > pause);
}

// Whether a density is one that refreshes take.
bool is_refreshed(const CatalogEntry& entry) {
  const char* query = entry.request.query;
  return entry.settings.enabled && (query == nullptr || strcmp(query, kNoRefresh) != 0);
}

// Locks the density's key and reads it, once, under the lock: who held it may have fitted or
// dropped it. False: *result says why it is skipped.
bool lock_density(const RefreshItem& item, bool wait, LockedDensity* locked,
                  RefreshResult* result) {
  result->key = item.key;
  DensityKey key;
  do {
    key = result->key;
    if (wait) {
      catalog_lock(key);
    } else if (!catalog_try_lock(key)) {
      skip(result, "another session is fitting it");
      return false;
    }
    locked->entry = catalog_entry(item.relation, item.id);
    if (locked->entry == nullptr) {
      skip(result, "it was dropped");
      return false;
    }
    if (!is_refreshed(*locked->entry)) {
      skip(result, "it is not to be refreshed");
      return false;
    }
    result->key = locked->entry->key;
    // Expressions that were renamed since the look are another lock's.
  } while (!same_key(key, result->key));
  locked->upkeep = upkeep_find(item.id);
  return true;
}

// What is decided under the key's lock: *work is complete, but for the fit where it is due.
void decide(Work* work, const RefreshHow& how, Relation relation, int64 seed) {
  const RefreshItem& item = *work->item;
  RefreshResult* result = &work->result;
  if (!lock_density(item, how.wait, &work->locked, result)) return;
  KDE_FAULT("refresh.locked");
  CatalogEntry& entry = *work->locked.entry;
  Upkeep& upkeep = work->locked.upkeep;
  Proof renewed;
  if (!how.force && may_be_renewed(item.relation, entry.proof) &&
      renew_proof(item.relation, entry.proof, &renewed)) {
    catalog_prove(entry, renewed);
    entry.proof = renewed;
  }
  const Counters now =
      read_counters(item.relation,
                    is_of_shards(item.relation) ? AskPlanner::built_in_functions : AskPlanner::yes);
  Staleness staleness = staleness_of(entry, upkeep, now, pace_of(how.background));
  AsOwner owner;
  owner.begin(relation);
  if (!how.force && wants_drift(staleness, upkeep, entry.cost_ms, how)) {
    measure_drift(&work->locked, analysed_key(entry, relation), relation, kDriftSampleRows,
                  random_seed(), nullptr);
    staleness = staleness_of(entry, upkeep, now, pace_of(how.background));
  }
  // Where nothing is known (after a restore) changes are counted from here on.
  if (!upkeep.counters.known && now.known) {
    upkeep.counters = now;
    upkeep_write(&upkeep);
  }
  result->changed_rows = staleness.told();
  result->reason = staleness_text(staleness);
  if (!staleness.due() && !how.force) {
    const bool is_fresh = staleness.why == StaleFor::nothing;
    result->action = is_fresh ? RefreshAction::fresh : RefreshAction::unknown;
    // What failed before, as while its table was restored, is no failure any more.
    if (upkeep.failures != 0 && (how.background || is_fresh)) note_failures(&upkeep, 0, nullptr);
  } else {
    if (!staleness.due()) result->reason = "asked for";
    KDE_FAULT("refresh.stale");
    work->request = request_of(&work->locked, relation, seed);
    work->request.anew = staleness.anew();
    work->has_road = begin_road(work->request, relation, &work->road);
    work->due = true;
  }
  owner.end();
}

// Opens and locks the table, and decides.
void begin_refresh(Work* work, const RefreshHow& how, int64 seed) {
  const Oid oid = work->item->relation;
  if (how.wait) {
    LockRelationOid(oid, AccessShareLock);
  } else if (!ConditionalLockRelationOid(oid, AccessShareLock)) {
    return skip(&work->result, "its table is locked");
  }
  Relation relation = try_relation_open(oid, NoLock);
  if (relation == nullptr) return skip(&work->result, "its table was dropped");
  check_may_maintain(oid);
  check_kind(relation);
  if (how.wait || lock_leaves(oid))
    decide(work, how, relation, seed);
  else
    skip(&work->result, "one of its partitions is locked");
  relation_close(relation, NoLock);
}

// Fits what is due, as the table's owner.
void end_refresh(Work* work) {
  Relation relation = relation_open(work->item->relation, NoLock);
  AsOwner owner;
  owner.begin(relation);
  DensityFit fit;
  fit_density(work->request, relation, work->has_road ? &work->road : nullptr, &fit);
  work->result.blocks_read = fit.blocks_read;
  work->result.total_ms = cost_of(fit.record);
  work->result.action = RefreshAction::refitted;
  KDE_FAULT("refresh.refitted");
  owner.end();
  relation_close(relation, NoLock);
}

// Errors after which the transaction, or the session, is to end.
bool ends_more(const ErrorData& error, const RefreshHow& how, bool cancelled) {
  // A function of the table's owner may raise an error by the same number; it must not end the
  // refreshing of others' tables.
  if (error.sqlerrcode == ERRCODE_QUERY_CANCELED && cancelled) return true;
  const int category = ERRCODE_TO_CATEGORY(error.sqlerrcode);
  return !how.own_transaction &&
         (category == ERRCODE_TRANSACTION_ROLLBACK || category == ERRCODE_INSUFFICIENT_RESOURCES);
}

}  // namespace

bool lock_leaves(Oid relation) {
  List* members = find_all_inheritors(relation, NoLock, nullptr);
  for (const Oid oid : oids(members)) {
    if (!ConditionalLockRelationOid(oid, AccessShareLock)) return false;
  }
  list_free(members);
  return true;
}

const char* refresh_action_name(RefreshAction action) {
  static constexpr const char* kNames[] = {"refitted", "fresh", "unknown", "skipped", "failed"};
  return kNames[static_cast<int>(action)];
}

namespace {

// One more refresh that failed, or (error null) met no rows: no failure, but the next try is to
// wait as after one. An error took the locks along; where another session fits it now, that fit
// says more.
void note_another(const RefreshItem& item, const char* error) {
  const CatalogEntry* entry = catalog_entry(item.relation, item.id);
  if (entry == nullptr || !catalog_try_lock(entry->key)) return;
  Upkeep upkeep = upkeep_find(item.id);
  constexpr int kMost = 1000000;
  note_failures(&upkeep,
                error != nullptr ? Max(Min(upkeep.failures, kMost), 0) + 1
                                 : Min(Max(upkeep.failures, -kMost), 0) - 1,
                error);
}

}  // namespace

List* refresh_items(Oid relation, bool background, bool judged) {
  Snapshot latest = RegisterSnapshot(GetLatestSnapshot());
  List* items = NIL;
  CountersInTurn counters;
  for (const CatalogEntry* entry : of_list<const CatalogEntry>(catalog_list(relation, latest))) {
    if (!is_refreshed(*entry)) continue;
    const Upkeep upkeep = upkeep_find(entry->id, latest);
    auto* item = static_cast<RefreshItem*>(palloc0(sizeof(RefreshItem)));
    item->id = entry->id;
    item->relation = entry->key.relation;
    item->key = entry->key;
    item->cost_ms = entry->cost_ms;
    item->failures = upkeep.failures;
    item->failed_at = upkeep.failed_at;
    item->fitted_at = entry->fitted_at;
    if (judged) {
      const Staleness staleness =
          staleness_of(*entry, upkeep, counters.of(entry->key.relation), pace_of(background));
      item->unknown = staleness.unknown;
      if (staleness.due())
        item->reason = staleness_text(staleness);
      else
        item->renewed = may_be_renewed(entry->key.relation, entry->proof);
    }
    items = lappend(items, item);
  }
  UnregisterSnapshot(latest);
  list_sort(items, compare_items);
  return items;
}

List* take_table(List** items) {
  const Oid relation = static_cast<const RefreshItem*>(linitial(*items))->relation;
  List* of_table = NIL;
  ListCell* cell;
  foreach (cell, *items) {
    auto* item = static_cast<RefreshItem*>(lfirst(cell));
    if (item->relation != relation) continue;
    of_table = lappend(of_table, item);
    *items = foreach_delete_current(*items, cell);
  }
  return of_table;
}

void note_refresh_failure(const RefreshItem& item, const char* error) { note_another(item, error); }

namespace {

// What becomes of an error, which the subtransaction has undone. Raises what ends more.
void settle_error(const ErrorData& error, const RefreshHow& how, Work* work) {
  const RefreshItem& item = *work->item;
  RefreshResult* result = &work->result;
  work->due = false;
  // Who does not wait is not kept waiting for the catalog either: lock_timeout, not a failure.
  if (!how.wait && error.sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE)
    return skip(result, "its table or the catalog is locked");
  const bool no_rows = how.background && is_nothing_to_fit(error);
  if (no_rows) {
    skip(result, "it has no rows");
  } else {
    result->action = RefreshAction::failed;
    result->reason =
        error.detail != nullptr ? psprintf("%s: %s", error.message, error.detail) : error.message;
    result->sqlstate = error.sqlerrcode;
    result->hint = error.hint;
    KDE_FAULT("refresh.failed");
  }
  PushActiveSnapshot(GetTransactionSnapshot());
  note_another(item, no_rows ? nullptr : result->reason);
  PopActiveSnapshot();
  if (no_rows) return;
  // Who may maintain a table need not be allowed to read it, and an error may quote a value.
  if (get_rel_name(item.relation) == nullptr || !is_owner(item.relation)) {
    result->reason = psprintf("an error with SQLSTATE %s", unpack_sql_state(result->sqlstate));
    result->hint = "The owner of the table finds it in kde_densities_full.refresh_error.";
  }
  KDE_FAULT("refresh.noted");
}

// Does a part of the work on so many in a subtransaction. Null, or the error, whose effects are undone;
// raised if it ends more.
template <typename Do>
ErrorData* attempt(const RefreshHow& how, const RefreshItem& item, int densities, Do part) {
  if (how.at != nullptr) how.at(item, densities);
  ErrorData* error = nullptr;
  CancelWatch watch;
  watch.begin();
  const auto work = [&] {
    PushActiveSnapshot(GetTransactionSnapshot());
    part();
    PopActiveSnapshot();
  };
  const auto every = [](int) { return true; };
  (void)without_error(work, nullptr, every, true, nullptr, &error);
  watch.end();
  if (error != nullptr && ends_more(*error, how, watch.requested())) ReThrowError(error);
  return error;
}

// Reads the rows for all of them at once, in a subtransaction. Whose error it is that may come is
// not known: then halves are read apart, and few are left to their own fits.
void read_together(Work** works, int n, const RefreshHow& how) {
  if (n < 2) return;
  auto** roads = static_cast<Road**>(palloc(sizeof(Road*) * n));
  for (int i = 0; i < n; ++i) roads[i] = &works[i]->road;
  const ErrorData* error = attempt(how, *works[0]->item, n, [&] {
    Relation relation = relation_open(works[0]->item->relation, NoLock);
    AsOwner owner;
    owner.begin(relation);
    progress_begin(Road::key_of(roads, n), Operation::refresh);
    Road::read(roads, n, relation, true);
    progress_end();
    owner.end();
    relation_close(relation, NoLock);
  });
  if (error == nullptr) return;
  for (int i = 0; i < n; ++i)
    if (!roads[i]->is_read_whole()) roads[i]->begin_again();
  constexpr int kFew = 3;
  if (n <= kFew) return;
  read_together(works, n / 2, how);
  read_together(works + n / 2, n - n / 2, how);
}

// In a scan: one by groups or of words holds values beside what is counted of them.
int room_of(const Work& work) {
  const DensityKey& key = work.request.key;
  return key.groups > 0 || is_category(key, 0) ? 2 : 1;
}

// Reads for each of them what changed, where that is little of the table. Whatever comes between, the
// rows are then read as any other's.
void read_changed(Work** works, int n, const RefreshHow& how) {
  for (int i = 0; i < n; ++i) {
    Work* work = works[i];
    if (!work->has_road) continue;
    const ErrorData* error = attempt(how, *work->item, 1, [&] {
      Relation relation = relation_open(work->item->relation, NoLock);
      AsOwner owner;
      owner.begin(relation);
      progress_begin(work->request.key, Operation::refresh);
      work->road.read_changed(relation);
      progress_end();
      owner.end();
      relation_close(relation, NoLock);
    });
    if (error != nullptr) work->road.begin_again();
  }
}

// Reads for those of them that are due. What failed before is left alone, so that it disturbs no
// others again.
void read_due(Work** works, int n, const RefreshHow& how) {
  read_changed(works, n, how);
  auto** together = static_cast<Work**>(palloc(sizeof(Work*) * n));
  int size = 0;
  for (int i = 0; i < n; ++i)
    if (works[i]->has_road && works[i]->item->failures == 0) together[size++] = works[i];
  read_together(together, size, how);
}

// Fits those, of which the rows of as many as have room are read at once.
void fit_due(Work** works, int n, const RefreshHow& how) {
  for (int begin = 0; begin < n;) {
    int end = begin, room = 0;
    while (end < n && (room += room_of(*works[end])) <= kMostOfScan) ++end;
    read_due(works + begin, end - begin, how);
    for (; begin < end; ++begin) {
      Work* work = works[begin];
      if (const ErrorData* error = attempt(how, *work->item, 1, [work] { end_refresh(work); }))
        settle_error(*error, how, work);
      if (work->has_road) work->road.end();
    }
  }
}

}  // namespace

List* refresh_together(List* items, const RefreshHow& how) {
  auto** due = static_cast<Work**>(palloc(sizeof(Work*) * list_length(items)));
  int n = 0;
  const int64 seed = random_seed();  // one, as blocks are drawn by it
  List* results = NIL;
  for (const RefreshItem* item : of_list<const RefreshItem>(items)) {
    auto* work = new (palloc(sizeof(Work))) Work();
    work->item = item;
    work->result.action = RefreshAction::failed;
    work->result.key.relation = item->relation;
    work->result.key.filter = "";
    work->result.changed_rows = -1;
    results = lappend(results, &work->result);
    if (const ErrorData* error = attempt(how, *item, 1, [&] { begin_refresh(work, how, seed); }))
      settle_error(*error, how, work);
    if (work->due) due[n++] = work;
  }
  fit_due(due, n, how);
  return results;
}

void report_refresh(const RefreshResult& result, int level) {
  const char* table = get_rel_name(result.key.relation);
  const char* name = result.key.columns > 0 ? display_name(result.key)
                     : table != nullptr     ? psprintf("table \"%s\"", table)
                                            : psprintf("table with OID %u", result.key.relation);
  switch (result.action) {
    case RefreshAction::failed:
      ereport(level, (errcode(result.sqlstate), errmsg("could not refresh the density of %s", name),
                      errdetail_internal("%s", result.reason),
                      result.hint != nullptr ? errhint("%s", result.hint) : 0));
      break;
    case RefreshAction::skipped:
      ereport(level, (errmsg("skipping the density of %s: %s", name, result.reason)));
      break;
    case RefreshAction::fresh:
      break;
    case RefreshAction::unknown:
      ereport(level, (errmsg("whether the density of %s is stale is not known", name),
                      errdetail_internal("%s.", result.reason)));
      break;
    default:
      ereport(level,
              (errmsg("%s the density of %s in %.0f ms: %s", refresh_action_name(result.action),
                      name, result.total_ms, result.reason)));
  }
}

}  // namespace kde_pg
