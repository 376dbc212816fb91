// What the refresh launcher, its workers and all other backends tell each other in shared memory:
// which worker is in which database, and at which densities workers have died.
//
// A worker leaves a mark, the density it is at, before it begins with it. If it dies there, the
// mark becomes a death, by which the next worker leaves that density alone for a while and turns to
// the others. Deaths outlive a crash of the server, not its end.
//
// There is such memory only where shared_preload_libraries names the library, as there is a
// launcher.
#pragma once

#include "pg/base/options.h"

extern "C" {
#include "datatype/timestamp.h"
}

namespace kde_pg {

// How a worker's visit of a database ended.
enum class Visit {
  failed,      // before its end
  idle,        // there is no extension, or no density
  done,        // nothing more is due
  unfinished,  // more is due than there was time for
};

// Why a worker was told to end, or came to its end without.
enum class Ending {
  untold,       // pg_terminate_backend, or an error that ends a session
  overdue,      // it went on after kde_aqp.refresh_timeout
  unyielding,   // it went on after it was told to yield
  crashed,      // with the server
  unconcerned,  // for a reason that its density has nothing to do with
};

enum class SlotState {
  free,
  promised,  // to a worker that the postmaster has been asked to start
  running,
  ended,
};

// A worker's place. The launcher promises and frees it; the worker takes it and leaves it ended.
struct RefreshSlot {
  SlotState state;
  Oid database;
  uint32 ticket;  // of the promise: a worker that comes when it was withdrawn finds another
  int pid;        // of a running worker
  Visit visit;
  bool asked_to_yield;
  Ending ending;    // what it was told
  int64 density;    // that it is at, or ended at; 0: none
  Oid relation;     // the density's
  double deadline;  // of its refresh, on the clock of now_ms(); 0: none

  // It ended at a density, and that may be why.
  bool died() const { return density != 0 && ending != Ending::unconcerned; }
};

// What is known of a density at which workers died, since one last refreshed it.
struct Death {
  Oid database;
  int64 density;  // 0: none
  Oid relation;
  Ending ending;  // the last
  int times;
  TimestampTz at;
  bool noted;  // beside the density
};

// What a worker is started with (BackgroundWorker::bgw_extra).
struct RefreshTicket {
  int slot;
  uint32 ticket;
};

// --- every backend ------------------------------------------------------------------------------

// From _PG_init, while shared_preload_libraries are loaded: asks for the memory.
void request_refresh_memory();

// --- the launcher -------------------------------------------------------------------------------

// Makes this process the one that is told of workers that end, until it ends itself. Promises of an
// earlier launcher are withdrawn. Error 55000 if there is no memory.
void become_launcher();

// What anybody may know of the launcher.
struct LauncherState {
  bool preloaded;          // there is such memory
  TimestampTz since;       // it runs since; 0: it does not
  TimestampTz visited_at;  // when a worker last came to this database, since the launcher; 0: none
  bool visiting;           // one is there
};
LauncherState read_launcher_state();

// How often processes that crashed have made the server begin anew since it was started.
int crashes_since_start();

// Copies all slots.
void read_slots(RefreshSlot slots[kMostRefreshWorkers]);

// Promises a free slot. False if there is none.
bool promise_slot(Oid database, RefreshTicket* out);

void free_slot(int slot);

// Tells a running worker to leave what it is at (SIGINT, after which asked_to_yield() is true), or
// to end (SIGTERM). Nothing happens if it has ended.
void tell_to_yield(int slot);
void tell_to_end(int slot, Ending ending);

// --- a worker -----------------------------------------------------------------------------------

// Takes the slot that was promised, until this process ends. The database to visit, InvalidOid if
// the promise was withdrawn.
Oid take_slot(const RefreshTicket& ticket);

// The mark: from now on it is at this density, until end_density().
void begin_density(int64 density, Oid relation, double deadline);

// refreshed: it is as it should be, so that earlier deaths no longer count.
void end_density(bool refreshed);

// Copies the deaths of this database, at most kMostDeaths of them; how many.
inline constexpr int kMostDeaths = 64;
int read_deaths(Death deaths[kMostDeaths]);

// The deaths of this database have all been noted beside their densities.
void deaths_are_noted();

// How the visit went; `failed` until it is called.
void report_visit(Visit visit);

// Whether the launcher has called tell_to_yield since the last call.
bool asked_to_yield();

}  // namespace kde_pg
