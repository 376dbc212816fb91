// What a density with groups is fitted from and how: the column's own rows as ever (column_fit.h),
// and those of each group beside them (kde::Groups).
#pragma once

#include "pg/fit/estimate.h"

namespace kde_pg {

// The estimate of a key with groups, in `context`. Errors: 22023 for another method than auto or a
// sample of so many rows; 0A000; 42883 for a type that cannot be grouped.
Estimate* new_group_estimate(const DensityRequest& request, MemoryContext context);

}  // namespace kde_pg
