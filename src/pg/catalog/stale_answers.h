// kde_aqp.stale: what an answer by name does when its density is stale: nothing, a warning once a
// session and fit, or an error. Statistics are looked at at most once a second for each density,
// and never for more than a hundredth of the time, so that an answer costs a glance at the clock.
#pragma once

#include "pg/base/pg.h"

extern "C" {
#include "utils/timestamp.h"
}

namespace kde_pg {

// A density of `relation`, of the fit at that time, answers. Returns whether it is known that its
// rows have gone elsewhere since (Staleness::elsewhere). Error 55000 with kde_aqp.stale = error.
bool check_stale(Oid relation, int64 density_id, TimestampTz fitted_at);

}  // namespace kde_pg
