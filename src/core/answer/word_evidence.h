// Evidence of a category: the rows whose value is one of some, and their measures.
//
// A sample's count of values that have the share p together has the variance N^2 p (1 - p) v / n,
// as of a range (column_evidence.h), where v is the greatest of that of ranges of ranks, of the values'
// own (word_format.h: spread), weighted by their rows, and of what they may have together: their
// standard deviations added up, or WordsHeader::most_spread where that is less; so that rows of a
// value, or of values, that lie together are known as such.
//
// The lower end is that of values met in several blocks, by Student's quantile for as many draws as
// there are blocks, and of the others the rows that were read: a sample has too many of the values
// that it meets. It is never below all rows read, nor the upper end above that of all rows of the
// table. Beside it are:
//
//   what is stored     twice Header::error of the rows for each value
//   values not kept    each is estimated by the mean of those that were met, and may have up to the
//                      rows of the most frequent
//   values not met     0, and as many rows as a sample may miss of one
//
// Where every row was read and all values are kept the answers are exact. Of measures the means of
// several values are put together by their counts; their errors of sampling in quadrature, and as
// much more as their counts vary together, but no more than added up; bounds are added up. Rows of
// values that are not kept, or were not met, may have any y.
#pragma once

#include "core/answer/measure_evidence.h"
#include "core/density/word_format.h"

#include <cstdint>
#include <span>

namespace kde {

// Values asked for, each once.
struct WordSet {
  std::span<const std::uint32_t> ranks;  // of words that are kept
  double unknown = 0;                    // others
};

double words_count(const DensityView& density, const WordsView& words, const WordSet& set);
Evidence evidence_of(Wanted wanted, const DensityView& density, const WordsView& words,
                     const WordSet& set, const IntervalOptions& options);
inline Interval interval_of(Wanted wanted, const DensityView& density, const WordsView& words,
                            const WordSet& set, const IntervalOptions& options) {
  return interval_of(wanted, evidence_of(wanted, density, words, set, options));
}

// The variance of their count over that of sample_rows independent draws, by the values' own rows;
// 0 where every row was read.
double words_spread(const DensityView& density, const WordsView& words, const WordSet& set);

// Of a measure over those rows.
RangeMoments words_measure_moments(const DensityView& density, const WordsView& words,
                                   const MeasureView& measure, const WordSet& set);
Evidence evidence_of(Wanted wanted, const DensityView& density, const WordsView& words,
                     const MeasureView& measure, const WordSet& set,
                     const IntervalOptions& options);
inline Interval interval_of(Wanted wanted, const DensityView& density, const WordsView& words,
                            const MeasureView& measure, const WordSet& set,
                            const IntervalOptions& options) {
  return interval_of(wanted, evidence_of(wanted, density, words, measure, set, options));
}

// Rows at most that are of values which a sample did not meet, all together.
double most_unseen(const WordsHeader& words, double confidence);

}  // namespace kde
