// Densities that were made elsewhere than from a table's rows: of parts, values, a query's.
#pragma once

#include "pg/fit/estimate.h"

namespace kde_pg {

// As fit_density() of one that a query gives, request.asked.query. Errors: 22023 for what it gives
// if that is no density, 42804 for one of another type, those of the query.
void fit_by_query(const DensityRequest& request, Relation relation, DensityFit* fit);

// Stores a palloc'ed `kde` datum of one column. model: how it was made. Returns its number.
int64 store_value(const DensityRequest& request, const Counters& counters, const Proof& proof,
                  Datum density, const char* model, double scan_ms, DensityFit* fit);

}  // namespace kde_pg
