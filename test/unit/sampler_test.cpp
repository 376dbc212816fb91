// The scan's accumulator: uniform, reproducible, with exact totals; every row in its summary or, of
// thinned rows, those drawn, beside the least and the greatest of all.
#include "core/sampling/sampler.h"
#include "core/fit/described.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "core/fit/described.h"
#include "distinct.h"
#include "fitted.h"
#include "stop_at.h"

namespace kde {
namespace {

using fitted::kInf;
using fitted::kNan;

// rows: 0 for every one.
fitted::OwnSample draw(const std::vector<double>& x, std::int64_t rows, std::uint64_t seed) {
  Sampler::Options o;
  o.sample_rows = rows;
  o.seed = seed;
  return fitted::sample_of(x, o);
}

GridList list_of(const Sample& sample) {
  GridList list;
  EXPECT_TRUE((*sample.cells)->list(&list).ok());
  return list;
}

// The values that cells which hold one each are of, by the number of their rows.
std::vector<WeightedValue> values_of(const Sample& sample) {
  std::vector<WeightedValue> out;
  for (const GridEntry& e : list_of(sample).entries) {
    EXPECT_LT(e.level, 0);
    out.push_back({e.x, e.rows});
  }
  return out;
}

void expect_values(const Sample& sample, const std::vector<double>& x) {
  const std::vector<WeightedValue> found = values_of(sample);
  const std::vector<WeightedValue> expected = samples::distinct(x);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].value, expected[i].value);
    ASSERT_EQ(found[i].weight, expected[i].weight);
  }
}

// Of `runs` samples of m out of N, sum (count - runs m/N)^2 / (runs m/N (1 - m/N)) (N-1)/N is
// chi-square with N-1 degrees of freedom as runs grows (the counts of one run are negatively
// correlated, which costs the one degree). Five standard deviations, sqrt(2(N-1)), either side:
// a correct sampler fails for about one choice of seeds in a million, and the seeds are fixed.
void expect_uniform(const std::vector<int>& counts, int runs, double m) {
  const double n = static_cast<double>(counts.size());
  const double p = m / n;
  double statistic = 0;
  for (int c : counts) statistic += (c - runs * p) * (c - runs * p) / (runs * p * (1 - p));
  statistic *= (n - 1) / n;
  EXPECT_NEAR(statistic, n - 1, 5 * std::sqrt(2 * (n - 1)));
}

TEST(Sampler, DrawsAndTheirSubsetsAreUniform) {
  constexpr int kStream = 500, kRows = 40, kSubset = 10, kRuns = 4000;
  std::vector<double> x(kStream);
  std::iota(x.begin(), x.end(), 0.0);
  std::vector<int> drawn(kStream), subset(kStream), of_all(kStream);
  FitOptions options;
  options.bandwidth_rows = kSubset;
  for (int run = 0; run < kRuns; ++run) {
    const auto s = draw(x, kRows, static_cast<std::uint64_t>(run));
    options.seed = static_cast<std::uint64_t>(run);
    ASSERT_EQ(s.drawn.size(), std::size_t{kRows});
    for (double v : s.drawn) ++drawn[static_cast<std::size_t>(v)];
    const std::vector<double> few = draw_rows(s, options);
    ASSERT_EQ(few.size(), std::size_t{kSubset});
    for (double v : few) ++subset[static_cast<std::size_t>(v)];
    const auto all = draw(x, 0, static_cast<std::uint64_t>(run));
    for (double v : draw_rows(all, options)) ++of_all[static_cast<std::size_t>(v)];
  }
  expect_uniform(drawn, kRuns, kRows);
  expect_uniform(subset, kRuns, kSubset);
  expect_uniform(of_all, kRuns, kSubset);
}

// Beyond single inclusion: whether neighbours of the stream are drawn together as often as any.
TEST(Sampler, PairsAreDrawnTogetherAsOftenAsTheyShould) {
  constexpr int kStream = 30, kRows = 5, kRuns = 60000;
  std::vector<double> x(kStream);
  std::iota(x.begin(), x.end(), 0.0);
  int together = 0;
  for (int run = 0; run < kRuns; ++run) {
    auto s = draw(x, kRows, static_cast<std::uint64_t>(run));
    std::sort(s.drawn.begin(), s.drawn.end());
    for (std::size_t i = 0; i + 1 < s.drawn.size(); ++i)
      together += s.drawn[i + 1] - s.drawn[i] == 1;
  }
  // 29 neighbouring pairs, each with probability 5 4/(30 29); nearly independent of one another,
  // so nearly Poisson: six standard deviations.
  const double expected = kRuns * 29.0 * (5 * 4) / (30 * 29);
  EXPECT_NEAR(together, expected, 6 * std::sqrt(expected));
}

TEST(Sampler, SameSeedSameSample) {
  const std::vector<double> x = samples::normal(kDrawnRows + 5000, 1);
  for (std::int64_t rows : {std::int64_t{300}, std::int64_t{0}}) {
    const auto a = draw(x, rows, 5);
    const auto b = draw(x, rows, 5);
    const auto c = draw(x, rows, 6);
    EXPECT_EQ(a.drawn.size(), static_cast<std::size_t>(rows > 0 ? rows : kDrawnRows));
    EXPECT_EQ(a.drawn, b.drawn);
    EXPECT_NE(a.drawn, c.drawn);
    EXPECT_EQ((*a.cells)->size(), (*b.cells)->size());
  }
}

TEST(Sampler, ThinnedCellsAreOfTheRowsDrawn) {
  const std::vector<double> x = samples::normal(5000, 1);
  const auto s = draw(x, 300, 5);
  EXPECT_TRUE(s.thinned);
  EXPECT_EQ(s.sample_rows(), 300);
  expect_values(s, s.drawn);
  std::vector<double> all = x;
  std::sort(all.begin(), all.end());
  std::vector<double> drawn = s.drawn;
  std::sort(drawn.begin(), drawn.end());
  EXPECT_TRUE(std::includes(all.begin(), all.end(), drawn.begin(), drawn.end()));
  FitOptions options;
  options.bandwidth_rows = 50;
  const std::vector<double> few = draw_rows(s, options);
  EXPECT_EQ(rows_of_exact_sums(s, options), 50);
  EXPECT_TRUE(std::is_sorted(few.begin(), few.end()));
  EXPECT_TRUE(std::includes(drawn.begin(), drawn.end(), few.begin(), few.end()));
  // Fewer rows than asked for: all of them, once each.
  for (const std::int64_t rows : {std::int64_t{0}, std::int64_t{5000}, std::int64_t{5001}}) {
    const auto whole = draw(x, rows, 5);
    EXPECT_FALSE(whole.thinned);
    EXPECT_EQ(whole.sample_rows(), 5000);
    EXPECT_EQ(draw_rows(whole, FitOptions()), all);
    expect_values(whole, x);
  }
}

TEST(Sampler, TotalsAgreeWithTwoPasses) {
  for (const fitted::Column& column : fitted::columns(20000)) {
    for (const auto& [scale, offset] :
         {std::pair{1.0, 0.0}, {1.0, 1e9}, {1e150, 0.0}, {1e-140, 0.0}}) {
      SCOPED_TRACE(testing::Message() << column.name << " * " << scale << " + " << offset);
      std::vector<double> x = column.x;
      for (double& v : x) v = v * scale + offset;
      const long double n = static_cast<long double>(x.size());
      long double mean = 0;
      for (double v : x) mean += v;
      mean /= n;
      long double variance = 0;
      for (double v : x) variance += (v - mean) * (v - mean);
      variance /= n;
      for (const std::int64_t rows : {std::int64_t{0}, std::int64_t{100}}) {
        const SummaryTotals t = draw(x, rows, 0).totals;
        EXPECT_EQ(t.count(), static_cast<double>(x.size()));
        EXPECT_EQ(t.min(), *std::min_element(x.begin(), x.end()));
        EXPECT_EQ(t.max(), *std::max_element(x.begin(), x.end()));
        // n additions of relative error 2^-64 each in both ways; the shift to the first value adds
        // (mean - first)^2 to the mean square, in variances.
        const double add = static_cast<double>(n) * 0x1p-63;
        const double largest = std::max(std::fabs(t.min()), std::fabs(t.max()));
        EXPECT_NEAR(t.mean(), static_cast<double>(mean), largest * (add + 0x1p-52));
        const long double z = (mean - x[0]) * (mean - x[0]) / variance;
        // The two-pass mean above errs by largest * add, which the variance sees squared.
        const long double error = largest * add;
        EXPECT_LE(std::fabs(static_cast<double>((t.variance() - variance) / variance)),
                  2 * static_cast<double>(1 + z) * add + 0x1p-52 +
                      static_cast<double>(error * error / variance));
      }
    }
  }
}

TEST(Sampler, SpecialValuesAreCountedApart) {
  for (const std::int64_t rows : {std::int64_t{0}, std::int64_t{100}}) {
    Sampler::Options options;
    options.sample_rows = rows;
    Sampler sampler(options);
    for (double v : {kNan, 1.0, kInf, -kInf, -kNan, kInf, -0.0, kInf, 0.0})
      ASSERT_TRUE(sampler.add(v).ok());
    sampler.add_null();
    sampler.add_null();
    Sample s;
    ASSERT_TRUE(sampler.finish(&s).ok());
    EXPECT_EQ(s.specials.nulls, 2);
    EXPECT_EQ(s.specials.nans, 2);
    EXPECT_EQ(s.specials.positive_infinities, 3);
    EXPECT_EQ(s.specials.negative_infinities, 1);
    EXPECT_EQ(s.totals.count(), 3);
    EXPECT_EQ(s.not_null(), 9);
    EXPECT_EQ(s.rows_read(), 11);
    EXPECT_EQ(s.totals.max(), 1);
    // -0 and 0 are one value, and it prints without a sign.
    expect_values(s, {0, 0, 1});
    EXPECT_FALSE(std::signbit(values_of(s)[0].value));
    EXPECT_FALSE(std::signbit(s.totals.min()));
    for (double v : s.drawn) EXPECT_FALSE(std::signbit(v));
  }
}

TEST(Sampler, NothingFinite) {
  const auto s = draw({kNan, kInf}, 10, 0);
  EXPECT_EQ(s.totals.count(), 0);
  EXPECT_EQ(s.rows_read(), 2);
  EXPECT_EQ(s.sample_rows(), 0);
  EXPECT_TRUE(s.drawn.empty());
  EXPECT_EQ((*s.cells)->size(), 0u);
  EXPECT_EQ(draw({}, 10, 0).rows_read(), 0);
}

TEST(Sampler, TotalsDoNotOverflow) {
  const double big = std::numeric_limits<double>::max();
  for (const std::int64_t rows : {std::int64_t{0}, std::int64_t{10}}) {
    const SummaryTotals t = draw({-big, big, big, -big}, rows, 0).totals;
    EXPECT_EQ(t.mean(), 0);
    EXPECT_EQ(t.variance(), kInf);
    const SummaryTotals one = draw({1e300, 1e300, 1e300}, rows, 0).totals;
    EXPECT_EQ(one.mean(), 1e300);
    EXPECT_EQ(one.variance(), 0);
    EXPECT_EQ(draw({big, std::nextafter(big, 0)}, rows, 0).totals.max(), big);
  }
}

// More distinct values than there are cells: each row is counted in one of them.
TEST(Sampler, EveryRowIsCountedInBoundedMemory) {
  const std::vector<double> x = samples::lognormal(300000, 8);
  const auto s = draw(x, 0, 0);
  EXPECT_FALSE(s.thinned);
  EXPECT_EQ(s.sample_rows(), 300000);
  EXPECT_EQ(s.drawn.size(), static_cast<std::size_t>(kDrawnRows));
  EXPECT_EQ(s.totals.max(), *std::max_element(x.begin(), x.end()));
  EXPECT_LE((*s.cells)->size(), kMostGridCells);
  double rows = 0;
  for (const GridEntry& e : list_of(s).entries) rows += e.rows;
  EXPECT_EQ(rows, 300000);
}

// The kOutermost least and greatest of all rows read.
TEST(Sampler, OutermostRowsAreExact) {
  Random random(4);
  for (const bool ties : {false, true}) {
    for (const std::int64_t sample_rows : {0, 500}) {
      std::vector<double> x;
      for (int i = 0; i < 4000; ++i) {
        const double v = 2 * random.uniform() - 1;
        x.push_back(ties ? std::round(300 * v * v * v) : v);
      }
      const auto s = draw(x, sample_rows, 3);
      std::sort(x.begin(), x.end());
      EXPECT_EQ(s.least, std::vector<double>(x.begin(), x.begin() + kOutermost));
      EXPECT_EQ(s.greatest, std::vector<double>(x.end() - kOutermost, x.end()));
    }
  }
}

// Between the outermost rows, which are known one by one, all others are in cells: those at the limits
// too, and of a thinned sample no row that is known otherwise.
TEST(SampleLine, HasEachRowOnce) {
  Random random(4);
  for (const std::int64_t sample_rows : {0, 150000}) {
    for (const double step : {0.0, 0.001}) {
      std::vector<double> x;
      for (int i = 0; i < 400000; ++i) {
        const double v = 1000 * std::exp(2 * random.uniform());
        x.push_back(step > 0 ? std::round(1000 * v) / 1000 : v);
      }
      const auto s = draw(x, sample_rows, 1);
      const GridList list = list_of(s);
      SampledRows rows = divide_rows(s, list, 32);
      EXPECT_TRUE(rows.is_joined);
      std::sort(x.begin(), x.end());
      EXPECT_EQ(rows.low, x[32]);
      EXPECT_EQ(rows.high, x[x.size() - 33]);
      Header lattice = {};
      if (step > 0) place_on_type_lattice(step, &lattice);
      take_cells(s, list, lattice, &rows);
      std::vector<double> kept = s.thinned ? s.drawn : x;
      std::sort(kept.begin(), kept.end());
      double through = 0, last = -kInf;
      for (const HistogramCell& c : rows.cells) {
        ASSERT_GE(c.value, last);
        last = c.value;
        through += c.rows;
        if (c.rows == 0) continue;
        const auto from = std::lower_bound(kept.begin(), kept.end(), rows.low);
        const auto to = std::upper_bound(kept.begin(), kept.end(), c.value);
        ASSERT_EQ(through, static_cast<double>(to - from)) << c.value;
      }
      EXPECT_EQ(through, rows.seen);
      EXPECT_LE(last, rows.high);
      EXPECT_TRUE(s.thinned || last == rows.high);
    }
  }
}

// Blocks have numbers from 0, whether or not they have rows; the rows drawn are in their order.
TEST(Sampler, RowsHaveTheirBlocks) {
  for (const std::int64_t rows : {std::int64_t{0}, std::int64_t{200}}) {
    Sampler::Options options;
    options.sample_rows = rows;
    options.seed = 3;
    Sampler sampler(options);
    for (int block = 0; block < 300; ++block) {
      ASSERT_TRUE(sampler.begin_block().ok());
      for (int i = 0; i < block % 7; ++i) ASSERT_TRUE(sampler.add(block).ok());
      sampler.add_null();
    }
    Sample s;
    ASSERT_TRUE(sampler.finish(&s).ok());
    EXPECT_TRUE(s.by_block());
    ASSERT_EQ(s.drawn.size(), s.drawn_block.size());
    EXPECT_TRUE(std::is_sorted(s.drawn_block.begin(), s.drawn_block.end()));
    for (std::size_t i = 0; i < s.drawn.size(); ++i) ASSERT_EQ(s.drawn[i], s.drawn_block[i]);
  }
  EXPECT_FALSE(draw({1, 2, 3}, 0, 0).by_block());
}

// Rows before the first block was begun are a block of their own, not one without a number.
TEST(Sampler, RowsBeforeTheFirstBlockAreOne) {
  Sampler sampler({});
  for (int block = 0; block < 4; ++block) {
    if (block > 0) {
      ASSERT_TRUE(sampler.begin_block().ok());
    }
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(sampler.add(block).ok());
  }
  Sample s;
  ASSERT_TRUE(sampler.finish(&s).ok());
  ASSERT_EQ(s.drawn.size(), 20U);
  for (std::size_t i = 0; i < s.drawn.size(); ++i) ASSERT_EQ(s.drawn[i], s.drawn_block[i]);
  EXPECT_EQ(s.blocks.rows, 0);
}

// Of blocks without rows every second: their number of rows varies as much as it can, and leaving
// them out would hide it.
TEST(Sampler, BlocksWithoutRowsCount) {
  Sampler sampler({});
  Random random(8);
  for (int block = 0; block < 1000; ++block) {
    ASSERT_TRUE(sampler.begin_block().ok());
    if (random.below(2) == 0) continue;
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(sampler.add(random.uniform()).ok());
  }
  Sample s;
  ASSERT_TRUE(sampler.finish(&s).ok());
  // A block has 0 or 10 rows, of variance 25 and mean 5: 25/(1000 5^2) = 1/1000. The mean of
  // squared differences of 1000 such numbers is within a tenth of that: their fourth moment is
  // their variance's square, so its relative standard error is about 1/sqrt(1000) = 3 %.
  EXPECT_NEAR(s.blocks.rows, 1e-3, 1.3e-4);
}

// In one way or the other, whatever the lengths: the last bit too.
TEST(Sampler, RowsTogetherAreAsOneByOne) {
  for (const std::int64_t sample_rows : {0, 500}) {
    Sampler::Options options;
    options.sample_rows = sample_rows;
    options.seed = 5;
    Sampler one_by_one(options), together(options);
    Random random(8);
    for (int block = 0; block < 3000; ++block) {
      std::vector<double> rows;
      for (std::size_t n = random.below(120); rows.size() < n;)
        rows.push_back(std::nearbyint(2e5 * random.uniform() - 100));
      if (block % 50 == 1) rows.insert(rows.end(), {-0.0, kInf, -0.0, kNan, 0.0});
      if (block > 0) {  // rows before the first block are one
        ASSERT_TRUE(one_by_one.begin_block().ok());
        ASSERT_TRUE(together.begin_block().ok());
      }
      for (const double x : rows) ASSERT_TRUE(one_by_one.add(x).ok());
      for (std::size_t i = 0; i < rows.size();) {
        const std::size_t n = std::min(1 + random.below(200), rows.size() - i);
        ASSERT_TRUE(together.add_rows(std::span(rows).subspan(i, n)).ok());
        i += n;
      }
    }
    Sample expected, found;
    ASSERT_TRUE(one_by_one.finish(&expected).ok());
    ASSERT_TRUE(together.finish(&found).ok());
    EXPECT_EQ(expected.drawn.size(), sample_rows > 0 ? 500 : kDrawnRows);
    EXPECT_EQ(found.drawn, expected.drawn);
    EXPECT_EQ(found.drawn_block, expected.drawn_block);
    EXPECT_EQ(found.blocks.rows, expected.blocks.rows);
    EXPECT_EQ(found.specials.nans, expected.specials.nans);
    EXPECT_EQ(found.specials.positive_infinities, expected.specials.positive_infinities);
    const auto bytes = [](const Sample& s) {
      std::vector<char> out((*s.cells)->serialized_size());
      (*s.cells)->serialize(out.data());
      return out;
    };
    EXPECT_EQ(bytes(found), bytes(expected));
  }
}

TEST(Sampler, TheEndCanBeCancelled) {
  for (const std::int64_t rows : {std::int64_t{0}, std::int64_t{500}}) {
    Sampler::Options options;
    options.sample_rows = rows;
    const auto finish = [&options](const Control& control) {
      Sampler sampler(options);
      Random random(1);
      for (int block = 0; block < 100; ++block) {
        EXPECT_TRUE(sampler.begin_block().ok());
        for (int i = 0; i < 20; ++i) EXPECT_TRUE(sampler.add(random.uniform()).ok());
      }
      Sample s;
      return sampler.finish(&s, control).code;
    };
    StopAt never;
    ASSERT_EQ(finish(never.control), Code::ok);
    ASSERT_GT(never.polls, 2);
    for (int k = 1; k <= never.polls; ++k) {
      StopAt stop(k);
      EXPECT_EQ(finish(stop.control), Code::cancelled) << k;
      EXPECT_EQ(stop.polls, k);
    }
  }
}

}  // namespace
}  // namespace kde
