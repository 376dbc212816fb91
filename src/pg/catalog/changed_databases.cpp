// Notes, for the refresh launcher, of the databases in which densities were changed: one small
// struct in shared memory, under one lock.
#include "pg/catalog/changed_databases.h"

#include "pg/base/shared_memory.h"

namespace kde_pg {

namespace {

struct Notes {
  int count;  // -1: more than fit
  Oid database[kMostNotes];
};

Notes* notes = nullptr;
LWLock* lock = nullptr;

bool note_waits = false;  // of this process, for its transaction

void attach(void* memory, LWLock* its_lock, bool) {
  notes = static_cast<Notes*>(memory);
  lock = its_lock;
}

// Under the lock.
void add_note(Oid database) {
  if (notes->count < 0) return;
  for (int i = 0; i < notes->count; ++i) {
    if (notes->database[i] == database) return;
  }
  if (notes->count == kMostNotes) {
    notes->count = -1;
  } else {
    notes->database[notes->count++] = database;
  }
}

void on_transaction(XactEvent event, void*) {
  if (!note_waits) return;
  switch (event) {
    case XACT_EVENT_COMMIT:
    // Whoever commits it later is not asked again.
    case XACT_EVENT_PREPARE:
      note_waits = false;
      LWLockAcquire(lock, LW_EXCLUSIVE);
      add_note(MyDatabaseId);
      LWLockRelease(lock);
      break;
    case XACT_EVENT_ABORT:
      note_waits = false;
      break;
    default:
      break;
  }
}

}  // namespace

void note_changed_densities() { note_waits = notes != nullptr; }

int take_notes(Oid databases[kMostNotes]) {
  LWLockAcquire(lock, LW_EXCLUSIVE);
  const int count = notes->count;
  for (int i = 0; i < count; ++i) databases[i] = notes->database[i];
  notes->count = 0;
  LWLockRelease(lock);
  return count;
}

void register_note_callbacks() { RegisterXactCallback(on_transaction, nullptr); }

void request_note_memory() { request_shared_memory({"kde_aqp changes", sizeof(Notes), attach}); }

}  // namespace kde_pg
