// The lock of the extension itself, and of its tables beside who drops it.
#include "pg/catalog/extension_lock.h"

#include "pg/base/lock_waits.h"
#include "pg/base/wait_events.h"

extern "C" {
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_extension.h"
#include "commands/extension.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "utils/inval.h"
}

#include <initializer_list>

namespace kde_pg {

namespace {

constexpr int kLookMs = 10;
// DROP EXTENSION has all locks that it gets within milliseconds. Later the server's own look at
// deadlocks comes.
constexpr int kMostLooks = 50;

LOCKTAG tag_of(Oid extension) {
  LOCKTAG tag;
  SET_LOCKTAG_OBJECT(tag, MyDatabaseId, ExtensionRelationId, extension, 0);
  return tag;
}

bool try_lock(Oid extension) {
  const LOCKTAG tag = tag_of(extension);
  return LockAcquire(&tag, AccessShareLock, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

bool is_being_dropped(Oid extension) {
  if (!try_lock(extension)) return true;
  release_extension(extension);
  return false;
}

// The process whose locks are those of this one.
int holder_pid() {
  return MyProc->lockGroupLeader != nullptr ? MyProc->lockGroupLeader->pid : MyProcPid;
}

// Whether who drops the extension waits for this transaction, so that neither would go on.
bool is_waited_for(Oid extension) {
  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, "kde_aqp locks", ALLOCSET_SMALL_SIZES);
  MemoryContext caller = MemoryContextSwitchTo(context);
  LockWaits waits;
  waits.take();
  const bool found = waits.blocks_owner(tag_of(extension), holder_pid());
  MemoryContextSwitchTo(caller);
  MemoryContextDelete(context);
  return found;
}

// Returns when nobody drops the extension, or he goes on without waiting for this transaction.
void look_at_drop(Oid extension) {
  static uint32 wait_event = 0;
  for (int look = 0; look < kMostLooks && is_being_dropped(extension); ++look) {
    if (is_waited_for(extension))
      ereport(ERROR,
              (errcode(ERRCODE_LOCK_NOT_AVAILABLE),
               errmsg("extension \"kde_aqp\" is being dropped or altered by another session"),
               errdetail("That session waits for a lock that this transaction holds."),
               errhint("Try again when it has ended.")));
    if (LockTimeout > 0 && look * kLookMs >= LockTimeout) return;
    (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, kLookMs,
                    named_wait("KdeAqpExtensionDrop", &wait_event));
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
  }
}

}  // namespace

void hold_extension() {
  for (;;) {
    const Oid extension = get_extension_oid("kde_aqp", true);
    if (!OidIsValid(extension)) return;
    look_at_drop(extension);
    LockDatabaseObject(ExtensionRelationId, extension, 0, AccessShareLock);
    // Another may have come in its place while we waited.
    if (get_extension_oid("kde_aqp", true) == extension) return;
    release_extension(extension);
  }
}

Oid hold_extension_at_once() {
  // Whose catalog is known, as each plan and answer of plain SQL comes here.
  static Oid known_catalog = InvalidOid, extension = InvalidOid;
  const Oid catalog = catalog_oid_or_invalid();
  if (!OidIsValid(catalog)) return InvalidOid;
  if (catalog != known_catalog) {
    extension = get_extension_oid("kde_aqp", true);
    known_catalog = OidIsValid(extension) ? catalog : InvalidOid;
  }
  if (!OidIsValid(extension) || !try_lock(extension)) return InvalidOid;
  AcceptInvalidationMessages();
  if (catalog_oid_or_invalid() == catalog) return extension;
  release_extension(extension);
  return InvalidOid;
}

void release_extension(Oid extension) {
  UnlockDatabaseObject(ExtensionRelationId, extension, 0, AccessShareLock);
}

Oid own_table_oid(OwnTable table) {
  static constexpr const char* kNames[] = {"fitted", "fitted_stretches", "upkeep", "density"};
  const Oid schema = get_namespace_oid("kde_aqp", true);
  return OidIsValid(schema) ? get_relname_relid(kNames[static_cast<int>(table)], schema)
                            : InvalidOid;
}

namespace {

[[noreturn]] void raise_not_installed() {
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("extension \"kde_aqp\" is not installed in this database"),
                  errhint("Run CREATE EXTENSION kde_aqp.")));
  pg_unreachable();
}

}  // namespace

Oid catalog_oid() {
  const Oid oid = catalog_oid_or_invalid();
  if (!OidIsValid(oid)) raise_not_installed();
  return oid;
}

bool catalog_is_installed() {
  const Oid extension = get_extension_oid("kde_aqp", true);
  if (!OidIsValid(extension)) return false;
  for (const OwnTable table : {OwnTable::fitted, OwnTable::fitted_stretches, OwnTable::upkeep}) {
    const Oid oid = own_table_oid(table);
    if (!OidIsValid(oid) || getExtensionOfObject(RelationRelationId, oid) != extension)
      return false;
  }
  return true;
}

Relation open_own_table(OwnTable table, int columns, LOCKMODE lock) {
  if (lock != AccessShareLock) hold_extension();
  // Another may have come in its place while we waited.
  Oid last = InvalidOid;
  Relation opened = nullptr;
  while (opened == nullptr) {
    const Oid oid = own_table_oid(table);
    if (!OidIsValid(oid)) {
      (void)catalog_oid();
      raise_other_version();
    }
    if (oid == last) raise_not_installed();
    last = oid;
    if (!ConditionalLockRelationOid(oid, lock)) {
      const Oid extension = get_extension_oid("kde_aqp", true);
      if (OidIsValid(extension)) look_at_drop(extension);
      LockRelationOid(oid, lock);
    }
    opened = try_table_open(oid, NoLock);
    if (opened == nullptr) UnlockRelationOid(oid, lock);
  }
  if (RelationGetNumberOfAttributes(opened) != columns) raise_other_version();
  return opened;
}

void raise_other_version() {
  ereport(ERROR,
          (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
           errmsg("the catalog of extension \"kde_aqp\" is of another version than its library"),
           errhint("Run ALTER EXTENSION kde_aqp UPDATE, or reconnect.")));
  pg_unreachable();
}

}  // namespace kde_pg
