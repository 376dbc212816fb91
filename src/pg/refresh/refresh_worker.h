// The background worker "kde_aqp refresh worker": refreshes the stale densities of one database,
// cheapest first, those of one table in a transaction of their own and as its owner, and ends.
#pragma once

#include "pg/refresh/refresh_shared.h"

extern "C" {
#include "postmaster/bgworker.h"
}

namespace kde_pg {

// From the launcher: has the postmaster start a worker for what was promised. Null if there is no
// room for another background worker; else palloc'ed.
BackgroundWorkerHandle* start_refresh_worker(const RefreshTicket& ticket, Oid database);

// Of a worker: a transaction with a snapshot, and what pg_stat_activity shows of it.
void begin_worker_transaction(const char* activity);
void end_worker_transaction();

// database.schema.table, palloc'ed, for messages.
char* full_table_name(Oid relation);

}  // namespace kde_pg
