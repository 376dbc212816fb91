// The sums of the graphics cards against the reference engine (double, scalar, one plain loop) and
// against the vector engine in double, at every size from two points on, in every dimension. Run on
// a machine with a card: `make cuda-check`. With no card it says so and fails.
//
// Bounds. The reference adds its N terms to one sum, one after another: it is rounded N times by up
// to a half ulp, either way, which makes a fraction of some sqrt(N) eps, 1e-12 for the largest N
// here; the cards' own sums are nearer. In single precision a term is rounded to some 2^-23 of its
// greatest possible value, either way; 1e-6 of n + the sum of moduli is a bound that holds for a
// few points and shrinks with more. A bandwidth is bounded by what the project promises of it:
// PLUGIN 1e-5 in single precision and 1e-10 in double, cross-validation 1e-6 and 1e-10.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <vector>

#include "core/random.h"
#include "core/select/line_bandwidth.h"
#include "core/select/lscv.h"
#include "core/select/moments.h"
#include "core/select/plugin.h"
#include "core/select/white_sample.h"
#include "core/sums/gaussian_derivatives.h"
#include "core/sums/gaussian_sums.h"
#include "core/sums/pair_sums.h"
#include "cuda/cuda_device.h"
#include "samples.h"

namespace kde {
namespace {

Device& cards() {
  static const std::unique_ptr<Device> device = [] {
    std::unique_ptr<Device> made;
    if (const Status s = cuda::make_cuda_device({}, &made); !s.ok()) {
      std::fprintf(stderr, "%s\n", s.message);
      std::exit(1);
    }
    return made;
  }();
  return *device;
}

std::unique_ptr<DeviceSample> load(const std::vector<double>& points, int d = 1) {
  std::unique_ptr<DeviceSample> sample;
  const Status s = cards().load(points, d, {}, &sample);
  EXPECT_TRUE(s.ok()) << s.message;
  return sample;
}

double bound(Precision precision) { return precision == Precision::single ? 1e-6 : 1e-12; }

std::vector<double> shuffled(std::vector<double> x) {
  Random random(7);
  for (std::size_t i = x.size(); i > 1; --i)
    std::swap(x[i - 1], x[static_cast<std::size_t>(random.uniform() * static_cast<double>(i))]);
  return x;
}

// Points of d coordinates: normal, correlated, some of them equal, two outliers.
std::vector<double> points(int n, int d) {
  std::vector<double> x = samples::mix(n, d);
  for (int k = 0; k < d && n > 8; ++k) {
    x[static_cast<std::size_t>(3 * d + k)] = x[static_cast<std::size_t>(4 * d + k)];
    x[static_cast<std::size_t>(7 * d + k)] *= 20;
  }
  return x;
}

void expect_derivatives(const std::vector<double>& x, double g) {
  const auto n = static_cast<double>(x.size());
  std::unique_ptr<PairSums> reference;
  Engine engine;
  engine.kind = x.size() <= 4096 ? Engine::Kind::reference : Engine::Kind::simd;
  engine.precision = Precision::full;
  Control control;
  control.threads = start_threads(8);
  ASSERT_TRUE(make_pair_sums(engine, x, control, &reference).ok());
  const auto sample = load(x);
  for (int r = 0; r <= kMaxDerivative; r += 2) {
    double expected = 0;
    ASSERT_TRUE(reference->derivative(r, g, &expected).ok());
    for (const Precision precision : {Precision::single, Precision::full}) {
      double actual = 0;
      const Status s = sample->derivative(r, g, precision, {}, &actual);
      ASSERT_TRUE(s.ok()) << s.message;
      // |K^(r)| is greatest at 0.
      const double most = std::fabs(hermite_at_zero(r)) / std::sqrt(2 * std::numbers::pi);
      EXPECT_NEAR(actual, expected, bound(precision) * most * n * std::max(n, 64.0))
          << "n = " << x.size() << " r = " << r << " g = " << g;
      double again = 0;
      ASSERT_TRUE(sample->derivative(r, g, precision, {}, &again).ok());
      EXPECT_EQ(actual, again);
    }
  }
}

TEST(CudaDerivative, EverySizeAroundTheTiles) {
  for (const int n : {2, 3, 31, 32, 33, 127, 128, 129, 500, 511, 512, 513, 1000, 1023, 1024, 1025,
                      2047, 4095, 4096}) {
    for (const double g : {0.01, 0.4, 30.0}) expect_derivatives(samples::mix(n), g);
  }
}

TEST(CudaDerivative, ManyValues) {
  for (const int n : {20000, 32768, 100001}) {
    for (const double g : {0.05, 0.4}) expect_derivatives(samples::mix(n), g);
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
  expect_derivatives(shuffled(samples::mix(3000)), 0.2);
}

TEST(CudaDerivative, BandwidthsBeyondTheCoordinatesAreLeftToAnotherEngine) {
  const auto sample = load({0, 1});
  double sum = 0;
  EXPECT_EQ(sample->derivative(4, 1e-18, Precision::single, {}, &sum).code, Code::unavailable);
  EXPECT_TRUE(sample->derivative(4, 1e-18, Precision::full, {}, &sum).ok());
  EXPECT_NEAR(sum, 0, 1e-12);
  EXPECT_EQ(sample->derivative(3, 1, Precision::full, {}, &sum).code, Code::invalid_argument);
  EXPECT_EQ(sample->derivative(4, 0, Precision::full, {}, &sum).code, Code::invalid_argument);
}

class CudaGaussian : public testing::TestWithParam<int> {};

TEST_P(CudaGaussian, SumsOfEverySize) {
  const int d = GetParam();
  for (const int n : {2, 3, 17, 63, 64, 65, 127, 128, 129, 300, 1000, 4097}) {
    const std::vector<double> x = points(n, d);
    std::unique_ptr<GaussianPairSums> reference;
    ASSERT_TRUE(make_gaussian_sums({.kind = Engine::Kind::reference}, x, d, {}, &reference).ok());
    const auto sample = load(x, d);
    const double size = static_cast<double>(n) * std::max(n, 64);

    for (const std::size_t count : {1U, 3U, 150U, 300U}) {
      if (count > 3 && n > 1000) continue;
      std::vector<double> h;
      for (std::size_t k = 0; k < count; ++k) h.push_back(0.05 + 0.02 * static_cast<double>(k));
      std::vector<GaussianSlopes> expected(count);
      ASSERT_TRUE(reference->sweep_slopes(h, expected).ok());
      for (const Precision precision : {Precision::single, Precision::full}) {
        std::vector<double> sums(2 * count), slopes(4 * count);
        ASSERT_TRUE(sample->sweep(h, false, precision, {}, sums).ok());
        ASSERT_TRUE(sample->sweep(h, true, precision, {}, slopes).ok());
        for (std::size_t k = 0; k < count; ++k) {
          const double near = bound(precision) * size;
          // S e <= 4 h^2/e.
          const double near_s = near * 4 * h[k] * h[k];
          EXPECT_NEAR(sums[2 * k], expected[k].sums.once, near);
          EXPECT_NEAR(sums[2 * k + 1], expected[k].sums.twice, near);
          EXPECT_NEAR(slopes[4 * k], expected[k].sums.once, near);
          EXPECT_NEAR(slopes[4 * k + 1], expected[k].sums.twice, near);
          EXPECT_NEAR(slopes[4 * k + 2], expected[k].once_s, near_s) << n << " " << h[k];
          EXPECT_NEAR(slopes[4 * k + 3], expected[k].twice_s, near_s);
        }
      }
    }

    const auto dd = static_cast<std::size_t>(d) * static_cast<std::size_t>(d);
    for (const double scale : {0.7, 3.0, 40.0}) {
      std::vector<double> a(dd);
      for (int i = 0; i < d; ++i) {
        for (int j = 0; j <= i; ++j)
          a[static_cast<std::size_t>(i * d + j)] = (i == j ? 1 : 0.3 / (1 + i)) * scale;
      }
      GaussianSums expected;
      std::vector<double> scatter(dd);
      ASSERT_TRUE(reference->full_scatter(a, -0.5, 2, &expected, scatter).ok());
      for (const Precision precision : {Precision::single, Precision::full}) {
        const double near = bound(precision) * size;
        std::vector<double> sums(2), more(2 + dd);
        ASSERT_TRUE(sample->full(a, precision, {}, sums).ok());
        EXPECT_NEAR(sums[0], expected.once, 10 * near) << n << " " << scale;
        EXPECT_NEAR(sums[1], expected.twice, 10 * near);
        ASSERT_TRUE(sample->scatter(a, -0.5, 2, precision, {}, more).ok());
        EXPECT_NEAR(more[0], expected.once, near);
        EXPECT_NEAR(more[1], expected.twice, near);
        // |w y y'| <= 2.5 * 4/e, and the coordinates that multiply the rows' sums are some
        // hundreds here.
        for (std::size_t k = 0; k < dd; ++k)
          EXPECT_NEAR(more[2 + k], scatter[k], 100 * near) << n << " " << scale << " " << k;
      }
    }
  }
}

TEST_P(CudaGaussian, DensitiesAtOtherPoints) {
  const int d = GetParam();
  for (const int n : {2, 129, 3000}) {
    const std::vector<double> x = points(n, d);
    const auto sample = load(x, d);
    const std::vector<double> queries = samples::mix(777, d);
    const auto size = static_cast<std::size_t>(d);
    std::vector<double> a(size * size);
    for (std::size_t k = 0; k < size; ++k) a[k * size + k] = 1.5;
    std::vector<double> out(777);
    for (const Precision precision : {Precision::single, Precision::full}) {
      ASSERT_TRUE(sample->density(a, queries, precision, {}, out).ok());
      for (std::size_t q = 0; q < out.size(); ++q) {
        double expected = 0;
        for (int i = 0; i < n; ++i) {
          double s = 0;
          for (std::size_t k = 0; k < size; ++k) {
            const double u =
                1.5 * (queries[q * size + k] - x[static_cast<std::size_t>(i) * size + k]);
            s += u * u;
          }
          expected += std::exp(-s / 2);
        }
        EXPECT_NEAR(out[q], expected, bound(precision) * std::max(n, 64)) << n << " " << q;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryDimension, CudaGaussian,
                         testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16));

Engine engine(Precision precision, DeviceUse* use) {
  Engine e;
  e.kind = Engine::Kind::device;
  e.precision = precision;
  e.device = &cards();
  e.use = use;
  return e;
}

// The processor's in double, on all of its cores.
Control threads() {
  Control control;
  control.threads = start_threads(16);
  return control;
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
      // Nearly exact, 4e-15 (core/sums/spectral.h), where the exact sums of the processor take
      // long.
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
      const double largest = *std::max_element(expected.factor.begin(), expected.factor.end());
      for (std::size_t k = 0; k < expected.factor.size(); ++k)
        EXPECT_NEAR(actual.factor[k], expected.factor[k], 1e-6 * largest) << d;
      EXPECT_EQ(use.processor_sums, 0) << use.trouble.message;
    }
  }
}

TEST(CudaDevice, StopsWhenTold) {
  const auto sample = load(samples::mix(1 << 20));
  int polls = 0;
  Control control;
  control.should_stop = [](void* arg) { return ++*static_cast<int*>(arg) >= 3; };
  control.stop_arg = &polls;
  double sum = 0;
  EXPECT_EQ(sample->derivative(6, 0.3, Precision::full, control, &sum).code, Code::cancelled);
  EXPECT_TRUE(sample->derivative(6, 0.3, Precision::single, {}, &sum).ok());
}

TEST(CudaDevice, SaysWhatItIs) {
  for (const DeviceInfo& info : cards().devices()) {
    std::printf("%s, compute capability %d.%d, %llu MB, %lld jobs, %.1f ms\n", info.name,
                static_cast<int>(info.major), static_cast<int>(info.minor),
                static_cast<unsigned long long>(info.memory >> 20),
                static_cast<long long>(info.jobs), info.busy_ms);
    EXPECT_GT(info.memory, 0U);
    EXPECT_STREQ(info.last_error, "");
  }
  std::printf("pairs a second: %.3g single, %.3g double\n", cards().pair_rate(Precision::single),
              cards().pair_rate(Precision::full));
}

}  // namespace
}  // namespace kde
