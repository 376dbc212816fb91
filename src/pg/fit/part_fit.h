// The fit of a density by parts: each part of the table gives a density of its own rows, these are
// added up, and kept, so that a refresh fits anew only the parts that changed. Parts are strata:
// what is known of each adds up, and so do the variances (W. G. Cochran, Sampling Techniques, 3rd
// ed. 1977, chapter 5).
#pragma once

#include "pg/fit/estimate.h"

namespace kde_pg {

// Errors: 0A000 for what cannot be added up: categories, several columns, groups of a sample or of
// shards; 22023 for a sample of rows or an error that is asked for.
void check_incremental(const DensityRequest& request);

// Whether a request that is not incremental is read by parts, too: its table's rows lie in shards,
// and such densities are added up.
bool is_read_by_shard(const DensityRequest& request);

// As fit_density(), of a request that is incremental, or read by shard. Null, or why there is
// nothing to fit one to; then nothing was stored. request.locked: parts that did not change since
// are taken from the catalog, unless request.every_part.
const char* fit_by_parts(const DensityRequest& request, Relation relation, DensityFit* fit);

}  // namespace kde_pg
