// Memory that all processes of the server share, in parts of their own. There is some only where
// shared_preload_libraries names the library.
#pragma once

#include "pg/base/pg.h"

extern "C" {
#include "storage/lwlock.h"
}

namespace kde_pg {

struct SharedPart {
  const char* name;  // its lock's, too; a constant
  Size size;
  // Called in the postmaster whenever the memory is made, zeroed (also after a crash), and in
  // processes that find it. Null: bytes are asked for, and found by other means.
  void (*attach)(void* memory, LWLock* lock, bool is_new);
};

// From _PG_init, while shared_preload_libraries are loaded; at most five parts.
void request_shared_memory(const SharedPart& part);

}  // namespace kde_pg
