// Answers about a category: the rows whose value is one of some, and their measures, with
// intervals.
//
// A sample's count of values that have the share p together has the variance N^2 p (1 - p) v / n,
// as of a range (interval.h), where v is the greater of that of ranges of ranks and of the values'
// own (word_format.h: spread), weighted by their rows; so that rows of a value that lie together
// are known as such. Beside it are:
//
//   what is stored     twice Header::error of the rows for each value
//   values not kept    each is estimated by the mean of those that were met, and may have up to the
//                      rows of the most frequent
//   values not met     0, and as many rows as a sample may miss of one
//   rows changed       as of a range
//
// Where every row was read and all values are kept the answers are exact. Of measures the means of
// several values are put together by their counts; their errors are added up, as they may have one
// cause.
#pragma once

#include "core/density/word_format.h"
#include "core/integrate/interval.h"
#include "core/integrate/measure_answer.h"

#include <cstdint>
#include <span>

namespace kde {

// Values asked for, each once.
struct WordSet {
  std::span<const std::uint32_t> ranks;  // of words that are kept
  double unknown = 0;                    // others
};

double words_count(const DensityView& density, const WordsView& words, const WordSet& set);
Interval words_count_interval(const DensityView& density, const WordsView& words,
                              const WordSet& set, const IntervalOptions& options);

// Of a measure, as those of measure_answer.h.
RangeMoments words_measure_moments(const DensityView& density, const WordsView& words,
                                   const MeasureView& measure, const WordSet& set);
Interval words_measure_count_interval(const DensityView& density, const WordsView& words,
                                      const MeasureView& measure, const WordSet& set,
                                      const IntervalOptions& options);
Interval words_measure_sum_interval(const DensityView& density, const WordsView& words,
                                    const MeasureView& measure, const WordSet& set,
                                    const IntervalOptions& options);
Interval words_measure_mean_interval(const DensityView& density, const WordsView& words,
                                     const MeasureView& measure, const WordSet& set,
                                     const IntervalOptions& options);
Interval words_measure_variance_interval(const DensityView& density, const WordsView& words,
                                         const MeasureView& measure, const WordSet& set,
                                         const IntervalOptions& options);

// Rows at most that are of values which a sample did not meet, all together.
double most_unseen(const WordsHeader& words, double confidence);

}  // namespace kde
