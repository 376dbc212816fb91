// The exact totals of a summary.
#include "core/summary/totals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace kde {
namespace {

SummaryTotals totals_of(const std::vector<double>& values) {
  SummaryTotals t;
  t.add(values, {});
  return t;
}

TEST(SummaryTotals, OfNoRows) {
  const SummaryTotals t;
  EXPECT_EQ(t.rows(), 0);
  EXPECT_EQ(t.count(), 0);
  EXPECT_GT(t.min(), t.max());
  EXPECT_TRUE(t.valid());
}

// 1 .. n: the sum n (n + 1)/2 and the variance (n^2 - 1)/12 are known.
TEST(SummaryTotals, OfWholeNumbers) {
  const int n = 100003;
  SummaryTotals t;
  std::vector<double> batch;
  for (int i = 1; i <= n; ++i) {
    batch.push_back(i);
    if (batch.size() == 777 || i == n) {
      t.add(batch, {});
      batch.clear();
    }
  }
  EXPECT_EQ(t.rows(), n);
  EXPECT_EQ(t.mean(), (n + 1) / 2.0);
  EXPECT_DOUBLE_EQ(t.variance(), (double{n} * n - 1) / 12);
  EXPECT_EQ(t.min(), 1);
  EXPECT_EQ(t.max(), n);
}

// Squares of values 10^12 times their spread keep 106 - 80 bits of the variance and more.
TEST(SummaryTotals, VarianceFarFromZero) {
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) values.push_back(1e12 + i % 2);
  EXPECT_NEAR(totals_of(values).variance(), 0.25, 0.25 * 0x1p-20);
  EXPECT_EQ(totals_of(values).mean(), 1e12 + 0.5);
}

TEST(SummaryTotals, SumsThatCancel) {
  const SummaryTotals t = totals_of({1e100, 1, -1e100, 1});
  EXPECT_EQ(t.mean(), 0.5);
}

TEST(SummaryTotals, SquaresThatOverflow) {
  const double x = 1e300;
  const SummaryTotals t = totals_of({x, -x, 1});
  EXPECT_NEAR(t.mean() / 0x1p-52, 1.0 / 3 / 0x1p-52, 1);
  EXPECT_EQ(t.variance(), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(t.valid());
  // In units in which it does not.
  SummaryTotals merged = totals_of({1, 2, 3});
  merged.merge(totals_of({0x1p505, -0x1p505}));
  EXPECT_DOUBLE_EQ(merged.variance(), 0x1p1010 * 2 / 5);
  EXPECT_EQ(merged.rows(), 5);
}

TEST(SummaryTotals, ConstantColumnHasNoVariance) {
  EXPECT_EQ(totals_of({0.1, 0.1, 0.1}).variance(), 0);
  EXPECT_EQ(totals_of({0.1, 0.1, 0.1}).mean(), 0.1);
}

TEST(SummaryTotals, WeightsAreRepetitions) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  std::vector<double> values;
  std::vector<double> weights;
  std::vector<double> repeated;
  for (int i = 0; i < 1000; ++i) {
    values.push_back(normal(random));
    weights.push_back(static_cast<double>(1 + random() % 5));
    repeated.insert(repeated.end(), static_cast<std::size_t>(weights.back()), values.back());
  }
  SummaryTotals weighted;
  weighted.add(values, weights);
  const SummaryTotals t = totals_of(repeated);
  EXPECT_EQ(weighted.rows(), t.rows());
  EXPECT_EQ(weighted.count(), 1000);
  EXPECT_DOUBLE_EQ(weighted.mean(), t.mean());
  EXPECT_DOUBLE_EQ(weighted.variance(), t.variance());
}

TEST(SummaryTotals, PartsAddUpToTheWhole) {
  std::mt19937_64 random(4);
  std::lognormal_distribution<double> lognormal(0, 3);
  std::vector<double> all;
  SummaryTotals merged;
  SummaryTotals from_moments;
  for (int part = 0; part < 20; ++part) {
    std::vector<double> values;
    for (int i = 0; i <= part * 10; ++i) values.push_back(lognormal(random));
    const SummaryTotals t = totals_of(values);
    merged.merge(t);
    from_moments.merge(t.rows(), t.count(), t.min(), t.max(), t.mean(), t.variance());
    all.insert(all.end(), values.begin(), values.end());
  }
  const SummaryTotals t = totals_of(all);
  EXPECT_DOUBLE_EQ(merged.mean(), t.mean());
  EXPECT_DOUBLE_EQ(merged.variance(), t.variance());
  // Rounded moments of parts: some units in the last place.
  EXPECT_NEAR(from_moments.mean(), t.mean(), 1e-15 * t.mean());
  EXPECT_NEAR(from_moments.variance(), t.variance(), 1e-14 * t.variance());
  EXPECT_EQ(from_moments.rows(), t.rows());
  EXPECT_EQ(from_moments.min(), t.min());
}

}  // namespace
}  // namespace kde
