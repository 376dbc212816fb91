// When a density is stale, as autovacuum decides on ANALYZE: more rows changed since the fit than
//
//   threshold + scale_factor rows,
//
// or its table has grown by more than that share, or a column that it reads was written anew
// (proof/proof.h), or its rows have gone elsewhere since (planned_rows.h), or a virtual generated
// column of the table is computed otherwise (generated.h), or what it was fitted to means something
// else (as_fitted.h), or it is older than max_age, or a fresh sample was found to differ
// (kde_drift): its distance above kde_aqp.refresh_drift, and p < 0.001. The options
// kde_aqp.refresh_* hold where the density has no setting of its own. Stale for one range alone,
// beyond what was fitted: answer/beyond_fit.h.
//
// Rows are counted by the server (counters.h), late and with losses. That nothing changed, or how
// much at most, is for the proof to say (proof/proof.h): only by it a density is fresh.
//
// One that is not stale is due for a refresh all the same where what it promises no longer holds:
// plain SQL is allowed, and so many rows may have changed that it is not as accurate as required,
// or half of the age is over that its owner consented to; or a proof that held cannot hold again.
#pragma once

#include "pg/catalog/upkeep.h"
#include "pg/proof/proof.h"

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
  // Its owner's consent to answers as of a time, in plain SQL, where rows may have changed since:
  // so many seconds ago at most. Negative: none.
  double plain_sql_age = -1;
};

// How many rows may change before what holds `rows` is stale.
struct ChangeLimit {
  double threshold, scale_factor;

  double of(double rows) const { return threshold + scale_factor * rows; }
};
ChangeLimit change_limit(const RefreshSettings& settings);

struct Staleness {
  int64 changed = -1;   // rows, as they were counted; -1: unknown
  Judgement judgement;  // of what changed
  bool stale = false;
  bool due = false;        // stale, or a refresh would let it promise more
  bool elsewhere = false;  // stale because its rows are
  bool other = false;      // stale because it is not of what the columns are now
  bool anew = false;       // stale for what the changes counted do not tell: all is to be read
  bool unknown = false;    // not due, nor known not to be stale: nothing was counted since the fit
  char reason[160] = {};   // why stale or due, or else why it is not fresh

  // Rows changed, for a person: none only where that is proven.
  int64 told() const {
    return changed == 0 && judgement.changed != Changed::nothing ? -1 : changed;
  }
};

struct CatalogEntry;

// Who asks for a refresh gets what is due. The background worker leaves what is not stale until a
// hundred times the cost of the fit has passed, and so do those who show what it will do.
enum class Pace { rested, at_once };

// counters: those of the relation as of now where the caller has them at hand, as of one with many
// densities; null: they are read.
Staleness staleness_of(const CatalogEntry& entry, const Upkeep& upkeep,
                       const Counters* counters = nullptr, Pace pace = Pace::rested);

// Months of 30 days, as PostgreSQL compares intervals.
double seconds_of(const Interval* interval);
// In days and the rest; palloc'ed.
Interval* interval_of(double seconds);

}  // namespace kde_pg
