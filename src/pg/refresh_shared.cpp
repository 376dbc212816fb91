// The shared memory of refresh_shared.h: one small struct under one lock.
#include "pg/refresh_shared.h"

extern "C" {
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/shmem.h"
}

#include <signal.h>

namespace kde_pg {

namespace {

constexpr char kName[] = "kde_aqp refresh";

struct Shared {
  LWLock* lock;
  Latch* launcher;  // null: there is none
  int notes;        // -1: more than fit
  Oid noted[kMostNotes];
  uint32 next_ticket;
  int crashes;
  RefreshSlot slot[kMostRefreshWorkers];
};

Shared* shared = nullptr;

shmem_startup_hook_type next_startup_hook = nullptr;
#if PG_VERSION_NUM >= 150000
shmem_request_hook_type next_request_hook = nullptr;
#endif

// Of the postmaster, which outlives crashes as the memory does not: how often it was made.
int times_made = 0;

// Of this process: a note that waits for its transaction, a worker's slot.
bool note_waits = false;
int own_slot = -1;

void ask_for_memory() {
  RequestAddinShmemSpace(sizeof(Shared));
  RequestNamedLWLockTranche(kName, 1);
}

#if PG_VERSION_NUM >= 150000
void on_request() {
  if (next_request_hook != nullptr) next_request_hook();
  ask_for_memory();
}
#endif

void on_startup() {
  if (next_startup_hook != nullptr) next_startup_hook();
  bool found;
  LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
  shared = static_cast<Shared*>(ShmemInitStruct(kName, sizeof(Shared), &found));
  if (!found) {
    MemSet(shared, 0, sizeof(Shared));
    shared->crashes = times_made++;
    shared->lock = &GetNamedLWLockTranche(kName)->lock;
  }
  LWLockRelease(AddinShmemInitLock);
}

// Under the lock.
void add_note(Oid database) {
  if (shared->notes < 0) return;
  for (int i = 0; i < shared->notes; ++i) {
    if (shared->noted[i] == database) return;
  }
  if (shared->notes == kMostNotes) {
    shared->notes = -1;
  } else {
    shared->noted[shared->notes++] = database;
  }
}

void on_transaction(XactEvent event, void*) {
  if (!note_waits) return;
  switch (event) {
    case XACT_EVENT_COMMIT:
    // Whoever commits it later is not asked again.
    case XACT_EVENT_PREPARE:
      note_waits = false;
      LWLockAcquire(shared->lock, LW_EXCLUSIVE);
      add_note(MyDatabaseId);
      LWLockRelease(shared->lock);
      break;
    case XACT_EVENT_ABORT:
      note_waits = false;
      break;
    default:
      break;
  }
}

void tell(int slot, int signal, bool yields) {
  // The worker leaves its slot under the lock, so that until then its pid is its own.
  LWLockAcquire(shared->lock, LW_EXCLUSIVE);
  RefreshSlot& s = shared->slot[slot];
  if (s.state == SlotState::running) {
    s.asked_to_yield = yields;
    kill(s.pid, signal);
  }
  LWLockRelease(shared->lock);
}

void leave_launcher(int, Datum) {
  LWLockAcquire(shared->lock, LW_EXCLUSIVE);
  if (shared->launcher == MyLatch) shared->launcher = nullptr;
  LWLockRelease(shared->lock);
}

void leave_slot(int, Datum) {
  LWLockAcquire(shared->lock, LW_EXCLUSIVE);
  shared->slot[own_slot].state = SlotState::ended;
  if (shared->launcher != nullptr) SetLatch(shared->launcher);
  LWLockRelease(shared->lock);
}

}  // namespace

void request_refresh_memory() {
  next_startup_hook = shmem_startup_hook;
  shmem_startup_hook = on_startup;
#if PG_VERSION_NUM >= 150000
  next_request_hook = shmem_request_hook;
  shmem_request_hook = on_request;
#else
  ask_for_memory();
#endif
}

void register_refresh_callbacks() { RegisterXactCallback(on_transaction, nullptr); }

void note_changed_densities() { note_waits = shared != nullptr; }

void become_launcher() {
  if (shared == nullptr)
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("kde_aqp must be loaded by shared_preload_libraries")));
  LWLockAcquire(shared->lock, LW_EXCLUSIVE);
  shared->launcher = MyLatch;
  for (RefreshSlot& s : shared->slot) {
    if (s.state == SlotState::promised) s.state = SlotState::free;
  }
  LWLockRelease(shared->lock);
  on_shmem_exit(leave_launcher, 0);
}

int crashes_since_start() { return shared->crashes; }

int take_notes(Oid databases[kMostNotes]) {
  LWLockAcquire(shared->lock, LW_EXCLUSIVE);
  const int count = shared->notes;
  for (int i = 0; i < count; ++i) databases[i] = shared->noted[i];
  shared->notes = 0;
  LWLockRelease(shared->lock);
  return count;
}

void read_slots(RefreshSlot slots[kMostRefreshWorkers]) {
  LWLockAcquire(shared->lock, LW_SHARED);
  memcpy(slots, shared->slot, sizeof shared->slot);
  LWLockRelease(shared->lock);
}

bool promise_slot(Oid database, RefreshTicket* out) {
  bool promised = false;
  LWLockAcquire(shared->lock, LW_EXCLUSIVE);
  for (int i = 0; i < kMostRefreshWorkers && !promised; ++i) {
    RefreshSlot& s = shared->slot[i];
    if (s.state != SlotState::free) continue;
    s = {SlotState::promised, database, ++shared->next_ticket, 0, Visit::failed, false};
    *out = {i, s.ticket};
    promised = true;
  }
  LWLockRelease(shared->lock);
  return promised;
}

void free_slot(int slot) {
  LWLockAcquire(shared->lock, LW_EXCLUSIVE);
  shared->slot[slot].state = SlotState::free;
  LWLockRelease(shared->lock);
}

void tell_to_yield(int slot) { tell(slot, SIGINT, true); }
void tell_to_end(int slot) { tell(slot, SIGTERM, false); }

Oid take_slot(const RefreshTicket& ticket) {
  if (shared == nullptr || ticket.slot < 0 || ticket.slot >= kMostRefreshWorkers) return InvalidOid;
  Oid database = InvalidOid;
  LWLockAcquire(shared->lock, LW_EXCLUSIVE);
  RefreshSlot& s = shared->slot[ticket.slot];
  if (s.state == SlotState::promised && s.ticket == ticket.ticket) {
    s.state = SlotState::running;
    s.pid = MyProcPid;
    database = s.database;
    own_slot = ticket.slot;
  }
  LWLockRelease(shared->lock);
  // Before it connects: it is called when the database has been left.
  if (OidIsValid(database)) on_shmem_exit(leave_slot, 0);
  return database;
}

void report_visit(Visit visit) {
  LWLockAcquire(shared->lock, LW_EXCLUSIVE);
  shared->slot[own_slot].visit = visit;
  LWLockRelease(shared->lock);
}

bool asked_to_yield() {
  LWLockAcquire(shared->lock, LW_EXCLUSIVE);
  const bool asked = shared->slot[own_slot].asked_to_yield;
  shared->slot[own_slot].asked_to_yield = false;
  LWLockRelease(shared->lock);
  return asked;
}

}  // namespace kde_pg
