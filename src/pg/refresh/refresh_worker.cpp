// The background worker that refreshes the stale densities of one database, and what becomes of
// errors.
//
// One density's error is another's chance: it is logged, noted beside the density (refresh.h), and
// that density is left alone for kde_aqp.naptime * 2^failures, up to a day, and tried again until
// it succeeds. A table without rows, as while it is restored, is no error. What ends a worker is
// SIGTERM, an error that ends a session, an error outside of the densities' work, or that it has
// worked for kde_aqp.naptime: then other databases come first, and it is started again for the
// rest.
//
// A density at which a worker came to its end is treated as one that failed (refresh_shared.h): the
// next worker notes it, and goes on with the others.
//
// Densities of one table are refreshed together, in one transaction, as one scan may read for several.
// If an error ends that, or a worker ended at one of them, it is not known whose affair it was: then
// they are refreshed one by one.
#include "pg/refresh/refresh_worker.h"

#include "pg/base/options.h"
#include "pg/base/pinned.h"
#include "pg/device/device_program.h"
#include "pg/refresh/refresh.h"

#include <malloc.h>

#include <climits>

extern "C" {
#include "access/genam.h"
#include "commands/dbcommands.h"
#include "pgstat.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
#include "utils/timeout.h"

PGDLLEXPORT void kde_refresh_worker_main(Datum);
}

#include <cstdlib>

namespace kde_pg {

namespace {

constexpr double kLongestBackOffMs = 24 * 3600e3;

// Nothing of what an administrator has set for roles or databases with sessions in mind.
void pin_settings() {
  const auto pin = [](const char* name, const char* value) {
    SetConfigOption(name, value, PGC_SUSET, PGC_S_OVERRIDE);
  };
  pin("application_name", "kde_aqp refresh worker");
  pin("search_path", "pg_catalog, pg_temp");
  pin_timeouts();
  // A table that someone has locked is left for the next visit.
  pin("lock_timeout", "1000");
  pin("default_transaction_isolation", "read committed");
  pin("default_transaction_read_only", "off");
  pin("default_transaction_deferrable", "off");
  pin("zero_damaged_pages", "off");
  // Exact queries are.
  pin("kde_aqp.approximate", "off");
  // Every refit is logged here.
  pin("kde_aqp.log_min_duration", "-1");
  // A lost refit is done again: nothing waits for a standby.
  if (synchronous_commit > SYNCHRONOUS_COMMIT_LOCAL_FLUSH) pin("synchronous_commit", "local");
}

// What stands beside a density at which a worker died.
const char* describe_death(const Death& death) {
  switch (death.ending) {
    case Ending::overdue:
      return "it went on after kde_aqp.refresh_timeout, and its worker was terminated";
    case Ending::unyielding:
      return "it did not give way to a session that waited for its locks, and its worker was "
             "terminated";
    case Ending::crashed:
      return "the server crashed while a worker refreshed it";
    case Ending::untold:
    case Ending::unconcerned:
      break;
  }
  return "its worker was terminated";
}

bool is_backed_off(const RefreshItem& item) {
  if (item.failures == 0) return false;
  double pause = 1000.0 * option_naptime;
  for (int i = 0; i < std::abs(item.failures) && pause < kLongestBackOffMs; ++i) pause *= 2;
  const TimestampTz until =
      item.failed_at + static_cast<int64>(1000.0 * Min(pause, kLongestBackOffMs));
  return GetCurrentTimestamp() < until;
}

void add_context(void* arg) {
  const char* table = static_cast<const char*>(arg);
  errcontext("background refresh of a density of table \"%s\"", table);
}

class Worker {
 public:
  Visit run() {
    context_ =
        AllocSetContextCreate(TopMemoryContext, "kde_aqp refresh worker", ALLOCSET_DEFAULT_SIZES);
    const double started = now_ms();
    List* items = NIL;
    if (!find_items(&items)) return Visit::idle;
    // However long the look took, a visit gets one further.
    bool any = false;
    while (items != NIL) {
      List* together = next(&items);
      if (together == NIL) continue;
      if (ConfigReloadPending) {
        ConfigReloadPending = false;
        ProcessConfigFile(PGC_SIGHUP);
      }
      if (any && now_ms() - started >= 1000.0 * option_naptime) return Visit::unfinished;
      any = true;
      if (refresh(together)) continue;
      // However long that took: else the next visit would meet the same error.
      for (RefreshItem* item : of_list<RefreshItem>(together)) refresh(list_make1(item));
    }
    return Visit::done;
  }

 private:
  static const RefreshItem* first_of(const List* items) {
    return static_cast<const RefreshItem*>(linitial(items));
  }

  // What failed is tried again until it succeeds, stale or not.
  static bool is_to_be_refreshed(const RefreshItem& item) {
    return (item.reason != nullptr || item.unknown || item.renewed || item.failures != 0) &&
           !is_backed_off(item);
  }

  // Takes out those of one table that are refreshed together, or NIL.
  List* next(List** items) const {
    List* of_table;
    if (!list_member_oid(one_by_one_, first_of(*items)->relation)) {
      of_table = take_table(items);
    } else {
      of_table = list_make1(linitial(*items));
      *items = list_delete_first(*items);
    }
    ListCell* cell;
    foreach (cell, of_table) {
      if (!is_to_be_refreshed(*static_cast<const RefreshItem*>(lfirst(cell))))
        of_table = foreach_delete_current(of_table, cell);
    }
    return of_table;
  }

  // False if there is nothing to keep up in this database. It takes no time, and does not give way.
  bool find_items(List** items) {
    HOLD_CANCEL_INTERRUPTS();
    begin_worker_transaction("looking for stale densities");
    const bool any = catalog_is_installed() && catalog_hold() && !catalog_seems_empty();
    if (any) {
      MemoryContext old = MemoryContextSwitchTo(context_);
      Death deaths[kMostDeaths];
      const int count = read_deaths(deaths);
      note(deaths, count);
      *items = refresh_items(InvalidOid, true);
      // Of a table that lost its rows in a crash, or a death that could not be noted.
      for (RefreshItem* item : of_list<RefreshItem>(*items)) count_deaths(deaths, count, item);
      // It may have been at one of the others.
      for (int i = 0; i < count; ++i) one_by_one_ = lappend_oid(one_by_one_, deaths[i].relation);
      MemoryContextSwitchTo(old);
      catalog_remove_orphans();
    }
    end_worker_transaction();
    if (any) deaths_are_noted();
    RESUME_CANCEL_INTERRUPTS();
    return any;
  }

  static void note(const Death* deaths, int count) {
    for (int i = 0; i < count; ++i) {
      RefreshItem item = {};
      item.id = deaths[i].density;
      item.relation = deaths[i].relation;
      if (!deaths[i].noted) note_refresh_failure(item, describe_death(deaths[i]));
    }
  }

  static void count_deaths(const Death* deaths, int count, RefreshItem* item) {
    for (int i = 0; i < count; ++i) {
      if (deaths[i].density != item->id || deaths[i].at <= item->fitted_at) continue;
      item->failures = Max(item->failures, deaths[i].times);
      item->failed_at = Max(item->failed_at, deaths[i].at);
    }
  }

  // False if several ended by an error, which may be another's than of that they were at.
  bool refresh(List* items) {
    const RefreshItem& first = *first_of(items);
    const bool several = list_length(items) > 1;
    ErrorContextCallback callback{};
    ErrorData* volatile error = nullptr;  // set between setjmp and longjmp
    volatile bool refreshed = false;
    begin_step(first, list_length(items));
    // A cancel that came too late for the one before is none of this one.
    QueryCancelPending = false;
    PG_TRY();
    {
      begin_worker_transaction("refreshing a density");
      char* table = full_table_name(first.relation);
      pgstat_report_activity(STATE_RUNNING, psprintf("refreshing %s of %s",
                                                     several ? "densities" : "a density", table));
      callback = {error_context_stack, add_context, table};
      error_context_stack = &callback;
      refreshed = refresh_in_transaction(items);
      error_context_stack = callback.previous;
      end_worker_transaction();
    }
    PG_CATCH();
    {
      HOLD_INTERRUPTS();
      disable_timeout(STATEMENT_TIMEOUT, false);
      MemoryContextSwitchTo(context_);
      error = CopyErrorData();
      if (error->sqlerrcode == ERRCODE_QUERY_CANCELED && asked_to_yield()) {
        error->message = pstrdup("gave way to a session that waited for its locks");
        FlushErrorState();
        ereport(LOG, (errmsg("background refresh %s", error->message)));
      } else {
        EmitErrorReport();
        FlushErrorState();
      }
      AbortOutOfAnyTransaction();
      QueryCancelPending = false;
      RESUME_INTERRUPTS();
    }
    PG_END_TRY();
    MemoryContextSwitchTo(context_);
    if (error != nullptr && !several) {
      HOLD_CANCEL_INTERRUPTS();
      begin_worker_transaction("noting an error");
      if (catalog_hold()) note_refresh_failure(first, error->message);
      end_worker_transaction();
      RESUME_CANCEL_INTERRUPTS();
    }
    end_density(refreshed);
    return error == nullptr || !several;
  }

  // The mark, and the clock anew. An owner's function that does not end must not keep all others
  // waiting. One that goes on after this cancel is the launcher's to end.
  static void begin_step(const RefreshItem& item, int densities) {
    const int64 timeout_ms = Min(int64{option_refresh_timeout} * densities, int64{INT_MAX});
    begin_density(item.id, item.relation,
                  timeout_ms > 0 ? now_ms() + static_cast<double>(timeout_ms) : 0);
    if (timeout_ms > 0 && IsTransactionState())
      enable_timeout_after(STATEMENT_TIMEOUT, static_cast<int>(timeout_ms));
  }

  // Whether all are up to date now.
  static bool refresh_in_transaction(List* items) {
    RefreshHow how;
    how.wait = false;
    how.background = true;
    how.own_transaction = true;
    how.at = [](const RefreshItem& item, int densities) {
      CHECK_FOR_INTERRUPTS();
      begin_step(item, densities);
    };
    List* results = refresh_together(items, how);
    disable_timeout(STATEMENT_TIMEOUT, false);
    bool all = true;
    for (const RefreshResult* entry : of_list<const RefreshResult>(results)) all &= told(*entry);
    return all;
  }

  // Tells what became of one. Whether it is up to date now.
  static bool told(const RefreshResult& result) {
    switch (result.action) {
      case RefreshAction::refitted:
        report_refresh(result, LOG);
        return true;
      case RefreshAction::failed:
        report_refresh(result, WARNING);
        return false;
      case RefreshAction::skipped:
        report_refresh(result, DEBUG1);
        return false;
      case RefreshAction::fresh:
      case RefreshAction::unknown:
        break;
    }
    return true;
  }

  MemoryContext context_ = nullptr;
  List* one_by_one_ = NIL;  // tables whose densities are refreshed so
};

// What core frees it takes again at once, as it tries one cut of a density after another. By default
// each large piece goes back to the system, and each of its pages is a fault the next time.
void keep_freed_memory() {
#ifdef M_TRIM_THRESHOLD
  constexpr int kMegabyte = 1 << 20;
  (void)mallopt(M_MMAP_THRESHOLD, 16 * kMegabyte);
  (void)mallopt(M_TRIM_THRESHOLD, 64 * kMegabyte);
#endif
}

}  // namespace

void begin_worker_transaction(const char* activity) {
  SetCurrentStatementStartTimestamp();
  pgstat_report_activity(STATE_RUNNING, activity);
  StartTransactionCommand();
  PushActiveSnapshot(GetTransactionSnapshot());
}

void end_worker_transaction() {
  PopActiveSnapshot();
  CommitTransactionCommand();
  (void)pgstat_report_stat(false);
  pgstat_report_activity(STATE_IDLE, nullptr);
}

char* full_table_name(Oid relation) {
  const char* table = get_rel_name(relation);
  if (table == nullptr) return psprintf("OID %u", relation);
  return psprintf("%s.%s.%s", get_database_name(MyDatabaseId),
                  get_namespace_name(get_rel_namespace(relation)), table);
}

BackgroundWorkerHandle* start_refresh_worker(const RefreshTicket& ticket, Oid database) {
  BackgroundWorker worker{};
  snprintf(worker.bgw_name, BGW_MAXLEN, "kde_aqp refresh worker for database %u", database);
  strlcpy(worker.bgw_type, "kde_aqp refresh worker", BGW_MAXLEN);
  worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
  worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
  worker.bgw_restart_time = BGW_NEVER_RESTART;
  strlcpy(worker.bgw_library_name, "kde_aqp", sizeof worker.bgw_library_name);
  strlcpy(worker.bgw_function_name, "kde_refresh_worker_main", BGW_MAXLEN);
  memcpy(worker.bgw_extra, &ticket, sizeof ticket);
  worker.bgw_notify_pid = MyProcPid;
  BackgroundWorkerHandle* handle = nullptr;
  return RegisterDynamicBackgroundWorker(&worker, &handle) ? handle : nullptr;
}

}  // namespace kde_pg

void kde_refresh_worker_main(Datum) {
  using namespace kde_pg;
  pqsignal(SIGHUP, SignalHandlerForConfigReload);
  pqsignal(SIGTERM, die);
  BackgroundWorkerUnblockSignals();
  RefreshTicket ticket;
  memcpy(&ticket, MyBgworkerEntry->bgw_extra, sizeof ticket);
  const Oid database = take_slot(ticket);
  if (!OidIsValid(database)) proc_exit(0);
  BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, 0);
  pin_settings();
  keep_freed_memory();
  Worker worker;
  report_visit(worker.run());
  proc_exit(0);
}
