// What a density would take, and how accurate its answers would be: simple rules, from the
// measurements in docs/performance.md ("What a fit of every row takes").
#pragma once

#include "pg/advise/advise.h"

namespace kde_pg {

// Bytes that the catalog keeps, with so many measures. Groups: without the limit of all.
double advised_bytes(const AdvisedDensity& density, int measures);
// Whether no group would have to share a density, and no value of a category be left out.
bool fits_whole(const AdvisedDensity& density, int measures);
// Milliseconds of the fit.
double advised_fit_ms(const AdvisedDensity& density, int measures);

// What is asked of a density of one column: half the interval's width over the answer, as it is
// expected; infinite: it cannot be told, or is far off.
struct AdvisedRange {
  double share;   // of the rows that the range takes; 1: all
  bool buckets;   // of the column, in GROUP BY
  bool sums;      // or means, rather than counts alone
  bool extremes;  // the column's least or greatest value
};
double advised_error(const AdvisedDensity& density, const AdvisedRange& range);

}  // namespace kde_pg
