// The catalog table kde_aqp.upkeep: what this server alone knows of a density, a row for each,
// found by the density's number. It is unlogged: no publication takes it, and a crash, a promotion
// or a restored backup, after which the cumulative statistics begin anew, empties it. Rows are
// written here, below SQL's privileges; a density whose row is missing (so, or as it came by a
// restore) is one of which nothing is known yet.
#pragma once

#include "pg/catalog/counters.h"

extern "C" {
#include "utils/snapshot.h"
#include "utils/timestamp.h"
}

namespace kde_pg {

struct Upkeep {
  bool found = false;
  Counters counters;      // at the fit
  double table_rows = 0;  // of the whole table then; 0: unknown
  double drift = -1;      // Kolmogorov-Smirnov distance; negative: not measured since the fit
  double drift_p_value = 1;
  TimestampTz drift_at = 0;
  int failures = 0;
  TimestampTz failed_at = 0;
  const char* last_error = nullptr;  // palloc'ed
};

// As `snapshot` sees it. Nothing on a standby, where unlogged tables cannot be read.
Upkeep upkeep_find(int64 density_id, Snapshot snapshot);

// After a fit: forgets drift, failures and the sampler's state. The caller holds the key's lock, as
// for all that follow.
// table_rows: estimated, filter or not.
// sampler: null, or the state that rows can be appended to (append.h).
void upkeep_fitted(int64 density_id, const Counters& counters, double table_rows, bytea* sampler);

// The counters from which changes are counted where none are known (after a restore).
void upkeep_note_counters(int64 density_id, const Counters& counters);
void upkeep_note_drift(int64 density_id, double distance, double p_value);
void upkeep_note_failure(int64 density_id, const char* error);

// The sampler's state, palloc'ed, or null.
bytea* upkeep_sampler(int64 density_id, Snapshot snapshot);

void upkeep_remove(int64 density_id);

// Removes densities whose relations are gone (catalog_remove_gone()), and rows of densities that
// are.
void upkeep_remove_orphans();

}  // namespace kde_pg
