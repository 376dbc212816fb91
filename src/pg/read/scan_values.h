// Every row of a category by the server's own GROUP BY, with its workers: its values once each, with
// their rows, and what measures have in these (kde_aqp.value_sums).
#pragma once

#include "pg/read/scan_plan.h"

namespace kde_pg {

// To the sink of the only one that is served, by_values. Values come one by one, so that no more are
// held than the sink's Categories allow.
void read_values_of(Scan* s);

}  // namespace kde_pg
