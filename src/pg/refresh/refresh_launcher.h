// The background worker "kde_aqp refresh launcher": sees to it that stale densities are refreshed
// without anybody asking, by starting a worker (refresh_worker.h) in one database after another.
//
//   * A database is visited every kde_aqp.naptime. One where there is nothing to do (no extension,
//     no density) is visited ever more rarely, up to once an hour, until densities are changed in
//     it; one whose worker did not reach its end, too.
//   * At most kde_aqp.max_workers run, one in a database. Among those due, the database visited
//     longest ago comes first.
//   * A worker gives way: to whoever waits for its locks, by leaving what it is at; to whoever
//     wants the database for himself (DROP DATABASE, CREATE DATABASE ... TEMPLATE), by ending.
//   * A worker whose work goes on after it was cancelled, as it gave no way or had its time, is
//     ended. The next leaves that density alone for a while, and comes at once.
//
//   * After a crash the first visits wait, too, longer with every crash since the server's start:
//     it may have been a refresh that crashed.
//
// The launcher is connected to no database. On a standby it does not run before the promotion.
#pragma once

#include "pg/base/pg.h"

namespace kde_pg {

// From _PG_init, while shared_preload_libraries are loaded: has the launcher started with the
// server, unless that is pg_upgrade's.
void register_refresh_launcher();

}  // namespace kde_pg
