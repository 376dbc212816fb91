// Slots in shared memory that show work on densities. One process writes to a slot, the one whose
// number is in `owner`; a slot is claimed and freed empty, so that nothing of one process is ever
// shown as another's.
//
// `changes` is odd while a report is written: a reader who finds it so, or finds that it has
// changed while he read, reads again.
#include "pg/progress/progress_shared.h"

extern "C" {
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
}

namespace kde_pg {

namespace {

// Of this layout: a server may run on with two versions of the library.
constexpr char kName[] = "kde_aqp progress 2";

struct Slot {
  pg_atomic_uint32 owner;  // process id; 0: free
  pg_atomic_uint32 changes;
  pg_atomic_uint64 by_workers;  // done, beside the report's
  ProgressReport report;
};

struct Shared {
  Slot slot[kProgressSlots];
};

Shared* shared = nullptr;
bool attached = false;  // or found that there is no room
Slot* own = nullptr;

void make_or_find() {
  bool found;
  LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
  auto* memory = static_cast<Shared*>(ShmemInitStruct(kName, sizeof(Shared), &found));
  if (!found) {
    MemSet(memory, 0, sizeof(Shared));
    for (Slot& slot : memory->slot) {
      pg_atomic_init_u32(&slot.owner, 0);
      pg_atomic_init_u32(&slot.changes, 0);
      pg_atomic_init_u64(&slot.by_workers, 0);
    }
  }
  LWLockRelease(AddinShmemInitLock);
  shared = memory;
}

// Transactions that end hide what is shown; this is for a process that ends without.
void leave(int, Datum) { hide_progress(); }

void write(Slot* slot, const ProgressReport& report) {
  const uint32 changes = pg_atomic_read_u32(&slot->changes);
  pg_atomic_write_u32(&slot->changes, changes + 1);
  pg_write_barrier();
  slot->report = report;
  pg_write_barrier();
  pg_atomic_write_u32(&slot->changes, changes + 2);
}

Slot* claim() {
  for (Slot& slot : shared->slot) {
    uint32 nobody = 0;
    if (pg_atomic_compare_exchange_u32(&slot.owner, &nobody, static_cast<uint32>(MyProcPid)))
      return &slot;
  }
  return nullptr;
}

}  // namespace

Size progress_memory() { return sizeof(Shared); }

void attach_progress() {
  if (attached) return;
  attached = true;
  const MemoryContext context = CurrentMemoryContext;
  PG_TRY();
  { make_or_find(); }
  PG_CATCH();
  {
    // No room, neither for the struct nor for its name. The caller holds no such lock.
    LWLockReleaseAll();
    MemoryContextSwitchTo(context);
    FlushErrorState();
  }
  PG_END_TRY();
  if (shared != nullptr) on_shmem_exit(leave, 0);
}

void show_progress(const ProgressReport& report) {
  if (own == nullptr && shared != nullptr) own = claim();
  if (own != nullptr) write(own, report);
}

void hide_progress() {
  if (own == nullptr) return;
  write(own, ProgressReport{});
  forget_workers();
  pg_write_barrier();
  pg_atomic_write_u32(&own->owner, 0);
  own = nullptr;
}

void add_for_leader(int leader, int64 done) {
  attach_progress();
  if (shared == nullptr) return;
  for (Slot& slot : shared->slot) {
    if (pg_atomic_read_u32(&slot.owner) == static_cast<uint32>(leader))
      pg_atomic_fetch_add_u64(&slot.by_workers, done);
  }
}

void forget_workers() {
  if (own != nullptr) pg_atomic_write_u64(&own->by_workers, 0);
}

bool read_progress(int n, ProgressReport* report) {
  attach_progress();
  if (shared == nullptr) return false;
  Slot& slot = shared->slot[n];
  for (;;) {
    const uint32 before = pg_atomic_read_u32(&slot.changes);
    pg_read_barrier();
    *report = slot.report;
    pg_read_barrier();
    if (before % 2 == 0 && before == pg_atomic_read_u32(&slot.changes)) break;
    CHECK_FOR_INTERRUPTS();
  }
  report->done += static_cast<int64>(pg_atomic_read_u64(&slot.by_workers));
  return report->pid != 0;
}

}  // namespace kde_pg
