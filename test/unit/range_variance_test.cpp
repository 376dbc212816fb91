// What ranges have of their own (sampling/range_variance.h) against residuals added up block by block,
// and its stored form (density/range_effects.h): what is written is read, and no damage gets by.
#include "core/sampling/range_variance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/answer/column_evidence.h"
#include "core/answer/measure_evidence.h"
#include "core/density/checks.h"
#include "core/fit/range_codes.h"
#include "answers.h"
#include "fitted.h"
#include "round_trip.h"

namespace kde {
namespace {

constexpr std::uint32_t kRowsOfABlock = 40, kBlocks = 200;

struct Rows {
  std::vector<double> x, y;
  std::vector<std::uint32_t> block, rows;

  BlockRows blocks() const { return {x, block, rows, static_cast<double>(x.size())}; }
};

// With bursts in blocks far apart, in which y is larger; of share 0 none.
Rows rows_of(double share, std::uint64_t seed) {
  Rows out;
  Random random(seed);
  out.rows.assign(kBlocks, kRowsOfABlock);
  const std::vector<double> noise = samples::normal(kBlocks * kRowsOfABlock, seed + 1);
  for (std::uint32_t b = 0; b < kBlocks; ++b) {
    for (std::uint32_t i = 0; i < kRowsOfABlock; ++i) {
      const bool burst = b % 20 == 3 && random.uniform() < share;
      out.x.push_back(burst ? 30 + i % 3 : std::floor(100 * random.uniform()));
      out.y.push_back(noise[out.y.size()] + (burst ? 5 : 0));
      out.block.push_back(b);
    }
  }
  return out;
}

RangeVariance estimate(const Rows& rows, int cells = kMostEffectCells) {
  BlockVariance whole;
  EXPECT_TRUE(estimate_block_variance(rows.blocks(), {}, &whole));
  std::vector<MeanVariance> means(1);
  EXPECT_TRUE(estimate_mean_variance(rows.blocks(), rows.y, {}, &means[0]));
  const std::span<const double> y[] = {rows.y};
  RangeVariance out;
  EXPECT_TRUE(estimate_range_variance(rows.blocks(), y, whole, means, cells, {}, &out));
  return out;
}

// Effects of the rows between two ends, as they are drawn.
struct Direct {
  double count, mean, correlation;
};

Direct direct(const Rows& rows, double below, double through) {
  double n = 0, sum = 0, squares = 0, alone = 0;
  const auto is_in = [&](std::size_t i) { return rows.x[i] > below && rows.x[i] <= through; };
  for (std::size_t i = 0; i < rows.x.size(); ++i) {
    n += is_in(i);
    sum += is_in(i) ? rows.y[i] : 0;
  }
  const double p = n / static_cast<double>(rows.x.size()), mean = sum / n;
  std::vector<double> count(kBlocks, -p * kRowsOfABlock), residual(kBlocks), both(kBlocks);
  for (std::size_t i = 0; i < rows.x.size(); ++i) {
    if (!is_in(i)) continue;
    count[rows.block[i]] += 1;
    residual[rows.block[i]] += rows.y[i] - mean;
    squares += (rows.y[i] - mean) * (rows.y[i] - mean);
  }
  for (std::uint32_t b = 0; b < kBlocks; ++b) {
    alone += std::pow((count[b] + p * kRowsOfABlock) / n, 2);
    both[b] = count[b] + residual[b];
  }
  const double of_count = kBlocks * variance_by_differences(count);
  const double of_mean = kBlocks * variance_by_differences(residual);
  const double together = (kBlocks * variance_by_differences(both) - of_count - of_mean) / 2;
  return {of_count / (n * (1 - p)), of_mean / squares / (1 - alone),
          together / std::sqrt(n * (1 - p) * squares)};
}

// Of every pair an effect that is surely not the usual one is the residuals' own.
TEST(RangeVariance, IsThatOfTheResiduals) {
  const Rows rows = rows_of(0.6, 3);
  const RangeVariance v = estimate(rows);
  ASSERT_EQ(v.end.size() + 1, v.cells());
  EXPECT_TRUE(v.tell);
  EXPECT_TRUE(v.mean[0].tell);
  int counts = 0, means = 0, correlations = 0;
  for (std::size_t j = 1; j <= v.cells(); ++j) {
    for (std::size_t i = 0; i < j; ++i) {
      if (i == 0 && j == v.cells()) continue;
      const Direct own = direct(rows, i > 0 ? v.end[i - 1] : -fitted::kInf,
                                j < v.cells() ? v.end[j - 1] : fitted::kInf);
      const std::size_t pair = effect_pair(i, j);
      // Beyond every doubt: of means the rows of a burst have an excess of kurtosis.
      if (own.count > 6) {
        ASSERT_NEAR(v.count[pair], own.count, 1e-9 * own.count) << i << ' ' << j;
        ++counts;
      }
      if (own.mean > 12) {
        ASSERT_NEAR(v.mean[0].effect[pair], own.mean, 1e-9 * own.mean) << i << ' ' << j;
        ++means;
      }
      if (own.correlation > 0.7 * std::sqrt(own.count * own.mean)) {
        ASSERT_NEAR(v.mean[0].correlation[pair], own.correlation, 1e-9 * own.correlation);
        ++correlations;
      }
    }
  }
  EXPECT_GT(counts, 10);
  EXPECT_GT(means, 10);
  EXPECT_GT(correlations, 10);
}

// The burst's values have cells of their own.
TEST(RangeVariance, CellsAreWhereValuesLieTogether) {
  const RangeVariance v = estimate(rows_of(0.6, 3));
  for (const double end : {29.0, 30.0, 31.0, 32.0})
    EXPECT_TRUE(std::binary_search(v.end.begin(), v.end.end(), end)) << end;
}

// Among 40 samples of independent rows chance says nothing: five standard errors are far out.
TEST(RangeVariance, IndependentRowsTellNothing) {
  int tell = 0;
  for (std::uint64_t seed = 10; seed < 50; ++seed) {
    const RangeVariance v = estimate(rows_of(0, 3 * seed));
    tell += v.tell + v.own.tell + v.mean[0].tell;
  }
  EXPECT_LE(tell, 3);
}

fitted::Fitted fit(const Rows& rows) {
  Sampler::Options sampling;
  sampling.measures = 1;
  sampling.range_cells = kMostEffectCells;
  Sampler sampler(sampling);
  for (std::size_t i = 0; i < rows.x.size(); ++i) {
    if (i % kRowsOfABlock == 0) {
      EXPECT_TRUE(sampler.begin_block().ok());
    }
    EXPECT_TRUE(sampler.add(rows.x[i], std::span(&rows.y[i], 1)).ok());
  }
  Sample sample;
  EXPECT_TRUE(sampler.finish(&sample).ok());
  FitOptions options;
  options.rows_per_row_read = 10;
  options.share_of_blocks = 0.1;
  return fitted::fit(sample, options);
}

// NULLs of the measure lie together, too, so that the rows where it is none have effects.
Rows with_nulls() {
  Rows rows = rows_of(0.6, 3);
  for (std::size_t i = 100 * kRowsOfABlock; i < 110 * kRowsOfABlock; ++i)
    if (rows.x[i] > 60 && rows.x[i] < 70) rows.y[i] = fitted::kNan;
  for (std::size_t i = 0; i < rows.x.size(); i += 7) rows.y[i] = fitted::kNan;
  return rows;
}

TEST(RangeEffects, AreStored) {
  const fitted::Fitted f = fit(with_nulls());
  ASSERT_TRUE(validate(f.bytes.data(), f.bytes.size()).ok());
  const MeasureView measure(&f.bytes.header(), 0);
  ASSERT_NE(f.view().effects(), nullptr);
  ASSERT_NE(measure.effects(), nullptr);
  EXPECT_NE(measure.part(MeasurePart::rows).effects(), nullptr);
  EXPECT_EQ(round_trip(f.bytes), nullptr);
  EXPECT_EQ(fitted::insane_answer(f.view(), 50), nullptr);
  // Where the burst is the interval is wider than where the table is mixed, of as many rows.
  const auto width = [&](double low, double high) {
    const Interval i = interval_of(Wanted::count, f.view(), fitted::range(low, high), {});
    return (i.upper - i.lower) / std::sqrt(i.estimate);
  };
  EXPECT_GT(width(30, 32), 2 * width(50, 52));
  EXPECT_GT(width(30, 30), 1.5 * width(50, 50));
  EXPECT_GT(width(20, 32), 1.5 * width(70, 82));
}

TEST(RangeEffects, OfNoBurstTakeNoBytes) {
  const fitted::Fitted f = fit(rows_of(0, 5));
  EXPECT_EQ(f.view().effects(), nullptr);
  EXPECT_EQ(MeasureView(&f.bytes.header(), 0).effects(), nullptr);
}

// By one lookup at ends, which are through values, and within a cell.
TEST(RangeEffects, AreThoseOfTheRange) {
  CountEffects effects;
  effects.end = {1, 2, 5};
  effects.through = {0.25, 0.5, 0.75};
  effects.within = {1, fitted::kNan, 4, 1};
  effects.ratio.assign(effect_pairs(4), 1);
  effects.ratio[effect_pair(1, 2)] = 16;
  effects.ratio[effect_pair(2, 3)] = 2;
  const std::vector<char> bytes = store_effects(effects);
  std::vector<std::uint64_t> aligned((bytes.size() + 7) / 8);
  std::memcpy(aligned.data(), bytes.data(), bytes.size());
  const auto* header = reinterpret_cast<const RangeEffectsHeader*>(aligned.data());
  EXPECT_EQ(header->bytes, bytes.size());
  Header list{};
  list.min = 0;
  list.max = 9;
  for (auto& shape : list.count_variance) std::fill(std::begin(shape), std::end(shape), 1.0F);
  ASSERT_TRUE(validate_count_effects(list, *header).ok());
  const RangeEffects stored(header);
  const auto ratio = [&](double below, double through, double p) {
    return stored.count_ratio(list, stored.place(list, below, through), p);
  };
  EXPECT_DOUBLE_EQ(ratio(1, 2, 0.25), 16);
  EXPECT_DOUBLE_EQ(ratio(1.5, 2, 0.25), 16);  // has one value
  EXPECT_DOUBLE_EQ(ratio(2, 5, 0.25), 2);
  EXPECT_DOUBLE_EQ(ratio(3, 4, 0.0625), 0.25 * 2 + 0.75 * 4);
  EXPECT_DOUBLE_EQ(ratio(-fitted::kInf, 2, 0.5), 1);
  EXPECT_DOUBLE_EQ(ratio(-fitted::kInf, fitted::kInf, 1), 1);
  // Half of the cell from 2 to 5: a line's variance, less that of its middle, and of what is within.
  const double middle = (0.25 + 0.1875) / 2, cell = 0.1875, within = 0.25;
  EXPECT_NEAR(ratio(-fitted::kInf, 3.5, 0.625),
              (middle + (4 * within - 2 * cell) / 4) / (middle + (within - cell) / 4), 1e-12);
}

// Ends are left out between which nothing is lost: what is beside a burst's cell tells where it ends.
TEST(RangeEffects, EndsThatTellNothingAreLeftOut) {
  CountEffects effects;
  for (int i = 1; i < 12; ++i) {
    effects.end.push_back(i);
    effects.through.push_back(i / 12.0);
  }
  effects.within.assign(12, 1);
  effects.ratio.assign(effect_pairs(12), 1);
  effects.ratio[effect_pair(5, 6)] = 8;
  std::vector<MeanEffects> means;
  leave_ends_out(&effects, &means);
  EXPECT_EQ(effects.end, (std::vector<double>{4, 5, 6, 7}));
  EXPECT_EQ(effects.ratio, (std::vector<double>{1, 1, 1, 1, 1, 8, 1, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(effects.cells(), 5U);
}

// Each byte of the effects, damaged, is found or harmless.
TEST(RangeEffects, DamageIsFoundOrHarmless) {
  const fitted::Fitted f = fit(with_nulls());
  const auto* begin = reinterpret_cast<const char*>(f.view().effects());
  const auto at = static_cast<std::size_t>(begin - f.bytes.data());
  const std::size_t end = at + f.view().effects()->bytes;
  int found = 0;
  for (std::size_t i = at; i < end; ++i) {
    for (const int by : {1, 0x80, 0xff}) {
      DensityBytes damaged = f.bytes;
      damaged.data()[i] = static_cast<char>(damaged.data()[i] ^ by);
      if (!validate(damaged.data(), damaged.size()).ok()) {
        ++found;
        continue;
      }
      ASSERT_EQ(fitted::insane_answer(DensityView(damaged.data()), 3), nullptr) << i - at;
    }
  }
  EXPECT_GT(found, 50);
}

}  // namespace
}  // namespace kde
