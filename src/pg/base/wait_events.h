// The names under which this extension's waits appear in pg_stat_activity. PostgreSQL takes names
// from 17 on; before, they all are "Extension".
#pragma once

#include "pg/base/pg.h"

extern "C" {
#include "utils/wait_event.h"
}

namespace kde_pg {

// For WaitLatch(). `known` keeps the number that the server gave to the name; 0 at first.
inline uint32 named_wait(const char* name, uint32* known) {
#if PG_VERSION_NUM >= 170000
  if (*known == 0) *known = WaitEventExtensionNew(name);
  return *known;
#else
  (void)name;
  (void)known;
  return PG_WAIT_EXTENSION;
#endif
}

}  // namespace kde_pg
