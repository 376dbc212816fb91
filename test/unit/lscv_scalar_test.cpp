// LSCV_h in several dimensions: published values, the formula over all pairs, invariances, ties.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numbers>
#include <vector>

#include "core/select/lscv.h"
#include "core/sums/gaussian_sums.h"
#include "reference_samples.h"
#include "samples.h"

namespace kde {
namespace {

const Engine kFull{Engine::Kind::simd, 0, Precision::full};

struct Prepared {
  WhiteSample sample;
  std::unique_ptr<GaussianPairSums> sums;
};

Prepared prepare(const std::vector<double>& points, int d, const Engine& engine = kFull,
                 const Control& control = {}) {
  Prepared p;
  const Status white = whiten_sample(points, d, {}, &p.sample);
  EXPECT_TRUE(white.ok()) << white.message;
  EXPECT_TRUE(make_gaussian_sums(engine, p.sample.w, d, control, &p.sums).ok());
  return p;
}

LscvScalar select(const Prepared& p, LscvDivisor divisor = LscvDivisor::n_squared,
                  LscvSearch search = LscvSearch::refined) {
  LscvScalar out;
  const Status status = select_lscv_h(*p.sums, lscv_sample(p.sample), divisor, search, &out);
  EXPECT_TRUE(status.ok()) << status.message;
  return out;
}

void expect_relative(double actual, double expected, double tolerance) {
  EXPECT_NEAR(actual, expected, tolerance * std::fabs(expected));
}

struct Published {
  std::vector<double> points;
  int d;
  double h, g;
  bool repeats = false;  // few values, many times each
};

std::vector<Published> published() {
  return {{reference_samples::faithful(), 2, 0.16838688770, -0.02008158191856, true},
          {reference_samples::iris(), 4, 0.35291729435, -0.25723752234, true},
          {reference_data::eruptions, 1, 0.09040316648, -0.42534644905, true},
          {reference_data::waiting, 1, 0.19552986733, -0.02500639381, true},
          {samples::mix(1024), 1, 0.12832246903, -0.19307339839},
          {samples::mix(1024, 2), 2, 0.18689852483, -0.07819020167},
          {samples::mix(1024, 4), 4, 0.27905447343, -0.01337780258},
          {samples::mix(512, 16), 16, 0.53043417416, -1.12960042869e-6}};
}

// The published values have ten digits or more.
TEST(LscvScalar, GivesTheReferenceValues) {
  for (const Published& p : published()) {
    const LscvScalar found = select(prepare(p.points, p.d));
    expect_relative(found.h, p.h, 1e-9);
    expect_relative(found.objective, p.g, 1e-9);
    EXPECT_EQ(found.minima, 1);
  }
}

TEST(LscvScalar, LeavesOneOut) {
  const auto loo = [](const std::vector<double>& points, int d) {
    return select(prepare(points, d), LscvDivisor::leave_one_out).h;
  };
  expect_relative(loo(reference_data::eruptions, 1), 0.08991523645, 1e-9);
  expect_relative(loo(reference_samples::faithful(), 2), 0.16784231097, 1e-9);
  expect_relative(loo(reference_samples::iris(), 4), 0.35191562267, 1e-9);
}

// Cross-validation is flat about its minimum: what sums have wrong counts some forty times in h.
// Roundings of values that repeat do so with them: 4e-7 of the terms at 7 bandwidths from the
// centre (gaussian_simd.cpp), so 2e-5 at worst.
TEST(LscvScalar, SinglePrecisionIsRightToAMillionth) {
  for (const SimdTarget& target : simd_targets()) {
    SCOPED_TRACE(target.name);
    const Engine single{Engine::Kind::simd, target.target, Precision::single};
    for (const Published& p : published()) {
      expect_relative(select(prepare(p.points, p.d, single)).h, p.h, p.repeats ? 2e-5 : 1e-6);
    }
  }
}

TEST(LscvScalar, ThePapersGrid) {
  const auto grid = [](const std::vector<double>& points, int d) {
    return select(prepare(points, d), LscvDivisor::n_squared, LscvSearch::grid);
  };
  const LscvScalar faithful = grid(reference_samples::faithful(), 2);
  expect_relative(faithful.h, 0.16742718403, 1e-10);
  const double h0 = std::pow(4 / (4.0 * 272), 1.0 / 6);
  expect_relative(faithful.h, h0 / 4 + 7 * 3.75 * h0 / 149, 1e-14);
  EXPECT_EQ(faithful.end, LscvEnd::converged);
  const LscvScalar iris = grid(reference_samples::iris(), 4);
  expect_relative(iris.h, 0.35722755281, 1e-10);

  // The minimum of quakes lies below the grid, which says so; the search finds it.
  const LscvScalar end = grid(reference_samples::quakes(), 2);
  const double start = std::pow(4 / (4.0 * 1000), 1.0 / 6);
  EXPECT_EQ(end.end, LscvEnd::at_bound);
  expect_relative(end.h, start / 4, 1e-14);
  const LscvScalar quakes = select(prepare(reference_samples::quakes(), 2));
  EXPECT_EQ(quakes.end, LscvEnd::converged);
  EXPECT_NEAR(quakes.h / start, 0.0697, 5e-5);
  EXPECT_LT(quakes.objective, end.objective);
}

TEST(LscvScalar, TakesTheLowerOfTwoMinima) {
  const LscvScalar found = select(prepare(reference_samples::stretched_lattice(), 2));
  EXPECT_EQ(found.minima, 2);
  EXPECT_EQ(found.end, LscvEnd::converged);
  expect_relative(found.h, 0.0972790771, 1e-9);
  expect_relative(found.objective, -0.0313515497, 1e-9);
}

TEST(LscvScalar, ObjectiveIsTheFormulaAndTheSlopeItsDerivative) {
  const int n = 90;
  const int d = 3;
  const Prepared p = prepare(samples::mix(n, d), d);
  for (const LscvDivisor divisor : {LscvDivisor::n_squared, LscvDivisor::leave_one_out}) {
    const double m = divisor == LscvDivisor::leave_one_out ? n - 1 : n;
    const auto by_pairs = [&](double h) {
      const double c4 = std::pow(4 * std::numbers::pi, -1.5);
      const double c2 = std::pow(2 * std::numbers::pi, -1.5);
      double sum = c4 / n;
      for (std::size_t i = 0; i < 90; ++i) {
        for (std::size_t j = i + 1; j < 90; ++j) {
          double s = 0;
          for (std::size_t k = 0; k < 3; ++k)
            s += std::pow(p.sample.w[3 * i + k] - p.sample.w[3 * j + k], 2);
          sum += 2 * c4 / (n * n) * std::exp(-s / (4 * h * h)) -
                 4 * c2 / (n * m) * std::exp(-s / (2 * h * h));
        }
      }
      return sum * std::pow(h, -d) * std::exp(-p.sample.log_det);
    };
    for (const double h : {0.05, 0.2, 0.6, 2.0}) {
      double g = 0;
      double slope = 0;
      ASSERT_TRUE(lscv_h_objective(*p.sums, lscv_sample(p.sample), divisor, h, &g, &slope).ok());
      expect_relative(g, by_pairs(h), 1e-11);
      // A central difference in log h: its error is step^2/6 times the third derivative, of the
      // order of d^3 g.
      const double step = 1e-4;
      const double difference =
          (by_pairs(h * std::exp(step)) - by_pairs(h * std::exp(-step))) / (2 * step);
      EXPECT_NEAR(slope, difference, 1e-6 * (std::fabs(g) + std::fabs(slope)));
    }
  }
}

// Whitened distances change by rounding alone, some 1e-13 here.
TEST(LscvScalar, DoesNotDependOnAffineMapsOrOrder) {
  const std::vector<double> x = samples::mix(400, 3);
  const LscvScalar plain = select(prepare(x, 3));
  std::vector<double> mapped;
  for (std::size_t i = 0; i < 400; ++i) {
    const double* p = &x[3 * i];
    mapped.push_back((2 * p[0] - p[1] + 0.5 * p[2] + 7) * 1e300);
    mapped.push_back((p[0] + 3 * p[1] - p[2] - 1) * 1e-300);
    mapped.push_back(-p[0] + p[1] + 4 * p[2]);
  }
  const LscvScalar other = select(prepare(mapped, 3));
  expect_relative(other.h, plain.h, 1e-9);
  // det of the map: 2 (12 + 1) + (4 - 1) + 0.5 (1 + 3) = 31.
  expect_relative(other.objective, plain.objective / 31, 1e-9);

  std::vector<double> reversed;
  for (std::size_t i = 400; i-- > 0;)
    reversed.insert(reversed.end(), {x[3 * i], x[3 * i + 1], x[3 * i + 2]});
  expect_relative(select(prepare(reversed, 3)).h, plain.h, 1e-9);
}

TEST(LscvScalar, HugeOffsets) {
  std::vector<double> x = samples::mix(300, 2);
  const double plain = select(prepare(x, 2)).h;
  for (double& v : x) v += 1e9;
  // The values themselves lose up to 2^-24 of a standard deviation each.
  expect_relative(select(prepare(x, 2)).h, plain, 1e-6);
}

TEST(LscvScalar, DoesNotDependOnThreads) {
  const std::vector<double> x = samples::mix(700, 2);
  Control three;
  three.threads = 3;
  EXPECT_EQ(select(prepare(x, 2, kFull, three)).h, select(prepare(x, 2)).h);
}

// D/n > 1/(4 2^(d/2) - 2), in the limit of small h, just above and just below: in two dimensions
// n/6. With m = n - 1: c4/n + 2 c4 D/n^2 < 4 c2 D/(n (n - 1)), D > (n - 1) n/(8 n - 2 (n - 1)).
TEST(LscvScalar, KnowsTheBoundOfTies) {
  const int n = 600;
  const std::vector<double> normal = samples::normal(2 * n, 41);
  for (const int pairs : {98, 99, 101}) {
    std::vector<double> x = normal;
    for (int i = 0; i < 2 * pairs; ++i)
      x[static_cast<std::size_t>(2 * n - 1 - i)] = x[static_cast<std::size_t>(2 * pairs - 1 - i)];
    const Prepared p = prepare(x, 2);
    EXPECT_EQ(p.sample.tied_pairs, pairs);
    const LscvScalar squared = select(p);
    expect_relative(squared.tie_bound, 1.0 / 6, 1e-12);
    EXPECT_EQ(squared.end == LscvEnd::tied_values, pairs > 100) << pairs;
    const LscvScalar loo = select(p, LscvDivisor::leave_one_out);
    EXPECT_EQ(loo.end == LscvEnd::tied_values, pairs > 599.0 * 600 / 3602) << pairs;
    EXPECT_GT(loo.h, 0);
  }
}

TEST(LscvScalar, HasNoMinimumWhereTiesOverwhelm) {
  std::vector<double> x(180, 0.0);
  for (const double v : samples::normal(20, 42)) x.push_back(v);
  const Prepared p = prepare(x, 2);
  LscvScalar out;
  const Status status = select_lscv_h(*p.sums, lscv_sample(p.sample), LscvDivisor::n_squared,
                                      LscvSearch::refined, &out);
  EXPECT_EQ(status.code, Code::degenerate);
  // 90 equal points are 4005 pairs, far beyond 1/6 a point.
  EXPECT_NE(std::strstr(status.message, "4005 pairs"), nullptr) << status.message;
  EXPECT_NE(std::strstr(status.message, "0.1667"), nullptr) << status.message;
}

TEST(LscvScalar, OfTwoPoints) {
  const LscvScalar found = select(prepare({3, 5}, 1));
  EXPECT_GT(found.h, 0);
  EXPECT_TRUE(std::isfinite(found.objective));
}

TEST(LscvScalar, CanBeCancelled) {
  Control control;
  control.should_stop = [](void*) { return true; };
  const Prepared p = prepare(samples::mix(500, 2), 2, kFull, control);
  LscvScalar out;
  EXPECT_EQ(select_lscv_h(*p.sums, lscv_sample(p.sample), LscvDivisor::n_squared,
                          LscvSearch::refined, &out)
                .code,
            Code::cancelled);
}

TEST(LscvEnd, HasAName) {
  EXPECT_STREQ(lscv_end_name(LscvEnd::converged), "converged");
  EXPECT_STREQ(lscv_end_name(LscvEnd::at_bound), "at bound");
  EXPECT_STREQ(lscv_end_name(LscvEnd::tied_values), "tied values");
  EXPECT_STREQ(lscv_end_name(LscvEnd::iteration_limit), "iteration limit");
}

}  // namespace
}  // namespace kde
