// What a density of a category is fitted from and how: its values counted as they are met
// (kde::Words), the most frequent kept as text.
#pragma once

#include "pg/fit/density_fit.h"

namespace kde_pg {

// As new_estimate(), for a key of one column that is a category. Errors: 22023 for another method
// than auto or a sample of so many rows.
Estimate* new_word_estimate(const DensityRequest& request, MemoryContext context);

}  // namespace kde_pg
