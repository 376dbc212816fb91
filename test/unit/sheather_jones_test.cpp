// Sheather and Jones's bandwidth against test/golden/line_bandwidths.R, which solves the same
// equation with sums over all pairs, on exact and spectral sums.
#include "core/select/sheather_jones.h"

#include "core/sums/pair_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "core/select/root.h"
#include "core/sums/pair_sums.h"
#include "reference_data.h"
#include "samples.h"

namespace kde {
namespace {

namespace data = reference_data;

const Engine kReference{Engine::Kind::reference, 0, Precision::full};
const Engine kVector{Engine::Kind::simd, 0, Precision::full};
const Engine kSpectral{Engine::Kind::spectral, 0, Precision::full};

Status solve(const Engine& engine, std::vector<double> x, double* h) {
  std::sort(x.begin(), x.end());
  LineSummary line;
  if (Status s = summarize_line(x, {}, &line); !s.ok()) return s;
  std::unique_ptr<PairSums> sums;
  if (Status s = make_pair_sums(engine, x, {}, &sums); !s.ok()) return s;
  return select_sheather_jones(*sums, line, h);
}

double h_of(const std::vector<double>& x, const Engine& engine = kSpectral) {
  double h = 0;
  const Status status = solve(engine, x, &h);
  EXPECT_TRUE(status.ok()) << status.message;
  return h;
}

void expect_relative(double actual, double expected, double tolerance) {
  EXPECT_NEAR(actual, expected, tolerance * std::fabs(expected));
}

// Both solve to 1e-10 or better.
TEST(SheatherJones, GivesTheReferenceValues) {
  expect_relative(h_of(data::eruptions), 0.139683104645, 1e-9);
  expect_relative(h_of(data::waiting), 2.49684459777, 1e-9);
  expect_relative(h_of(data::quakes_lat), 1.04233433133, 1e-9);
  expect_relative(h_of(data::quakes_long), 0.317539994855, 1e-9);
  expect_relative(h_of(data::quakes_depth), 13.7287356762, 1e-9);
  expect_relative(h_of(data::quakes_mag), 0.0895848263447, 1e-9);
  expect_relative(h_of(data::iris_sepal_length), 0.297592712531, 1e-9);
  expect_relative(h_of(data::iris_sepal_width), 0.133707974112, 1e-9);
  expect_relative(h_of(data::iris_petal_length), 0.191805851438, 1e-9);
  expect_relative(h_of(data::iris_petal_width), 0.0893171270473, 1e-9);
}

TEST(SheatherJones, IsTheSameOnExactSums) {
  for (const std::vector<double>& x :
       {samples::mix(700), samples::lognormal(700, 21), samples::cauchy(700, 22)}) {
    expect_relative(h_of(x), h_of(x, kReference), 1e-9);
    expect_relative(h_of(x), h_of(x, kVector), 1e-9);
  }
}

TEST(SheatherJones, FollowsScaleAndOffset) {
  std::vector<double> moved;
  for (const double v : data::quakes_lat) moved.push_back(-3e5 * v + 1e6);
  expect_relative(h_of(moved), 3e5 * h_of(data::quakes_lat), 1e-9);
}

// With more than half of the values equal the iqr is 0 and the scale sigma; the equation then
// mostly sees the ties, S grows as g^-5 alone, and no bandwidth solves it.
TEST(SheatherJones, RefusesWhatHasNoSolution) {
  std::vector<double> x(900, 0.0);
  for (const double v : samples::normal(100, 23)) x.push_back(v);
  double h = -1;
  const Status status = solve(kSpectral, x, &h);
  EXPECT_TRUE(status.code == Code::degenerate || (status.ok() && h > 0));
  EXPECT_EQ(solve(kSpectral, {2, 2, 2}, &h).code, Code::degenerate);
  EXPECT_EQ(solve(kSpectral, {2}, &h).code, Code::invalid_argument);
}

TEST(Root, FindsWhereTheSignChanges) {
  int evaluations = 0;
  const auto count = [&](double (*f)(double)) {
    return Evaluated([&evaluations, f](double x, double* value) {
      ++evaluations;
      *value = f(x);
      return Status::success();
    });
  };
  double root = 0;
  const auto cubic = [](double x) { return x * x * x - 2; };
  ASSERT_TRUE(bracketed_root(count(cubic), 0, -2, 2, 6, 1e-12, &root).ok());
  EXPECT_NEAR(root, std::cbrt(2.0), 1e-12);
  EXPECT_LT(evaluations, 20);
  // A jump, which only bisection finds: at most 60 halvings, three evaluations each.
  evaluations = 0;
  const auto step = [](double x) { return x < 0.3 ? -1.0 : 1e9; };
  ASSERT_TRUE(bracketed_root(count(step), 0, -1, 1, 1e9, 1e-12, &root).ok());
  EXPECT_NEAR(root, 0.3, 1e-12);
  EXPECT_LT(evaluations, 180);
  // At an end.
  ASSERT_TRUE(bracketed_root(count(cubic), 0, -2, 5, 0, 1e-12, &root).ok());
  EXPECT_EQ(root, 5);
  EXPECT_EQ(bracketed_root(count(cubic), 2, 6, 3, 25, 1e-12, &root).code, Code::invalid_argument);
  const double nan = std::nan("");
  EXPECT_EQ(bracketed_root(count(cubic), 0, nan, 3, 25, 1e-12, &root).code, Code::invalid_argument);
}

}  // namespace
}  // namespace kde
