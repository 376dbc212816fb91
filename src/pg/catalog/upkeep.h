// The catalog table kde_aqp.upkeep: what this server alone knows of a density, a row for each,
// found by the density's number. It is unlogged: no publication takes it, and a crash, a promotion
// or a restored backup, after which the cumulative statistics begin anew, empties it. Rows are
// written here, below SQL's privileges; a density whose row is missing (so, or as it came by a
// restore) is one of which nothing is known yet.
#pragma once

#include "pg/catalog/counters.h"

extern "C" {
#include "storage/itemptr.h"
#include "storage/lockdefs.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"
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

// As `snapshot` sees it; null: in its newest state. Nothing on a standby, where unlogged tables
// cannot be read.
Upkeep upkeep_find(int64 density_id, Snapshot snapshot = nullptr);

// Writes it in the place of the row where it lies, or of the one of its density_id. The caller
// holds the key's lock, and has read *upkeep under it.
void upkeep_write(Upkeep* upkeep);

void upkeep_remove(int64 density_id);

// Opens the table. Error 55000 if it is not that of this version.
Relation open_upkeep(LOCKMODE lock);

}  // namespace kde_pg
