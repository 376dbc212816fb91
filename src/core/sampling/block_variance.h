// How much counts vary between samples of blocks.
//
// Blocks are drawn without replacement, one from each of strata of equal length in the order of the
// table (block_choice.h). A range that holds the share p of the rows has c_i of the m_i
// rows of block i; the share is estimated by sum c_i / sum m_i, whose variance is that of the
// residuals e_i = c_i - p m_i, and the number of rows by the blocks' mean, whose variance is that
// of m_i. Where blocks have an order, neighbours tell how much of it the strata take away: S^2 is
// the mean of what first and second differences make of it,
//
//   sum (e_i - e_{i+1})^2 / 2b   and   sum (e_{i-1} - 2 e_i + e_{i+1})^2 / 6b
//
// (K. M. Wolter, Introduction to Variance Estimation, 1985, section 7.2: v_2 and v_5; here on the
// circle of all blocks, as the strata lie on it: one of them has both ends of the table), which
// expect the variance where blocks are alike. Where a column follows the order so that an end of a
// range lies between two blocks, they are 3 and 2 times what one block of each stratum has; of a
// trend within strata the first sees too much, the second nothing. With m the mean of m_i, S^2 over
// m p (1 - p) is the design effect: 1 where rows are as mixed as if they came one by one. It is the
// mean over ranges that lie all over the column, for each shape and scale of theirs; of a tail of
// fewer rows than two blocks at least that of ranges with two ends, as it tells of few clumps.
//
// Where a column follows the order, a range's error is that of its ends, each of which lies between
// two blocks, whatever the range's width; where it does not, errors of counts grow with the range.
// So half the least variance of any scale wider than the blocks' distance is that of an end: it
// tells what an end does to a mean.
//
// Where only the share q of the rows read was drawn, thinning adds (1 - q)/q, which is taken off.
#pragma once

#include "core/control.h"
#include "core/density/format.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

namespace kde {

struct BlockVariance {
  // Header::rows_variance and Header::count_variance of a sample of every row of the blocks read,
  // but for the finite population's correction. Rows that did not come by block: as these.
  double rows = 0;
  double end = 0;  // Header::end_variance
  // The variance of the mean of all finite rows over that of as many independent draws.
  double mean_effect = 1;
  double read = 0;  // blocks
  double effect[kShapes][kErrorScales];

  BlockVariance() {
    for (auto& shape : effect) std::fill(std::begin(shape), std::end(shape), 1.0);
  }
  double design_effect() const { return effect[0][0]; }
};

// What was read of blocks, in their order.
struct BlockRows {
  std::span<const double> drawn;               // some of the finite rows, block by block
  std::span<const std::uint32_t> drawn_block;  // of each
  std::span<const std::uint32_t> rows;         // of each block, that are not NULL
  double finite = 0;                           // finite rows read
};

// Of the mean of another column over ranges of x: its variance over that of as many
// independent draws, which is the residuals' y - mean as above, over their squares. The mean of
// ranges with two ends.
struct MeanVariance {
  double effect[kErrorScales];
  double whole = 1;  // of all rows

  MeanVariance() { std::fill(std::begin(effect), std::end(effect), 1.0); }
};

// The variance of x_i, blocks in their order, by the differences above: at least three.
double variance_by_differences(std::span<const double> x);
// Of the number of rows, over its square: rows of each block. 0 of fewer than three blocks.
double variance_of_rows(std::span<const std::uint32_t> rows);
// Header::rows_variance: that of the blocks that were read, the share of all, and that the last
// block of the table, filled to anywhere between not at all and as the others, may be none of them:
// of B blocks, 1/(3 B^2).
double number_variance(double of_rows, double read, double share);
// The effect of a sample of every row of the blocks, of one whose rows were drawn with the share q.
double without_thinning(double effect, double q);

// variance_by_differences() of e_i = c_i - p d_i while the c_i change one by one: i in blocks 0 ..
// d.size()-1, at least three; d_i whole numbers. Sums of squares of differences are quadratic
// forms,
//
//   sum (x_i - x_{i+1})^2 = sum x_i (Lx)_i,   sum (x_{i-1} - 2 x_i + x_{i+1})^2 = sum x_i (LLx)_i,
//   (Lx)_i = 2 x_i - x_{i-1} - x_{i+1},
//
// so that a step of one c_i changes them by what lies beside it, in whole numbers, exactly.
class ResidualVariance {
 public:
  explicit ResidualVariance(std::span<const std::uint32_t> d);

  // c_block, which are all 0 at first, becomes one more, or one less.
  void add(std::size_t block) { change(block, 1); }
  void remove(std::size_t block) { change(block, -1); }
  double at(double p) const;

 private:
  void change(std::size_t block, std::int64_t step);

  // Of first and second differences.
  struct Forms {
    std::int64_t first = 0, second = 0;
  };
  std::vector<std::int64_t> c_;
  std::vector<Forms> differences_of_d_;  // (Ld)_i, (LLd)_i
  Forms c_c_, c_d_, d_d_;
};

// Effects of 1 where fewer than three blocks or no row tell nothing. False if control asked to
// stop. Throws std::bad_alloc.
bool estimate_block_variance(const BlockRows& blocks, const Control& control, BlockVariance* out);
// y: of the rows drawn, one by one; NaN: NULL.
bool estimate_mean_variance(const BlockRows& blocks, std::span<const double> y,
                            const Control& control, MeanVariance* out);

}  // namespace kde
