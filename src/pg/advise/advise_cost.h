// What a density would take, and how accurate its answers would be: simple rules, from the
// measurements in test/bench/NOTES.md ("What a fit of every row takes").
#pragma once

#include "pg/advise/advise.h"

namespace kde_pg {

// Bytes that the catalog keeps, with so many measures. Groups: without the limit of all.
double advised_bytes(const AdvisedDensity& density, int measures);
// Whether no group would have to share a density, and no value of a category be left out.
bool fits_whole(const AdvisedDensity& density, int measures);
// Milliseconds of the fit.
double advised_fit_ms(const AdvisedDensity& density, int measures);

// Which ends its cells have in every group, with so many measures: kHourEnds, kDayEnds, or kNoEnds
// where it is of no times, or of too many.
int advised_ends(const AdvisedDensity& density, int measures);

// Half the interval's width over the answer, as it is expected; infinite: it cannot be told, or is
// far off.
double advised_error(const AdvisedDensity& density, int measures, const AdvisedRange& range);

}  // namespace kde_pg
