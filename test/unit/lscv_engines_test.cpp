// Least-squares cross-validation in one dimension on every engine of sums over a line.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "core/select/line_summary.h"
#include "core/select/lscv.h"
#include "core/sums/gaussian_sums.h"
#include "core/sums/pair_sums.h"
#include "samples.h"

namespace kde {
namespace {

double h_of(int n, const Engine& engine) {
  std::vector<double> x = samples::mix(n);
  std::sort(x.begin(), x.end());
  LineSummary line;
  EXPECT_TRUE(summarize_line(x, {}, &line).ok());
  std::unique_ptr<PairSums> pairs;
  EXPECT_TRUE(make_pair_sums(engine, x, {}, &pairs).ok());
  std::unique_ptr<GaussianPairSums> sums;
  EXPECT_TRUE(make_line_gaussian_sums(*pairs, &sums).ok());
  LscvScalar found;
  const Status status =
      select_lscv_h(*sums, lscv_sample(line), LscvDivisor::n_squared, LscvSearch::refined, &found);
  EXPECT_TRUE(status.ok()) << status.message;
  return found.h;
}

void expect_relative(double actual, double expected, double tolerance) {
  EXPECT_NEAR(actual, expected, tolerance * std::fabs(expected));
}

// The search ends within 1e-10 of where the slope's sign changes, for each engine from the same
// bandwidths on. In single precision the slope, a sum of terms of the size of sum e/n^2, errs by
// some 1e-7/n of it, and h by as much over the slope's own relative slope, which is near 1.
TEST(LscvEngines, FindTheSameBandwidth) {
  const Engine reference{Engine::Kind::reference, 0, Precision::full};
  const Engine vector{Engine::Kind::simd, 0, Precision::full};
  expect_relative(h_of(1024, vector), h_of(1024, reference), 1e-10);
  const double h = h_of(4096, vector);
  expect_relative(h_of(4096, {Engine::Kind::simd, 0, Precision::single}), h, 1e-6);
  expect_relative(h_of(4096, {Engine::Kind::spectral, 0, Precision::full}), h, 1e-8);
}

}  // namespace
}  // namespace kde
