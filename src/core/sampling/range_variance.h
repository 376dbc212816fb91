// How much counts, sums and means over each range vary between samples of blocks, where that is not
// as for other ranges of the same share: values that lie together in some blocks (an incident's
// status code, a day's price) beside others that are mixed.
//
// The line is divided into K cells, each through one of the values drawn. Cells are chosen one by
// one: the one with the most rows and variance of its count is divided at its median, so that values
// that lie together get cells of their own. With c_i what blocks have in the i-th cell, y_i the sum
// of their y there, and Q the quadratic form of block_variance.h's differences, all that is needed
// are the products c_i' Q c_j, y_i' Q c_j and y_i' Q y_j. Added up over the cells between two ends they
// give the variance of a count's residuals there, of a mean's, and the covariance of both.
//
// What is kept of each range between two ends is the ratio of its effect to that of its shape and
// share (BlockVariance, MeanVariance), which is known of many ranges. It is kept where the two differ
// by more than they may by chance: of nearly independent residuals of b blocks, m rows of a block in
// the range, an effect has the relative variance (4 + k/m)/b, k the excess of the kurtosis of a row's
// residual (1 of a count). And only where one of them is so far off that none of all would be by
// chance. So a column that is mixed has none.
//
// Sums of random groups of blocks, cell by cell, would do as well: a variance of 32 groups has 31
// degrees of freedom, those here are as exact as the sample, and one is looked up where all groups
// would be added up. But groups' sums of two samples of the same blocks can be added, these cannot.
#pragma once

#include "core/control.h"
#include "core/sampling/block_variance.h"

#include <cstddef>
#include <span>
#include <vector>

namespace kde {

// Of means of y over ranges of x, by pair of ends (density/range_effects.h).
struct RangeMeans {
  bool tell = false;                // some are surely not the usual ones
  std::vector<double> effect;       // by pair; NaN: as MeanVariance says
  std::vector<double> correlation;  // of a count's and a mean's, over the effects' root, by pair
};

struct RangeVariance {
  std::vector<double> end;      // of all cells but the last, ascending: through that value
  std::vector<double> through;  // share of the rows up to each end, and 1
  // By pair; NaN: as BlockVariance says. The last: a range within a cell, by cell; infinite: it has
  // one value.
  std::vector<double> count, within;
  bool tell = false;             // some of these are surely not the usual ones
  RangeMeans own;                // y = x
  std::vector<RangeMeans> mean;  // of each measure

  std::size_t cells() const { return through.size(); }
};

// blocks: of at most so many cells; fewer, or none, where there are few rows or blocks. y: of each measure,
// of the rows drawn, one by one, NaN: NULL. whole: of the counts; means: of each measure. False if
// control asked to stop. Throws std::bad_alloc.
bool estimate_range_variance(const BlockRows& blocks, std::span<const std::span<const double>> y,
                             const BlockVariance& whole, std::span<const MeanVariance> means,
                             int most_cells, const Control& control, RangeVariance* out);

// Of the rows where y is not NULL, so many of each block; of their ranges, too, where
// most_cells > 0. y as above.
bool estimate_measured_variance(const BlockRows& blocks, std::span<const double> y,
                                std::span<const std::uint32_t> measured, int most_cells,
                                const Control& control, BlockVariance* out, RangeVariance* ranges);

}  // namespace kde
