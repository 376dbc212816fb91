// estimate/polya_tree.h against the rule written out for one halving, and at its limits: no
// evidence, overwhelming evidence, a right centre, a spike.
#include "core/estimate/polya_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/random.h"
#include "distinct.h"
#include "samples.h"

namespace kde {
namespace {

std::vector<double> polya_tree(const std::vector<double>& counts, const std::vector<double>& centre,
                               const PolyaTreeOptions& options) {
  std::vector<double> out;
  EXPECT_TRUE(kde::polya_tree(counts, centre, options, {}, &out).ok());
  return out;
}

TEST(LogGamma, IsTheLibrarys) {
  Random random(1);
  for (int i = 0; i < 200000; ++i) {
    const double x = std::exp(std::log(1e-6) + random.uniform() * std::log(1e13));
    const double expected = std::lgamma(x);
    ASSERT_NEAR(log_gamma(x), expected, 1e-11 * std::max(1.0, std::fabs(expected))) << x;
  }
  for (double x : {0.5, 1.0, 2.0, 10.0, std::nextafter(10.0, 0)})
    EXPECT_NEAR(log_gamma(x), std::lgamma(x), 1e-11) << x;
}

// Of two cells there is one halving, of n observations x on the left, where the centre has the
// share r (less the uniform part of a millionth). The posterior over the strengths, whose
// probabilities are the maximum a posteriori of a mixture with one observation, by EM.
double by_hand(double x, double n, double centre) {
  constexpr double kStrengths[] = {0, 8192, 2048, 512, 128, 32, 8, 2, 0.5};  // 0: infinity
  constexpr int kCount = 9;
  const double r = (1 - 1e-9) * centre + 0.5e-9;
  double likelihood[kCount], p[kCount], mean[kCount];
  for (int j = 0; j < kCount; ++j) {
    const double a = kStrengths[j] * r;
    const double b = kStrengths[j] * (1 - r);
    const double log_likelihood = j == 0 ? x * std::log(r) + (n - x) * std::log(1 - r)
                                         : std::lgamma(x + a) - std::lgamma(a) +
                                               std::lgamma(n - x + b) - std::lgamma(b) -
                                               std::lgamma(n + a + b) + std::lgamma(a + b);
    likelihood[j] = std::exp(log_likelihood);
    p[j] = 1.0 / kCount;
    mean[j] = j == 0 ? r : (x + a) / (n + a + b);
  }
  for (int i = 0; i < 12; ++i) {
    double evidence = 0, total = 0;
    for (int j = 0; j < kCount; ++j) evidence += p[j] * likelihood[j];
    for (int j = 0; j < kCount; ++j) {
      p[j] = (j == 0 ? 1.0 : 0.05) + p[j] * likelihood[j] / evidence;
      total += p[j];
    }
    for (double& q : p) q /= total;
  }
  double sum = 0, evidence = 0;
  for (int j = 0; j < kCount; ++j) {
    sum += p[j] * likelihood[j] * mean[j];
    evidence += p[j] * likelihood[j];
  }
  return sum / evidence;
}

TEST(PolyaTree, TwoCellsByHand) {
  for (double centre : {0.5, 0.1, 0.999}) {
    for (const auto& [left, right] : {std::pair{3.0, 5.0}, {0.0, 20.0}, {60.0, 40.0}, {1.0, 0.0}}) {
      for (int trees : {1, 5}) {  // every tree is the same
        const std::vector<double> out = polya_tree(
            std::vector{left, right}, std::vector{7 * centre, 7 * (1 - centre)}, {trees, 1});
        EXPECT_NEAR(out[0], by_hand(left, left + right, centre), 1e-9)
            << centre << ": " << left << " and " << right;
        EXPECT_NEAR(out[0] + out[1], 1, 1e-15);
      }
    }
  }
}

// A slowly varying shape and a jagged one.
std::vector<double> hill(std::size_t cells) {
  std::vector<double> out;
  for (std::size_t i = 0; i < cells; ++i) {
    const double z = 6 * (static_cast<double>(i) + 0.5) / static_cast<double>(cells) - 3;
    out.push_back(std::exp(-z * z / 2));
  }
  const double total = samples::total(out);
  for (double& x : out) x /= total;
  return out;
}

// Mean squared distance of the shares of ranges of all lengths.
double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  int ranges = 0;
  for (std::size_t length = 1; length < a.size(); length = 2 * length + 1) {
    for (std::size_t i = 0; i + length <= a.size(); i += length) {
      double d = 0;
      for (std::size_t k = i; k < i + length; ++k) d += a[k] - b[k];
      sum += d * d;
      ++ranges;
    }
  }
  return sum / ranges;
}

// But for the millionth that excludes nothing.
TEST(PolyaTree, WithoutObservationsTheCentre) {
  const std::vector<double> centre = hill(300);
  const std::vector<double> out = polya_tree(std::vector<double>(300, 0), centre, {});
  for (std::size_t i = 0; i < centre.size(); ++i) ASSERT_NEAR(out[i], centre[i], 1e-9);
  // Where no node with observations is divided, as well: half of it has none.
  std::vector<double> counts(300, 0);
  for (std::size_t i = 0; i < 150; ++i) counts[i] = 20;
  const std::vector<double> half = polya_tree(counts, centre, {1, 1});
  // One tree halves at 1/2: the empty side keeps the centre's proportions.
  for (std::size_t i = 150; i < 299; ++i)
    ASSERT_NEAR(half[i] / half[i + 1], centre[i] / centre[i + 1], 1e-3);
}

TEST(PolyaTree, AddsUpToOneWhateverTheCentre) {
  Random random(5);
  for (int k = 0; k < 50; ++k) {
    const std::size_t cells = 1 + random.below(500);
    std::vector<double> counts(cells, 0), centre(cells, 0);
    for (double& c : counts) c = random.below(3) == 0 ? std::floor(20 * random.uniform()) : 0;
    for (double& c : centre) c = random.below(2) == 0 ? 1e6 * random.uniform() : 0;
    counts[random.below(cells)] += 1;
    centre[random.below(cells)] += 1;
    const std::vector<double> out =
        polya_tree(counts, centre, {1 + static_cast<int>(random.below(8)), 1});
    ASSERT_EQ(out.size(), cells);
    EXPECT_NEAR(samples::total(out), 1, 1e-12);
    for (double s : out) ASSERT_TRUE(s >= 0);
  }
}

// The centre halves each node 30 : 70 of what the sample has. KL(1/2 || 0.3) = 0.087, so that a
// strength a costs exp(-0.087 a) on a node of many observations: those above 128 weigh less than
// exp(-11 + log(128)/2) of the small ones. A node of c observations with a <= 128 is at most
// 128/(c + 128) of its share off the sample; over the 6 levels of 64 cells, c = n/2^level, that is
// below 128 (2^6 - 1)/n of it, and the rest gives exp(-9) 6.
TEST(PolyaTree, ManyObservationsOutweighAWrongCentre) {
  constexpr double kRows = 64e6;
  std::vector<double> centre(64, 1), counts(64, kRows / 64);
  for (std::size_t i = 0; i < 64; ++i) {
    for (std::size_t level = 1; level < 64; level *= 2)
      centre[i] *= (i / level) % 2 == 0 ? 0.3 : 0.7;
  }
  const std::vector<double> out = polya_tree(counts, centre, {4, 1});
  for (double s : out) ASSERT_NEAR(64 * s, 1, 6 * std::exp(-9) + 128 * 63 / kRows);
}

// Each share is a mean of the centre's and the sample's, so the estimate is never far beyond the
// two; with a right centre it is far nearer to it than the sample is. Measured over these seeds:
// see the bound; a tree that followed the sample would have 1.
TEST(PolyaTree, ARightCentreIsKept) {
  const std::vector<double> centre = hill(512);
  for (int n : {200, 2000, 20000}) {
    double tree = 0, sample = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const std::vector<double> counts = samples::counts(centre, n, seed);
      std::vector<double> raw = counts;
      for (double& c : raw) c /= n;
      tree += distance(polya_tree(counts, centre, {}), centre);
      sample += distance(raw, centre);
    }
    EXPECT_LT(tree, 0.1 * sample) << n;
  }
}

// A tenth of the observations in one cell of a smooth rest: the cell has its share, the others
// theirs. The cell's share of the sample has the standard error sqrt(0.1 0.9/n) = 0.4 %.
TEST(PolyaTree, ASpikeIsFollowed) {
  constexpr int kRows = 5000;
  for (std::size_t spike : {std::size_t{100}, std::size_t{256}, std::size_t{400}}) {
    const std::vector<double> centre = hill(512);
    std::vector<double> truth = centre;
    for (double& s : truth) s *= 0.9;
    truth[spike] += 0.1;
    const std::vector<double> counts = samples::counts(truth, kRows, spike);
    std::vector<double> raw = counts;
    for (double& c : raw) c /= kRows;
    // Half the plain centre's smear away is the least that following it means.
    const std::vector<double> out = polya_tree(counts, centre, {8, 1});
    EXPECT_NEAR(out[spike], raw[spike], 0.1 * raw[spike]) << spike;
    EXPECT_LT(distance(out, truth), 0.5 * distance(raw, truth) + 1e-7) << spike;
    EXPECT_LT(distance(out, truth), 0.02 * distance(centre, truth)) << spike;
  }
}

// With `edge` the nodes that end where the line does follow the sample, whatever the centre says
// and however much it is right elsewhere: a centre whose outermost cells have three times their
// share. What is left of the centre is that of one node inside, which may lie across the step where
// the outermost cells end: here 4 % of the distance between the centre's share and the counts'.
TEST(PolyaTree, TheLinesEndsFollowTheCounts) {
  constexpr std::size_t kCells = 512, kOuter = 8;
  const std::vector<double> truth(kCells, 1.0 / kCells);
  std::vector<double> centre = truth, edge;
  for (std::size_t i = 0; i < kOuter; ++i) {
    centre[i] *= 3;
    centre[kCells - 1 - i] *= 3;
  }
  // A bandwidth of 16 cells, so that but for the ends no node of a few is wide.
  for (std::size_t i = 0; i <= kCells; ++i) edge.push_back(static_cast<double>(i) / 16);
  constexpr int kObservations = 8192;
  const std::vector<double> counts = samples::counts(truth, kObservations, 3);
  const auto outer = [](const std::vector<double>& share, bool high) {
    double sum = 0;
    for (std::size_t i = 0; i < kOuter; ++i) sum += share[high ? kCells - 1 - i : i];
    return sum;
  };
  PolyaTreeOptions options;
  options.trees = 1;
  options.edge = edge;
  const std::vector<double> out = polya_tree(counts, centre, options);
  for (const bool high : {false, true}) {
    const double seen = outer(counts, high) / kObservations;
    const double expected = outer(centre, high) / samples::total(centre);
    EXPECT_NEAR(outer(out, high), seen, 0.1 * std::fabs(expected - seen)) << high;
  }
  EXPECT_NEAR(samples::total(out), 1, 1e-12);
}

// As do nodes wider than kSmoothWidth bandwidths: where every node is, the shares are the sample's
// but for half an observation a halving.
TEST(PolyaTree, WideNodesFollowTheCounts) {
  const std::vector<double> counts = {400, 100, 300, 200};
  const std::vector<double> edge = {0, 10, 20, 30, 40};
  PolyaTreeOptions options;
  options.trees = 1;
  options.edge = edge;
  const std::vector<double> out = polya_tree(counts, std::vector<double>(4, 1), options);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(out[i], counts[i] / 1000, (0.25 / 500 + 0.25 / 1000) * 2) << i;
}

// Where so many observations count as one, the evidence is weaker by as much: as of so many fewer.
TEST(PolyaTree, EffectsWeakenTheEvidence) {
  Effects effect;
  std::fill(std::begin(effect), std::end(effect), 10.0F);
  PolyaTreeOptions by_block;
  by_block.effect = &effect;
  by_block.least_count = 10;
  const std::vector<double> centre = hill(64);
  std::vector<double> counts = samples::counts(std::vector<double>(64, 1.0 / 64), 3000, 2);
  std::vector<double> fewer = counts;
  for (double& c : fewer) c /= 10;
  const std::vector<double> out = polya_tree(counts, centre, by_block);
  const std::vector<double> expected = polya_tree(fewer, centre, {});
  for (std::size_t i = 0; i < 64; ++i) ASSERT_NEAR(out[i], expected[i], 1e-12);
}

// Nodes with fewer observations than asked are left to the centre.
TEST(PolyaTree, SmallNodesAreNotDivided) {
  const std::vector<double> centre = hill(64);
  const std::vector<double> counts = samples::counts(centre, 999, 4);
  const std::vector<double> out = polya_tree(counts, centre, {8, 1000});
  for (std::size_t i = 0; i < 64; ++i) ASSERT_NEAR(out[i], centre[i], 1e-9);
}

}  // namespace
}  // namespace kde
