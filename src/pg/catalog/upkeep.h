// The catalog table kde_aqp.upkeep: what this server alone knows of a density, a row for each,
// found by the density's number. It is unlogged: no publication takes it, and a crash, a promotion
// or a restored backup, after which the cumulative statistics begin anew, empties it. Rows are
// written here, below SQL's privileges; a density whose row is missing (so, or as it came by a
// restore) is one of which nothing is known yet.
#pragma once

#include "pg/catalog/counters.h"

extern "C" {
#include "access/htup.h"
#include "storage/itemptr.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"
#include "utils/timestamp.h"
}

namespace kde_pg {

struct Upkeep {
  int64 density_id = 0;
  ItemPointerData tid = {};  // of the row as it was read or written last; invalid: none is known
  Counters counters;         // at the fit
  double table_rows = 0;     // of the whole table then; 0: unknown
  double drift = -1;         // Kolmogorov-Smirnov distance; negative: not measured since the fit
  double drift_p_value = 1;
  TimestampTz drift_at = 0;
  int failures = 0;  // negative: refreshes in the background that met no rows, which are none
  TimestampTz failed_at = 0;
  const char* last_error = nullptr;  // palloc'ed
};

// As `snapshot` sees it. Nothing on a standby, where unlogged tables cannot be read.
Upkeep upkeep_find(int64 density_id, Snapshot snapshot);

// What follows goes to the row where *upkeep says it lies, and searches for it, by density_id,
// where it is not there. The caller holds the key's lock, and has *upkeep from upkeep_find() or
// with nothing but the density_id set.

// After a fit: forgets drift and failures. table_rows: estimated, filter or not.
void upkeep_fitted(Upkeep* upkeep, const Counters& counters, double table_rows);

// The counters from which changes are counted where none are known (after a restore).
void upkeep_note_counters(Upkeep* upkeep, const Counters& counters);
void upkeep_note_drift(Upkeep* upkeep, double distance, double p_value);
void upkeep_note_failure(Upkeep* upkeep, const char* error);
// That it met no rows: no failure, but the next try is to wait as after one.
void upkeep_note_no_rows(Upkeep* upkeep);
void upkeep_forget_failures(Upkeep* upkeep);

void upkeep_remove(int64 density_id);

// The row of one of the extension's tables that was read at `tid`: a copy, palloc'ed; null if what
// `snapshot` sees there is no row with `id` in that column, as the row was moved (VACUUM FULL) or
// is gone. No search, whatever the table's size.
HeapTuple row_at(Relation table, ItemPointerData tid, AttrNumber id_column, int64 id,
                 Snapshot snapshot);

// Removes densities whose relations are gone (catalog_remove_gone()), and rows of densities that
// are.
void upkeep_remove_orphans();

}  // namespace kde_pg
