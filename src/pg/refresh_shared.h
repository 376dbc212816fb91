// What the refresh launcher, its workers and all other backends tell each other in shared memory:
// which databases have been fitted in, and which worker is in which database.
//
// There is such memory only where shared_preload_libraries names the library; without it notes go
// nowhere, and there is no launcher to read them.
#pragma once

#include "pg/pg.h"

namespace kde_pg {

// The largest kde_aqp.max_workers.
inline constexpr int kMostRefreshWorkers = 64;

// How a worker's visit of a database ended.
enum class Visit {
  failed,      // before its end
  idle,        // there is no extension, or no density
  done,        // nothing more is due
  unfinished,  // more is due than there was time for
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
};

// What a worker is started with (BackgroundWorker::bgw_extra).
struct RefreshTicket {
  int slot;
  uint32 ticket;
};

// --- every backend ------------------------------------------------------------------------------

// From _PG_init, while shared_preload_libraries are loaded: asks for the memory.
void request_refresh_memory();

// From _PG_init, in any process: has notes go out with their transactions.
void register_refresh_callbacks();

// Notes that densities of this database were changed by the current transaction. When it commits,
// the database is visited at the launcher's next round, however rarely it was until now.
void note_changed_densities();

// --- the launcher -------------------------------------------------------------------------------

// Makes this process the one that is told of workers that end, until it ends itself. Promises of an
// earlier launcher are withdrawn. Error 55000 if there is no memory.
void become_launcher();

// How often processes that crashed have made the server begin anew since it was started.
int crashes_since_start();

// The databases noted since the last call, at most kMostNotes of them; -1: more, so take all.
inline constexpr int kMostNotes = 128;
int take_notes(Oid databases[kMostNotes]);

// Copies all slots.
void read_slots(RefreshSlot slots[kMostRefreshWorkers]);

// Promises a free slot. False if there is none.
bool promise_slot(Oid database, RefreshTicket* out);

void free_slot(int slot);

// Tells a running worker to leave what it is at (SIGINT, after which asked_to_yield() is true), or
// to end (SIGTERM). Nothing happens if it has ended.
void tell_to_yield(int slot);
void tell_to_end(int slot);

// --- a worker -----------------------------------------------------------------------------------

// Takes the slot that was promised, until this process ends. The database to visit, InvalidOid if
// the promise was withdrawn.
Oid take_slot(const RefreshTicket& ticket);

// How the visit went; `failed` until it is called.
void report_visit(Visit visit);

// Whether the launcher has called tell_to_yield since the last call.
bool asked_to_yield();

}  // namespace kde_pg
