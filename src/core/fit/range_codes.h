// From the effects of ranges that a sample has of its own (sampling/range_variance.h) to what is
// stored of them behind a density's lists (density/range_effects.h).
#pragma once

#include "core/density/bytes.h"
#include "core/density/range_effects.h"
#include "core/sampling/range_variance.h"

#include <vector>

namespace kde {

// What of a variance is due to blocks, and what to thinning: `blocks` times an effect and `rows`.
struct VarianceShares {
  double blocks = 0, rows = 0;

  double of(double effect) const { return blocks * effect + rows; }
};

// What is to be stored: of the column's list, and of each measure of the rows where it is not NULL,
// where these are others, and of its means. No bytes: nothing.
struct StoredEffects {
  std::vector<char> list;
  std::vector<std::vector<char>> measured, means;

  bool empty() const;
  std::size_t bytes() const;
};

// list: whose count_variance, mean_error and variance are those of the sample. Without means.
CountEffects count_effects(const RangeVariance& ranges, const VarianceShares& shares,
                           const Header& list);
// Of x itself.
MeanEffects own_effects(const RangeVariance& ranges, const VarianceShares& shares,
                        const CountEffects& counts, const Header& list);
// usual: of the measure, MeasureHeader::mean_variance. counts: of the column.
MeanEffects mean_effects(const RangeMeans& means, const RangeVariance& ranges,
                         const VarianceShares& shares, const float (&usual)[kErrorScales],
                         const CountEffects& counts, const Header& list);

// Leaves out ends between which nothing is lost that matters. means: of the measures that there are.
void leave_ends_out(CountEffects* counts, std::vector<MeanEffects>* means);

// Puts them behind the lists and measures that they are of. The density has none yet.
void insert_effects(const StoredEffects& effects, DensityBytes* density);

}  // namespace kde
