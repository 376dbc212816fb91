// What a joint density of several columns is fitted from and how: a sample of whole rows and every
// column's distribution (core/joint/sampler.h), kde::fit_joint.
#pragma once

#include "pg/fit/estimate.h"

namespace kde_pg {

// The estimate of a key of 2 columns or more, in `context`. Errors: 22023, 0A000, 54000.
Estimate* new_joint_estimate(const DensityRequest& request, MemoryContext context);

}  // namespace kde_pg
