// The worker of refresh_worker.h.
//
// One density's error is another's chance: it is logged, noted beside the density (refresh.h), and
// that density is left alone for kde_aqp.naptime * 2^failures, up to a day. What ends a worker is
// SIGTERM, an error outside of the densities' work, or that it has worked for kde_aqp.naptime: then
// other databases come first, and it is started again for the rest.
#include "pg/refresh_worker.h"

#include "pg/device_program.h"
#include "pg/options.h"
#include "pg/refresh.h"

extern "C" {
#include "access/genam.h"
#include "access/table.h"
#include "access/xact.h"
#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

PGDLLEXPORT void kde_refresh_worker_main(Datum);
}

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
  pin("statement_timeout", "0");
  pin("idle_in_transaction_session_timeout", "0");
  // A table that someone has locked is left for the next visit.
  pin("lock_timeout", "1000");
  pin("default_transaction_isolation", "read committed");
  pin("default_transaction_read_only", "off");
  pin("default_transaction_deferrable", "off");
  pin("zero_damaged_pages", "off");
  // Every refit is logged here.
  pin("kde_aqp.log_min_duration", "-1");
  // A lost refit is done again: nothing waits for a standby.
  if (synchronous_commit > SYNCHRONOUS_COMMIT_LOCAL_FLUSH) pin("synchronous_commit", "local");
}

void begin_transaction(const char* activity) {
  SetCurrentStatementStartTimestamp();
  pgstat_report_activity(STATE_RUNNING, activity);
  StartTransactionCommand();
  PushActiveSnapshot(GetTransactionSnapshot());
}

void end_transaction() {
  PopActiveSnapshot();
  CommitTransactionCommand();
  (void)pgstat_report_stat(false);
  pgstat_report_activity(STATE_IDLE, nullptr);
}

bool is_empty(Oid catalog) {
  Relation relation = table_open(catalog, AccessShareLock);
  SysScanDesc scan = systable_beginscan(relation, InvalidOid, false, nullptr, 0, nullptr);
  const bool empty = !HeapTupleIsValid(systable_getnext(scan));
  systable_endscan(scan);
  table_close(relation, AccessShareLock);
  return empty;
}

bool is_backed_off(const RefreshItem& item) {
  if (item.failures <= 0) return false;
  double pause = 1000.0 * option_naptime;
  for (int i = 0; i < item.failures && pause < kLongestBackOffMs; ++i) pause *= 2;
  const TimestampTz until =
      item.failed_at + static_cast<int64>(1000.0 * Min(pause, kLongestBackOffMs));
  return GetCurrentTimestamp() < until;
}

// database.schema.table
char* full_name(Oid relation) {
  const char* table = get_rel_name(relation);
  if (table == nullptr) return psprintf("OID %u", relation);
  return psprintf("%s.%s.%s", get_database_name(MyDatabaseId),
                  get_namespace_name(get_rel_namespace(relation)), table);
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
    ListCell* cell;
    foreach (cell, items) {
      const auto* item = static_cast<RefreshItem*>(lfirst(cell));
      if ((item->reason == nullptr && !item->unknown) || is_backed_off(*item)) continue;
      if (ConfigReloadPending) {
        ConfigReloadPending = false;
        ProcessConfigFile(PGC_SIGHUP);
      }
      if (any && now_ms() - started >= 1000.0 * option_naptime) return Visit::unfinished;
      refresh(*item);
      any = true;
    }
    return Visit::done;
  }

 private:
  // False if there is nothing to keep up in this database. It takes no time, and does not give way.
  bool find_items(List** items) {
    HOLD_CANCEL_INTERRUPTS();
    begin_transaction("looking for stale densities");
    const bool any = catalog_is_installed() && catalog_hold() && !is_empty(catalog_oid());
    if (any) {
      MemoryContext old = MemoryContextSwitchTo(context_);
      *items = refresh_items(InvalidOid);
      MemoryContextSwitchTo(old);
      upkeep_remove_orphans();
    }
    end_transaction();
    RESUME_CANCEL_INTERRUPTS();
    return any;
  }

  void refresh(const RefreshItem& item) {
    ErrorContextCallback callback{};
    ErrorData* error = nullptr;
    // A cancel that came too late for the one before is none of this one.
    QueryCancelPending = false;
    (void)asked_to_yield();
    PG_TRY();
    {
      begin_transaction("refreshing a density");
      char* table = full_name(item.relation);
      pgstat_report_activity(STATE_RUNNING, psprintf("refreshing a density of %s", table));
      callback = {error_context_stack, add_context, table};
      error_context_stack = &callback;
      refresh_in_transaction(item);
      error_context_stack = callback.previous;
      end_transaction();
    }
    PG_CATCH();
    {
      HOLD_INTERRUPTS();
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
    if (error == nullptr) return;
    HOLD_CANCEL_INTERRUPTS();
    begin_transaction("noting an error");
    if (catalog_hold()) note_refresh_failure(item, error->message);
    end_transaction();
    RESUME_CANCEL_INTERRUPTS();
  }

  static void refresh_in_transaction(const RefreshItem& item) {
    RefreshHow how;
    how.wait = false;
    how.own_transaction = true;
    const RefreshResult result = refresh_one(item, how);
    switch (result.action) {
      case RefreshAction::refitted:
      case RefreshAction::appended:
        return report_refresh(result, LOG);
      case RefreshAction::failed:
        return report_refresh(result, WARNING);
      case RefreshAction::skipped:
        return report_refresh(result, DEBUG1);
      case RefreshAction::fresh:
        return;
    }
  }

  MemoryContext context_ = nullptr;
};

}  // namespace

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
  Worker worker;
  report_visit(worker.run());
  proc_exit(0);
}
