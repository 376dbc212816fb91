// Evidence of a column's own distribution: the answers of integrate.h, and how far off they may be.
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

#include "core/answer/interval.h"
#include "core/density/group_format.h"

namespace kde {

// Of the column's values in the range: counts of all but NULL, the rest of the finite ones.
Evidence evidence_of(Wanted wanted, const DensityView& density, const Range& range,
                     const IntervalOptions& options);
inline Interval interval_of(Wanted wanted, const DensityView& density, const Range& range,
                            const IntervalOptions& options) {
  return interval_of(wanted, evidence_of(wanted, density, range, options));
}

// Of a count alone, where `rows` are the density's count of the range.
Interval count_as_fitted(const DensityView& density, const Range& range, double rows,
                         const IntervalOptions& options);

// Whether a bound at x is between values that double precision, or the lattice, takes for one: on
// which side of it they are is not known.
bool is_unsure(const Header& header, double x);

// With the rows that are beside such an end of the range, which count as changed.
IntervalOptions with_unsure_ends(const DensityView& density, const Range& range,
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
