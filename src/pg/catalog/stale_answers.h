// What an answer does about rows that changed since the fit.
//
// What may have changed is for the proof to say (proof/proof.h), as of the statement's snapshot;
// it is looked at by need, once for each snapshot. Three outcomes, for plain SQL and for functions:
//
//   nothing     the answer is as of now;
//   at most k   so is it, with an interval that takes k rows in;
//   unknown     it is as of the time when the rows were read.
//
// kde_aqp.stale: what an answer by name does when its density is stale by the server's counters:
// nothing, a warning once a session and fit, or an error. That is looked at at most once a second
// for each density, and never for more than a hundredth of the time. The counters are hints there,
// and where the proof knows nothing: then an answer by name tells, once a session and fit, as of
// when it is.
//
// kde_aqp.changed_rows: whether intervals of answers by name take in the rows changed.
#pragma once

#include "pg/proof/proof.h"

namespace kde_pg {

// The fit by which a stored density answers; of a value of type kde, none.
struct AnsweringFit {
  int64 density_id = 0;    // 0: none
  bool elsewhere = false;  // its rows are known to have gone elsewhere (StaleFor::elsewhere)
  bool other = false;      // it is not of what the columns are now (Staleness::other())
  bool stale = false;      // where it was looked at
  bool redefined = false;  // it was fitted before its definition changed (as_fitted.h)
};

// Whether a stale density's answers say what kde_aqp.stale asks for.
enum class Tell { as_asked, nothing };

// A density of `relation`, of the fit at that time, answers. proof: noted at the fit, copied. Error
// 55000 with kde_aqp.stale = error.
AnsweringFit check_stale(Oid relation, int64 density_id, TimestampTz fitted_at, const Proof& proof,
                         Tell how = Tell::as_asked);

// What follows is of a fit that check_stale() has just looked at. It calls none but built-in
// functions, so densities that are cached stay.

struct Freshness {
  Judgement judgement;     // nothing, of no fit
  TimestampTz as_of = 0;   // when its rows were read; 0: nobody knows
  bool consented = false;  // the owner lets plain SQL's answers be so old
};
// As of the active snapshot.
Freshness freshness_of(const AnsweringFit& fit);

// Rows changed since, for an interval of an answer by name: 0 of no fit, and with
// kde_aqp.changed_rows = off. Where the proof knows nothing those that the server counted, and a
// NOTICE.
double rows_changed_since(const AnsweringFit& fit);

// Why the error of an answer by name is not known: what changed is not, nor has the owner consented
// to that; null: it is known.
const char* why_unproven(const AnsweringFit& fit);

// "2026-11-27 10:00:00+00", or "an unknown time". Palloc'ed.
const char* time_of(TimestampTz as_of);

// Of a range that reaches beyond the values fitted, where rows that came since may be: whether it
// depends on the rows of that range if there is something to say.
bool may_be_stale_beyond(const AnsweringFit& fit);
// They are so many: what kde_aqp.stale asks for, if more rows changed than make a table of as many
// stale.
void check_stale_beyond(const AnsweringFit& fit, double rows);

}  // namespace kde_pg
