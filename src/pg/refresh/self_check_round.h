// The self-checks of a worker's visit, within kde_aqp.self_check_budget: first of the questions
// that sessions noted, then drawn ones of the densities that were checked least. Until a density
// has had kFirstChecks since its fit it is asked one a visit, then, if nobody asked it meanwhile,
// one an hour.
#pragma once

#include "pg/base/pg.h"

namespace kde_pg {

inline constexpr int kFirstChecks = 20;

// Of the worker's database, outside of a transaction; in transactions of its own. Errors of checks
// are none of the worker's; those of reading the catalog are raised.
void self_check_round();

}  // namespace kde_pg
