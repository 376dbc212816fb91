// Evidence of a density's measures (measure_format.h has the formulas).
//
// Every row in a range of x whose y is not NULL counts. Where every row was read and the parts are
// exact so are the answers. Else an interval has
//
//   what is stored   of each part Header::error of its weights at each end of the range
//   what was read    given the rows in the range their mean is that of as many draws: its variance
//                    is v var(y)/(n p), with v = MeasureHeader::mean_variance at the range's share
//                    p, and Student's quantile (W. G. Cochran, Sampling Techniques, 1977, sections
//                    2.12 and 9.2); the count has its own (column_evidence.h)
//   rows changed     what y they may have had, and have: changed_rows.h
#pragma once

#include "core/answer/column_evidence.h"
#include "core/density/measure_format.h"

namespace kde {

// Of y over the rows in the range: count, mean, variance; finite is count. Of the whole line the
// totals of all rows read.
RangeMoments measure_moments(const DensityView& density, const MeasureView& measure,
                             const Range& range);

// Rows in the range whose y is not NULL.
double measure_count(const DensityView& density, const MeasureView& measure, const Range& range);

// By what is stored, how far that count may be off: a bound.
double measure_count_error(const DensityView& density, const MeasureView& measure,
                           const Range& range);

Evidence evidence_of(Wanted wanted, const DensityView& density, const MeasureView& measure,
                     const Range& range, const IntervalOptions& options);
inline Interval interval_of(Wanted wanted, const DensityView& density, const MeasureView& measure,
                            const Range& range, const IntervalOptions& options) {
  return interval_of(wanted, evidence_of(wanted, density, measure, range, options));
}

}  // namespace kde
