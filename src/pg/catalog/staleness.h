// When a density is stale, as autovacuum decides on ANALYZE: more rows changed since the fit than
//
//   threshold + scale_factor rows,
//
// or its rows have gone elsewhere since (planned_rows.h), or a virtual generated column of the
// table is computed otherwise (generated.h), or what
// it was fitted to means something else (as_fitted.h), or it is older than max_age, or a fresh
// sample was found to differ (kde_drift): its distance above kde_aqp.refresh_drift, and p < 0.001.
// A density that an older version fitted is always stale. The options kde_aqp.refresh_* hold where
// the density has no setting of its own. Stale for one range alone, beyond what was fitted:
// answer/beyond_fit.h.
#pragma once

#include "pg/catalog/upkeep.h"

extern "C" {
#include "utils/timestamp.h"
}

namespace kde_pg {

// Distances that are as probable by chance are none.
inline constexpr double kSureDriftPValue = 0.001;

// Settings of a density; negative: the option's.
struct RefreshSettings {
  bool enabled = true;
  double scale_factor = -1;
  int64 threshold = -1;
  double max_age = -1;  // seconds; 0: any age will do
  // Whether plain SQL may be answered by it (plan/), which refreshes have no part in.
  bool plain_sql = false;
};

// How many rows may change before what holds `rows` is stale.
struct ChangeLimit {
  double threshold, scale_factor;

  double of(double rows) const { return threshold + scale_factor * rows; }
};
ChangeLimit change_limit(const RefreshSettings& settings);

struct Staleness {
  int64 changed = -1;  // rows; -1: unknown
  bool stale = false;
  bool elsewhere = false;  // stale because its rows are
  bool anew = false;       // stale for what the changes counted do not tell: all is to be read
  char reason[160] = {};   // why stale, or else why `changed` is not known
};

// counters: those of the relation as of now where the caller has them at hand, as of one with many
// densities; null: they are read.
struct CatalogEntry;
Staleness staleness_of(const CatalogEntry& entry, const Upkeep& upkeep,
                       const Counters* counters = nullptr);

// Months of 30 days, as PostgreSQL compares intervals.
double seconds_of(const Interval* interval);
// In days and the rest; palloc'ed.
Interval* interval_of(double seconds);

}  // namespace kde_pg
