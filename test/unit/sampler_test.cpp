// The scan's accumulator: uniform, reproducible, with exact totals.
#include "core/sampling/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include "fitted.h"

namespace kde {
namespace {

using fitted::kInf;
using fitted::kNan;

Sample draw(const std::vector<double>& x, std::int64_t rows, std::int64_t bandwidth_rows,
            std::uint64_t seed) {
  Sampler::Options o;
  o.sample_rows = rows;
  o.bandwidth_rows = bandwidth_rows;
  o.seed = seed;
  return fitted::sample_of(x, o);
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

TEST(Sampler, ReservoirAndSubsetAreUniform) {
  constexpr int kStream = 500, kRows = 40, kSubset = 10, kRuns = 4000;
  std::vector<double> x(kStream);
  std::iota(x.begin(), x.end(), 0.0);
  std::vector<int> drawn(kStream), subset(kStream);
  std::vector<int> streamed(kStream);
  for (int run = 0; run < kRuns; ++run) {
    const Sample s = draw(x, kRows, kSubset, static_cast<std::uint64_t>(run));
    ASSERT_EQ(s.values.size(), std::size_t{kRows});
    ASSERT_EQ(s.bandwidth_values.size(), std::size_t{kSubset});
    for (const WeightedValue& v : s.values) ++drawn[static_cast<std::size_t>(v.value)];
    for (double v : s.bandwidth_values) ++subset[static_cast<std::size_t>(v)];
    for (double v : draw(x, -1, kSubset, static_cast<std::uint64_t>(run)).bandwidth_values)
      ++streamed[static_cast<std::size_t>(v)];
  }
  expect_uniform(drawn, kRuns, kRows);
  expect_uniform(subset, kRuns, kSubset);
  expect_uniform(streamed, kRuns, kSubset);
}

// Beyond single inclusion: whether neighbours of the stream are drawn together as often as any.
TEST(Sampler, PairsAreDrawnTogetherAsOftenAsTheyShould) {
  constexpr int kStream = 30, kRows = 5, kRuns = 60000;
  std::vector<double> x(kStream);
  std::iota(x.begin(), x.end(), 0.0);
  int together = 0;
  for (int run = 0; run < kRuns; ++run) {
    const Sample s = draw(x, kRows, 2, static_cast<std::uint64_t>(run));
    for (std::size_t i = 0; i + 1 < s.values.size(); ++i)
      together += s.values[i + 1].value - s.values[i].value == 1;
  }
  // 29 neighbouring pairs, each with probability 5 4/(30 29); nearly independent of one another,
  // so nearly Poisson: six standard deviations.
  const double expected = kRuns * 29.0 * (5 * 4) / (30 * 29);
  EXPECT_NEAR(together, expected, 6 * std::sqrt(expected));
}

TEST(Sampler, SameSeedSameSample) {
  const std::vector<double> x = samples::normal(5000, 1);
  for (std::int64_t rows : {std::int64_t{300}, std::int64_t{-1}}) {
    const Sample a = draw(x, rows, 50, 5);
    const Sample b = draw(x, rows, 50, 5);
    const Sample c = draw(x, rows, 50, 6);
    ASSERT_EQ(a.values.size(), b.values.size());
    for (std::size_t i = 0; i < a.values.size(); ++i)
      ASSERT_EQ(a.values[i].value, b.values[i].value);
    EXPECT_EQ(a.bandwidth_values, b.bandwidth_values);
    EXPECT_NE(a.bandwidth_values, c.bandwidth_values);
  }
}

TEST(Sampler, SampleIsSortedAndItsSubsetPartOfIt) {
  const std::vector<double> x = samples::normal(5000, 1);
  const Sample s = draw(x, 300, 50, 5);
  std::vector<double> values;
  for (const WeightedValue& v : s.values) {
    EXPECT_EQ(v.weight, 1);
    values.push_back(v.value);
  }
  EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
  EXPECT_TRUE(std::is_sorted(s.bandwidth_values.begin(), s.bandwidth_values.end()));
  EXPECT_TRUE(std::includes(values.begin(), values.end(), s.bandwidth_values.begin(),
                            s.bandwidth_values.end()));
  EXPECT_EQ(s.sample_rows, 300);
  // Fewer rows than asked for: all of them, once each.
  std::vector<double> all = x;
  std::sort(all.begin(), all.end());
  const Sample whole = draw(x, 5001, 6000, 5);
  EXPECT_EQ(whole.bandwidth_values, all);
  EXPECT_EQ(whole.sample_rows, 5000);
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
      const Totals t = draw(x, 100, 50, 0).totals;
      EXPECT_EQ(t.min, *std::min_element(x.begin(), x.end()));
      EXPECT_EQ(t.max, *std::max_element(x.begin(), x.end()));
      // n additions of relative error 2^-64 each in both ways; the shift to the first value adds
      // (mean - first)^2 to the mean square, in variances.
      const double add = static_cast<double>(n) * 0x1p-63;
      const double largest = std::max(std::fabs(t.min), std::fabs(t.max));
      EXPECT_NEAR(t.mean, static_cast<double>(mean), largest * (add + 0x1p-52));
      const long double z = (mean - x[0]) * (mean - x[0]) / variance;
      // The two-pass mean above errs by largest * add, which the variance sees squared.
      const long double error = largest * add;
      EXPECT_LE(std::fabs(static_cast<double>((t.variance - variance) / variance)),
                2 * static_cast<double>(1 + z) * add + 0x1p-52 +
                    static_cast<double>(error * error / variance));
    }
  }
}

TEST(Sampler, SpecialValuesAreCountedApart) {
  Sampler sampler({});
  for (double v : {kNan, 1.0, kInf, -kInf, -kNan, kInf, -0.0, kInf, 0.0})
    ASSERT_TRUE(sampler.add(v).ok());
  sampler.add_null();
  sampler.add_null();
  Sample s;
  ASSERT_TRUE(sampler.finish(&s).ok());
  EXPECT_EQ(s.totals.nulls, 2);
  EXPECT_EQ(s.totals.nans, 2);
  EXPECT_EQ(s.totals.positive_infinities, 3);
  EXPECT_EQ(s.totals.negative_infinities, 1);
  EXPECT_EQ(s.totals.finite, 3);
  EXPECT_EQ(s.totals.non_null(), 9);
  EXPECT_EQ(s.totals.rows(), 11);
  EXPECT_EQ(s.totals.max, 1);
  // -0 and 0 are one value, and it prints without a sign.
  ASSERT_EQ(s.distinct.size(), 2u);
  EXPECT_EQ(s.distinct[0], (std::pair<double, std::int64_t>{0.0, 2}));
  EXPECT_FALSE(std::signbit(s.distinct[0].first));
  EXPECT_FALSE(std::signbit(s.totals.min));
  for (const WeightedValue& v : s.values) EXPECT_FALSE(std::signbit(v.value));
}

TEST(Sampler, NothingFiniteLeavesZeros) {
  const Sample s = draw({kNan, kInf}, 10, 10, 0);
  EXPECT_EQ(s.totals.finite, 0);
  EXPECT_EQ(s.totals.min, 0);
  EXPECT_EQ(s.totals.max, 0);
  EXPECT_EQ(s.totals.variance, 0);
  EXPECT_TRUE(s.values.empty());
  EXPECT_TRUE(s.distinct_known);
  EXPECT_EQ(draw({}, 10, 10, 0).totals.rows(), 0);
}

TEST(Sampler, TotalsDoNotOverflow) {
  const double big = std::numeric_limits<double>::max();
  const Totals t = draw({-big, big, big, -big}, 10, 10, 0).totals;
  EXPECT_EQ(t.mean, 0);
  EXPECT_EQ(t.variance, kInf);
  const Totals one = draw({1e300, 1e300, 1e300}, 10, 10, 0).totals;
  EXPECT_EQ(one.mean, 1e300);
  EXPECT_EQ(one.variance, 0);
  EXPECT_EQ(draw({big, std::nextafter(big, 0)}, 10, 10, 0).totals.max, big);
}

TEST(Sampler, DistinctValuesUpToTheLimit) {
  Random random(3);
  std::map<double, std::int64_t> expected;
  std::vector<double> x;
  for (int i = 0; i < 20000; ++i) {
    x.push_back(static_cast<double>(random.below(kMaxDistinct)) - 250);
    ++expected[x.back()];
  }
  ASSERT_EQ(expected.size(), kMaxDistinct);
  // Counted over every value, though only 100 are sampled.
  Sample s = draw(x, 100, 10, 0);
  EXPECT_TRUE(s.distinct_known);
  EXPECT_TRUE(std::equal(
      s.distinct.begin(), s.distinct.end(), expected.begin(), expected.end(),
      [](const auto& a, const auto& b) { return a.first == b.first && a.second == b.second; }));
  // One more, wherever it comes, and what comes after it.
  for (std::size_t at : {std::size_t{0}, x.size() / 2, x.size()}) {
    std::vector<double> more = x;
    more.insert(more.begin() + static_cast<std::ptrdiff_t>(at), 0.5);
    s = draw(more, 100, 10, 0);
    EXPECT_FALSE(s.distinct_known);
    EXPECT_TRUE(s.distinct.empty());
  }
}

// Every row read, in bounded memory.
TEST(Sampler, StreamKeepsEveryRowsWeight) {
  const std::vector<double> x = samples::lognormal(30000, 8);
  Sampler::Options o;
  o.sample_rows = -1;
  o.bandwidth_rows = 500;
  o.compactor_capacity = 256;
  const Sample s = fitted::sample_of(x, o);
  double weight = 0;
  for (const WeightedValue& v : s.values) weight += v.weight;
  EXPECT_EQ(weight, 30000);
  EXPECT_EQ(s.sample_rows, 30000);
  EXPECT_GT(s.rank_error, 0);
  EXPECT_LT(s.values.size(), 256u * 8);
  EXPECT_EQ(s.bandwidth_values.size(), 500u);
  EXPECT_EQ(s.totals.max, *std::max_element(x.begin(), x.end()));
}

// Smoothing two distribution functions by one kernel brings them no further apart, so counts
// differ by at most 2 rank_error (one for each end), and 1e-5 for the storage of each.
TEST(Sampler, DensityOfTheStreamAgreesWithThatOfAllValues) {
  const std::vector<double> x = samples::mix(30000);
  Sampler::Options o;
  o.sample_rows = -1;
  o.bandwidth_rows = 1000;
  o.compactor_capacity = 1024;
  Sample streamed = fitted::sample_of(x, o);
  o.sample_rows = 30000;
  Sample all = fitted::sample_of(x, o);
  all.bandwidth_values = streamed.bandwidth_values;  // the same bandwidth
  FitOptions options;
  options.method = Method::plugin;
  options.engine.precision = Precision::full;
  options.exact = true;  // from bandwidth_values
  const fitted::Fitted a = fitted::fit(streamed, options);
  const fitted::Fitted b = fitted::fit(all, options);
  // But for the rounding of positions about another origin; the engine is good to 1e-10.
  ASSERT_NEAR(a.report.bandwidth, b.report.bandwidth, 1e-9 * b.report.bandwidth);
  EXPECT_GE(a.report.representation_error, streamed.rank_error);
  Random random(4);
  for (int i = 0; i < 500; ++i) {
    const double p = 8 * random.uniform() - 3;
    const double q = 8 * random.uniform() - 3;
    const Range r = fitted::range(std::min(p, q), std::max(p, q));
    ASSERT_NEAR(count(a.view(), r), count(b.view(), r), (2 * streamed.rank_error + 2e-5) * 30000);
  }
  // Automatic takes every row as it is, but for what either density says of itself (the stream's
  // rank error is in it) and the cells, of which each has at most 1/4096 of the rows and one
  // value's weight: at both ends of a range, in both densities.
  double heaviest = 0;
  for (const WeightedValue& v : streamed.values) heaviest = std::max(heaviest, v.weight);
  const fitted::Fitted c = fitted::fit(streamed);
  const fitted::Fitted d = fitted::fit(all);
  EXPECT_GE(c.report.representation_error, streamed.rank_error);
  const double bound =
      2 * 30000 * (c.report.representation_error + d.report.representation_error + 2.0 / 4096) +
      2 * (heaviest + 1);
  for (int i = 0; i < 500; ++i) {
    const double p = 8 * random.uniform() - 3;
    const double q = 8 * random.uniform() - 3;
    const Range r = fitted::range(std::min(p, q), std::max(p, q));
    ASSERT_NEAR(count(c.view(), r), count(d.view(), r), bound);
  }
}

TEST(RandomSubset, KeepsOrderAndSize) {
  std::vector<double> x(100);
  std::iota(x.begin(), x.end(), 0.0);
  for (std::size_t m : {std::size_t{0}, std::size_t{1}, std::size_t{37}, std::size_t{100}}) {
    const std::vector<double> s = random_subset(x, m, 1);
    EXPECT_EQ(s.size(), m);
    EXPECT_TRUE(std::is_sorted(s.begin(), s.end()));
    EXPECT_EQ(std::adjacent_find(s.begin(), s.end()), s.end());
  }
  EXPECT_EQ(random_subset(x, 1000, 1), x);
  EXPECT_TRUE(random_subset({}, 3, 1).empty());
}

}  // namespace
}  // namespace kde
