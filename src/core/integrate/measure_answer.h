// Answers from a density's measures (measure_format.h has the formulas), and their intervals.
//
// Every row in a range of x whose y is not NULL counts. Where every row was read and the parts are
// exact so are the answers. Else an interval has
//
//   what is stored   of each part Header::error of its weights at each end of the range
//   what was read    given the rows in the range their mean is that of as many draws: its variance
//                    is v var(y)/(n p), with v = MeasureHeader::mean_variance at the range's share
//                    p, and Student's quantile (W. G. Cochran, Sampling Techniques, 1977, sections
//                    2.12 and 9.2); the count has its own (interval.h); a sum has both, which are
//                    independent, in quadrature
//   rows changed     what y they may have had, and have: changed_rows.h
#pragma once

#include "core/integrate/interval.h"
#include "core/density/measure_format.h"

namespace kde {

// Of y over the rows in the range: count, mean, variance; finite is count. Of the whole line the
// totals of all rows read.
RangeMoments measure_moments(const DensityView& density, const MeasureView& measure,
                             const Range& range);

// Rows in the range whose y is not NULL.
double measure_count(const DensityView& density, const MeasureView& measure, const Range& range);

// What the interval of such a mean is made of.
struct MeanErrors {
  // By what is stored, bounds: how far the mean of the rows read may be below and above. It is
  // within [min, max] whatever is stored.
  double below = 0, above = 0;
  double sampled = 0;  // at the confidence asked for
  double rows = 0;     // what is stored of their count: a bound
};
MeanErrors measure_mean_errors(const DensityView& density, const MeasureView& measure,
                               const Range& range, const IntervalOptions& options);

// What rows changed may do to the next answers: y lies anywhere, wherever x does.
ChangedRows measure_changed_rows(const DensityView& density, const MeasureView& measure,
                                 const Range& range, const IntervalOptions& options);

// As those of interval.h, of y. Where no row was seen and some may be the estimate alone is NaN.
Interval measure_count_interval(const DensityView& density, const MeasureView& measure,
                                const Range& range, const IntervalOptions& given);
Interval measure_sum_interval(const DensityView& density, const MeasureView& measure,
                              const Range& range, const IntervalOptions& given);
Interval measure_mean_interval(const DensityView& density, const MeasureView& measure,
                               const Range& range, const IntervalOptions& given);
Interval measure_variance_interval(const DensityView& density, const MeasureView& measure,
                                   const Range& range, const IntervalOptions& given);

}  // namespace kde
