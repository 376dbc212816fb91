// kde_aqp.stale: what an answer by name does when its density is stale: nothing, a warning once a
// session and fit, or an error. Statistics are looked at at most once a second for each density,
// and never for more than a hundredth of the time, so that an answer costs a glance at the clock.
#pragma once

#include "pg/pg.h"

namespace kde_pg {

// The density of `relation` that answers was found. Error 55000 with kde_aqp.stale =
// error.
void check_stale(Oid relation, int64 density_id);

}  // namespace kde_pg
