// Gaussian sums over pairs: the engines against each other and against sums small enough to know.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "core/sums/gaussian_sums.h"

namespace kde {
namespace {

const Engine kReference{Engine::Kind::reference, 0, Precision::full};

std::unique_ptr<GaussianPairSums> make(const Engine& engine, const std::vector<double>& points,
                                       int d, const Control& control = {}) {
  std::unique_ptr<GaussianPairSums> sums;
  const Status made = make_gaussian_sums(engine, points, d, control, &sums);
  EXPECT_TRUE(made.ok()) << made.message;
  return sums;
}

TEST(GaussianReference, OfTwoPointsIsTheKernel) {
  // S = 3^2 + 4^2 = 25; h = 2: e = exp(-25/16).
  const auto sums = make(kReference, {1, 1, 4, 5}, 2);
  const double h = 2;
  GaussianSlopes slopes;
  ASSERT_TRUE(sums->sweep_slopes({&h, 1}, {&slopes, 1}).ok());
  EXPECT_NEAR(slopes.sums.once, std::exp(-25.0 / 16), 1e-15);
  EXPECT_NEAR(slopes.sums.twice, std::exp(-25.0 / 8), 1e-15);
  EXPECT_NEAR(slopes.once_s, 25 * std::exp(-25.0 / 16), 1e-14);
  EXPECT_NEAR(slopes.twice_s, 25 * std::exp(-25.0 / 8), 1e-14);

  // y = (3, 3 + 2*4)/5 = (0.6, 2.2): y'y = 5.2.
  GaussianSums whole;
  std::vector<double> scatter(4);
  ASSERT_TRUE(
      sums->full_scatter(std::vector<double>{0.2, 0, 0.2, 0.4}, 3, 5, &whole, scatter).ok());
  const double e = std::exp(-5.2 / 4);
  EXPECT_NEAR(whole.once, e, 1e-15);
  EXPECT_NEAR(whole.twice, e * e, 1e-15);
  const double weight = 3 * e + 5 * e * e;
  const double expected[] = {0.36 * weight, 1.32 * weight, 1.32 * weight, 4.84 * weight};
  for (int k = 0; k < 4; ++k) EXPECT_NEAR(scatter[k], expected[k], 1e-14);
}

}  // namespace
}  // namespace kde
