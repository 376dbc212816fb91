// Whether others wait for a process's locks: what works in the background gives way to them, as
// autovacuum does.
#pragma once

#include "pg/base/pg.h"

struct LockData;
struct LOCKTAG;
struct LockInstanceData;

namespace kde_pg {

// All locks of the server at one moment.
class LockWaits {
 public:
  // palloc'ed in the current memory context. Takes all partitions of the lock table for as long as
  // copying them takes: for a call a second, not for a loop.
  void take();

  // Whether another process waits for a lock that conflicts with one `pid` holds.
  bool blocks_others(int pid) const;

  // Whether others wait for a process that holds `tag` so that nobody may read it.
  bool blocks_owner(const LOCKTAG& tag, int pid) const;

  // Whether another process holds a lock on the database itself under which nobody may connect to
  // it, as DROP DATABASE and CREATE DATABASE ... TEMPLATE do while they wait for it to be empty.
  bool is_closed(Oid database, int pid) const;

 private:
  bool blocks(const LockInstanceData& waiting, int pid) const;

  LockData* data_ = nullptr;
};

}  // namespace kde_pg
