// Lock waits from the lock manager's own listing, the source of pg_locks.
#include "pg/base/lock_waits.h"

extern "C" {
#include "catalog/pg_database.h"
#include "storage/lock.h"
}

namespace kde_pg {

namespace {

bool is_same(const LOCKTAG& a, const LOCKTAG& b) { return memcmp(&a, &b, sizeof a) == 0; }

// Whether a wanted mode conflicts with one of those held.
bool conflicts(LOCKMODE wanted, LOCKMASK held) {
  for (LOCKMODE mode = AccessShareLock; mode <= AccessExclusiveLock; ++mode) {
    if ((held & LOCKBIT_ON(mode)) != 0 && DoLockModesConflict(wanted, mode)) return true;
  }
  return false;
}

}  // namespace

void LockWaits::take() { data_ = GetLockStatusData(); }

bool LockWaits::blocks(const LockInstanceData& waiting, int pid) const {
  if (waiting.waitLockMode == NoLock || waiting.leaderPid == pid) return false;
  for (int j = 0; j < data_->nelements; ++j) {
    const LockInstanceData& held = data_->locks[j];
    if (held.pid == pid && is_same(held.locktag, waiting.locktag) &&
        conflicts(waiting.waitLockMode, held.holdMask))
      return true;
  }
  return false;
}

bool LockWaits::blocks_others(int pid) const {
  for (int i = 0; i < data_->nelements; ++i) {
    if (blocks(data_->locks[i], pid)) return true;
  }
  return false;
}

bool LockWaits::blocks_owner(const LOCKTAG& tag, int pid) const {
  for (int i = 0; i < data_->nelements; ++i) {
    const LockInstanceData& owner = data_->locks[i];
    if (!is_same(owner.locktag, tag) || !conflicts(AccessShareLock, owner.holdMask)) continue;
    for (int j = 0; j < data_->nelements; ++j) {
      if (data_->locks[j].pid == owner.pid && blocks(data_->locks[j], pid)) return true;
    }
  }
  return false;
}

bool LockWaits::is_closed(Oid database, int pid) const {
  LOCKTAG tag;
  SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, database, 0);
  for (int i = 0; i < data_->nelements; ++i) {
    const LockInstanceData& held = data_->locks[i];
    // What a process takes while it connects.
    if (held.pid != pid && is_same(held.locktag, tag) && conflicts(RowExclusiveLock, held.holdMask))
      return true;
  }
  return false;
}

}  // namespace kde_pg
