// When a density is stale, as autovacuum decides on ANALYZE: more rows changed since the fit than
//
//   threshold + scale_factor rows,
//
// or its table has grown by more than twice that share, or nothing was counted though more rows may
// have changed, or a column that it reads was written anew
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
// or half of the age is over that its owner consented to; or a proof that held cannot hold again. So
// is one beside which plain SQL reads what changed, before that is more than a statement may read, and
// sooner where a VACUUM has made it provable.
#pragma once

#include "pg/catalog/catalog.h"

namespace kde_pg {

// Distances that are as probable by chance are none.
inline constexpr double kSureDriftPValue = 0.001;

// Why a density is stale; or due, though it is not; or why it is neither and yet not known to be
// fresh. In this order.
enum class StaleFor {
  nothing,
  elsewhere,    // its rows are
  generated,    // a virtual column is computed otherwise
  redefined,    // what it was fitted to means something else
  changes,      // more rows changed than may
  growth,       // more blocks are new
  uncounted,    // more rows may have changed, and none were counted
  rewriting,    // a column was written anew
  age,          // of the fit
  drift,        // of a fresh sample
  lost_proof,   // what changed is not known any more
  vacuum,       // one that came after the fit leaves too much to be proven
  old_answers,  // of plain SQL
  rest,         // plain SQL has much to read beside it
  no_answers,   // of plain SQL
  unknown,      // what changed is not known
  few_changes   // some rows may have changed
};

struct Staleness {
  StaleFor why = StaleFor::nothing;
  // What the text says of it: rows, seconds, a distance; and of how many, or its p-value.
  double much = 0, of = 0;
  const char* detail = nullptr;  // palloc'ed
  int64 changed = -1;            // rows, as they were counted; -1: unknown
  Judgement judgement;           // of what changed
  bool rests = false;            // stale by changes, and the last fit took long
  bool unknown = false;          // not due, nor known not to be stale: nothing was counted

  bool stale() const { return why >= StaleFor::elsewhere && why <= StaleFor::drift; }
  // Stale, or a refresh would let it promise more.
  bool due() const { return why >= StaleFor::elsewhere && why <= StaleFor::no_answers && !rests; }
  // It is not of what the columns are now.
  bool other() const { return why == StaleFor::generated || why == StaleFor::redefined; }
  // Stale for what the changes counted do not tell: all is to be read.
  bool anew() const {
    return other() || why == StaleFor::elsewhere || why == StaleFor::rewriting ||
           why == StaleFor::drift;
  }
  // Rows changed, for a person: none only where that is proven.
  int64 told() const {
    return changed == 0 && judgement.changed != Changed::nothing ? -1 : changed;
  }
};

// "rows changed: 500, of 1000"; in short "rows changed". palloc'ed; null: nothing.
const char* staleness_text(const Staleness& staleness, bool in_short = false);

// Who asks for a refresh gets what is due. The background worker leaves what is not stale until a
// hundred times the cost of the fit has passed, and so do those who show what it will do. It leaves
// what rows changed made stale until four times that cost has passed: who writes all the time has it
// work for a fifth of the time at most.
enum class Pace { rested, at_once };

// counters: those of the relation as of now.
Staleness staleness_of(const CatalogEntry& entry, const Upkeep& upkeep, const Counters& counters,
                       Pace pace = Pace::rested);

// The counters of one relation after another, for who looks at many densities, those of one
// relation after another; the planner calls built-in functions alone.
class CountersInTurn {
 public:
  // Those of the call before are no longer good.
  const Counters& of(Oid relation);

 private:
  Oid relation_ = InvalidOid;
  MemoryContext context_ = CurrentMemoryContext;  // that of who has this
  Counters counters_;
};

}  // namespace kde_pg
