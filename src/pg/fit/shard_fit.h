// The fit of a density of a table whose rows lie in shards: each shard's node fits its own rows, and
// the densities that come of it are added up. Shards are strata: what is known of each adds up, and
// so do the variances (W. G. Cochran, Sampling Techniques, 3rd ed. 1977, chapter 5).
#pragma once

#include "pg/fit/estimate.h"

namespace kde_pg {

// Whether a request is read so: its table's rows lie in shards, and such densities are added up.
bool is_read_by_shard(const DensityRequest& request);

// As fit_density(), of such a request. Null, or why there is nothing to fit one to; then nothing was
// stored.
const char* fit_shards(const DensityRequest& request, Relation relation, DensityFit* fit);

}  // namespace kde_pg
