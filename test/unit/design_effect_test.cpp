// The design effect of sampling by blocks: 1 of independent rows, the rows per block of blocks of
// equal values.
#include "core/sampling/design_effect.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "fitted.h"

namespace kde {
namespace {

double effect_of(const std::vector<double>& values, const std::vector<std::uint32_t>& blocks) {
  double effect = 0;
  EXPECT_TRUE(estimate_design_effect(values, blocks, Control{}, &effect));
  return effect;
}

// The formula of design_effect.h from the table written out, for values that are classes 0 ...
// classes - 1. classic: Pearson's statistic of the whole table by its degrees of freedom.
double pearson(const std::vector<double>& values, const std::vector<std::uint32_t>& blocks,
               int classes, int block_count, bool classic) {
  std::vector<std::vector<double>> table(block_count, std::vector<double>(classes));
  std::vector<double> by_block(block_count), by_class(classes);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ++table[blocks[i]][static_cast<std::size_t>(values[i])];
    ++by_block[blocks[i]];
    ++by_class[static_cast<std::size_t>(values[i])];
  }
  double x2 = 0, weighted = 0, freedom = 0;
  const double n = static_cast<double>(values.size());
  for (int b = 0; b < block_count; ++b) {
    for (int k = 0; k < classes; ++k) {
      const double expected = by_block[b] * by_class[k] / n;
      const double term = (table[b][k] - expected) * (table[b][k] - expected) / expected;
      x2 += term;
      weighted += by_block[b] * term;
    }
    freedom += by_block[b] * (1 - by_block[b] / n) * (classes - 1);
  }
  return classic ? x2 / ((block_count - 1) * (classes - 1)) : weighted / freedom;
}

TEST(DesignEffect, IsPearsonsStatistic) {
  for (const bool one_size : {true, false}) {
    for (int classes : {2, 5, kDesignClasses}) {
      Random random(static_cast<std::uint64_t>(classes));
      std::vector<double> values;
      std::vector<std::uint32_t> blocks;
      for (std::uint32_t i = 0; i < 4000; ++i) {
        const auto drawn = static_cast<std::uint32_t>(random.below(40));
        blocks.push_back(one_size ? i % 40 : drawn < 20 ? drawn / 10 : drawn);
        // Half of a block's rows are alike.
        values.push_back(random.below(2) == 0
                             ? blocks.back() % classes
                             : static_cast<double>(random.below(static_cast<unsigned>(classes))));
      }
      if (!one_size) {
        // Every number from 0 on has rows.
        for (std::uint32_t& b : blocks) b = b < 2 ? b : b - 18;
      }
      const double expected = pearson(values, blocks, classes, one_size ? 40 : 22, one_size);
      EXPECT_GT(expected, 5);
      EXPECT_NEAR(effect_of(values, blocks), expected, 1e-9 * expected);
      // Blocks are names, not numbers; values have an order, not a scale.
      for (std::uint32_t& b : blocks) b = 4294967295U - 1000 * b;
      for (double& v : values) v = std::exp(v) - 7;
      EXPECT_NEAR(effect_of(values, blocks), expected, 1e-9 * expected);
    }
  }
}

// Rows drawn one by one beside blocks of equal rows, as where rows are appended to a sample of
// blocks: a count's variance is the sum over the rows, not the mean over the blocks.
TEST(DesignEffect, BlocksCountByTheirRows) {
  for (int singles : {1000, 10000, 50000}) {
    Random random(11);
    std::vector<double> values;
    std::vector<std::uint32_t> blocks;
    std::uint32_t block = 0;
    for (; block < 500; ++block) {
      const double value = random.uniform();
      values.insert(values.end(), 100, value);
      blocks.insert(blocks.end(), 100, block);
    }
    for (int i = 0; i < singles; ++i) {
      values.push_back(random.uniform());
      blocks.push_back(block++);
    }
    const double expected = (500 * 100.0 * 100 + singles) / (500 * 100.0 + singles);
    // Five standard deviations of the few blocks of each class: 5 sqrt(2 / (500 * 15)).
    EXPECT_NEAR(effect_of(values, blocks), expected, 0.082 * expected) << singles;
  }
}

// Under independence X^2 has the mean d = (B - 1)(K - 1) (times n/(n - 1)) and about the variance
// 2 d: four standard deviations.
TEST(DesignEffect, IsOneOfIndependentRows) {
  Random random(3);
  for (int rows_per_block : {1, 3, 50}) {
    const int blocks = 30000 / rows_per_block;
    std::vector<double> values;
    std::vector<std::uint32_t> at;
    for (int i = 0; i < 30000; ++i) {
      values.push_back(random.uniform());
      at.push_back(static_cast<std::uint32_t>(i / rows_per_block));
    }
    const double freedom = (blocks - 1.0) * (kDesignClasses - 1);
    const double effect = effect_of(values, at);
    EXPECT_GE(effect, 1);
    EXPECT_LE(effect, 1 + 4 * std::sqrt(2 / freedom) + 1e-4);
  }
}

TEST(DesignEffect, IsTheRowsPerBlockOfEqualRows) {
  Sampler::Options options;
  options.sample_rows = 10000;
  for (int rows_per_block : {2, 20}) {
    Random random(5);
    Sampler sampler(options);
    for (int i = 0; i < 10000; ++i) {
      static double value;
      if (i % rows_per_block == 0) {
        sampler.begin_block();
        value = random.uniform();
      }
      ASSERT_TRUE(sampler.add(value).ok());
    }
    Sample sample;
    ASSERT_TRUE(sampler.finish(&sample).ok());
    // X^2 = n (K - 1) exactly, so n / (B - 1).
    const double blocks = 10000.0 / rows_per_block;
    EXPECT_NEAR(sample.design_effect, 10000 / (blocks - 1), 1e-6);
  }
}

// Of 40 equal rows a block the reservoir keeps a tenth: four a block, and Poisson's 1 more that the
// block's own number of rows varies by.
TEST(DesignEffect, IsThatOfTheRowsKept) {
  Sampler::Options options;
  options.sample_rows = 4000;
  Random random(6);
  Sampler sampler(options);
  for (int block = 0; block < 1000; ++block) {
    sampler.begin_block();
    const double value = random.uniform();
    for (int i = 0; i < 40; ++i) ASSERT_TRUE(sampler.add(value).ok());
  }
  Sample sample;
  ASSERT_TRUE(sampler.finish(&sample).ok());
  // The rows kept of a block are hypergeometric, of mean 4 and variance 3.6: Q/n = (3.6 + 4^2)/4,
  // by 1 - Q/n^2. Q of 1000 blocks has a standard deviation of at most sqrt(32 * 1000), Poisson's
  // given their sum.
  EXPECT_NEAR(sample.design_effect, 4.905, 4 * 179 / 4000.0);
}

TEST(DesignEffect, IsOneWithoutBlocks) {
  EXPECT_EQ(fitted::sample_of(samples::normal(1000, 1)).design_effect, 1);
  EXPECT_EQ(effect_of({}, {}), 1);
  EXPECT_EQ(effect_of({5}, {1}), 1);
  EXPECT_EQ(effect_of({5, 5, 5}, {1, 2, 3}), 1);  // one value
  EXPECT_EQ(effect_of({5, 6, 7}, {4, 4, 4}), 1);  // one block
  // Every row is read, compacted.
  Sampler::Options options;
  options.sample_rows = -1;
  Sampler sampler(options);
  for (int i = 0; i < 1000; ++i) {
    sampler.begin_block();
    ASSERT_TRUE(sampler.add(i).ok());
    ASSERT_TRUE(sampler.add(i).ok());
  }
  Sample sample;
  ASSERT_TRUE(sampler.finish(&sample).ok());
  EXPECT_EQ(sample.design_effect, 1);
}

// One value of most rows leaves the classes to the others.
TEST(DesignEffect, SeesWhatIsBesideAHeavyValue) {
  std::vector<double> values;
  std::vector<std::uint32_t> blocks;
  Random random(9);
  for (std::uint32_t b = 0; b < 1000; ++b) {
    for (int i = 0; i < 20; ++i) {
      values.push_back(b % 50 == 0 ? 1 + random.uniform() : 0);
      blocks.push_back(b);
    }
  }
  // 20 blocks of other values: the table of zeros and others alone would give 20; the others' own
  // mixture within their blocks is independent.
  EXPECT_GT(effect_of(values, blocks), 2);
}

TEST(DesignEffect, CanBeCancelled) {
  std::vector<double> values;
  std::vector<std::uint32_t> blocks;
  for (std::uint32_t i = 0; i < 300000; ++i) {
    values.push_back(i % 1000);
    blocks.push_back(i / 100);
  }
  Control control;
  control.should_stop = [](void*) { return true; };
  double effect;
  EXPECT_FALSE(estimate_design_effect(values, blocks, control, &effect));
}

}  // namespace
}  // namespace kde
