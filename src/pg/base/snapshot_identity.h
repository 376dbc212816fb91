// Whether two snapshots of one transaction see the same rows, by a few numbers of each.
#pragma once

#include "pg/base/compat.h"

extern "C" {
#include "storage/proc.h"
#include "utils/snapshot.h"
}

namespace kde_pg {

// Snapshots of one transaction that agree in these see the same row versions: of the transactions
// below xmax those that run only become fewer, and on a standby they all are among `sub_running`.
struct SnapshotIdentity {
  LocalTransactionId transaction;  // 0: of none
  TransactionId xmin, xmax;
  uint32 running;
  int32 sub_running;
  CommandId command;
};

inline SnapshotIdentity identity_of(Snapshot s) {
  return {this_transaction(), s->xmin, s->xmax, s->xcnt, s->subxcnt, s->curcid};
}

inline bool same(const SnapshotIdentity& a, const SnapshotIdentity& b) {
  return a.transaction == b.transaction && a.xmin == b.xmin && a.xmax == b.xmax &&
         a.running == b.running && a.sub_running == b.sub_running && a.command == b.command;
}

}  // namespace kde_pg
