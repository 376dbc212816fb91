// What the refresh launcher and its workers tell each other: one small struct in shared memory,
// under one lock.
#include "pg/refresh/refresh_shared.h"

#include "pg/base/shared_memory.h"

extern "C" {
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
}

#include <signal.h>

namespace kde_pg {

namespace {

// When a worker last came to a database; of the databases visited last.
struct Visited {
  Oid database;
  TimestampTz at;
};
constexpr int kMostVisited = 256;

struct Shared {
  LWLock* lock;
  Latch* launcher;  // null: there is none
  TimestampTz launcher_since;
  uint32 next_ticket;
  int crashes;
  RefreshSlot slot[kMostRefreshWorkers];
  Death death[kMostDeaths];
  Visited visited[kMostVisited];
};

Shared* shared = nullptr;

// Of the postmaster, which outlives crashes as the memory does not: how often it was made, and what
// stood in it when it went.
int times_made = 0;
Death kept[kMostDeaths];

int own_slot = -1;

// Of a few entries that of a key, else the oldest, which makes room.
template <typename Entry, typename IsIt>
Entry* entry_for(Entry* entries, int count, IsIt is_it) {
  Entry* place = &entries[0];
  for (Entry* e = entries; e < entries + count; ++e) {
    if (is_it(*e)) return e;
    if (e->at < place->at) place = e;
  }
  return place;
}

// Under the lock, or alone.
void add_death(const RefreshSlot& slot, Ending ending, Death deaths[kMostDeaths]) {
  const auto is_it = [&slot](const Death& d) {
    return d.density == slot.density && d.database == slot.database;
  };
  Death* place = entry_for(deaths, kMostDeaths, is_it);
  const int times = is_it(*place) ? place->times + 1 : 1;
  *place = {slot.database, slot.density,          slot.relation, ending,
            times,         GetCurrentTimestamp(), false};
}

// The postmaster's, before the memory goes. It takes no lock: who holds one is dead.
void keep_deaths(int, Datum) {
  memcpy(kept, shared->death, sizeof kept);
  for (const RefreshSlot& s : shared->slot) {
    if (s.state == SlotState::running && s.died()) add_death(s, Ending::crashed, kept);
  }
}

void attach(void* memory, LWLock* lock, bool is_new) {
  shared = static_cast<Shared*>(memory);
  if (!is_new) return;
  shared->crashes = times_made++;
  shared->lock = lock;
  memcpy(shared->death, kept, sizeof kept);
  on_shmem_exit(keep_deaths, 0);
}

// change(slot): what it is told beside the signal.
template <typename Change>
void tell(int slot, int signal, Change change) {
  // The worker leaves its slot under the lock, so that until then its pid is its own.
  LWLockAcquire(shared->lock, LW_EXCLUSIVE);
  RefreshSlot& s = shared->slot[slot];
  if (s.state == SlotState::running) {
    change(&s);
    kill(s.pid, signal);
  }
  LWLockRelease(shared->lock);
}

// The death of this worker's density, or null. Under the lock.
Death* death_of(const RefreshSlot& s) {
  for (Death& d : shared->death) {
    if (d.density == s.density && d.database == s.database) return &d;
  }
  return nullptr;
}

// Under the lock.
void note_visit(Oid database) {
  *entry_for(shared->visited, kMostVisited, [database](const Visited& v) {
    return v.database == database;
  }) = {database, GetCurrentTimestamp()};
}

void leave_launcher(int, Datum) {
  LWLockAcquire(shared->lock, LW_EXCLUSIVE);
  if (shared->launcher == MyLatch) shared->launcher = nullptr;
  LWLockRelease(shared->lock);
}

void leave_slot(int, Datum) {
  LWLockAcquire(shared->lock, LW_EXCLUSIVE);
  RefreshSlot& s = shared->slot[own_slot];
  s.state = SlotState::ended;
  if (s.died()) add_death(s, s.ending, shared->death);
  if (shared->launcher != nullptr) SetLatch(shared->launcher);
  LWLockRelease(shared->lock);
}

}  // namespace

void request_refresh_memory() {
  request_shared_memory({"kde_aqp refresh", sizeof(Shared), attach});
}

void become_launcher() {
  if (shared == nullptr)
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("kde_aqp must be loaded by shared_preload_libraries")));
  LWLockAcquire(shared->lock, LW_EXCLUSIVE);
  shared->launcher = MyLatch;
  shared->launcher_since = GetCurrentTimestamp();
  for (RefreshSlot& s : shared->slot) {
    if (s.state == SlotState::promised) s.state = SlotState::free;
  }
  LWLockRelease(shared->lock);
  on_shmem_exit(leave_launcher, 0);
}

LauncherState read_launcher_state() {
  LauncherState out = {};
  if (shared == nullptr) return out;
  out.preloaded = true;
  LWLockAcquire(shared->lock, LW_SHARED);
  if (shared->launcher != nullptr) out.since = shared->launcher_since;
  for (const Visited& v : shared->visited) {
    if (v.database == MyDatabaseId) out.visited_at = v.at;
  }
  for (const RefreshSlot& s : shared->slot)
    out.visiting |= s.state == SlotState::running && s.database == MyDatabaseId;
  LWLockRelease(shared->lock);
  return out;
}

int crashes_since_start() { return shared->crashes; }

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
    s = {};
    s.state = SlotState::promised;
    s.database = database;
    s.ticket = ++shared->next_ticket;
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

void tell_to_yield(int slot) {
  tell(slot, SIGINT, [](RefreshSlot* s) { s->asked_to_yield = true; });
}

void tell_to_end(int slot, Ending ending) {
  tell(slot, SIGTERM, [&](RefreshSlot* s) { s->ending = ending; });
}

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
    note_visit(database);
  }
  LWLockRelease(shared->lock);
  // Before it connects: it is called when the database has been left.
  if (OidIsValid(database)) on_shmem_exit(leave_slot, 0);
  return database;
}

void begin_density(int64 density, Oid relation, double deadline) {
  LWLockAcquire(shared->lock, LW_EXCLUSIVE);
  RefreshSlot& s = shared->slot[own_slot];
  s.asked_to_yield = false;
  s.density = density;
  s.relation = relation;
  s.deadline = deadline;
  LWLockRelease(shared->lock);
}

void end_density(bool refreshed) {
  LWLockAcquire(shared->lock, LW_EXCLUSIVE);
  RefreshSlot& s = shared->slot[own_slot];
  Death* death = refreshed ? death_of(s) : nullptr;
  if (death != nullptr) *death = {};
  s.density = 0;
  s.deadline = 0;
  LWLockRelease(shared->lock);
}

int read_deaths(Death deaths[kMostDeaths]) {
  int count = 0;
  LWLockAcquire(shared->lock, LW_SHARED);
  for (const Death& d : shared->death) {
    if (d.density != 0 && d.database == MyDatabaseId) deaths[count++] = d;
  }
  LWLockRelease(shared->lock);
  return count;
}

void deaths_are_noted() {
  LWLockAcquire(shared->lock, LW_EXCLUSIVE);
  for (Death& d : shared->death) {
    if (d.database == MyDatabaseId) d.noted = true;
  }
  LWLockRelease(shared->lock);
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
