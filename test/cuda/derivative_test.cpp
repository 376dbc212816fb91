// Derivative sums of the cards at every size from two values on, within the bounds of checks.h.
#include <gtest/gtest.h>

#include "checks.h"

namespace kde {
namespace {

// About the bandwidth at which a value has some neighbours, then far below and far above it.
constexpr double kFactors[] = {0.4, 1, 3, 0.02, 60};

void expect_size(int n) {
  const std::vector<double> x = samples::mix(n);
  const auto sample = load(x);
  double most = 0;
  for (const double factor : kFactors) {
    const double neighbours = expect_derivatives(*sample, x, factor * normal_reference(x, 1));
    if (factor <= 3) most = std::max(most, neighbours);
  }
  // So that the terms are more than the n in the bound.
  if (n >= 300) {
    EXPECT_GT(most, 10) << n;
  }
}

TEST(CudaDerivative, EverySizeAroundTheTiles) {
  for (const int n : {2,   3,   31,  32,  33,   63,   64,   65,   127,  128,  129, 300,
                      500, 511, 512, 513, 1000, 1023, 1024, 1025, 2047, 4095, 4096})
    expect_size(n);
}

TEST(CudaDerivative, ManyValues) {
  for (const int n : {20000, 32768, 100001}) {
    const std::vector<double> x = samples::mix(n);
    for (const double g : {0.05, 0.4}) EXPECT_GT(expect_derivatives(x, g), 10);
  }
}

TEST(CudaDerivative, HardValues) {
  expect_derivatives(samples::cauchy(5000, 1), 0.3);
  expect_derivatives(samples::cauchy(5000, 1), 300);
  expect_derivatives(samples::lognormal(5000, 2), 0.05);
  std::vector<double> x = samples::normal(3000, 3);
  x[17] = 1e9;
  x[18] = -1e12;
  expect_derivatives(x, 0.2);
  for (double& v : x) v = std::round(v);
  expect_derivatives(x, 0.2);
  for (double& v : x) v += 1e9;
  expect_derivatives(x, 0.2);
  expect_derivatives(std::vector<double>(700, 3.5), 0.2);
}

TEST(CudaDerivative, UnsortedValuesGiveTheBitsOfSortedOnes) {
  for (const int n : {700, 3000}) {  // sorted by the processor, and by the card
    const std::vector<double> x = shuffled(samples::mix(n));
    expect_derivatives(x, 0.2);
    std::vector<double> sorted = x;
    std::sort(sorted.begin(), sorted.end());
    for (const Precision precision : kPrecisions) {
      double one = 0, other = 0;
      ASSERT_TRUE(load(x)->derivative(6, 0.2, precision, {}, &one).ok());
      ASSERT_TRUE(load(sorted)->derivative(6, 0.2, precision, {}, &other).ok());
      EXPECT_EQ(one, other);
    }
  }
}

TEST(CudaDerivative, BandwidthsBeyondTheCoordinatesAreLeftToAnotherEngine) {
  const auto sample = load({0, 1});
  double sum = 0;
  EXPECT_EQ(sample->derivative(4, 1e-18, Precision::single, {}, &sum).code, Code::too_large);
  EXPECT_TRUE(sample->derivative(4, 1e-18, Precision::full, {}, &sum).ok());
  EXPECT_NEAR(sum, 0, 1e-12);
  EXPECT_EQ(sample->derivative(3, 1, Precision::full, {}, &sum).code, Code::invalid_argument);
  EXPECT_EQ(sample->derivative(4, 0, Precision::full, {}, &sum).code, Code::invalid_argument);
}

// Runs of four that share their terms (cuda/derivative.h), in so few bandwidths that no term's
// error is hidden by others: three values at one end of a run and one at the other, the other way
// round in the upper half, or two at each end. The first widths are just narrow enough for r = 6,
// 4, 2 and 0. With the mean alone in place of the four, the fourth would be out of bounds; with
// them merged without regard to the bandwidth, the last.
TEST(CudaDerivative, NeighboursThatShareTheirTerms) {
  constexpr std::size_t kValues = 2100;
  for (const double width : {0.0027, 0.0035, 0.0044, 0.0064, 0.4}) {
    for (const std::size_t low : {1U, 2U, 3U}) {
      std::vector<double> x;
      for (std::size_t i = 0; i < kValues; ++i) {
        const std::size_t at_low = i < kValues / 2 ? low : 4 - low;
        x.push_back((1.1 * width + 0.0005) * static_cast<double>(i / 4) +
                    (i % 4 < at_low ? 0 : width));
      }
      EXPECT_GT(expect_derivatives(x, 1), 10) << width;
    }
  }
}

// Groups whose distance in bandwidths is more than single precision holds digits for. 40 values of
// 3,000, sorted, end a strip of 128 that the other group begins.
TEST(CudaDerivative, FarGroupsWithinOneStrip) {
  for (const double gap : {1e6, 1e8}) {
    for (const double side : {-1.0, 1.0}) {
      std::vector<double> x = samples::normal(3000, 4);
      for (std::size_t i = 2960; i < 3000; ++i) x[i] += side * gap;
      std::sort(x.begin(), x.end());
      EXPECT_GT(expect_derivatives(x, 0.2), 10) << gap;
    }
  }
}

// The far group alone, so that the near one does not hide what becomes of it: as many again, in
// strips that both groups share.
TEST(CudaDerivative, ManyFarGroups) {
  std::vector<double> x = samples::normal(3000, 4);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += static_cast<double>(i / 75) * 1e8;
  std::sort(x.begin(), x.end());
  EXPECT_GT(expect_derivatives(x, 0.7), 10);
}

// Times in microseconds of a day, some of them of another date.
TEST(CudaDerivative, TimesOfTwoDates) {
  std::vector<double> x = samples::normal(8192, 5);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 3e5 * x[i] + (i % 100 == 0 ? 2.5e11 : 0);
  std::sort(x.begin(), x.end());
  EXPECT_GT(expect_derivatives(x, 3e3), 10);
}

}  // namespace
}  // namespace kde
