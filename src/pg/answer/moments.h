// Counts and moments of the rows in a question's ranges, by a density of one column or of several,
// and the intervals about them.
#pragma once

#include "pg/answer/call.h"

#include "core/kde.h"

namespace kde_pg {

enum class Aggregate { count, sum, avg, variance, stddev };

// The rows. ranges: of the question's sides, here and below.
double count_of(const Question& question, const AnsweringDensity& density,
                const kde::Range* ranges);

// Of the measure over them. Error 22023 where the question has no measure.
kde::RangeMoments moments_of(const Question& question, const AnsweringDensity& density,
                             const kde::Range* ranges);

// Rows of moments that have a value of the measure, finite or not.
inline double rows_of(const kde::RangeMoments& m) {
  return m.finite + m.nans + m.negative_infinities + m.positive_infinities;
}
inline bool has_special_values(const kde::RangeMoments& m) { return rows_of(m) > m.finite; }

// Of a variance that of a sample, as SQL's is.
constexpr kde::Wanted wanted_by(Aggregate aggregate) {
  constexpr kde::Wanted kWanted[] = {kde::Wanted::count, kde::Wanted::sum, kde::Wanted::mean,
                                     kde::Wanted::sample_variance, kde::Wanted::sample_variance};
  return kWanted[static_cast<int>(aggregate)];
}

// What the density knows of the rows. Of anything but a count, error 22023 as above.
kde::Evidence evidence_of(kde::Wanted wanted, const Question& question,
                          const AnsweringDensity& density, const kde::Range* ranges,
                          const kde::IntervalOptions& options);

// Of finite values; rows changed are taken in. All NaN where the answer is NULL; the estimate alone
// where no row was seen but there may be some. Variances are those of a sample, as SQL's. Of an
// aggregate but count, error 22023 as above.
kde::Interval interval_of(Aggregate aggregate, const kde::Evidence& evidence);
kde::Interval interval_of(Aggregate aggregate, const Question& question,
                          const AnsweringDensity& density, const kde::Range* ranges,
                          const kde::IntervalOptions& options);

}  // namespace kde_pg
