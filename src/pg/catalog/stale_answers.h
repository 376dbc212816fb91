// What an answer by name does about rows that changed since the fit.
//
// kde_aqp.stale: when its density is stale, nothing, a warning once a session and fit, or an error.
// Whether it is is looked at at most once a second for each density, and never for more than a
// hundredth of the time, so that an answer costs a glance at the clock.
//
// kde_aqp.changed_rows: whether intervals take in the rows changed. They are counted by need, once
// for each command of a transaction, so that who changes rows and asks has them at once.
#pragma once

#include "pg/base/pg.h"

extern "C" {
#include "utils/timestamp.h"
}

namespace kde_pg {

// The fit by which a stored density answers; of a value of type kde, none.
struct AnsweringFit {
  int64 density_id = 0;    // 0: none
  bool elsewhere = false;  // its rows are known to have gone elsewhere (Staleness::elsewhere)
  bool stale = false;      // where it was looked at
  bool redefined = false;  // it was fitted before its definition changed (as_fitted.h)
};

// Whether a stale density's answers say what kde_aqp.stale asks for.
enum class Tell { as_asked, nothing };

// A density of `relation`, of the fit at that time, answers. Error 55000 with kde_aqp.stale =
// error.
AnsweringFit check_stale(Oid relation, int64 density_id, TimestampTz fitted_at,
                         Tell how = Tell::as_asked);

// What follows is of a fit that check_stale() has just looked at. It calls none but built-in
// functions, so densities that are cached stay.

// Rows changed since, for an interval: 0 where the server does not count them, of no fit, and with
// kde_aqp.changed_rows = off.
double rows_changed_since(const AnsweringFit& fit);

// Of a range that reaches beyond the values fitted, where rows that came since may be: whether it
// depends on the rows of that range if there is something to say.
bool may_be_stale_beyond(const AnsweringFit& fit);
// They are so many: what kde_aqp.stale asks for, if more rows changed than make a table of as many
// stale.
void check_stale_beyond(const AnsweringFit& fit, double rows);

}  // namespace kde_pg
