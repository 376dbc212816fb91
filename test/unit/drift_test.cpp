// The Kolmogorov-Smirnov test of a fresh sample against a stored density: its tail against tables,
// its level where nothing changed, its power where something did.
#include "core/integrate/drift.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "fitted.h"

namespace kde {
namespace {

Drift drift_of(const DensityView& density, const Sample& sample, double estimated_from) {
  Drift out;
  EXPECT_TRUE(drift(density, sample, estimated_from, &out).ok());
  return out;
}

using fitted::Fitted;
using fitted::kInf;
using fitted::kNan;
using fitted::sample_of;

// Box and Muller's.
std::vector<double> normals(int n, std::uint64_t seed, double shift = 0) {
  Random random(seed);
  std::vector<double> x;
  for (int i = 0; i < n; ++i)
    x.push_back(shift + std::sqrt(-2 * std::log(1 - random.uniform())) *
                            std::cos(2 * std::acos(-1.0) * random.uniform()));
  return x;
}

// A density that was estimated from the sample x of a far larger table.
Fitted fit_sample(const std::vector<double>& x, Method method = Method::automatic) {
  FitOptions options;
  options.method = method;
  options.rows_per_row_read = 1000;
  options.share_of_blocks = 1e-3;
  return fitted::fit(sample_of(x), options);
}

// Critical values of the limiting distribution: N. Smirnov, Ann. Math. Stat. 19 (1948), table I.
TEST(Drift, TailOfKolmogorovsDistribution) {
  EXPECT_NEAR(kolmogorov_q(1.2238), 0.10, 1e-4);
  EXPECT_NEAR(kolmogorov_q(1.3581), 0.05, 1e-4);
  EXPECT_NEAR(kolmogorov_q(1.6276), 0.01, 1e-5);
  EXPECT_EQ(kolmogorov_q(0), 1);
  EXPECT_NEAR(kolmogorov_q(0.2), 1, 1e-9);
  EXPECT_GT(kolmogorov_q(5), 0);
  EXPECT_LT(kolmogorov_q(5), 1e-20);
}

// Of 400 fresh samples of what the density knows exactly, 5 % have p below 0.05, give or take three
// standard deviations of a binomial count: the test is exact but for Stephens's correction.
TEST(Drift, LevelWhereEveryRowIsKnown) {
  // Every value of a lattice of 100,000 equally spaced points, once: uniform.
  std::vector<double> all;
  for (int i = 0; i < 100000; ++i) all.push_back(i);
  const Fitted density = fitted::fit(all);
  Random random(3);
  int rejected = 0;
  for (int t = 0; t < 400; ++t) {
    std::vector<double> fresh;
    for (int i = 0; i < 500; ++i) fresh.push_back(static_cast<double>(random.below(100000)));
    const Drift d =
        drift_of(density.view(), sample_of(fresh), std::numeric_limits<double>::infinity());
    rejected += d.p_value < 0.05;
  }
  const double spread = 3 * std::sqrt(400 * 0.05 * 0.95);
  EXPECT_LE(rejected, 20 + spread);
  EXPECT_GE(rejected, 20 - spread);
}

// A density from a sample is itself uncertain: without `estimated_from` twice as many samples would
// be found to differ as should.
TEST(Drift, LevelWhereTheDensityIsASample) {
  int rejected = 0;
  constexpr int kTrials = 200;  // each of 400 kernel sums
  for (int t = 0; t < kTrials; ++t) {
    const Fitted density = fit_sample(normals(200, 1000 + t), Method::silverman);
    const double behind = rows_behind(density.view().header());
    EXPECT_NEAR(behind, 200 / (1 - 1e-3), 1e-3);
    const Drift d = drift_of(density.view(), sample_of(normals(200, 5000 + t)), behind);
    rejected += d.p_value < 0.05;
  }
  EXPECT_LE(rejected, 0.05 * kTrials + 3 * std::sqrt(kTrials * 0.05 * 0.95));
}

TEST(Drift, FindsWhatChanged) {
  const Fitted density = fit_sample(normals(10000, 1));
  const double behind = rows_behind(density.view().header());
  // A shift of 0.3 standard deviations moves the distribution function by up to 0.119.
  const Drift shifted = drift_of(density.view(), sample_of(normals(2000, 2, 0.3)), behind);
  EXPECT_NEAR(shifted.distance, 0.119, 0.04);
  EXPECT_LT(shifted.p_value, 1e-9);
  const Drift same = drift_of(density.view(), sample_of(normals(2000, 3)), behind);
  EXPECT_GT(same.p_value, 0.001);
  // Rows in blocks that say no more than a hundredth of as many.
  auto blocks = sample_of(normals(2000, 2, 0.3));
  blocks.blocks.effect[0][0] = 100;
  EXPECT_GT(drift_of(density.view(), blocks, behind).p_value, 0.01);
}

// Few values: distances are at the jumps and before them, and p-values err upwards.
TEST(Drift, RepeatedValues) {
  std::vector<double> x, moved;
  for (int i = 0; i < 4000; ++i) {
    x.push_back(i % 4);
    moved.push_back(i % 8 == 0 ? 3 : i % 4);
  }
  const Fitted density = fitted::fit(x);
  const double everything = std::numeric_limits<double>::infinity();
  EXPECT_NEAR(drift_of(density.view(), sample_of(x), everything).distance, 0, 1e-6);
  EXPECT_NEAR(drift_of(density.view(), sample_of(moved), everything).distance, 0.125, 1e-6);
  EXPECT_LT(drift_of(density.view(), sample_of(moved), everything).p_value, 1e-9);
}

TEST(Drift, InfinitiesAndNaNCount) {
  std::vector<double> x = normals(1000, 4);
  const Fitted density = fitted::fit(x);
  const double everything = std::numeric_limits<double>::infinity();
  for (const double odd : {-kInf, kInf, kNan}) {
    std::vector<double> fresh = x;
    for (int i = 0; i < 1000; ++i) fresh.push_back(odd);
    const Drift d = drift_of(density.view(), sample_of(fresh), everything);
    EXPECT_NEAR(d.distance, 0.5, 1e-3) << odd;
    EXPECT_LT(d.p_value, 1e-9);
    const Drift all = drift_of(density.view(), sample_of({odd, odd}), everything);
    EXPECT_NEAR(all.distance, 1, 1e-6);
  }
  // What the density has and the fresh sample has too is no drift.
  std::vector<double> with = x;
  for (const double odd : {-kInf, kInf, kNan})
    for (int i = 0; i < 100; ++i) with.push_back(odd);
  EXPECT_NEAR(drift_of(fitted::fit(with).view(), sample_of(with), everything).distance, 0, 2e-3);
}

}  // namespace
}  // namespace kde
