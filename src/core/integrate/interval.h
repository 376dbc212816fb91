// Confidence intervals for the answers of integrate.h.
//
// The raw sample's count of a range that holds the fraction p of the rows has the variance
//   v = s p (1 - p) rows^2 / n,    s = Header::sampling_variance, n = Header::sample_rows,
// and the stored density's has the mean squared error r v, r = Header::count_error at that p
// (interpolated in log p; the complement's where p > 1/2), which holds its bias as well. With
// m = n / (s r) the rows of a sample as accurate, the interval is Wilson's at (p, m): E. B. Wilson,
// JASA 22 (1927). What is stored is itself known within Header::error of the rows at either end of
// a range, which widens it.
//
//   sum       count times mean, whose errors are independent: the count's interval times the mean,
//             and the mean's times the count, added in quadrature
//   mean      the ratio's, s var(x in range) / (n p), times Header::mean_error
//   quantile  the quantiles at the ends of the count's interval: R. S. Woodruff, JASA 47 (1952)
//
// A histogram (density/histogram.h) was not sampled: its interval is Header::error alone, a bound
// for the rows below any value, and for sums and means what they may be off by within the range.
//
// No interval where nothing was sampled: the whole column, and, where every row was read, all of
// [min, max] (or none of it) by a bounded density.
#pragma once

#include "core/integrate/integrate.h"

namespace kde {

struct Interval {
  double estimate = 0;          // that of integrate.h
  double lower = 0, upper = 0;  // lower <= estimate <= upper
};

struct IntervalOptions {
  double confidence = 0.95;  // in (0, 1)
  // Rows inserted, deleted or updated since the fit (an update counts once), finite, >= 0: each may
  // have moved into, out of or within the range, so every interval takes in the worst of it. New
  // values may lie beyond [min, max]; where the range itself does not bound them, means and sums
  // take in only those that do not, and quantiles stay within [min, max].
  double changed_rows = 0;
};

// Within [0, rows + changed_rows]. An empty range: 0, 0, 0.
Interval count_interval(const DensityView& density, const Range& range,
                        const IntervalOptions& options);

// Of the finite rows; all three NaN where there are none. The mean's ends are within the range and,
// unless rows changed, within [min, max] (of a density that is not bounded, its knots). Ends that
// overflow are infinite.
Interval sum_interval(const DensityView& density, const Range& range,
                      const IntervalOptions& options);
Interval mean_interval(const DensityView& density, const Range& range,
                       const IntervalOptions& options);

// q in [0, 1]. Of columns without NaN or infinite values (else the ends may be those).
Interval quantile_interval(const DensityView& density, double q, const IntervalOptions& options);

}  // namespace kde
