// PLUGIN against values computed directly in double or better (test/golden/README.md), with every
// engine: 1e-10 relative with double terms, 1e-5 with single.
#include "core/select/plugin.h"
#include "core/sums/pair_sums.h"

#include "core/sums/pair_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "moments.h"
#include "reference_data.h"
#include "samples.h"

namespace kde {
namespace {

namespace data = reference_data;

struct NamedEngine {
  std::string name;
  Engine engine;
};

std::vector<NamedEngine> every_engine() {
  std::vector<NamedEngine> engines = {{"reference", {Engine::Kind::reference, 0, Precision::full}}};
  for (const SimdTarget& t : simd_targets()) {
    engines.push_back({t.name + "_single", {Engine::Kind::simd, t.target, Precision::single}});
    engines.push_back({t.name + "_double", {Engine::Kind::simd, t.target, Precision::full}});
  }
  return engines;
}

Status plugin(const Engine& engine, const std::vector<double>& x, PluginTrace* trace,
              int threads = 1) {
  Control control;
  control.threads = threads;
  std::unique_ptr<PairSums> sums;
  const Status made = make_pair_sums(engine, x, control, &sums);
  if (!made.ok()) return made;
  const std::int64_t n = static_cast<std::int64_t>(x.size());
  return select_plugin(*sums, two_pass_moments(x).sd, n, n, trace);
}

const Engine kReference{Engine::Kind::reference, 0, Precision::full};

class EveryEngine : public testing::TestWithParam<NamedEngine> {
 protected:
  const Engine& engine() const { return GetParam().engine; }
  double bound() const {
    const bool single =
        engine().kind == Engine::Kind::simd && engine().precision == Precision::single;
    return single ? 1e-5 : 1e-10;
  }

  PluginTrace trace_of(const std::vector<double>& x, int threads = 1) {
    PluginTrace trace;
    const Status status = plugin(engine(), x, &trace, threads);
    EXPECT_TRUE(status.ok()) << status.message;
    return trace;
  }
  void expect_relative(double actual, double expected, double bound) {
    EXPECT_NEAR(actual, expected, bound * std::fabs(expected));
  }
};

INSTANTIATE_TEST_SUITE_P(Plugin, EveryEngine, testing::ValuesIn(every_engine()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(EveryEngine, GivesTheReferenceValues) {
  expect_relative(trace_of(data::eruptions).h, 0.165534133327, bound());
  expect_relative(trace_of(data::waiting).h, 2.63560392952, bound());
  expect_relative(trace_of(data::quakes_lat).h, 1.11168576697, bound());
  expect_relative(trace_of(data::quakes_long).h, 0.555038068384, bound());
  expect_relative(trace_of(data::quakes_depth).h, 20.4144294659, bound());
  expect_relative(trace_of(data::quakes_mag).h, 0.0910423754081, bound());
  expect_relative(trace_of(data::iris_sepal_length).h, 0.306586515121, bound());
  expect_relative(trace_of(data::iris_sepal_width).h, 0.148517638141, bound());
  expect_relative(trace_of(data::iris_petal_length).h, 0.297039819267, bound());
  expect_relative(trace_of(data::iris_petal_width).h, 0.138020494224, bound());
  expect_relative(trace_of(samples::mix(1024)).h, 0.227060924815, bound());
  expect_relative(trace_of(samples::mix(4096)).h, 0.161553380622, bound());
}

TEST_P(EveryEngine, GivesEveryStageOfEruptions) {
  const PluginTrace trace = trace_of(data::eruptions);
  expect_relative(trace.psi8, 0.563147318435, 1e-10);
  expect_relative(trace.g1, 0.753324802203, 1e-10);
  expect_relative(trace.psi6, -7.28331869642, bound());
  expect_relative(trace.g2, 0.382971236418, bound());
  expect_relative(trace.psi4, 8.34427036109, bound());
  expect_relative(trace.h, 0.165534133327, bound());
}

TEST_P(EveryEngine, AgreesWithTheReferenceOnHeavyTails) {
  for (const std::vector<double>& x : {samples::cauchy(3000, 3), samples::lognormal(3000, 4)}) {
    PluginTrace expected;
    ASSERT_TRUE(plugin(kReference, x, &expected).ok());
    expect_relative(trace_of(x).h, expected.h, bound());
  }
}

TEST_P(EveryEngine, DoesNotDependOnThreads) {
  const std::vector<double> x = samples::mix(3000);
  const double h = trace_of(x).h;
  EXPECT_EQ(trace_of(x, 2).h, h);
  EXPECT_EQ(trace_of(x, 3).h, h);
}

// h(a x + b) = |a| h(x). 4 and 64 are powers of two and the values multiples of 1/8, so that the
// transformed points carry no rounding of their own; the rest is that of the sums.
TEST_P(EveryEngine, FollowsScaleAndOffset) {
  std::vector<double> x;
  for (double v : samples::mix(1500)) x.push_back(std::round(v * 1024) / 1024);
  const double h = trace_of(x).h;
  std::vector<double> moved;
  for (double v : x) moved.push_back(-4 * v + 64);
  expect_relative(trace_of(moved).h, 4 * h, bound());
  // mean / sigma = 1e9; adding 2^31 to multiples of 2^-10 is exact.
  moved.clear();
  for (double v : x) moved.push_back(v + 0x1p31);
  expect_relative(trace_of(moved).h, h, bound());
}

// By hand: n = 2, x = 0, 1; sigma^2 = 1/2. The stages' formulas, evaluated on the single pair.
TEST_P(EveryEngine, OfTwoPoints) {
  const double pi = std::acos(-1.0);
  const double g1 = std::pow(
      30 * 32 * std::sqrt(pi) * std::pow(0.5, 4.5) / (105 * std::sqrt(2 * pi) * 2), 1.0 / 9);
  const auto phi = [&](double z) { return std::exp(-z * z / 2) / std::sqrt(2 * pi); };
  const double z = 1 / g1;
  const double k6 = (std::pow(z, 6) - 15 * std::pow(z, 4) + 45 * z * z - 15) * phi(z);
  const double psi6 = (2 * k6 - 30 / std::sqrt(2 * pi)) / (4 * std::pow(g1, 7));
  const double g2 = std::pow(-6 / (std::sqrt(2 * pi) * psi6 * 2), 1.0 / 7);
  const double w = 1 / g2;
  const double k4 = (std::pow(w, 4) - 6 * w * w + 3) * phi(w);
  const double psi4 = (2 * k4 + 6 / std::sqrt(2 * pi)) / (4 * std::pow(g2, 5));
  expect_relative(trace_of({0, 1}).h, std::pow(1 / (4 * std::sqrt(pi) * psi4), 0.2), bound());
}

TEST(Plugin, OfASampleOfALargerOne) {
  const std::vector<double> x = samples::mix(1000);
  std::unique_ptr<PairSums> sums;
  ASSERT_TRUE(make_pair_sums(kReference, x, {}, &sums).ok());
  const double sd = two_pass_moments(x).sd;
  PluginTrace part;
  PluginTrace whole;
  ASSERT_TRUE(select_plugin(*sums, sd, 1000, 1000, &part).ok());
  ASSERT_TRUE(select_plugin(*sums, sd, 1000, 32000, &whole).ok());
  EXPECT_EQ(part.psi4, whole.psi4);
  EXPECT_NEAR(part.h / whole.h, 2, 1e-14);
}

TEST(Plugin, RefusesWhatHasNoBandwidth) {
  PluginTrace trace;
  EXPECT_EQ(plugin(kReference, std::vector<double>(50, 0.1), &trace).code, Code::degenerate);
  EXPECT_EQ(plugin(Engine{}, std::vector<double>(50, 0.1), &trace).code, Code::degenerate);

  const std::vector<double> x = {1, 2, 4};
  std::unique_ptr<PairSums> sums;
  ASSERT_TRUE(make_pair_sums(kReference, x, {}, &sums).ok());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(select_plugin(*sums, nan, 3, 3, &trace).code, Code::invalid_argument);
  EXPECT_EQ(select_plugin(*sums, -1, 3, 3, &trace).code, Code::invalid_argument);
  EXPECT_EQ(select_plugin(*sums, 1, 3, 2, &trace).code, Code::invalid_argument);
  EXPECT_EQ(select_plugin(*sums, 1, 1, 1, &trace).code, Code::invalid_argument);
  EXPECT_EQ(select_plugin(*sums, 1e-200, 3, 3, &trace).code, Code::degenerate);
}

bool always(void*) { return true; }

TEST(Plugin, ReportsCancellation) {
  std::vector<double> x = samples::mix(2000);
  Control control;
  control.should_stop = always;
  std::unique_ptr<PairSums> sums;
  // Sorting polls too; what is in order needs none.
  EXPECT_EQ(make_pair_sums(Engine{}, x, control, &sums).code, Code::cancelled);
  std::sort(x.begin(), x.end());
  ASSERT_TRUE(make_pair_sums(Engine{}, x, control, &sums).ok());
  PluginTrace trace;
  EXPECT_EQ(select_plugin(*sums, 1, 2000, 2000, &trace).code, Code::cancelled);
}

}  // namespace
}  // namespace kde
