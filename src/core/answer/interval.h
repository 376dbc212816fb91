// From evidence (evidence.h) to confidence intervals of counts, sums, means and variances, whatever
// form of density has it. (Quantiles: column_evidence.h; conditional means: joint/conditional.h;
// parts together: ask/add_up.h.)
//
// With n rows and their mean m, the errors of a count and of a mean being independent (W. G.
// Cochran, Sampling Techniques, 1977, section 2.12) but for a correlation that the evidence tells:
//
//   count     the evidence's own, which each form works out
//   sum       n m: rows fewer than n times the mean of those that vary, rows more times the most
//             that they are on average (`varying`, `more`), and the mean's error times n, added in
//             quadrature with twice their product times the correlation; what is stored in addition
//   mean      the mean's error and, as which rows they are is not known, `moved`, in quadrature;
//             what is stored in addition; within the values' bounds
//   variance  the evidence's half; within [0, width^2/4]
//   unseen    of u rows that were not met, with values in [a, b]: a sum u min(a, 0) less, u max(b,
//             0) more; a mean the share u/(u + n) of the way to a or b; of the variance nothing is
//             known but its bounds
//   changed   what rows changed since may do: changed_rows.h
//
// A value that was not read may be anything that the box, the target's type and its constraints
// allow: where these have no end on that side nor has a sum's interval of unseen rows.
#pragma once

#include "core/answer/evidence.h"

namespace kde {

// Of no row and none that may be there: of a count 0, 0, 0, else all NaN. Where none was seen but
// some may be there the estimate alone is NaN. Ends that overflow are infinite.
Interval interval_of(Wanted wanted, const Evidence& evidence);

// (m p + z^2/2 -+ z sqrt(m p (1 - p) + z^2/4)) / (m + z^2), m = 1/unit_variance: the interval for
// the fraction p known with the variance p (1 - p) unit_variance (E. B. Wilson, JASA 22, 1927).
void wilson_interval(double p, double unit_variance, double z, double* low, double* high);

// By how much Student's quantile exceeds the normal's z with that many degrees of freedom, to first
// order: (z^3 + z)/(4 rows) (Abramowitz & Stegun 26.7.5).
double student_excess(double z, double rows);

}  // namespace kde
