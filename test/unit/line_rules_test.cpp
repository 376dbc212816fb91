// The summary of a sample on the line, the normal rules and smoothed cross-validation, against R:
// test/golden/line_bandwidths.R.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "core/select/line_summary.h"
#include "moments.h"
#include "core/select/rules_of_thumb.h"
#include "core/select/smoothed_cv.h"
#include "core/sums/spectral.h"
#include "core/sums/pair_sums.h"
#include "reference_data.h"
#include "samples.h"

namespace kde {
namespace {

namespace data = reference_data;

LineSummary summary_of(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  LineSummary line;
  const Status status = summarize_line(x, {}, &line);
  EXPECT_TRUE(status.ok()) << status.message;
  return line;
}

SmoothedCv scv_of(const std::vector<double>& x) {
  std::unique_ptr<PairSums> sums;
  EXPECT_TRUE(make_spectral_sums(x, {}, {}, &sums).ok());
  SmoothedCv out;
  const Status status = select_smoothed_cv(*sums, summary_of(x), &out);
  EXPECT_TRUE(status.ok()) << status.message;
  return out;
}

void expect_relative(double actual, double expected, double tolerance) {
  EXPECT_NEAR(actual, expected, tolerance * std::fabs(expected));
}

TEST(LineSummary, WeightsAreRepetitions) {
  const std::vector<double> x = {-3, 1, 1.5, 4, 7};
  const std::vector<double> weights = {2, 5, 1, 3, 1};
  const std::vector<double> written_out = {-3, -3, 1, 1, 1, 1, 1, 1.5, 4, 4, 4, 7};
  LineSummary line;
  ASSERT_TRUE(summarize_line(x, weights, &line).ok());
  EXPECT_EQ(line.n, 12);
  EXPECT_NEAR(line.sigma, two_pass_moments(written_out).sd, 1e-14);
  // R's quantile(type = 7): 0-based ranks 2.75 and 8.25.
  EXPECT_NEAR(line.iqr, 4 - 1, 1e-14);
  EXPECT_EQ(line.tied_pairs, 1 + 10 + 3);
  const LineSummary plain = summary_of(written_out);
  EXPECT_EQ(plain.iqr, line.iqr);
  EXPECT_EQ(plain.tied_pairs, line.tied_pairs);
}

TEST(LineSummary, RefusesWhatHasNoSpread) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  LineSummary line;
  const auto code = [&](const std::vector<double>& x, const std::vector<double>& weights = {}) {
    return summarize_line(x, weights, &line).code;
  };
  EXPECT_EQ(code({1}), Code::invalid_argument);
  EXPECT_EQ(code({2, 1}), Code::invalid_argument);
  EXPECT_EQ(code({1, nan, 2}), Code::invalid_argument);
  EXPECT_EQ(code({1, 2}, {1}), Code::invalid_argument);
  EXPECT_EQ(code({1, 2}, {1, -1}), Code::invalid_argument);
  EXPECT_EQ(code({1, 2}, {0.5, 0.5}), Code::invalid_argument);
  EXPECT_EQ(code({3, 3, 3}), Code::degenerate);
  EXPECT_EQ(code({-1e308, 1e308}), Code::degenerate);
}

TEST(NormalReference, GivesRsValues) {
  expect_relative(normal_reference_bandwidth(summary_of(data::eruptions)), 0.394292951702, 1e-11);
  expect_relative(normal_reference_bandwidth(summary_of(data::waiting)), 4.69645817588, 1e-11);
  expect_relative(normal_reference_bandwidth(summary_of(data::quakes_lat)), 1.15892628869, 1e-11);
  expect_relative(normal_reference_bandwidth(summary_of(data::quakes_long)), 0.711351241067, 1e-11);
  expect_relative(normal_reference_bandwidth(summary_of(data::quakes_depth)), 57.3884734584, 1e-11);
  expect_relative(normal_reference_bandwidth(summary_of(data::quakes_mag)), 0.107242315815, 1e-11);
  expect_relative(normal_reference_bandwidth(summary_of(data::iris_sepal_length)), 0.322220104124,
                  1e-11);
  expect_relative(normal_reference_bandwidth(summary_of(data::iris_sepal_width)), 0.145195387269,
                  1e-11);
  expect_relative(normal_reference_bandwidth(summary_of(data::iris_petal_length)), 0.686919270469,
                  1e-11);
  expect_relative(normal_reference_bandwidth(summary_of(data::iris_petal_width)), 0.296604694675,
                  1e-11);
}

// By hand: 0, 1 repeated four times each: sigma^2 = 8/4/7, quartiles 0 and 1.
TEST(NormalReference, ByHand) {
  const LineSummary line = summary_of({0, 0, 0, 0, 1, 1, 1, 1});
  const double sigma = std::sqrt(2.0 / 7);
  expect_relative(scott_bandwidth(line), sigma * std::pow(8, -0.2), 1e-14);
  expect_relative(normal_reference_bandwidth(line), 1.06 * sigma * std::pow(8, -0.2), 1e-14);
}

// Where more than half of the values are equal R's rule gives 0; sigma gives something to go by.
TEST(NormalReference, OfAnIqrOfZero) {
  const LineSummary line = summary_of({0, 0, 0, 0, 0, 0, 0, 9});
  EXPECT_EQ(line.iqr, 0);
  expect_relative(normal_reference_bandwidth(line), 1.06 * line.sigma * std::pow(8, -0.2), 1e-14);
}

// R's search compares values of the criterion, which are flat to rounding within 1e-7 of its
// minimum and carry the error of its sums; this one follows the slope.
TEST(SmoothedCv, GivesTheReferenceValues) {
  expect_relative(scv_of(data::eruptions).h, 0.1591983649, 1e-6);
  expect_relative(scv_of(data::waiting).h, 2.579024743, 1e-6);
  expect_relative(scv_of(data::quakes_lat).h, 1.126142802, 1e-6);
  expect_relative(scv_of(data::quakes_long).h, 0.5262353527, 1e-6);
  expect_relative(scv_of(data::quakes_depth).h, 19.30964461, 1e-6);
  expect_relative(scv_of(data::quakes_mag).h, 0.09187261938, 1e-6);
  expect_relative(scv_of(data::iris_sepal_length).h, 0.3134242161, 1e-6);
  expect_relative(scv_of(data::iris_sepal_width).h, 0.1510339951, 1e-6);
  expect_relative(scv_of(data::iris_petal_length).h, 0.2827847222, 1e-6);
  expect_relative(scv_of(data::iris_petal_width).h, 0.1297831303, 1e-6);
}

TEST(SmoothedCv, FollowsScaleAndOffset) {
  std::vector<double> moved;
  for (const double v : data::quakes_lat) moved.push_back(-3e5 * v + 1e6);
  expect_relative(scv_of(moved).h, 3e5 * scv_of(data::quakes_lat).h, 1e-8);
}

// The search ends within 1e-10 of where the slope's sign changes; the slope's terms cancel to some
// 1e-3 of the largest, and the sums are right to some 1e-12.
TEST(SmoothedCv, IsTheSameOnExactSums) {
  for (const std::vector<double>& x : {samples::mix(700), samples::lognormal(700, 21)}) {
    const double h = scv_of(x).h;
    for (const Engine::Kind kind : {Engine::Kind::reference, Engine::Kind::simd}) {
      std::unique_ptr<PairSums> exact;
      ASSERT_TRUE(make_pair_sums({kind, 0, Precision::full}, x, {}, &exact).ok());
      SmoothedCv out;
      ASSERT_TRUE(select_smoothed_cv(*exact, summary_of(x), &out).ok());
      expect_relative(out.h, h, 1e-8);
    }
  }
}

class NoSums : public PairSums {
 public:
  Status derivative(int, double, double*) override {
    return Status::error(Code::too_large, "no sums");
  }
};

TEST(SmoothedCv, ReportsWhatTheSumsReport) {
  NoSums sums;
  SmoothedCv out;
  EXPECT_EQ(select_smoothed_cv(sums, summary_of(data::eruptions), &out).code, Code::too_large);
}

}  // namespace
}  // namespace kde
