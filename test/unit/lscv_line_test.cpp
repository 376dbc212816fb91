// LSCV_h of a line, over the spectral sums of its values as they are: against published values, the
// formula over all pairs, and samples whose criterion has two minima, ties, or none.
#include "core/select/lscv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <vector>

#include "core/sums/gaussian_sums.h"
#include "core/sums/spectral.h"
#include "reference_data.h"
#include "samples.h"

namespace kde {
namespace {

namespace data = reference_data;

struct Prepared {
  LineSummary line;
  std::unique_ptr<PairSums> pairs;
  std::unique_ptr<GaussianPairSums> sums;
};

Prepared prepare(std::vector<double> x, const Control& control = {}) {
  Prepared p;
  std::sort(x.begin(), x.end());
  EXPECT_TRUE(summarize_line(x, {}, &p.line).ok());
  EXPECT_TRUE(make_spectral_sums(x, {}, control, &p.pairs).ok());
  EXPECT_TRUE(make_line_gaussian_sums(*p.pairs, &p.sums).ok());
  return p;
}

Status select(const Prepared& p, LscvDivisor divisor, LscvScalar* out) {
  return select_lscv_h(*p.sums, lscv_sample(p.line), divisor, LscvSearch::refined, out);
}

LscvScalar select(const std::vector<double>& x, LscvDivisor divisor = LscvDivisor::n_squared) {
  const Prepared p = prepare(x);
  LscvScalar result;
  const Status status = select(p, divisor, &result);
  EXPECT_TRUE(status.ok()) << status.message;
  return result;
}

// g(h) by the formula, over all pairs.
double by_pairs(const std::vector<double>& x, double sigma, bool leave_one_out, double h) {
  const double n = static_cast<double>(x.size());
  const double m = leave_one_out ? n - 1 : n;
  const double c4 = 1 / std::sqrt(4 * std::numbers::pi);
  const double c2 = 1 / std::sqrt(2 * std::numbers::pi);
  double once = 0;
  double twice = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = i + 1; j < x.size(); ++j) {
      const double s = (x[i] - x[j]) * (x[i] - x[j]) / (sigma * sigma);
      once += std::exp(-s / (4 * h * h));
      twice += std::exp(-s / (2 * h * h));
    }
  }
  return (c4 / n + 2 * c4 * once / (n * n) - 4 * c2 * twice / (n * m)) / (sigma * h);
}

void expect_relative(double actual, double expected, double tolerance) {
  EXPECT_NEAR(actual, expected, tolerance * std::fabs(expected));
}

// The published values have ten digits.
TEST(LscvLine, GivesTheReferenceValues) {
  const LscvScalar mix = select(samples::mix(1024));
  EXPECT_EQ(mix.end, LscvEnd::converged);
  expect_relative(mix.h, 0.12832246903, 1e-9);
  expect_relative(mix.objective, -0.19307339839, 1e-9);

  // Both have more ties than g can bear: these are its minima in the interior.
  const LscvScalar eruptions = select(data::eruptions);
  EXPECT_EQ(eruptions.end, LscvEnd::tied_values);
  expect_relative(eruptions.h, 0.09040316648, 1e-9);
  expect_relative(eruptions.objective, -0.42534644905, 1e-9);
  const LscvScalar waiting = select(data::waiting);
  EXPECT_EQ(waiting.end, LscvEnd::tied_values);
  expect_relative(waiting.h, 0.19552986733, 1e-9);
  expect_relative(waiting.objective, -0.02500639381, 1e-9);

  expect_relative(select(data::eruptions, LscvDivisor::leave_one_out).h, 0.08991523645, 1e-9);
}

// The sums are right to some 1e-14 of the largest, which is the first where h is small.
TEST(LscvLine, ObjectiveIsTheFormula) {
  const std::vector<double> x = samples::lognormal(200, 12);
  const Prepared p = prepare(x);
  for (const bool leave_one_out : {false, true}) {
    const LscvDivisor divisor = leave_one_out ? LscvDivisor::leave_one_out : LscvDivisor::n_squared;
    for (const double h : {0.003, 0.02, 0.1, 0.4, 1.5}) {
      double g = 0;
      double slope = 0;
      ASSERT_TRUE(lscv_h_objective(*p.sums, lscv_sample(p.line), divisor, h, &g, &slope).ok());
      const double scale = 0.3 / (200 * h * p.line.sigma) + std::fabs(g);
      EXPECT_NEAR(g, by_pairs(x, p.line.sigma, leave_one_out, h), 1e-11 * scale);
      // Central difference: error d^2/6 times the third derivative in log h, of the order of scale,
      // and the formula's rounding over d.
      const double d = 1e-4;
      const double difference = (by_pairs(x, p.line.sigma, leave_one_out, h * std::exp(d)) -
                                 by_pairs(x, p.line.sigma, leave_one_out, h * std::exp(-d))) /
                                (2 * d);
      EXPECT_NEAR(slope, difference, 1e-6 * scale);
    }
  }
}

// 40 pairs of near points, spread over a far wider normal: a minimum at the distance within the
// pairs, which is the lower the nearer they are, and one at the width of the whole.
TEST(LscvLine, TakesTheLowerOfTwoMinima) {
  for (const double within : {0.01, 0.02, 0.03}) {
    const std::vector<double> centres = samples::normal(40, 13);
    const std::vector<double> offsets = samples::normal(80, 14);
    std::vector<double> x;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      x.push_back(centres[i % 40] + within * offsets[i]);
    }
    const LscvScalar found = select(x);
    EXPECT_EQ(found.end, LscvEnd::converged);
    EXPECT_EQ(found.minima, 2);
    // No bandwidth of a fine grid is better.
    const double sigma = prepare(x).line.sigma;
    const double h0 = std::pow(4.0 / (3 * 80), 0.2);
    for (int k = 0; k <= 2000; ++k) {
      const double h = 4 * h0 * std::exp2(-7.5 * k / 2000);
      EXPECT_GE(by_pairs(x, sigma, false, h), found.objective - 1e-12) << h;
    }
  }
}

TEST(LscvLine, DoesNotDependOnScaleOffsetOrOrder) {
  std::vector<double> x;
  for (double v : samples::mix(800)) x.push_back(std::round(v * 0x1p20) / 0x1p20);
  const double h = select(x).h;
  std::vector<double> moved;
  for (double v : x) moved.push_back(-8 * v + 1024);
  expect_relative(select(moved).h, h, 1e-9);
  std::reverse(x.begin(), x.end());
  EXPECT_EQ(select(x).h, h);
}

TEST(LscvLine, DoesNotDependOnThreads) {
  const std::vector<double> x = samples::cauchy(40'000, 15);
  Control control;
  control.threads = 3;
  const Prepared p = prepare(x, control);
  LscvScalar result;
  ASSERT_TRUE(select(p, LscvDivisor::n_squared, &result).ok());
  EXPECT_EQ(result.h, select(x).h);
}

// D/n > 1/(4 sqrt(2) - 2), in the limit of small h, for both divisors; just above and just below.
TEST(LscvLine, KnowsTheBoundOfTies) {
  const int n = 2000;
  const std::vector<double> normal = samples::normal(n, 16);
  for (const int pairs : {546, 548}) {  // 0.27345 n = 546.9
    std::vector<double> x = normal;
    for (int i = 0; i < pairs; ++i)
      x[static_cast<std::size_t>(n - 1 - i)] = x[static_cast<std::size_t>(i)];
    const LscvScalar found = select(x);
    EXPECT_EQ(found.end == LscvEnd::tied_values, pairs == 548) << pairs;
    EXPECT_GT(found.h, 0);
  }
}

TEST(LscvLine, HasNoMinimumWhereTiesOverwhelm) {
  std::vector<double> x(90, 0.0);
  for (const double v : samples::normal(10, 17)) x.push_back(v);
  const Prepared p = prepare(x);
  LscvScalar result;
  const Status status = select(p, LscvDivisor::n_squared, &result);
  EXPECT_EQ(status.code, Code::degenerate) << result.h;
}

// Every value has a neighbour so near that no bandwidth searched tells them apart: g falls as with
// ties, but to the end of the search only.
TEST(LscvLine, SaysThatTheLowestIsAtTheEnd) {
  std::vector<double> x;
  for (const double v : samples::normal(200, 18)) {
    x.push_back(v);
    x.push_back(v + 1e-9);
  }
  const Prepared p = prepare(x);
  const double low = std::pow(4.0 / (3 * 400), 0.2) / 64 * p.line.robust_scale(1.34) / p.line.sigma;
  const LscvScalar found = select(x);
  EXPECT_EQ(found.end, LscvEnd::at_bound);
  expect_relative(found.h, low, 1e-14);
}

TEST(LscvLine, OfTwoPoints) {
  const Prepared p = prepare({0, 1});
  LscvScalar result;
  const Status status = select(p, LscvDivisor::n_squared, &result);
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_GT(result.h, 0);
  EXPECT_EQ(result.tie_bound * 2, 1 / (2 * std::sqrt(2.0) - 1));
}

class NoSums : public PairSums {
 public:
  Status derivative(int, double, double*) override {
    return Status::error(Code::invalid_argument, "no sums");
  }
};

TEST(LscvLine, ReportsWhatTheSumsReport) {
  const std::vector<double> x = {1, 2, 4};
  Prepared p;
  ASSERT_TRUE(summarize_line(x, {}, &p.line).ok());
  p.pairs = std::make_unique<NoSums>();
  ASSERT_TRUE(make_line_gaussian_sums(*p.pairs, &p.sums).ok());
  LscvScalar result;
  EXPECT_EQ(select(p, LscvDivisor::n_squared, &result).code, Code::invalid_argument);
}

// A weight stands for so many equal values: here the counts of values that repeat.
TEST(LscvLine, WeightsAreCounts) {
  std::vector<double> x;
  for (const double v : samples::normal(600, 19)) x.push_back(std::round(v * 16) / 16);
  std::sort(x.begin(), x.end());
  std::vector<double> values;
  std::vector<double> counts;
  for (const double v : x) {
    if (values.empty() || values.back() != v) {
      values.push_back(v);
      counts.push_back(0);
    }
    counts.back() += 1;
  }
  Prepared p;
  ASSERT_TRUE(summarize_line(values, counts, &p.line).ok());
  ASSERT_TRUE(make_spectral_sums(values, counts, {}, &p.pairs).ok());
  ASSERT_TRUE(make_line_gaussian_sums(*p.pairs, &p.sums).ok());
  LscvScalar weighted;
  ASSERT_TRUE(select(p, LscvDivisor::n_squared, &weighted).ok());
  const LscvScalar plain = select(x);
  EXPECT_EQ(weighted.end, LscvEnd::tied_values);
  EXPECT_EQ(plain.end, LscvEnd::tied_values);
  expect_relative(weighted.h, plain.h, 1e-9);
  expect_relative(weighted.objective, plain.objective, 1e-9);
}

}  // namespace
}  // namespace kde
