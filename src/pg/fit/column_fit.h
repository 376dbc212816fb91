// What a density of one column, or of one expression, is fitted from and how: a sample of its
// values (core/sampling/sampler.h), kde::fit_column.
#pragma once

#include "pg/fit/density_fit.h"

#include "core/kde.h"

namespace kde_pg {

// Error 22023 for a name that is not one of a method for one column.
kde::Method read_column_method(const char* name);
// Error 22023 for a kernel that the method does not take.
void check_kernel(kde::Method method, kde::Kernel kernel);
// Error 22023 for a sample of fewer than 2 rows, 54000 for one beyond maintenance_work_mem.
void check_sample_rows(int64 sample_rows);

// What a density says of itself, of *fit.
void describe_density(const kde::Header* density, DensityFit* fit);

// As new_estimate(), for a key of one column.
Estimate* new_column_estimate(const DensityRequest& request, MemoryContext context);

}  // namespace kde_pg
