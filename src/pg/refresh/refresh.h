// Refreshing densities: which are stale, cheapest first, and the fit anew of one. Three callers:
// kde_refresh(), kde_refresh_all() and the background worker.
#pragma once

#include "pg/catalog/catalog.h"

namespace kde_pg {

struct RefreshItem {
  int64 id;
  Oid relation;
  DensityKey key;  // as it was then; without analysed trees
  double cost_ms;  // of its last fit
  int failures;    // since then; negative: so many tries that met no rows
  TimestampTz failed_at, fitted_at;
  bool unknown;        // how many rows changed is
  bool renewed;        // its proof may be
  const char* reason;  // why it is stale; null: it is not
};

// unknown: whether it is stale is not known, as nothing tells what has changed.
enum class RefreshAction { refitted, fresh, unknown, skipped, failed };
const char* refresh_action_name(RefreshAction action);

struct RefreshResult {
  RefreshAction action;
  DensityKey key;      // without analysed trees
  const char* reason;  // why stale, why skipped, or the error
  int64 changed_rows;  // -1: unknown
  double total_ms;
  int sqlstate;      // of failed
  const char* hint;  // of the error, if it has one that the caller may see
};

struct RefreshHow {
  bool force = false;        // also what is not stale
  bool check_drift = false;  // measure the drift of what seems fresh
  bool wait = true;          // for locks; else what others hold is skipped
  bool background = false;   // a table without rows, as while it is restored, is skipped; Pace
  bool own_transaction =
      false;  // errors that call for a new transaction concern this density alone
};

// All densities, or those of one relation, that may be refreshed (kde_set_refresh's enabled), as
// RefreshItem*, cheapest first, in the current memory context. Needs a snapshot of its own taken
// inside. background: as the worker sees them, which leaves some for later (Pace).
List* refresh_items(Oid relation, bool background);

// Refreshes one in a subtransaction: an error of the fit is rolled back, noted beside the density
// and returned as `failed`; cancels, shutdown and (not in a transaction of its own) what ends a
// transaction are raised. Results in the current memory context. The work is done as the table's
// owner; checks first that the current user may.
RefreshResult refresh_one(const RefreshItem& item, const RefreshHow& how);

// Locks a relation's partitions or children, as a scan will, where nobody has them locked. False if
// somebody has.
bool lock_leaves(Oid relation);

// Notes an error beside a density, as refresh_one does; for what it raises, in a transaction after
// that. Nothing if another session is fitting it.
void note_refresh_failure(const RefreshItem& item, const char* error);

// One line of what was done, as a NOTICE, LOG or WARNING.
void report_refresh(const RefreshResult& result, int level);

}  // namespace kde_pg
