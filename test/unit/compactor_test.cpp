// The compactor keeps weights, sums and ranks within what compactor.h promises.
#include "core/random.h"
#include "core/sampling/compactor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

#include "samples.h"

namespace kde {
namespace {

struct Kept {
  std::vector<WeightedValue> values;
  double rank_error;
};

Kept keep(const std::vector<double>& stream, std::size_t capacity) {
  Compactor c(capacity);
  for (double x : stream) c.add(x);
  return {c.sorted(), c.rank_error()};
}

double weight_of(const std::vector<WeightedValue>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0,
                         [](double s, const WeightedValue& v) { return s + v.weight; });
}

// The largest difference of the two distribution functions, at every step of either: between
// steps both are constant.
double distance(std::vector<double> stream, const std::vector<WeightedValue>& kept) {
  std::sort(stream.begin(), stream.end());
  const double n = static_cast<double>(stream.size());
  double worst = 0;
  std::size_t i = 0;
  std::size_t k = 0;
  double below = 0;
  while (i < stream.size() || k < kept.size()) {
    const double t = std::min(i < stream.size() ? stream[i] : HUGE_VAL,
                              k < kept.size() ? kept[k].value : HUGE_VAL);
    while (i < stream.size() && stream[i] <= t) ++i;
    while (k < kept.size() && kept[k].value <= t) below += kept[k++].weight;
    worst = std::max(worst, std::fabs(static_cast<double>(i) - below) / n);
  }
  return worst;
}

TEST(Compactor, KeepsEverythingBelowItsCapacity) {
  const std::vector<double> x = samples::normal(63, 1);
  const Kept kept = keep(x, 64);
  std::vector<double> sorted = x;
  std::sort(sorted.begin(), sorted.end());
  ASSERT_EQ(kept.values.size(), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(kept.values[i].value, sorted[i]);
    EXPECT_EQ(kept.values[i].weight, 1);
  }
  EXPECT_EQ(kept.rank_error, 0);
  EXPECT_TRUE(keep({}, 64).values.empty());
}

TEST(Compactor, RankErrorValuesAndWeightsOfManyStreams) {
  constexpr int kRows = 20011;
  std::vector<std::vector<double>> streams = {samples::normal(kRows, 2), samples::cauchy(kRows, 3)};
  streams.push_back(streams[0]);
  std::sort(streams.back().begin(), streams.back().end());
  streams.push_back(streams.back());
  std::reverse(streams.back().begin(), streams.back().end());
  std::vector<double> two;
  for (int i = 0; i < kRows; ++i) two.push_back(i % 3 == 0 ? 1 : 0);
  streams.push_back(two);
  for (std::size_t s = 0; s < streams.size(); ++s) {
    for (std::size_t capacity : {2, 6, 64, 1024}) {
      SCOPED_TRACE(testing::Message() << "stream " << s << ", capacity " << capacity);
      const Kept kept = keep(streams[s], capacity);
      EXPECT_EQ(weight_of(kept.values), kRows);
      EXPECT_TRUE(std::is_sorted(kept.values.begin(), kept.values.end(),
                                 [](auto& a, auto& b) { return a.value < b.value; }));
      const double levels = std::log2(kRows) + 1;
      EXPECT_LE(static_cast<double>(kept.values.size()), levels * static_cast<double>(capacity));
      EXPECT_LE(distance(streams[s], kept.values), kept.rank_error + 1e-12);
      // Only values of the stream are kept; and as the sum is the integral of x dF, it is off by at
      // most the largest difference of the distribution functions times the range.
      std::vector<double> all = streams[s];
      std::sort(all.begin(), all.end());
      long double of_kept = 0;
      for (const WeightedValue& v : kept.values) {
        EXPECT_TRUE(std::binary_search(all.begin(), all.end(), v.value)) << v.value;
        of_kept += static_cast<long double>(v.weight) * v.value;
      }
      const long double sum = std::accumulate(all.begin(), all.end(), 0.0L);
      EXPECT_LE(std::fabs(static_cast<double>(of_kept - sum)),
                kept.rank_error * kRows * (all.back() - all.front()) * (1 + 1e-12));
    }
  }
}

// Pairs take turns, so their errors cancel. In a shuffled 0 .. n-1 with c values a level a pair's
// gap is about n/c = 64: were one side always taken, each of the seven levels that merge would move
// the mean by half of it, 224 in all. Taking turns must not move it by as much as two such levels.
TEST(Compactor, TurnsKeepTheSum) {
  constexpr std::size_t kRows = 1 << 16;
  constexpr std::size_t kCapacity = 1 << 10;
  std::vector<double> x(kRows);
  std::iota(x.begin(), x.end(), 0.0);
  Random random(5);
  for (std::size_t i = kRows - 1; i > 0; --i) std::swap(x[i], x[random.below(i + 1)]);
  long double of_kept = 0;
  for (const WeightedValue& v : keep(x, kCapacity).values)
    of_kept += static_cast<long double>(v.weight) * v.value;
  EXPECT_NEAR(static_cast<double>(of_kept) / kRows, (kRows - 1) / 2.0, 64);
}

// Each merge of c values with an odd number of them below t takes one value across t, so the
// bound is attained: (levels - 1)/c, every level erring the same way.
TEST(Compactor, RankErrorBoundIsAttained) {
  const Kept once = keep({0, 10}, 2);
  EXPECT_DOUBLE_EQ(distance({0, 10}, once.values), 0.5);
  EXPECT_GE(once.rank_error, 0.5);
  // 4 values of which 3 lie below 7.5: one of the upper pair (0, 10) goes up, which moves
  // one value across every t between.
  const std::vector<double> four = {0, 0, 0, 10};
  const Kept kept = keep(four, 4);
  EXPECT_DOUBLE_EQ(distance(four, kept.values), 0.25);
  EXPECT_GE(kept.rank_error, 0.25);
}

TEST(Compactor, EqualValuesAndTheLargestStayExact) {
  const double big = std::numeric_limits<double>::max();
  for (double v : {0.1, big, -big, std::numeric_limits<double>::denorm_min()}) {
    const Kept kept = keep(std::vector<double>(1000, v), 8);
    for (const WeightedValue& w : kept.values) EXPECT_EQ(w.value, v);
  }
  for (const WeightedValue& w : keep(std::vector<double>{big, big / 2, -big, -big / 4}, 2).values)
    EXPECT_TRUE(std::isfinite(w.value));
}

}  // namespace
}  // namespace kde
