// The fit of one density, of whatever form.
#pragma once

#include "pg/fit/estimate.h"

namespace kde_pg {

// Fits and stores. relation: of open_maintained_relation(), checked by check_kind(). Shows the
// notices. Errors: those of Road (road.h), 55000 where there is nothing to fit a density to; those
// of reading, of parts and of queries.
void fit_density(const DensityRequest& request, Relation relation, DensityFit* fit);

}  // namespace kde_pg
