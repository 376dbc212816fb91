// The library's entry point. Loading it defines the options; it starts no thread, as
// the postmaster must stay single-threaded when it is preloaded.
#include "pg/base/options.h"
#include "pg/base/pg.h"
#include "pg/catalog/changed_databases.h"
#include "pg/progress/progress.h"
#include "pg/device/device_worker.h"
#include "pg/plain_sql/outcome.h"
#include "pg/plain_sql/custom_scan.h"
#include "pg/refresh/refresh_launcher.h"
#include "pg/refresh/refresh_shared.h"

extern "C" {
PG_MODULE_MAGIC;
PGDLLEXPORT void _PG_init(void);
}

void _PG_init(void) {
  kde_pg::define_options();
  kde_pg::register_progress_callbacks();
  kde_pg::register_note_callbacks();
  kde_pg::register_plain_sql();
  if (process_shared_preload_libraries_in_progress) {
    kde_pg::register_device_worker();
    kde_pg::request_note_memory();
    kde_pg::request_progress_memory();
    kde_pg::request_refresh_memory();
    kde_pg::request_outcome_memory();
    kde_pg::register_refresh_launcher();
  }
}
