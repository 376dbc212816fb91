// The background worker "kde_aqp device service": runs the program that owns the graphics cards
// (device_program.h) and starts it again when it ends.
//
// It is a process of its own because whatever is attached to the server's shared memory takes all
// sessions down with it when it crashes, and a driver may; the worker itself does nothing but wait.
#pragma once

#include "pg/base/pg.h"

extern "C" {
#include "postmaster/bgworker.h"
}

namespace kde_pg {

// From _PG_init, while shared_preload_libraries are loaded: has the worker started with the server
// unless kde_aqp.device is cpu, there is no program, or the server is pg_upgrade's.
void register_device_worker();

// From a backend: has the postmaster start a worker. Null if no worker may be added. Two at once do
// no harm: the second sees the first's lock and ends.
BackgroundWorkerHandle* start_device_worker();

// Whether kde_aqp.cuda_program names a file that can be run.
bool device_program_exists();

}  // namespace kde_pg
