// The background worker that starts a worker in one database after another, tells workers to yield
// and ends those that do not.
//
// It keeps what it knows of databases to itself: started anew, it visits all once and learns it
// again.
#include "pg/refresh/refresh_launcher.h"

#include "pg/base/lock_waits.h"
#include "pg/base/options.h"
#include "pg/base/pinned.h"
#include "pg/base/wait_events.h"
#include "pg/catalog/changed_databases.h"
#include "pg/device/device_program.h"
#include "pg/refresh/refresh_shared.h"
#include "pg/refresh/refresh_worker.h"

extern "C" {
#include "access/genam.h"
#include "access/heapam.h"
#include "access/tableam.h"
#include "catalog/pg_database.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/sinval.h"

PGDLLEXPORT void kde_refresh_launcher_main(Datum);
}

namespace kde_pg {

namespace {

constexpr double kLongestPauseMs = 3600e3;
// How often it looks who waits for a running worker, and how long that has been at its density.
constexpr double kLookMs = 1000;
// A worker that was cancelled, by its timeout or to give way, and goes on so long is ended.
constexpr double kGraceMs = 5000;
// pg_database.datconnlimit of a database that was left half dropped (named since 15.4).
constexpr int kInvalidDatabase = -2;

struct Database {
  Oid oid;
  double visited_at;  // when its last visit began, on the clock of now_ms(); 0: never
  int doublings;      // of the pause, since there was something to do
  bool at_once;       // whatever the pause
  bool exists;        // seen in the present round
};

// Since when a worker has been asked to leave a density.
struct Yield {
  int64 density;
  double since;
};

class Launcher {
 public:
  [[noreturn]] void run() {
    context_ =
        AllocSetContextCreate(TopMemoryContext, "kde_aqp refresh launcher", ALLOCSET_DEFAULT_SIZES);
    waits_context_ = AllocSetContextCreate(context_, "kde_aqp lock waits", ALLOCSET_DEFAULT_SIZES);
    MemoryContextSwitchTo(context_);
    started_at_ = now_ms();
    for (;;) {
      // Status 1: it comes back when it was ended alone.
      if (ShutdownRequestPending) proc_exit(1);
      if (ConfigReloadPending) {
        ConfigReloadPending = false;
        ProcessConfigFile(PGC_SIGHUP);
        said_no_process_ = false;
        ereport(DEBUG2, (errmsg_internal("refresh launcher: naptime %d s, at most %d workers",
                                         option_naptime, option_max_workers)));
      }
      collect_ended();
      end_surplus();
      if (option_max_workers > 0) {
        if (now_ms() >= next_round()) begin_round();
        start_due();
        if (running_ > 0 && now_ms() >= looked_at_ + kLookMs) look_after_running();
      }
      wait();
    }
  }

 private:
  static double naptime_ms() { return 1000.0 * option_naptime; }

  // kde_aqp.naptime, doubled so many times, but not beyond the longest pause by that.
  static double pause_ms(int doublings) {
    const double longest = Max(naptime_ms(), kLongestPauseMs);
    double pause = naptime_ms();
    for (int i = 0; i < doublings && pause < longest; ++i) pause *= 2;
    return Min(pause, longest);
  }

  // Milliseconds on the clock of now_ms(), as all times here.
  double next_round() const {
    if (round_at_ != 0) return round_at_ + naptime_ms();
    // What crashed may have been a refresh, and the next would crash as well: not at once, then.
    const int crashes = crashes_since_start();
    return crashes == 0 ? 0 : started_at_ + pause_ms(crashes - 1);
  }

  static double due_at(const Database& d) {
    return d.at_once || d.visited_at == 0 ? 0 : d.visited_at + pause_ms(d.doublings);
  }

  Database* find(Oid oid) {
    for (int i = 0; i < databases_; ++i) {
      if (database_[i].oid == oid) return &database_[i];
    }
    return nullptr;
  }

  void add(Oid oid) {
    if (databases_ == room_) {
      room_ = Max(2 * room_, 16);
      const Size size = room_ * sizeof(Database);
      database_ = static_cast<Database*>(database_ == nullptr ? MemoryContextAlloc(context_, size)
                                                              : repalloc(database_, size));
    }
    database_[databases_++] = {oid, 0, 0, false, true};
  }

  // Looks which databases there are, and where densities were changed.
  void begin_round() {
    round_at_ = now_ms();
    no_process_ = false;
    for (int i = 0; i < databases_; ++i) database_[i].exists = false;
    SetCurrentStatementStartTimestamp();
    StartTransactionCommand();
    (void)GetTransactionSnapshot();
    Relation relation = table_open(DatabaseRelationId, AccessShareLock);
    TableScanDesc scan = table_beginscan_catalog(relation, 0, nullptr);
    HeapTuple tuple;
    while ((tuple = heap_getnext(scan, ForwardScanDirection)) != nullptr) {
      const auto* form = reinterpret_cast<Form_pg_database>(GETSTRUCT(tuple));
      if (!form->datallowconn || form->datistemplate || form->datconnlimit == kInvalidDatabase)
        continue;
      Database* known = find(form->oid);
      if (known == nullptr) {
        add(form->oid);
      } else {
        known->exists = true;
      }
    }
    table_endscan(scan);
    table_close(relation, AccessShareLock);
    CommitTransactionCommand();
    MemoryContextSwitchTo(context_);
    int kept = 0;
    for (int i = 0; i < databases_; ++i) {
      if (database_[i].exists) database_[kept++] = database_[i];
    }
    databases_ = kept;

    Oid noted[kMostNotes];
    const int notes = take_notes(noted);
    for (int i = 0; i < databases_; ++i) {
      for (int k = 0; k < notes; ++k) {
        if (database_[i].oid == noted[k]) database_[i].doublings = 0;
      }
      if (notes < 0) database_[i].doublings = 0;
    }
    ereport(DEBUG2, (errmsg_internal("refresh launcher: %d databases, %d workers running",
                                     databases_, running_)));
  }

  // Learns from workers that have ended. Sets running_ and slots_.
  void collect_ended() {
    // Before the slots are read: a worker that has stopped has left its slot as it will stay.
    bool stopped[kMostRefreshWorkers] = {};
    for (int i = 0; i < kMostRefreshWorkers; ++i) {
      pid_t pid;
      stopped[i] =
          handle_[i] != nullptr && GetBackgroundWorkerPid(handle_[i], &pid) == BGWH_STOPPED;
    }
    read_slots(slots_);
    running_ = 0;
    for (int i = 0; i < kMostRefreshWorkers; ++i) {
      const RefreshSlot& slot = slots_[i];
      if (slot.state == SlotState::free) continue;
      // Ended, but its process is not free for the next before the postmaster has seen its end.
      const bool ended = slot.state == SlotState::ended && (handle_[i] == nullptr || stopped[i]);
      // Promised still: it could not be started, or ended before it took its slot.
      if (!ended && !(slot.state == SlotState::promised && stopped[i])) {
        ++running_;
        continue;
      }
      Database* d = find(slot.database);
      if (d != nullptr) learn(slot, ended_by_us_[i], d);
      release(i);
      no_process_ = false;  // its own is free
    }
  }

  static void learn(const RefreshSlot& slot, bool ended_by_us, Database* d) {
    switch (slot.visit) {
      case Visit::done:
        d->doublings = 0;
        break;
      case Visit::unfinished:
        d->doublings = 0;
        d->at_once = true;
        break;
      case Visit::idle:
        ++d->doublings;
        break;
      case Visit::failed:
        // The next worker leaves that density alone; the others are not to wait because of it.
        if (slot.died()) {
          d->doublings = 0;
          d->at_once = true;
        } else if (!ended_by_us) {
          ++d->doublings;
        }
        break;
    }
  }

  void release(int i) {
    free_slot(i);
    slots_[i].state = SlotState::free;
    ended_by_us_[i] = false;
    yields_[i] = {};
    if (handle_[i] != nullptr) pfree(handle_[i]);
    handle_[i] = nullptr;
  }

  void end(int i, Ending ending, const char* why) {
    if (slots_[i].state != SlotState::running || ended_by_us_[i]) return;
    ended_by_us_[i] = true;
    ereport(LOG, (errmsg("ending the refresh worker in the database with OID %u: %s",
                         slots_[i].database, why)));
    tell_to_end(i, ending);
  }

  // Ends the workers that a lowered kde_aqp.max_workers no longer allows.
  void end_surplus() {
    int surplus = running_ - option_max_workers;
    for (int i = kMostRefreshWorkers - 1; i >= 0 && surplus > 0; --i) {
      if (slots_[i].state == SlotState::free) continue;
      end(i, Ending::unconcerned, "\"kde_aqp.max_workers\" was lowered");
      --surplus;
    }
  }

  bool has_worker(Oid database) const {
    for (const RefreshSlot& slot : slots_) {
      if (slot.state != SlotState::free && slot.database == database) return true;
    }
    return false;
  }

  bool may_start() const { return running_ < option_max_workers && !no_process_; }

  // The database to visit next, null if none is due.
  Database* next_due() {
    Database* out = nullptr;
    const double now = now_ms();
    for (int i = 0; i < databases_; ++i) {
      Database* d = &database_[i];
      if (due_at(*d) > now || has_worker(d->oid)) continue;
      if (out == nullptr || d->visited_at < out->visited_at) out = d;
    }
    return out;
  }

  void start_due() {
    if (!may_start() || next_due() == nullptr) return;
    const LockWaits waits = take_waits();
    while (may_start()) {
      Database* d = next_due();
      if (d == nullptr) break;
      if (waits.is_closed(d->oid, 0)) {
        // A worker would wait at its door, and find nothing behind.
        d->visited_at = now_ms();
        d->at_once = false;
      } else if (!start(d)) {
        break;
      }
    }
    MemoryContextReset(waits_context_);
  }

  bool start(Database* d) {
    RefreshTicket ticket;
    if (!promise_slot(d->oid, &ticket)) return false;
    slots_[ticket.slot] = {};
    slots_[ticket.slot].state = SlotState::promised;
    slots_[ticket.slot].database = d->oid;
    handle_[ticket.slot] = start_refresh_worker(ticket, d->oid);
    if (handle_[ticket.slot] == nullptr) {
      release(ticket.slot);
      // Until one of ours ends, or the next round.
      no_process_ = true;
      if (!said_no_process_) {
        ereport(LOG, (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
                      errmsg("no background worker is free to refresh densities"),
                      errdetail("%d of \"kde_aqp.max_workers\" = %d %s running. It is tried again "
                                "without another message.",
                                running_, option_max_workers, running_ == 1 ? "is" : "are"),
                      errhint("Consider increasing the configuration parameter "
                              "\"max_worker_processes\".")));
      }
      said_no_process_ = true;
      return false;
    }
    d->visited_at = now_ms();
    d->at_once = false;
    ++running_;
    return true;
  }

  // Good until waits_context_ is reset.
  LockWaits take_waits() {
    LockWaits waits;
    MemoryContextSwitchTo(waits_context_);
    waits.take();
    MemoryContextSwitchTo(context_);
    return waits;
  }

  void look_after_running() {
    looked_at_ = now_ms();
    const LockWaits waits = take_waits();
    for (int i = 0; i < kMostRefreshWorkers; ++i) {
      const RefreshSlot& slot = slots_[i];
      if (slot.state != SlotState::running) continue;
      if (waits.is_closed(slot.database, slot.pid)) {
        end(i, Ending::unconcerned, "it is being dropped, altered or copied");
      } else if (slot.deadline != 0 && looked_at_ > slot.deadline + kGraceMs) {
        end(i, Ending::overdue, "it does not end at \"kde_aqp.refresh_timeout\"");
      } else if (!waits.blocks_others(slot.pid)) {
        yields_[i] = {};
      } else {
        have_yield(i);
      }
    }
    MemoryContextReset(waits_context_);
  }

  // A cancel that the work traps (a function of the table's owner) is no end of it.
  void have_yield(int i) {
    Yield* asked = &yields_[i];
    if (asked->density == 0 || asked->density != slots_[i].density)
      *asked = {slots_[i].density, now_ms()};
    if (asked->density != 0 && now_ms() > asked->since + kGraceMs) {
      end(i, Ending::unyielding, "it does not give way to a session that waits for its locks");
    } else {
      tell_to_yield(i);
    }
  }

  void wait() {
    const double now = now_ms();
    double until = option_max_workers > 0 ? next_round() : now + kLongestPauseMs;
    if (running_ > 0 && option_max_workers > 0) until = Min(until, looked_at_ + kLookMs);
    for (int i = 0; may_start() && i < databases_; ++i) {
      if (!has_worker(database_[i].oid)) until = Min(until, due_at(database_[i]));
    }
    (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
                    static_cast<long>(Max(until - now, 0.0)) + 1,
                    named_wait("KdeRefreshLauncherMain", &wait_number_));
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
    // It may sleep for long, and others' messages would pile up.
    if (catchupInterruptPending) ProcessCatchupInterrupt();
    MemoryContextSwitchTo(context_);
  }

  MemoryContext context_ = nullptr, waits_context_ = nullptr;
  Database* database_ = nullptr;
  int databases_ = 0, room_ = 0;
  double started_at_ = 0, round_at_ = 0, looked_at_ = 0;
  RefreshSlot slots_[kMostRefreshWorkers] = {};
  BackgroundWorkerHandle* handle_[kMostRefreshWorkers] =
      {};  // null: started by an earlier launcher
  bool ended_by_us_[kMostRefreshWorkers] = {};
  Yield yields_[kMostRefreshWorkers] = {};
  int running_ = 0;
  uint32 wait_number_ = 0;
  bool no_process_ = false, said_no_process_ = false;
};

}  // namespace

void register_refresh_launcher() {
  if (IsBinaryUpgrade) return;
  BackgroundWorker worker{};
  strlcpy(worker.bgw_name, "kde_aqp refresh launcher", BGW_MAXLEN);
  strlcpy(worker.bgw_type, "kde_aqp refresh launcher", BGW_MAXLEN);
  worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
  worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
  worker.bgw_restart_time = 5;
  strlcpy(worker.bgw_library_name, "kde_aqp", sizeof worker.bgw_library_name);
  strlcpy(worker.bgw_function_name, "kde_refresh_launcher_main", BGW_MAXLEN);
  RegisterBackgroundWorker(&worker);
}

}  // namespace kde_pg

void kde_refresh_launcher_main(Datum) {
  using namespace kde_pg;
  pqsignal(SIGHUP, SignalHandlerForConfigReload);
  pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
  BackgroundWorkerUnblockSignals();
  BackgroundWorkerInitializeConnection(nullptr, nullptr, 0);
  become_launcher();
  pin_timeouts();
  pgstat_report_appname("kde_aqp refresh launcher");
  // Trivially destructible: proc_exit does not return here.
  Launcher launcher;
  launcher.run();
}
