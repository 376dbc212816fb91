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
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
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

// The fit as it was asked for.
DensityRequest request_of(LockedDensity* locked, Relation relation) {
  const CatalogEntry& entry = *locked->entry;
  DensityRequest request;
  request.key = analysed_key(entry, relation);
  request.asked = entry.request;
  if (!request.asked.seed_given) request.asked.seed = random_seed();
  if (entry.key.columns == 1) request.kernel = catalog_kernel(entry);
  request.operation = Operation::refresh;
  request.locked = locked;
  return request;
}

// Fits it as it was asked for. Milliseconds that took.
double refit(LockedDensity* locked, Relation relation, bool every_part) {
  DensityFit fit;
  DensityRequest request = request_of(locked, relation);
  request.every_part = every_part;
  fit_density(request, relation, &fit);
  return cost_of(fit.record);
}

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

// The work itself, in the subtransaction. *result is complete unless it raises.
void refresh_locked(const RefreshItem& item, const RefreshHow& how, Relation relation,
                    RefreshResult* result) {
  LockedDensity locked;
  if (!lock_density(item, how.wait, &locked, result)) return;
  KDE_FAULT("refresh.locked");
  CatalogEntry& entry = *locked.entry;
  Proof renewed;
  if (!how.force && may_be_renewed(item.relation, entry.proof) &&
      renew_proof(item.relation, entry.proof, &renewed)) {
    catalog_prove(entry, renewed);
    entry.proof = renewed;
  }
  const Counters now =
      read_counters(item.relation,
                    is_of_shards(item.relation) ? AskPlanner::built_in_functions : AskPlanner::yes);
  Staleness staleness = staleness_of(entry, locked.upkeep, now, pace_of(how.background));
  AsOwner owner;
  owner.begin(relation);
  if (!how.force && wants_drift(staleness, locked.upkeep, entry.cost_ms, how)) {
    measure_drift(&locked, analysed_key(entry, relation), relation, kDriftSampleRows, random_seed(),
                  nullptr);
    staleness = staleness_of(entry, locked.upkeep, now, pace_of(how.background));
  }
  // Where nothing is known (after a restore) changes are counted from here on.
  if (!locked.upkeep.counters.known && now.known) {
    locked.upkeep.counters = now;
    upkeep_write(&locked.upkeep);
  }
  result->changed_rows = staleness.told();
  result->reason = staleness_text(staleness);
  if (!staleness.due() && !how.force) {
    const bool is_fresh = staleness.why == StaleFor::nothing;
    result->action = is_fresh ? RefreshAction::fresh : RefreshAction::unknown;
    // What failed before, as while its table was restored, is no failure any more.
    if (locked.upkeep.failures != 0 && (how.background || is_fresh))
      note_failures(&locked.upkeep, 0, nullptr);
  } else {
    if (!staleness.due()) result->reason = "asked for";
    KDE_FAULT("refresh.stale");
    result->total_ms = refit(&locked, relation, how.force || staleness.anew());
    result->action = RefreshAction::refitted;
    KDE_FAULT("refresh.refitted");
  }
  owner.end();
}

void refresh_in_subtransaction(const RefreshItem& item, const RefreshHow& how,
                               RefreshResult* result) {
  Relation relation = nullptr;
  if (how.wait) {
    LockRelationOid(item.relation, AccessShareLock);
  } else if (!ConditionalLockRelationOid(item.relation, AccessShareLock)) {
    return skip(result, "its table is locked");
  }
  relation = try_relation_open(item.relation, NoLock);
  if (relation == nullptr) return skip(result, "its table was dropped");
  check_may_maintain(item.relation);
  check_kind(relation);
  if (!how.wait && !lock_leaves(item.relation)) {
    relation_close(relation, NoLock);
    return skip(result, "one of its partitions is locked");
  }
  refresh_locked(item, how, relation, result);
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
  ListCell* cell;
  foreach (cell, members) {
    if (!ConditionalLockRelationOid(lfirst_oid(cell), AccessShareLock)) return false;
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

List* refresh_items(Oid relation, bool background) {
  Snapshot latest = RegisterSnapshot(GetLatestSnapshot());
  List* items = NIL;
  CountersInTurn counters;
  ListCell* cell;
  foreach (cell, catalog_list(relation, latest)) {
    const auto* entry = static_cast<const CatalogEntry*>(lfirst(cell));
    if (!is_refreshed(*entry)) continue;
    const Upkeep upkeep = upkeep_find(entry->id, latest);
    const Staleness staleness =
        staleness_of(*entry, upkeep, counters.of(entry->key.relation), pace_of(background));
    auto* item = static_cast<RefreshItem*>(palloc0(sizeof(RefreshItem)));
    item->id = entry->id;
    item->relation = entry->key.relation;
    item->key = entry->key;
    item->cost_ms = entry->cost_ms;
    item->failures = upkeep.failures;
    item->failed_at = upkeep.failed_at;
    item->fitted_at = entry->fitted_at;
    item->unknown = staleness.unknown;
    item->renewed = may_be_renewed(entry->key.relation, entry->proof);
    if (staleness.due()) item->reason = staleness_text(staleness);
    items = lappend(items, item);
  }
  UnregisterSnapshot(latest);
  list_sort(items, compare_items);
  return items;
}

void note_refresh_failure(const RefreshItem& item, const char* error) { note_another(item, error); }

RefreshResult refresh_one(const RefreshItem& item, const RefreshHow& how) {
  RefreshResult result = {};
  result.action = RefreshAction::failed;
  result.key.relation = item.relation;
  result.key.filter = "";
  result.changed_rows = -1;
  ErrorData* error = nullptr;
  CancelWatch watch;
  watch.begin();
  const auto work = [&] {
    PushActiveSnapshot(GetTransactionSnapshot());
    refresh_in_subtransaction(item, how, &result);
    PopActiveSnapshot();
  };
  const auto every = [](int) { return true; };
  const bool done = without_error(work, nullptr, every, true, nullptr, &error);
  watch.end();
  if (done) return result;

  // Who does not wait is not kept waiting for the catalog either: lock_timeout, not a failure.
  if (!how.wait && error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE) {
    skip(&result, "its table or the catalog is locked");
    return result;
  }
  if (ends_more(*error, how, watch.requested())) ReThrowError(error);
  if (how.background && is_nothing_to_fit(*error)) {
    skip(&result, "it has no rows");
    PushActiveSnapshot(GetTransactionSnapshot());
    note_another(item, nullptr);
    PopActiveSnapshot();
    return result;
  }
  result.action = RefreshAction::failed;
  result.reason =
      error->detail != nullptr ? psprintf("%s: %s", error->message, error->detail) : error->message;
  result.sqlstate = error->sqlerrcode;
  result.hint = error->hint;
  KDE_FAULT("refresh.failed");
  PushActiveSnapshot(GetTransactionSnapshot());
  note_refresh_failure(item, result.reason);
  PopActiveSnapshot();
  // Who may maintain a table need not be allowed to read it, and an error may quote a value.
  if (get_rel_name(item.relation) == nullptr || !is_owner(item.relation)) {
    result.reason = psprintf("an error with SQLSTATE %s", unpack_sql_state(result.sqlstate));
    result.hint = "The owner of the table finds it in kde_densities_full.refresh_error.";
  }
  KDE_FAULT("refresh.noted");
  return result;
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
