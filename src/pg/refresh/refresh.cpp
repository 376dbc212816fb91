// The refresh of refresh.h.
#include "pg/refresh/refresh.h"

#include "pg/fit/append.h"
#include "pg/base/cancel_watch.h"
#include "pg/fit/column_fit.h"
#include "pg/type/density_datum.h"
#include "pg/catalog/expression.h"
#include "pg/base/fault.h"
#include "pg/fit/joint_fit.h"
#include "pg/base/pinned.h"
#include "pg/catalog/relation.h"
#include "pg/refresh/drift.h"

#include "core/density/text.h"

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
#include "utils/resowner.h"
#include "utils/snapmgr.h"
}

namespace kde_pg {

namespace {

// Drift is measured again after so long, of densities whose tables have no statistics.
constexpr TimestampTz kDriftEvery = INT64CONST(3600) * USECS_PER_SEC;
// But no more often than takes a hundredth of the time, if it reads what the fit did.
constexpr double kUsecsPerCost = 100 * 1000.0;

Staleness staleness_of_entry(const CatalogEntry& entry, const Upkeep& upkeep) {
  return staleness_of(entry.key.relation, entry.fitted_at, upkeep, entry.settings);
}

int compare_items(const ListCell* a, const ListCell* b) {
  const auto* x = static_cast<const RefreshItem*>(lfirst(a));
  const auto* y = static_cast<const RefreshItem*>(lfirst(b));
  if (x->cost_ms != y->cost_ms) return x->cost_ms < y->cost_ms ? -1 : 1;
  return x->id < y->id ? -1 : x->id > y->id ? 1 : 0;
}

// The density as the catalog has it now, or null.
CatalogEntry* find_entry(Oid relation, int64 id) {
  Snapshot latest = RegisterSnapshot(GetLatestSnapshot());
  List* entries = catalog_list(relation, latest);
  UnregisterSnapshot(latest);
  ListCell* cell;
  foreach (cell, entries) {
    auto* entry = static_cast<CatalogEntry*>(lfirst(cell));
    if (entry->id == id) return entry;
  }
  return nullptr;
}

Upkeep find_upkeep(int64 id) {
  Snapshot latest = RegisterSnapshot(GetLatestSnapshot());
  const Upkeep out = upkeep_find(id, latest);
  UnregisterSnapshot(latest);
  return out;
}

// The key with its texts read again, as the owner.
DensityKey analysed_key(const CatalogEntry& entry, Relation relation) {
  DensityKey key = entry.key;
  bool plain = !key.has_filter();
  for (int i = 0; i < key.columns; ++i) plain = plain && key.column[i].attnum != 0;
  if (!plain) analyse_key(relation, nullptr, &key);
  return key;
}

kde::Kernel kernel_of(const DensityKey& key) {
  Snapshot latest = RegisterSnapshot(GetLatestSnapshot());
  const StoredDensity stored = catalog_find(key, latest, true);
  UnregisterSnapshot(latest);
  if (!stored.found) return kde::Kernel::gaussian;
  return density_from_datum(PointerGetDatum(stored.value), nullptr)->kernel;
}

double cost_of(const FitRecord& record) {
  return record.scan_ms + record.select_ms + record.estimate_ms;
}

// The fit as it was asked for.
ColumnFitRequest column_request(const CatalogEntry& entry, Relation relation) {
  const FitRequest& asked = entry.request;
  ColumnFitRequest request;
  request.key = analysed_key(entry, relation);
  request.method_name = asked.method;
  request.method = read_column_method(asked.method);
  request.sample_rows = asked.sample_rows;
  check_sample_rows(asked.sample_rows);
  request.seed = asked.seed_given ? asked.seed : random_seed();
  request.seed_given = asked.seed_given;
  request.operation = Operation::refresh;
  request.exact = asked.exact;
  request.kernel = kernel_of(entry.key);
  return request;
}

// Fits it as it was asked for. Milliseconds that took.
double refit(const CatalogEntry& entry, Relation relation) {
  const FitRequest& asked = entry.request;
  const int64 seed = asked.seed_given ? asked.seed : random_seed();
  if (entry.key.columns == 1) {
    ColumnFit fit;
    fit_one_column(column_request(entry, relation), relation, &fit);
    return cost_of(fit.record);
  }
  JointFitRequest request;
  request.key = analysed_key(entry, relation);
  request.method_name = asked.method;
  request.sample_rows = asked.sample_rows;
  request.seed = seed;
  request.seed_given = asked.seed_given;
  request.operation = Operation::refresh;
  JointFit fit;
  fit_several_columns(request, relation, &fit);
  return cost_of(fit.record);
}

// Adds what was appended, where that is how its rows come; else fits it anew. Completes *result.
void append_or_refit(const CatalogEntry& entry, Relation relation, RefreshResult* result) {
  const char* append_by = entry.settings.append_by;
  result->action = RefreshAction::refitted;
  if (append_by == nullptr) {
    result->total_ms = refit(entry, relation);
    return;
  }
  Appended appended = {false, false, 0, "a density of several columns is fitted anew"};
  ColumnFit fit;
  if (entry.key.columns == 1) {
    Snapshot latest = RegisterSnapshot(GetLatestSnapshot());
    bytea* state = upkeep_sampler(entry.id, latest);
    UnregisterSnapshot(latest);
    appended = append_rows(column_request(entry, relation), relation, append_by, state, &fit);
  }
  if (!appended.done) {
    result->reason = psprintf("%s; not appended: %s", result->reason, appended.reason);
    result->total_ms = refit(entry, relation);
    return;
  }
  result->action = RefreshAction::appended;
  result->reason = psprintf(
      "%s; rows appended: %lld, %s%s", result->reason, static_cast<long long>(appended.rows),
      appended.exact ? "exact" : "not exact: ", appended.exact ? "" : appended.reason);
  result->total_ms = cost_of(fit.record);
}

void skip(RefreshResult* result, const char* why) {
  result->action = RefreshAction::skipped;
  result->reason = why;
}

// Whether the tests of a fresh sample are due.
bool wants_drift(const Staleness& staleness, const Upkeep& upkeep, double cost_ms,
                 const RefreshHow& how) {
  if (staleness.stale) return false;
  if (how.check_drift) return true;
  const TimestampTz pause = Max(kDriftEvery, static_cast<TimestampTz>(cost_ms * kUsecsPerCost));
  return how.own_transaction && staleness.changed < 0 &&
         (upkeep.drift < 0 || GetCurrentTimestamp() - upkeep.drift_at > pause);
}

// The work itself, in the subtransaction. *result is complete unless it raises.
void refresh_locked(const RefreshItem& item, const RefreshHow& how, Relation relation,
                    RefreshResult* result) {
  CatalogEntry* entry = find_entry(item.relation, item.id);
  if (entry == nullptr) return skip(result, "it was dropped");
  result->key = entry->key;
  if (how.wait) {
    catalog_lock(entry->key);
  } else if (!catalog_try_lock(entry->key)) {
    return skip(result, "another session is fitting it");
  }
  // Who held the lock may have fitted it meanwhile.
  entry = find_entry(item.relation, item.id);
  if (entry == nullptr) return skip(result, "it was dropped");
  KDE_FAULT("refresh.locked");
  result->key = entry->key;
  const Upkeep upkeep = find_upkeep(item.id);
  Staleness staleness = staleness_of_entry(*entry, upkeep);
  AsOwner owner;
  owner.begin(relation);
  if (!how.force && wants_drift(staleness, upkeep, entry->cost_ms, how)) {
    DensityKey key = analysed_key(*entry, relation);
    measure_drift(key, relation, kDriftSampleRows, random_seed(), nullptr);
    staleness = staleness_of_entry(*entry, find_upkeep(item.id));
  }
  // Where nothing is known (after a restore) changes are counted from here on.
  if (!upkeep.counters.known) upkeep_note_counters(item.id, read_counters(item.relation));
  result->changed_rows = staleness.changed;
  if (!staleness.stale && !how.force) {
    result->action = RefreshAction::fresh;
  } else {
    result->reason = staleness.stale ? pstrdup(staleness.reason) : "asked for";
    KDE_FAULT("refresh.stale");
    if (how.force) {
      result->total_ms = refit(*entry, relation);
      result->action = RefreshAction::refitted;
    } else {
      append_or_refit(*entry, relation, result);
    }
    KDE_FAULT("refresh.refitted");
  }
  owner.end();
}

// Locks a relation's partitions or children, as the scan will, where nobody has locked them. False
// if somebody has.
bool lock_leaves(Oid relation) {
  List* members = find_all_inheritors(relation, NoLock, nullptr);
  ListCell* cell;
  foreach (cell, members) {
    if (!ConditionalLockRelationOid(lfirst_oid(cell), AccessShareLock)) return false;
  }
  list_free(members);
  return true;
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

const char* refresh_action_name(RefreshAction action) {
  switch (action) {
    case RefreshAction::refitted:
      return "refitted";
    case RefreshAction::appended:
      return "appended";
    case RefreshAction::fresh:
      return "fresh";
    case RefreshAction::skipped:
      return "skipped";
    case RefreshAction::failed:
      return "failed";
  }
  return "?";
}

List* refresh_items(Oid relation) {
  Snapshot latest = RegisterSnapshot(GetLatestSnapshot());
  List* entries = OidIsValid(relation) ? catalog_list(relation, latest) : catalog_list_all(latest);
  List* items = NIL;
  Oid counted = InvalidOid;
  Counters counters;
  ListCell* cell;
  foreach (cell, entries) {
    const auto* entry = static_cast<const CatalogEntry*>(lfirst(cell));
    if (!entry->settings.enabled) continue;
    const Upkeep upkeep = upkeep_find(entry->id, latest);
    // Those of one relation follow each other.
    if (entry->key.relation != counted)
      counters = read_counters(counted = entry->key.relation, AskPlanner::built_in_functions);
    const Staleness staleness =
        staleness_of(counted, entry->fitted_at, upkeep, entry->settings, &counters);
    auto* item = static_cast<RefreshItem*>(palloc0(sizeof(RefreshItem)));
    item->id = entry->id;
    item->relation = entry->key.relation;
    item->cost_ms = entry->cost_ms;
    item->failures = upkeep.failures;
    item->failed_at = upkeep.failed_at;
    item->fitted_at = entry->fitted_at;
    item->unknown = staleness.changed < 0;
    if (staleness.stale) item->reason = pstrdup(staleness.reason);
    items = lappend(items, item);
  }
  UnregisterSnapshot(latest);
  list_sort(items, compare_items);
  return items;
}

void note_refresh_failure(const RefreshItem& item, const char* error) {
  // The error took the locks along; where another session fits it now, that fit says more.
  const CatalogEntry* entry = find_entry(item.relation, item.id);
  if (entry != nullptr && catalog_try_lock(entry->key)) upkeep_note_failure(item.id, error);
}

RefreshResult refresh_one(const RefreshItem& item, const RefreshHow& how) {
  RefreshResult result = {};
  result.action = RefreshAction::failed;
  result.key.relation = item.relation;
  result.key.filter = "";
  result.changed_rows = -1;
  MemoryContext context = CurrentMemoryContext;
  ResourceOwner resources = CurrentResourceOwner;
  ErrorData* volatile error = nullptr;
  CancelWatch watch;
  watch.begin();
  BeginInternalSubTransaction(nullptr);
  MemoryContextSwitchTo(context);
  PG_TRY();
  {
    PushActiveSnapshot(GetTransactionSnapshot());
    refresh_in_subtransaction(item, how, &result);
    PopActiveSnapshot();
    ReleaseCurrentSubTransaction();
  }
  PG_CATCH();
  {
    MemoryContextSwitchTo(context);
    error = CopyErrorData();
    FlushErrorState();
    RollbackAndReleaseCurrentSubTransaction();
  }
  PG_END_TRY();
  watch.end();
  MemoryContextSwitchTo(context);
  CurrentResourceOwner = resources;
  if (error == nullptr) return result;

  // Who does not wait is not kept waiting for the catalog either: lock_timeout, not a failure.
  if (!how.wait && error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE) {
    skip(&result, "its table or the catalog is locked");
    return result;
  }
  if (ends_more(*error, how, watch.requested())) ReThrowError(error);
  result.action = RefreshAction::failed;
  result.reason =
      error->detail != nullptr ? psprintf("%s: %s", error->message, error->detail) : error->message;
  result.sqlstate = error->sqlerrcode;
  KDE_FAULT("refresh.failed");
  PushActiveSnapshot(GetTransactionSnapshot());
  note_refresh_failure(item, result.reason);
  PopActiveSnapshot();
  // Who may maintain a table need not be allowed to read it, and an error may quote a value.
  if (get_rel_name(item.relation) == nullptr || !is_owner(item.relation))
    result.reason = psprintf("an error with SQLSTATE %s", unpack_sql_state(result.sqlstate));
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
                      errdetail_internal("%s", result.reason)));
      break;
    case RefreshAction::skipped:
      ereport(level, (errmsg("skipping the density of %s: %s", name, result.reason)));
      break;
    case RefreshAction::fresh:
      break;
    default:
      ereport(level,
              (errmsg("%s the density of %s in %.0f ms: %s", refresh_action_name(result.action),
                      name, result.total_ms, result.reason)));
  }
}

}  // namespace kde_pg
