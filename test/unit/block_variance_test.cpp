// How much counts vary between samples of blocks (sampling/block_variance.h), on blocks whose
// answer is known: independent rows, equal rows, rows in order.
#include "core/sampling/block_variance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/answer/column_evidence.h"
#include "core/sampling/sampler.h"
#include "fitted.h"
#include "stop_at.h"

namespace kde {
namespace {

constexpr int kTwoEnds = static_cast<int>(Shape::two_ends);

// Values block by block.
using Blocks = std::vector<std::vector<double>>;

void read(const Blocks& blocks, Sample* out, std::int64_t sample_rows = 0, std::uint64_t seed = 1) {
  Sampler::Options options;
  options.sample_rows = sample_rows;
  options.seed = seed;
  Sampler sampler(options);
  for (const std::vector<double>& block : blocks) {
    ASSERT_TRUE(sampler.begin_block().ok());
    for (const double x : block) ASSERT_TRUE(sampler.add(x).ok());
  }
  ASSERT_TRUE(sampler.finish(out).ok());
}

BlockVariance variance_of(const Blocks& blocks, std::int64_t sample_rows = 0,
                          std::uint64_t seed = 1) {
  Sample s;
  read(blocks, &s, sample_rows, seed);
  return s.blocks;
}

Blocks independent(int blocks, int rows, std::uint64_t seed) {
  Random random(seed);
  Blocks out(static_cast<std::size_t>(blocks));
  for (std::vector<double>& block : out) {
    for (int i = 0; i < rows; ++i) block.push_back(random.uniform());
  }
  return out;
}

// Beside the differences themselves, of blocks as few as there may be too.
TEST(ResidualVariance, IsThatOfTheResiduals) {
  Random random(3);
  for (const std::size_t size : {3, 4, 5, 6, 50}) {
    std::vector<std::uint32_t> d;
    for (std::size_t i = 0; i < size; ++i) d.push_back(static_cast<std::uint32_t>(random.below(9)));
    ResidualVariance variance(d);
    std::vector<double> c(size);
    for (int step = 0; step < 400; ++step) {
      const std::size_t block = random.below(size);
      if (c[block] > 0 && random.below(3) == 0) {
        variance.remove(block);
        c[block] -= 1;
      } else {
        variance.add(block);
        c[block] += 1;
      }
      const double p = random.uniform();
      std::vector<double> residual(size);
      for (std::size_t i = 0; i < size; ++i) residual[i] = c[i] - p * d[i];
      const double expected = variance_by_differences(residual);
      ASSERT_NEAR(variance.at(p), expected, 1e-9 * (1 + expected)) << size << ' ' << step;
    }
  }
}

// The strata lie on the circle of all blocks, which begins nowhere: not where the ends of a column
// in order meet, either.
TEST(BlockVariance, TheSameWhereverTheCircleBegins) {
  Blocks blocks = independent(40, 50, 5);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    blocks[b].resize(40 + b % 7);
    for (double& x : blocks[b]) x += static_cast<double>(b);
  }
  const BlockVariance one = variance_of(blocks);
  std::rotate(blocks.begin(), blocks.begin() + 11, blocks.end());
  const BlockVariance other = variance_of(blocks);
  EXPECT_NEAR(other.rows, one.rows, 1e-12 * one.rows);
  for (int shape = 0; shape < kShapes; ++shape) {
    for (int scale = 0; scale < kErrorScales; ++scale)
      EXPECT_NEAR(other.effect[shape][scale], one.effect[shape][scale], 1e-9);
  }
}

// The effect of a range is the mean of squared first and second differences of b nearly independent
// residuals, over their variance: each has a relative standard error of about sqrt(3/b) and
// sqrt(35/(9 b)) (of normal residuals: the sum of squared autocovariances of differences), their
// mean at most sqrt(4/b). Four of those for the mean over the ranges of a scale, which has no more
// than any of them. Residuals of few rows are Poisson's, of kurtosis 3 + 1/m with m of a block's
// rows in the range: together with the other the squared relative error is (4 + 1/m)/b. The b
// blocks' own mean is known, which takes off 1/b.
TEST(BlockVariance, EffectsOfIndependentRowsAreOne) {
  for (const auto& [blocks, rows] : {std::pair{1000, 60}, {3000, 10}, {300, 200}}) {
    const BlockVariance v = variance_of(independent(blocks, rows, 7));
    for (int shape = 0; shape < kShapes; ++shape) {
      for (int scale = 0; scale < kErrorScales; ++scale) {
        const double p = std::pow(0.25, scale + 1);
        if (p * blocks * rows < 32) break;  // an effect of few rows is the last scale's
        const double m = p * rows / 2;      // ranges with one end have half that at least
        EXPECT_NEAR(v.effect[shape][scale], 1, 4 * std::sqrt((4 + 1 / m) / blocks) + 1.0 / blocks)
            << blocks << " blocks, shape " << shape << ", scale " << scale;
      }
    }
    EXPECT_EQ(v.rows, 0);  // all blocks have as many
  }
}

// Rows equal within a block: a block is one draw, worth its rows, at every scale of more than a
// block's; the bound is that of independent residuals above.
TEST(BlockVariance, EffectOfEqualRowsIsTheRowsOfABlock) {
  Random random(3);
  for (const int rows : {5, 40}) {
    Blocks blocks(1000);
    for (std::vector<double>& block : blocks)
      block.assign(static_cast<std::size_t>(rows), random.uniform());
    const BlockVariance v = variance_of(blocks);
    for (int shape = 0; shape < kShapes; ++shape)
      EXPECT_NEAR(v.effect[shape][0] / rows, 1, 4 * std::sqrt(4.0 / 1000)) << shape;
  }
}

// A column in the table's order: the share below a value is known but for the block in which it
// lies, so less than by independent rows; what an end does is then stated.
TEST(BlockVariance, AnOrderedColumnHasLess) {
  Blocks blocks(200);
  int row = 0;
  for (std::vector<double>& block : blocks) {
    for (int i = 0; i < 50; ++i) block.push_back(row++);
  }
  const BlockVariance v = variance_of(blocks);
  for (int shape = 0; shape < kShapes; ++shape) EXPECT_LT(v.effect[shape][0], 1) << shape;
  // A range of more than a block has two ends of up to a block's rows, whatever its width: its
  // variance in rows is at most 2 50^2, against 10^4 p (1 - p).
  EXPECT_LT(v.effect[kTwoEnds][0], 2 * 50 * 50 / (1e4 * 3 / 16));
  // Half a range's: that of one end, in shares of the rows.
  EXPECT_GT(v.end, 0);
  EXPECT_LT(v.end, 50.0 * 50 / (1e4 * 1e4));
}

// Blocks filled at random, of Poisson's number of rows with mean m: their number has the variance
// m, and the sum of b of them b m, over (b m)^2. The mean of squared differences has the relative
// standard error sqrt((4 + 1/m)/b) as above.
TEST(BlockVariance, OfTheNumberOfRows) {
  constexpr int kBlocks = 2000;
  constexpr double kMean = 20;
  Random random(5);
  Blocks blocks(kBlocks);
  double total = 0;
  for (std::vector<double>& block : blocks) {
    // Arrivals of a Poisson process until time 1.
    for (double t = -std::log(random.uniform()); t < kMean; t -= std::log(random.uniform()))
      block.push_back(random.uniform());
    total += static_cast<double>(block.size());
  }
  const double expected = kBlocks * kMean / (total * total);
  EXPECT_NEAR(variance_of(blocks).rows, expected,
              4 * std::sqrt((4 + 1 / kMean) / kBlocks) * expected);
}

// What thinning adds to the variance of residuals is taken off. Blocks of m equal rows, of which
// the share q is drawn: the effect is m as it is where every row is read. Over `runs` thinnings of
// one column the mean is within four of its standard errors, measured, and a tenth of a percent for
// the finite number of rows drawn.
TEST(BlockVariance, ThinningIsTakenOff) {
  for (const int rows : {1, 10}) {
    Random random(6);
    Blocks blocks(1000);
    for (std::vector<double>& block : blocks) {
      const double value = random.uniform();
      for (int i = 0; i < 10; ++i) block.push_back(i % rows == 0 ? random.uniform() : value);
      if (rows == 10) block.assign(10, value);
    }
    const double whole = variance_of(blocks).effect[kTwoEnds][0];
    constexpr int kRuns = 40;
    double sum = 0;
    double squares = 0;
    for (int run = 0; run < kRuns; ++run) {
      const double effect =
          variance_of(blocks, 2500, static_cast<std::uint64_t>(run)).effect[kTwoEnds][0];
      sum += effect;
      squares += effect * effect;
    }
    const double mean = sum / kRuns;
    const double error = std::sqrt((squares / kRuns - mean * mean) / kRuns);
    EXPECT_NEAR(mean, whole, 4 * error + 1e-3 * whole) << rows;
  }
}

// The same of a column of more rows than are drawn from it, none thinned.
TEST(BlockVariance, DrawnRowsAreEnough) {
  constexpr int kBlocks = 2000, kRows = 100;
  static_assert(kBlocks * kRows > 3 * kDrawnRows);
  Blocks blocks = independent(kBlocks, kRows, 9);
  // A drawn row's residual is that of its own block and thinning's: of the share q = 0.33 drawn it
  // has 1/q times the variance of what is wanted, and the error of the estimate grows by as much.
  const double q = static_cast<double>(kDrawnRows) / (kBlocks * kRows);
  EXPECT_NEAR(variance_of(blocks).effect[kTwoEnds][0], 1, 4 * std::sqrt(4.0 / kBlocks) / q);
  Random random(2);
  for (std::vector<double>& block : blocks) block.assign(kRows, random.uniform());
  EXPECT_NEAR(variance_of(blocks).effect[kTwoEnds][0] / kRows, 1, 4 * std::sqrt(4.0 / kBlocks));
}

TEST(BlockVariance, OfTooFewBlocksIsOne) {
  for (const Blocks& blocks :
       {Blocks{}, Blocks{{}, {}, {}, {}}, Blocks{{1, 2, 3}}, Blocks{{1, 1, 1}, {2, 2, 2}}}) {
    const BlockVariance v = variance_of(blocks);
    EXPECT_EQ(v.rows, 0);
    EXPECT_EQ(v.end, 0);
    for (const auto& scales : v.effect) {
      for (const double effect : scales) EXPECT_EQ(effect, 1);
    }
  }
  // Rows that did not come by block.
  const auto s = fitted::sample_of(samples::normal(1000, 1));
  EXPECT_EQ(s.blocks.design_effect(), 1);
  EXPECT_EQ(s.blocks.rows, 0);
}

// Fewer rows than tell: a smaller scale has the effect of the last that does.
TEST(BlockVariance, SmallScalesHaveTheLastKnownEffect) {
  const BlockVariance v = variance_of(independent(100, 4, 2));  // of 400 rows 4^-3 are 6
  for (int scale = 3; scale < kErrorScales; ++scale)
    EXPECT_EQ(v.effect[kTwoEnds][scale], v.effect[kTwoEnds][2]) << scale;
}

TEST(BlockVariance, StopsAtEveryPoll) {
  const std::vector<double> drawn = samples::normal(1000, 1);
  std::vector<std::uint32_t> drawn_block;
  for (std::uint32_t i = 0; i < 1000; ++i) drawn_block.push_back(i / 10);
  const std::vector<std::uint32_t> rows(100, 10);
  const BlockRows blocks = {drawn, drawn_block, rows, 1000};
  BlockVariance out;
  StopAt never;
  ASSERT_TRUE(estimate_block_variance(blocks, never.control, &out));
  for (int k = 1; k <= never.polls; ++k) {
    StopAt stop(k);
    EXPECT_FALSE(estimate_block_variance(blocks, stop.control, &out));
    EXPECT_EQ(stop.polls, k);
  }
}

// A table's last block is seldom full. Read or not, the number of rows is within its interval: of
// 1,081 blocks of 185 rows and one of 15, half of which are read, without it the others' rows do
// not vary at all.
TEST(BlockVariance, TheLastBlockMayBeMissing) {
  const double all = 1081 * 185 + 15;
  for (const bool last_read : {false, true}) {
    Sampler sampler({});
    Random random(5);
    for (int block = 0; block < 541; ++block) {
      ASSERT_TRUE(sampler.begin_block().ok());
      const int rows = last_read && block == 540 ? 15 : 185;
      for (int i = 0; i < rows; ++i) ASSERT_TRUE(sampler.add(random.uniform()).ok());
    }
    Sample sample;
    ASSERT_TRUE(sampler.finish(&sample).ok());
    FitOptions options;
    options.share_of_blocks = 0.5;
    options.rows_per_row_read = 2;
    const fitted::Fitted f = fitted::fit(sample, options);
    const Interval i = interval_of(Wanted::count, f.view(), Range{}, {});
    EXPECT_LE(i.lower, all) << last_read;
    EXPECT_GE(i.upper, all) << last_read;
    EXPECT_LE(i.upper - i.lower, 6 * 185.0);
  }
}

}  // namespace
}  // namespace kde
