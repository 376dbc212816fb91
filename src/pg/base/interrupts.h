// Serving PostgreSQL's interrupts from inside long core work.
#pragma once

#include "pg/base/pg.h"

#include "core/kde.h"

namespace kde_pg {

// A kde::Control::should_stop. True when the query is being cancelled or the backend terminated, or
// when its postmaster is gone: core then returns, and check_status raises the error with no C++
// frame below.
// Other interrupts (barriers, invalidations, requests to log) are served on the spot, while signals
// are kept away: a SIGTERM that came between the look and the service would end the process there,
// under the threads that compute.
// Called by the backend's main thread only.
bool should_stop(void* arg);

// To be called before core work begins: forgets what an earlier, abandoned one left.
void clear_pending_error();

// Raises the error that should_stop met while it served an interrupt, if there is one. check_status
// calls it: also where core has made nothing of the request to stop.
void raise_pending_error();

// Control for core work that may use `threads` threads (fewer, where the system has no more), which
// it starts, and that an interrupt stops.
kde::Control begin_core_work(int threads);

// From _PG_init: what is called with the control of core work that begins, to watch it.
void at_core_work(void (*watch)(kde::Control*));

}  // namespace kde_pg
