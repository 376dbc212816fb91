// What the device service leaves in the data directory for backends to see: its socket, a lock that
// its worker holds while it lives, and a line that says how it is.
//
// All are in pg_stat_tmp, whose contents base backups leave out; a socket elsewhere in the data
// directory makes pg_basebackup warn. Paths are relative to the data directory, in which every
// process of the server stands, so the socket's fits however deep that is.
#pragma once

#include "pg/base/pg.h"

namespace kde_pg {

inline constexpr char kServiceSocket[] = "pg_stat_tmp/kde_aqp_device.sock";

// For the worker. True if it is now this process that holds the lock; false if another does. It is
// released with the process. Error if the file cannot be made.
bool take_service_lock();

// For the worker that holds the lock: replaces the line, at most 200 bytes. Failure to write is
// logged and no error.
void write_service_state(const char* format, ...) pg_attribute_printf(1, 2);

// Removes line and socket; for the worker that holds the lock. Calls nothing that may raise an
// error.
void remove_service_files();

struct ServiceState {
  bool running = false;    // a worker holds the lock
  bool promising = false;  // it runs, and the service answers or will soon
  char text[204] = {};     // its line; empty where there is none
};

// How the service is now; raises no error.
ServiceState read_service_state();

inline constexpr char kStateReady[] = "ready";
inline constexpr char kStateStarting[] = "starting";

}  // namespace kde_pg
