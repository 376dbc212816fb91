// Bandwidths of selectors whose sums the cards compute, against those of the processor in double:
// as near as the project promises. PLUGIN 1e-5 in single precision and 1e-10 in double. Cross-
// validation's h 1e-6 and 1e-10, where the minimum is by its slope. A matrix is where a search over
// several parameters ends: at a step that no longer changes g, not at the last digit of the
// minimum, so its factor agrees to 1e-6 of its largest element in single precision and 1e-8 in
// double; g, which is flat there, to 1e-10 in both, as the last steps are in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "cards.h"
#include "core/select/line_bandwidth.h"
#include "core/select/lscv.h"
#include "moments.h"
#include "core/select/plugin.h"
#include "core/select/white_sample.h"
#include "core/sums/gaussian_sums.h"

namespace kde {
namespace {

Engine engine(Precision precision, DeviceUse* use) {
  Engine e;
  e.kind = Engine::Kind::device;
  e.precision = precision;
  e.device = &cards();
  e.use = use;
  return e;
}

double plugin_of(const Engine& engine, const std::vector<double>& x) {
  std::unique_ptr<PairSums> sums;
  EXPECT_TRUE(make_pair_sums(engine, x, threads(), &sums).ok());
  PluginTrace trace;
  const auto n = static_cast<std::int64_t>(x.size());
  EXPECT_TRUE(select_plugin(*sums, two_pass_moments(x).sd, n, n, &trace).ok());
  return trace.h;
}

TEST(CudaBandwidth, PluginAtEverySize) {
  for (int n = 1024; n <= 1 << 20; n *= 4) {
    for (const auto& x : {samples::mix(n), samples::lognormal(n, 5), samples::normal(n, 6)}) {
      // Nearly exact, 4e-15 (core/sums/spectral.h), where the processor's exact sums take long.
      Engine truth;
      truth.kind = n <= 16384 ? Engine::Kind::simd : Engine::Kind::spectral;
      truth.precision = Precision::full;
      const double expected = plugin_of(truth, x);
      DeviceUse use;
      EXPECT_NEAR(plugin_of(engine(Precision::single, &use), x) / expected, 1, 1e-5) << n;
      if (n <= 1 << 18) {
        EXPECT_NEAR(plugin_of(engine(Precision::full, &use), x) / expected, 1, 1e-10) << n;
      }
      EXPECT_TRUE(use.trouble.ok()) << use.trouble.message;
      EXPECT_EQ(use.processor_sums, 0);
      std::printf("PLUGIN n = %d: h differs by %.1e in single precision\n", n,
                  plugin_of(engine(Precision::single, &use), x) / expected - 1);
    }
  }
}

TEST(CudaBandwidth, CrossValidationOfALine) {
  for (const int n : {1000, 20000}) {
    std::vector<double> x = samples::mix(n);
    LineRequest request;
    request.method = Method::lscv;
    request.engine.precision = Precision::full;
    LineBandwidth expected;
    ASSERT_TRUE(select_bandwidth(request, x, true, threads(), &expected).ok());
    for (const Precision precision : {Precision::single, Precision::full}) {
      DeviceUse use;
      request.engine = engine(precision, &use);
      LineBandwidth actual;
      ASSERT_TRUE(select_bandwidth(request, x, true, threads(), &actual).ok());
      EXPECT_NEAR(actual.h / expected.h, 1, precision == Precision::single ? 1e-6 : 1e-10) << n;
      EXPECT_GT(use.device_sums, 0);
      EXPECT_EQ(use.processor_sums, 0);
    }
  }
}

TEST(CudaBandwidth, CrossValidationOfPoints) {
  for (const int d : {2, 4, 8}) {
    WhiteSample white;
    ASSERT_TRUE(whiten_sample(samples::mix(2000, d), d, {}, &white).ok());
    Engine truth;
    truth.precision = Precision::full;
    for (const Precision precision : {Precision::single, Precision::full}) {
      DeviceUse use;
      const double near = precision == Precision::single ? 1e-6 : 1e-10;
      LscvScalar expected_h, actual_h;
      for (LscvScalar* out : {&expected_h, &actual_h}) {
        std::unique_ptr<GaussianPairSums> sums;
        const bool here = out == &expected_h;
        Engine e = here ? truth : engine(precision, &use);
        ASSERT_TRUE(make_gaussian_sums(e, white.w, d, threads(), &sums).ok());
        ASSERT_TRUE(select_lscv_h(*sums, lscv_sample(white), LscvDivisor::n_squared,
                                  LscvSearch::refined, out)
                        .ok());
        if (is_single(e)) {
          e.precision = Precision::full;
          ASSERT_TRUE(make_gaussian_sums(e, white.w, d, threads(), &sums).ok());
          ASSERT_TRUE(polish_lscv_h(*sums, lscv_sample(white), LscvDivisor::n_squared, out).ok());
        }
      }
      EXPECT_NEAR(actual_h.h / expected_h.h, 1, near);
      LscvMatrix expected, actual;
      ASSERT_TRUE(select_lscv_matrix(white, truth, {}, threads(), &expected).ok());
      ASSERT_TRUE(select_lscv_matrix(white, engine(precision, &use), {}, threads(), &actual).ok());
      EXPECT_EQ(actual.end, expected.end);
      EXPECT_NEAR(actual.objective / expected.objective, 1, 1e-10) << d;
      const double largest = *std::max_element(expected.factor.begin(), expected.factor.end());
      const double near_factor = precision == Precision::single ? 1e-6 : 1e-8;
      for (std::size_t k = 0; k < expected.factor.size(); ++k)
        EXPECT_NEAR(actual.factor[k], expected.factor[k], near_factor * largest) << d;
      EXPECT_GT(use.device_sums, 0);
      EXPECT_EQ(use.processor_sums, 0) << use.trouble.message;
    }
  }
}

}  // namespace
}  // namespace kde
