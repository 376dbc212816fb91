// The fit of one density, of whatever form.
#pragma once

#include "pg/fit/road.h"

namespace kde_pg {

// The road of a fit, so that one scan may read for several before each of them is fitted. False:
// it has none, since a query gives it or its parts are fitted. relation: of
// open_maintained_relation(), checked by check_kind(). Errors: those of Road::begin() (road.h); of
// what cannot be computed.
bool begin_road(const DensityRequest& request, Relation relation, Road* road);

// Fits and stores. road: that of begin_road(), read or not; null: it has none. Shows the notices.
// Errors: those of Road, 55000 where there is nothing to fit a density to; those of reading, of
// parts and of queries.
void fit_density(const DensityRequest& request, Relation relation, Road* road, DensityFit* fit);

}  // namespace kde_pg
