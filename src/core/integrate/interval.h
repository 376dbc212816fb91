// Confidence intervals for the answers of integrate.h.
//
// The error model is that of counting the sample's rows: what the estimate gains on them
// (estimate/adaptive.h) is left out, so the intervals are the textbook's around it. Given the
// number of rows N, the count of a range that holds the share p of the sampled rows has the
// variance
//   N^2 p (1 - p) v / n,    n = Header::sample_rows, v = Header::count_variance of its shape at p,
// two ends, or open above or below; and the interval is Wilson's at p with n/v rows: E. B. Wilson,
// JASA 22 (1927). Its upper end is at least the largest share that the sample does not speak
// against by v of that very share: rows that lie together are seen together or not at all. Where N
// was estimated from blocks, N^2 Header::rows_variance p^2 is added to the variance. Rows that are
// known one by one (known_below, known_above) have none. What is stored is itself known within
// Header::error of the rows at either end of a range, which widens it.
//
//   mean      the ratio's, v var(x in range) / (n p), with Student's quantile for n p rows, or
//             n p / v where they lie together (W. G. Cochran, Sampling Techniques, 1977, section
//             2.12). Where none was seen of those that are not known one by one, as many as the
//             count allows may lie anywhere in the range
//   sum       count times mean, whose errors are independent: the count's interval times the mean,
//             and the mean's times the count, added in quadrature; with rows not seen, as above
//   quantile  the quantiles at the ends of the count's interval (R. S. Woodruff, JASA 47, 1952), or
//             at q -+ z times the standard deviation that the sample's share has of a true one of
//             q, whichever is further out; where those are beyond all rows of the sample the
//             quantile may be beyond them as well: as far as what is known one by one or of every
//             row
//
// Of a density that was not sampled the interval is Header::error alone, a bound for the rows below
// any value, and for sums and means what they may be off by within the range.
//
// No interval where nothing was sampled: the whole column, and, where every row was read, all of
// [min, max] (or none of it) by a bounded density.
#pragma once

#include "core/density/group_format.h"
#include "core/integrate/changed_rows.h"
#include "core/integrate/integrate.h"

namespace kde {

struct Interval {
  double estimate = 0;          // that of integrate.h
  double lower = 0, upper = 0;  // lower <= estimate <= upper
};

struct IntervalOptions {
  double confidence = 0.95;  // in (0, 1)
  // Rows inserted, deleted or updated since the fit (an update counts once), finite, >= 0: each may
  // have moved into, out of or within the range, so every interval takes in the worst of it
  // (changed_rows.h).
  double changed_rows = 0;
  // Between which the values of rows that came lie, whatever they are: those of the column or
  // measure that is added up.
  double least_value = -std::numeric_limits<double>::infinity();
  double greatest_value = std::numeric_limits<double>::infinity();
  // Of a count: of the share that it is of all rows, whose number is taken as it is.
  bool of_share = false;
};

// Within [0, rows + changed_rows]. An empty range: 0, 0, 0.
Interval count_interval(const DensityView& density, const Range& range,
                        const IntervalOptions& options);

// Of the finite rows; all three NaN where there are none. Where none was seen but there may be some
// the estimate alone is NaN, and the ends are what the range allows: infinite where it has no end.
// The mean's ends are within the range and, where every row was read and none changed, within
// [min, max] (of a density that is not bounded, as far as its kernel reaches). Ends that overflow
// are infinite, and so are those that nothing bounds once rows changed.
Interval sum_interval(const DensityView& density, const Range& range,
                      const IntervalOptions& options);
Interval mean_interval(const DensityView& density, const Range& range,
                       const IntervalOptions& options);

// Of the finite rows about their mean, divisor their number, as RangeMoments::variance; NaN as
// above. The variance's own is that of a mean of (x - mean)^2: v (m4 - m2^2)/(n p), m4 being the
// fourth central moment over the range. The lower end is at least 0.
Interval variance_interval(const DensityView& density, const Range& range,
                           const IntervalOptions& options);

// How far answers to come may be off with 95 % confidence, as half their intervals: the mean over
// ranges at several places of the column.
struct ExpectedErrors {
  double count;      // of the share asked for, with two ends; over the count
  double one_sided;  // the same above or below a value
  double mean;       // of a range with two ends, in standard deviations of the column
};

// share: of the finite rows, in (0, 1/2]. NaN where there are no finite rows, or not two that
// differ.
ExpectedErrors expected_errors(const DensityView& density, double share);

// q in [0, 1]. Of columns without NaN or infinite values (else the ends may be those). An end is
// infinite where rows that were not read, or came since, may lie beyond all that were.
Interval quantile_interval(const DensityView& density, double q, const IntervalOptions& options);

// Rows at most that are of groups which a sample did not meet, in any range.
double most_unseen(const GroupsHeader& groups, double confidence);

}  // namespace kde
