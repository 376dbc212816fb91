// Refreshing densities: which are stale, cheapest first, and the fits anew of those of one table.
// Three callers:
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
  int64 blocks_read;   // of the table
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
  // Called before each step of the work on one, and before the reading for several with the first
  // and how many they are; null: nothing is.
  void (*at)(const RefreshItem& item, int densities) = nullptr;
};

// All densities, or those of one relation, that may be refreshed (kde_set_refresh's enabled), as
// RefreshItem*, cheapest first, in the current memory context. Needs a snapshot of its own taken
// inside. background: as the worker sees them, which leaves some for later (Pace). judged: whether
// they are due is wanted, which takes a look at each leaf; refresh_together() looks again.
List* refresh_items(Oid relation, bool background, bool judged = true);

// Takes those of the first one's relation out of the list, in their order; in the current memory
// context.
List* take_table(List** items);

// Refreshes densities of one relation, each in subtransactions of its own: an error of the fit is
// rolled back, noted beside the density and returned as `failed`; cancels, shutdown and (not in a
// transaction of its own) what ends a transaction are raised. One scan reads for those that read the
// same rows (scan.h), kMostOfScan of them at most; each is what it would be alone. RefreshResult* in
// the items' order, in the current memory context. The work is done as the table's owner; checks
// first that the current user may.
List* refresh_together(List* items, const RefreshHow& how);

// Locks a relation's partitions or children, as a scan will, where nobody has them locked. False if
// somebody has.
bool lock_leaves(Oid relation);

// Notes an error beside a density, as refresh_together() does; for what it raises, in a transaction after
// that. Nothing if another session is fitting it.
void note_refresh_failure(const RefreshItem& item, const char* error);

// One line of what was done, as a NOTICE, LOG or WARNING.
void report_refresh(const RefreshResult& result, int level);

}  // namespace kde_pg
