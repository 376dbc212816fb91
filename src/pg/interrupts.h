// Serving PostgreSQL's interrupts from inside long core work.
#pragma once

#include "pg/pg.h"

#include "core/control.h"

namespace kde_pg {

// A kde::Control::should_stop. True when the query is being cancelled or the backend
// terminated: core then returns, and check_status raises the error with no C++ frame below.
// Other interrupts (barriers, invalidations, requests to log) are served on the spot.
// Called by the backend's main thread only.
bool should_stop(void* arg);

// To be called before core work begins: forgets what an earlier, abandoned one left.
void clear_pending_interrupt();

// To be called when core has returned Code::cancelled: raises what should_stop saw. Returns only if
// it turned out to be nothing (a cancel that came too late for its command).
void raise_pending_interrupt();

// Control for core work that may use `threads` threads (fewer, where the system has no more), which
// it starts, and that an interrupt stops.
kde::Control begin_core_work(int threads);

}  // namespace kde_pg
