// What both forms of kde_fit that fit one density return, and what the form for a table shares.
#pragma once

#include "pg/catalog/catalog.h"
#include "pg/fit/estimate.h"

namespace kde_pg {

// name, model, rows, rows_read, expected_error, size, took, seed: what fits a screen; the rest is
// in kde_densities_full.
Datum fit_record(FunctionCallInfo fcinfo, const DensityKey& key, const DensityFit& fit);

// Texts, as Datums.
Datum model_text(const DensityFit& fit);
Datum size_text(const DensityFit& fit);    // as pg_size_pretty: "12 kB"
Datum took_text(const DensityFit& fit);    // "3.2 ms", "41 s"
double whole_rows(const DensityFit& fit);  // an estimate has fractions, which say nothing

}  // namespace kde_pg
