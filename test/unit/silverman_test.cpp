// Moments and Silverman's rule. The expected bandwidths are R's stats::bw.nrd0, from
// test/golden/reference_data.R; both sides round differently, hence 1e-13 relative.
#include "core/select/rules_of_thumb.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "moments.h"
#include "reference_data.h"

namespace kde {
namespace {

std::vector<double> sorted(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x;
}

// n: rows of the whole sample of which x is a part.
double silverman(const std::vector<double>& x, std::int64_t n) {
  LineSummary line;
  EXPECT_TRUE(summarize_line(x, {}, &line).ok());
  line.n = n;
  return silverman_bandwidth(line);
}

void expect_nrd0(const std::vector<double>& x, double expected) {
  const double h = silverman(sorted(x), static_cast<std::int64_t>(x.size()));
  EXPECT_NEAR(h, expected, 1e-13 * expected);
}

TEST(Silverman, AgreesWithR) {
  namespace data = reference_data;
  expect_nrd0(data::eruptions, data::nrd0_eruptions);
  expect_nrd0(data::waiting, data::nrd0_waiting);
  expect_nrd0(data::quakes_lat, data::nrd0_quakes_lat);
  expect_nrd0(data::quakes_long, data::nrd0_quakes_long);
  expect_nrd0(data::quakes_depth, data::nrd0_quakes_depth);
  expect_nrd0(data::quakes_mag, data::nrd0_quakes_mag);
  expect_nrd0(data::iris_sepal_length, data::nrd0_iris_sepal_length);
  expect_nrd0(data::iris_sepal_width, data::nrd0_iris_sepal_width);
  expect_nrd0(data::iris_petal_length, data::nrd0_iris_petal_length);
  expect_nrd0(data::iris_petal_width, data::nrd0_iris_petal_width);
}

TEST(Silverman, UsesSigmaAloneWhereTheQuartilesCoincide) {
  const std::vector<double> x = {0, 1, 1, 1, 1, 1, 1, 2};
  EXPECT_NEAR(silverman(x, 8), 0.9 * std::sqrt(2.0 / 7) * std::pow(8.0, -0.2), 1e-15);
}

TEST(Silverman, ScalesWithTheSizeOfTheWholeSample) {
  const std::vector<double> x = sorted(reference_data::eruptions);
  EXPECT_NEAR(silverman(x, 272) / silverman(x, 272 * 32), 2, 1e-14);
}

TEST(Moments, OfASmallSample) {
  const Moments m = two_pass_moments(std::vector<double>{2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_DOUBLE_EQ(m.mean, 5);
  EXPECT_DOUBLE_EQ(m.sd, std::sqrt(32.0 / 7));
  EXPECT_EQ(two_pass_moments({}).sd, 0);
  EXPECT_EQ(two_pass_moments(std::vector<double>{3}).mean, 3);
  EXPECT_EQ(two_pass_moments(std::vector<double>{3}).sd, 0);
}

TEST(Moments, OfEqualValuesAreExact) {
  const Moments m = two_pass_moments(std::vector<double>(1000, 0.1));
  EXPECT_EQ(m.mean, 0.1);
  EXPECT_EQ(m.sd, 0);
}

// The values are whole numbers, so that adding 1e9 standard deviations' worth loses nothing and
// the standard deviation must not change beyond rounding.
TEST(Moments, SurviveAHugeOffset) {
  std::vector<double> x;
  for (int i = 0; i < 1000; ++i) x.push_back((i * 7919) % 1000);
  const double sd = two_pass_moments(x).sd;
  for (double& v : x) v += 0x1p40;
  const Moments m = two_pass_moments(x);
  EXPECT_NEAR(m.sd, sd, 1e-13 * sd);
  EXPECT_DOUBLE_EQ(m.mean, 0x1p40 + 499.5);
}

}  // namespace
}  // namespace kde
