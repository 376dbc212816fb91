// What a joint density of several columns is fitted from and how: a sample of whole rows and every
// column's distribution (core/joint/sampler.h), kde::fit_joint.
#pragma once

#include "pg/fit/density_fit.h"

namespace kde_pg {

// As new_estimate(), for a key of 2 columns or more.
Estimate* new_joint_estimate(const DensityRequest& request, MemoryContext context);

}  // namespace kde_pg
