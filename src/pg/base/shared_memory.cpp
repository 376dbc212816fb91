// Shared memory by PostgreSQL's hooks: one asks for it, the other makes it, part by part.
#include "pg/base/shared_memory.h"

extern "C" {
#include "storage/ipc.h"
#include "storage/shmem.h"
}

namespace kde_pg {

namespace {

constexpr int kMostParts = 5;
SharedPart parts[kMostParts];
int part_count = 0;

shmem_startup_hook_type next_startup_hook = nullptr;
shmem_request_hook_type next_request_hook = nullptr;

void on_request() {
  if (next_request_hook != nullptr) next_request_hook();
  for (int i = 0; i < part_count; ++i) {
    RequestAddinShmemSpace(parts[i].size);
    if (parts[i].attach != nullptr) RequestNamedLWLockTranche(parts[i].name, 1);
  }
}

void on_startup() {
  if (next_startup_hook != nullptr) next_startup_hook();
  LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
  for (int i = 0; i < part_count; ++i) {
    const SharedPart& part = parts[i];
    if (part.attach == nullptr) continue;
    bool found;
    void* memory = ShmemInitStruct(part.name, part.size, &found);
    if (!found) MemSet(memory, 0, part.size);
    part.attach(memory, &GetNamedLWLockTranche(part.name)->lock, !found);
  }
  LWLockRelease(AddinShmemInitLock);
}

}  // namespace

void request_shared_memory(const SharedPart& part) {
  if (part_count == kMostParts) elog(ERROR, "too many parts of shared memory");
  if (part_count == 0) {
    next_startup_hook = shmem_startup_hook;
    shmem_startup_hook = on_startup;
    next_request_hook = shmem_request_hook;
    shmem_request_hook = on_request;
  }
  parts[part_count++] = part;
}

}  // namespace kde_pg
