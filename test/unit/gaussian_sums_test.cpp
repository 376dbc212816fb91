// Gaussian sums over pairs: the engines against each other and against sums small enough to know.
//
// Bounds. `expect_sums` adds up what every pair may be wrong by, worst case. In units of the
// bandwidth let z be the distance, u the unit of rounding, 2^-24 or 2^-53, and D the diagonal of
// the sample's box, in which the centre of every rectangle lies:
//   2 u D                      in z, because both points are rounded after the centre came off
//   u (d + 3) z^2/4            in the exponent, from the squares and their sum (d + 3 roundings)
//   40 u                       relative: the exponential (3.4 u in single precision), the products
//                              that follow, and runs of 32 additions
//   2000 2^-53                 the additions in double (fewer than that one after another)
//   2^-62                      absolute, of terms beyond the reach: 180 times that of z^2 e,
//                              which is at most 4 ln 2 * 62 times e there
// The reference adds one term after another: m 2^-53 more for m pairs.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "core/sums/gaussian_sums.h"
#include "core/sums/spectral.h"
#include "samples.h"

namespace kde {
namespace {

const Engine kReference{Engine::Kind::reference, 0, Precision::full};

std::unique_ptr<GaussianPairSums> make(const Engine& engine, const std::vector<double>& points,
                                       int d, const Control& control = {}) {
  std::unique_ptr<GaussianPairSums> sums;
  const Status made = make_gaussian_sums(engine, points, d, control, &sums);
  EXPECT_TRUE(made.ok()) << made.message;
  return sums;
}

// n x d standard normal values.
std::vector<double> normal_points(int n, int d, std::uint64_t seed = 7) {
  return samples::normal(n * d, seed);
}

// 1/h on the diagonal.
std::vector<double> diagonal(int d, double h) {
  std::vector<double> a(static_cast<std::size_t>(d * d), 0.0);
  for (int k = 0; k < d; ++k) a[static_cast<std::size_t>(k * d + k)] = 1 / h;
  return a;
}

// A sum and what a result may differ from it by.
struct Bounded {
  long double value = 0;
  double bound = 0;
};

void expect_near(double result, const Bounded& expected, const char* what) {
  EXPECT_NEAR(result, static_cast<double>(expected.value), expected.bound) << what;
}

// All the sums for y = A (x_i - x_j), and the scatter with its weights.
struct Expected {
  Bounded once, twice, once_s, twice_s;
  std::vector<Bounded> scatter;  // row-major
};

Expected expected_sums(const Engine& engine, const std::vector<double>& points, int d,
                       const std::vector<double>& a, double once, double twice) {
  const std::size_t size = static_cast<std::size_t>(d);
  const std::size_t n = points.size() / size;
  std::vector<long double> y(points.size(), 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < size; ++k) {
      for (std::size_t l = 0; l <= k; ++l) {
        y[i * size + k] += static_cast<long double>(a[k * size + l]) * points[i * size + l];
      }
    }
  }
  double diagonal2 = 0;
  for (std::size_t k = 0; k < size; ++k) {
    long double low = y[k];
    long double high = y[k];
    for (std::size_t i = 0; i < n; ++i) {
      low = std::min(low, y[i * size + k]);
      high = std::max(high, y[i * size + k]);
    }
    diagonal2 += static_cast<double>((high - low) * (high - low));
  }

  const bool single = engine.kind == Engine::Kind::simd && engine.precision == Precision::single;
  const double u = single ? 0x1p-24 : 0x1p-53;
  const double pairs = static_cast<double>(n) * static_cast<double>(n - 1) / 2;
  const double additions =
      engine.kind == Engine::Kind::reference ? pairs * 0x1p-53 : 2000 * 0x1p-53;
  const double dz = 2 * u * std::sqrt(diagonal2);
  // The error of a term that is z^power exp(-rate z^2): relative but for that of z itself.
  const auto error = [&](double z, double term, double rate, int power, double slope) {
    const double rounding =
        u * (40 + (d + 3) * (rate * z * z + power)) * term + additions * term + slope * dz;
    const double beyond = power == 0 ? 0x1p-62 : 180 * 0x1p-62;
    return 1.1 * rounding + beyond;
  };

  Expected out;
  out.scatter.resize(size * size);
  const auto add = [](Bounded* sum, long double term, double bound) {
    sum->value += term;
    sum->bound += bound;
  };
  std::vector<long double> difference(size);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      long double z2 = 0;
      for (std::size_t k = 0; k < size; ++k) {
        difference[k] = y[i * size + k] - y[j * size + k];
        z2 += difference[k] * difference[k];
      }
      const double z = static_cast<double>(std::sqrt(z2));
      const long double e = std::exp(-z2 / 4);
      const double f1 = static_cast<double>(e);
      const double f2 = f1 * f1;
      const double s1 = f1 == 0 ? 0 : z * z * f1;
      const double s2 = f2 == 0 ? 0 : z * z * f2;
      const double s1_bound = error(z, s1, 0.25, 1, f1 == 0 ? 0 : (2 * z + z * z * z / 2) * f1);
      const double s2_bound = error(z, s2, 0.5, 1, f2 == 0 ? 0 : (2 * z + z * z * z) * f2);
      add(&out.once, e, error(z, f1, 0.25, 0, f1 == 0 ? 0 : z / 2 * f1));
      add(&out.twice, e * e, error(z, f2, 0.5, 0, f2 == 0 ? 0 : z * f2));
      add(&out.once_s, e == 0 ? 0 : z2 * e, s1_bound);
      add(&out.twice_s, e * e == 0 ? 0 : z2 * e * e, s2_bound);
      // The vector engine's u and v are sums of up to 256 terms w y, its products up to 256 of
      // those times points at most D from the centre, and both come twice.
      const double weight_bound = std::fabs(once) * f1 + std::fabs(twice) * f2;
      const double moments = f1 == 0 ? 0 : 2 * 512 * u * weight_bound * z * std::sqrt(diagonal2);
      const double bound = std::fabs(once) * s1_bound + std::fabs(twice) * s2_bound + moments;
      const long double weight = once * e + twice * e * e;
      for (std::size_t k = 0; k < size; ++k) {
        for (std::size_t l = 0; l < size; ++l) {
          const long double term = weight == 0 ? 0 : weight * difference[k] * difference[l];
          add(&out.scatter[k * size + l], term, bound);
        }
      }
    }
  }
  return out;
}

// Every function of an engine at one bandwidth.
void expect_sums(const Engine& engine, const std::vector<double>& points, int d, double h) {
  SCOPED_TRACE(testing::Message() << "n = " << points.size() / static_cast<std::size_t>(d)
                                  << ", d = " << d << ", h = " << h);
  const auto sums = make(engine, points, d);
  ASSERT_NE(sums, nullptr);
  const std::vector<double> a = diagonal(d, h);
  const Expected expected = expected_sums(engine, points, d, a, 0.75, -2);

  GaussianSums swept;
  ASSERT_TRUE(sums->sweep({&h, 1}, {&swept, 1}).ok());
  expect_near(swept.once, expected.once, "once");
  expect_near(swept.twice, expected.twice, "twice");

  GaussianSlopes slopes;
  ASSERT_TRUE(sums->sweep_slopes({&h, 1}, {&slopes, 1}).ok());
  expect_near(slopes.sums.once, expected.once, "once, with slopes");
  expect_near(slopes.sums.twice, expected.twice, "twice, with slopes");
  expect_near(slopes.once_s / h / h, expected.once_s, "once_s");
  expect_near(slopes.twice_s / h / h, expected.twice_s, "twice_s");
}

void expect_matrix_sums(const Engine& engine, const std::vector<double>& points, int d,
                        const std::vector<double>& a) {
  SCOPED_TRACE(testing::Message() << "n = " << points.size() / static_cast<std::size_t>(d)
                                  << ", d = " << d);
  const auto sums = make(engine, points, d);
  ASSERT_NE(sums, nullptr);
  const Expected expected = expected_sums(engine, points, d, a, 0.75, -2);

  GaussianSums full;
  ASSERT_TRUE(sums->full(a, &full).ok());
  expect_near(full.once, expected.once, "once");
  expect_near(full.twice, expected.twice, "twice");

  GaussianSums beside;
  std::vector<double> scatter(a.size());
  ASSERT_TRUE(sums->full_scatter(a, 0.75, -2, &beside, scatter).ok());
  expect_near(beside.once, expected.once, "once, with the scatter");
  expect_near(beside.twice, expected.twice, "twice, with the scatter");
  for (std::size_t k = 0; k < scatter.size(); ++k) {
    expect_near(scatter[k], expected.scatter[k], "scatter");
  }
}

// Diagonal 1/h, below it numbers of both signs.
std::vector<double> lower_triangle(int d, double h) {
  std::vector<double> a = diagonal(d, h);
  const std::vector<double> below = samples::normal(d * d, 3);
  for (int k = 0; k < d; ++k) {
    for (int l = 0; l < k; ++l) {
      const auto at = static_cast<std::size_t>(k * d + l);
      a[at] = 0.3 * below[at] / h;
    }
  }
  return a;
}

std::vector<Engine> every_engine() {
  std::vector<Engine> engines = {kReference};
  for (const SimdTarget& target : simd_targets()) {
    for (const Precision precision : {Precision::single, Precision::full}) {
      engines.push_back({Engine::Kind::simd, target.target, precision});
    }
  }
  return engines;
}

std::string engine_name(const Engine& engine) {
  if (engine.kind == Engine::Kind::reference) return "reference";
  for (const SimdTarget& target : simd_targets()) {
    if (target.target != engine.target) continue;
    return target.name + (engine.precision == Precision::single ? "_single" : "_double");
  }
  return "unknown";
}

class EveryGaussianEngine : public testing::TestWithParam<Engine> {
 protected:
  const Engine& engine() const { return GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(Engines, EveryGaussianEngine, testing::ValuesIn(every_engine()),
                         [](const auto& tested) { return engine_name(tested.param); });

TEST(GaussianReference, OfTwoPointsIsTheKernel) {
  // S = 3^2 + 4^2 = 25; h = 2: e = exp(-25/16).
  const auto sums = make(kReference, {1, 1, 4, 5}, 2);
  const double h = 2;
  GaussianSlopes slopes;
  ASSERT_TRUE(sums->sweep_slopes({&h, 1}, {&slopes, 1}).ok());
  EXPECT_NEAR(slopes.sums.once, std::exp(-25.0 / 16), 1e-15);
  EXPECT_NEAR(slopes.sums.twice, std::exp(-25.0 / 8), 1e-15);
  EXPECT_NEAR(slopes.once_s, 25 * std::exp(-25.0 / 16), 1e-14);
  EXPECT_NEAR(slopes.twice_s, 25 * std::exp(-25.0 / 8), 1e-14);

  // y = (3, 3 + 2*4)/5 = (0.6, 2.2): y'y = 5.2.
  GaussianSums whole;
  std::vector<double> scatter(4);
  ASSERT_TRUE(
      sums->full_scatter(std::vector<double>{0.2, 0, 0.2, 0.4}, 3, 5, &whole, scatter).ok());
  const double e = std::exp(-5.2 / 4);
  EXPECT_NEAR(whole.once, e, 1e-15);
  EXPECT_NEAR(whole.twice, e * e, 1e-15);
  const double weight = 3 * e + 5 * e * e;
  const double expected[] = {0.36 * weight, 1.32 * weight, 1.32 * weight, 4.84 * weight};
  for (int k = 0; k < 4; ++k) EXPECT_NEAR(scatter[k], expected[k], 1e-14);
}

// Every size around a block of rows, a vector, a tile of rows, one of columns and several.
TEST_P(EveryGaussianEngine, IsRightAtEverySize) {
  const std::vector<double> points = normal_points(321, 3);
  for (const int n : {2, 3, 4, 5, 8, 9, 15, 17, 31, 33, 63, 64, 65, 127, 129, 255, 256, 257, 321}) {
    const std::vector<double> some(points.begin(), points.begin() + 3 * n);
    expect_sums(engine(), some, 3, 0.4);
    expect_matrix_sums(engine(), some, 3, lower_triangle(3, 0.4));
  }
}

TEST_P(EveryGaussianEngine, IsRightInEveryDimension) {
  for (int d = 1; d <= kMaxDimensions; ++d) {
    const std::vector<double> points = normal_points(71, d, 11);
    const double h = 0.3 * std::sqrt(d);
    expect_sums(engine(), points, d, h);
    expect_matrix_sums(engine(), points, d, lower_triangle(d, h));
  }
}

// From one so narrow that no two points are near to one so wide that all are.
TEST_P(EveryGaussianEngine, IsRightAtEveryBandwidth) {
  const std::vector<double> points = normal_points(150, 2);
  for (const double h : {1e-9, 1e-3, 0.02, 0.1, 1.0, 10.0, 1e4, 1e9}) {
    expect_sums(engine(), points, 2, h);
    expect_matrix_sums(engine(), points, 2, lower_triangle(2, h));
  }
  const auto sums = make(engine(), points, 2);
  const std::vector<double> extremes = {1e-300, 1e300};
  std::vector<GaussianSums> out(2);
  ASSERT_TRUE(sums->sweep(extremes, out).ok());
  const double pairs = 150.0 * 149 / 2;
  EXPECT_NEAR(out[0].once, 0, pairs * 0x1p-62);
  EXPECT_NEAR(out[0].twice, 0, pairs * 0x1p-62);
  EXPECT_NEAR(out[1].once, pairs, 1e-6 * pairs);
  EXPECT_NEAR(out[1].twice, pairs, 1e-6 * pairs);
}

TEST_P(EveryGaussianEngine, IsRightOnCoincidentPoints) {
  // 40 places, five points on each; at a narrow h only these are near one another.
  const std::vector<double> places = normal_points(40, 2);
  std::vector<double> points;
  for (int copy = 0; copy < 5; ++copy) points.insert(points.end(), places.begin(), places.end());
  expect_sums(engine(), points, 2, 0.3);
  expect_matrix_sums(engine(), points, 2, lower_triangle(2, 0.3));
  expect_sums(engine(), points, 2, 1e-7);

  const std::vector<double> equal(2 * 300, 4.25);
  const double pairs = 300.0 * 299 / 2;
  const auto sums = make(engine(), equal, 2);
  GaussianSums out;
  std::vector<double> scatter(4);
  ASSERT_TRUE(sums->full_scatter(diagonal(2, 1e-3), 1, 1, &out, scatter).ok());
  EXPECT_EQ(out.once, pairs);
  EXPECT_EQ(out.twice, pairs);
  for (const double v : scatter) EXPECT_EQ(v, 0);
}

// Clusters 1e6 apart: whole rectangles are out of reach, and those within one cluster, which lies
// far from the sample's centre, lose nothing by that.
TEST_P(EveryGaussianEngine, IsRightOnFarClusters) {
  std::vector<double> points = normal_points(256, 2, 5);
  const std::vector<double> near = points;
  for (std::size_t i = 0; i < near.size(); ++i) points.push_back(near[i] + (i % 2 == 0 ? 1e6 : 0));
  const double h = 0.3;
  const std::vector<double> a = lower_triangle(2, h);

  // Twice the sums of one cluster, with the bounds of that one: the second lies on multiples of
  // 2^-33 for being far away, which moves a pair by 4e-10.
  const Expected one = expected_sums(engine(), near, 2, a, 1, 2);
  const auto sums = make(engine(), points, 2);
  GaussianSums full;
  std::vector<double> scatter(4);
  ASSERT_TRUE(sums->full_scatter(a, 1, 2, &full, scatter).ok());
  const double moved = 256.0 * 255 / 2 * 4e-10 + 512.0 * 511 / 2 * 0x1p-62;
  EXPECT_NEAR(full.once, 2 * static_cast<double>(one.once.value), 2 * one.once.bound + moved);
  EXPECT_NEAR(full.twice, 2 * static_cast<double>(one.twice.value), 2 * one.twice.bound + moved);
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_NEAR(scatter[k], 2 * static_cast<double>(one.scatter[k].value),
                2 * one.scatter[k].bound + 6 * moved);
  }
  ASSERT_TRUE(sums->full(a, &full).ok());
  EXPECT_NEAR(full.once, 2 * static_cast<double>(one.once.value), 2 * one.once.bound + moved);
}

// The worst case above is a hundred times what roundings of both signs leave. What
// cross-validation needs is 1e-6 of the diagonal term and the sums together.
TEST_P(EveryGaussianEngine, IsRightToAMillionthOfTheCriterion) {
  for (const int d : {1, 2, 6, 16}) {
    const std::vector<double> points = normal_points(700, d, 23);
    const double h0 = std::pow(4 / ((d + 2) * 700.0), 1.0 / (d + 4));
    const std::vector<double> h = {h0 / 16, h0 / 4, h0, 4 * h0};
    std::vector<GaussianSums> expected(h.size());
    std::vector<GaussianSums> out(h.size());
    ASSERT_TRUE(make(kReference, points, d)->sweep(h, expected).ok());
    ASSERT_TRUE(make(engine(), points, d)->sweep(h, out).ok());
    for (std::size_t k = 0; k < h.size(); ++k) {
      EXPECT_NEAR(out[k].once, expected[k].once, 1e-6 * (700 + expected[k].once)) << d;
      EXPECT_NEAR(out[k].twice, expected[k].twice, 1e-6 * (700 + expected[k].twice)) << d;
    }
  }
}

// Of a sweep and of a matrix.
void expect_a_millionth(const Engine& engine, const std::vector<double>& points, int d, double h) {
  const double n = static_cast<double>(points.size()) / d;
  GaussianSums expected;
  ASSERT_TRUE(make(kReference, points, d)->sweep({&h, 1}, {&expected, 1}).ok());
  GaussianSums swept;
  GaussianSums full;
  const auto sums = make(engine, points, d);
  ASSERT_TRUE(sums->sweep({&h, 1}, {&swept, 1}).ok());
  ASSERT_TRUE(sums->full(diagonal(d, h), &full).ok());
  for (const GaussianSums& out : {swept, full}) {
    EXPECT_NEAR(out.once, expected.once, 1e-6 * (n + expected.once)) << "h = " << h;
    EXPECT_NEAR(out.twice, expected.twice, 1e-6 * (n + expected.twice)) << "h = " << h;
  }
}

// Where squared distances would be cheaper by products, |x|^2 + |y|^2 - 2 x'y.
TEST_P(EveryGaussianEngine, IsRightToAMillionthInManyDimensions) {
  for (const int d : {8, 16}) {
    const std::vector<double> points = normal_points(1024, d, 29);
    for (const double h : {0.8, 1.0, 1.5, 4.0}) expect_a_millionth(engine(), points, d, h);
  }
}

// Few places with many points on each: the roundings of all their pairs are the same, and
// differences, which have hardly any, are to be taken.
TEST_P(EveryGaussianEngine, IsRightToAMillionthOnFewPlaces) {
  for (const int places : {2, 5, 256}) {
    const std::vector<double> at = normal_points(places, 16, 31);
    std::vector<double> points;
    while (points.size() < std::size_t{1024} * 16)
      points.insert(points.end(), at.begin(), at.end());
    for (const double h : {0.8, 2.0}) expect_a_millionth(engine(), points, 16, h);
  }
  const std::vector<double> equal(std::size_t{16} * 512, 4.25);
  GaussianSums out;
  ASSERT_TRUE(make(engine(), equal, 16)->full(diagonal(16, 1e-3), &out).ok());
  EXPECT_EQ(out.once, 512.0 * 511 / 2);
  EXPECT_EQ(out.twice, 512.0 * 511 / 2);
}

// Pairs of near points, some 400 bandwidths from the centre: products would be wrong by 2^-24 *
// 400^2 and more, 1%, which 256 such terms do not average out to a millionth.
TEST_P(EveryGaussianEngine, TakesDifferencesFarFromTheCentre) {
  const std::vector<double> at = normal_points(256, 16, 37);
  const std::vector<double> beside = normal_points(256, 16, 41);
  std::vector<double> points;
  for (const double v : at) points.push_back(100 * v);
  for (std::size_t i = 0; i < at.size(); ++i) points.push_back(100 * at[i] + 0.25 * beside[i]);
  expect_a_millionth(engine(), points, 16, 1);
}

// d sum e/d log h = sum S e/(2 h^2) and d sum e^2/d log h = sum S e^2/h^2, by central differences.
// With a step of 1e-4 in log h they are wrong by 1e-8/6 times the third derivative, at most 4 a
// pair, and by the sums' own error over 2e-4: in double nothing, in single 1e-6/2e-4 of them.
TEST_P(EveryGaussianEngine, HasTheSlopesOfItsSums) {
  const std::vector<double> points = normal_points(300, 4);
  const double step = 1e-4;
  const double h = 0.5;
  const std::vector<double> around = {h * std::exp(-step), h * std::exp(step)};
  const auto sums = make(engine(), points, 4);
  GaussianSlopes at;
  std::vector<GaussianSums> beside(2);
  ASSERT_TRUE(sums->sweep_slopes({&h, 1}, {&at, 1}).ok());
  ASSERT_TRUE(sums->sweep(around, beside).ok());
  const bool single =
      engine().kind == Engine::Kind::simd && engine().precision == Precision::single;
  const double bound = 300 * 299 / 2 * 1e-8 + (single ? 1e-6 / 2e-4 : 1e-12 / 2e-4) * at.sums.once;
  EXPECT_NEAR((beside[1].once - beside[0].once) / (2 * step), at.once_s / (2 * h * h), bound);
  EXPECT_NEAR((beside[1].twice - beside[0].twice) / (2 * step), at.twice_s / (h * h), bound);
}

// More than one pass holds, in no order; each as if it were alone, but for the unit of length.
TEST_P(EveryGaussianEngine, SweepsManyBandwidths) {
  const std::vector<double> points = normal_points(40, 2);
  std::vector<double> h;
  for (int k = 0; k < 333; ++k) h.push_back(0.05 + (k * 37 % 333) * 0.01);
  std::vector<GaussianSlopes> all(h.size());
  std::vector<GaussianSums> plain(h.size());
  const auto sums = make(engine(), points, 2);
  ASSERT_TRUE(sums->sweep_slopes(h, all).ok());
  ASSERT_TRUE(sums->sweep(h, plain).ok());
  for (std::size_t k = 0; k < h.size(); k += 11) {
    GaussianSlopes alone;
    ASSERT_TRUE(sums->sweep_slopes({&h[k], 1}, {&alone, 1}).ok());
    const double bound = 1e-5 * (1 + alone.sums.once);
    EXPECT_NEAR(all[k].sums.once, alone.sums.once, bound) << h[k];
    EXPECT_NEAR(all[k].sums.twice, alone.sums.twice, bound) << h[k];
    EXPECT_NEAR(all[k].once_s, alone.once_s, 10 * bound * h[k] * h[k]) << h[k];
    EXPECT_NEAR(all[k].twice_s, alone.twice_s, 10 * bound * h[k] * h[k]) << h[k];
    EXPECT_NEAR(plain[k].once, alone.sums.once, bound) << h[k];
    EXPECT_NEAR(plain[k].twice, alone.sums.twice, bound) << h[k];
  }
}

// Of a matrix that would put points beyond what single precision holds.
TEST_P(EveryGaussianEngine, IsRightForMatricesOfAnySize) {
  std::vector<double> points = normal_points(100, 2);
  for (double& v : points) v *= 1e-20;
  expect_matrix_sums(engine(), points, 2, lower_triangle(2, 0.3e-20));
  expect_sums(engine(), points, 2, 0.3e-20);
  const std::vector<double> tied = {0, 0, 0, 0, 1, 1};
  const auto sums = make(engine(), tied, 2);
  GaussianSums out;
  std::vector<double> scatter(4);
  ASSERT_TRUE(sums->full_scatter(diagonal(2, 1e-13), 1e-30, 1e-32, &out, scatter).ok());
  EXPECT_NEAR(out.once, 1, 1e-15);
  EXPECT_NEAR(out.twice, 1, 1e-15);
  for (const double v : scatter) EXPECT_NEAR(v, 0, 1e-40);

  // Two points side by side, 8e12 bandwidths from the centre: more than single precision can tell.
  if (engine().precision == Precision::single) return;
  const auto far = make(engine(), {0, 1, 0x1p44}, 1);
  scatter.resize(1);
  ASSERT_TRUE(far->full_scatter(std::vector<double>{1}, 1, 0, &out, scatter).ok());
  EXPECT_NEAR(out.once, std::exp(-0.25), 1e-15);
  // The vector engine's scatter is a difference of moments about the centre, 2^43 away; each of
  // the two is a product rounded to 2^-53 of itself.
  EXPECT_NEAR(scatter[0], std::exp(-0.25), 4 * 0x1p43 * 0x1p-53);
}

// Weights like those of the gradient, 2 c4/n^2 at d = 16, are small: their scale must not matter.
TEST_P(EveryGaussianEngine, ScalesTheScatterWithItsWeights) {
  const std::vector<double> points = normal_points(90, 3);
  const std::vector<double> a = lower_triangle(3, 0.5);
  const auto sums = make(engine(), points, 3);
  GaussianSums out;
  std::vector<double> scatter(9);
  std::vector<double> small(9);
  ASSERT_TRUE(sums->full_scatter(a, 0.75, -2, &out, scatter).ok());
  ASSERT_TRUE(sums->full_scatter(a, 0x0.cp-200, -0x2p-200, &out, small).ok());
  for (std::size_t k = 0; k < 9; ++k) {
    EXPECT_NEAR(small[k] * 0x1p200, scatter[k], 1e-12 * std::fabs(scatter[k]));
  }
  ASSERT_TRUE(sums->full_scatter(a, 0, 0, &out, small).ok());
  for (const double v : small) EXPECT_EQ(v, 0);
}

// Everything that an engine answers, as numbers.
std::vector<double> everything(const Engine& engine, const std::vector<double>& points, int d,
                               int threads) {
  Control control;
  control.threads = threads;
  const auto sums = make(engine, points, d, control);
  const std::vector<double> h = {0.2, 0.5};
  std::vector<GaussianSlopes> slopes(2);
  std::vector<GaussianSums> swept(2);
  GaussianSums full;
  std::vector<double> scatter(static_cast<std::size_t>(d * d));
  EXPECT_TRUE(sums->sweep(h, swept).ok());
  EXPECT_TRUE(sums->sweep_slopes(h, slopes).ok());
  EXPECT_TRUE(sums->full_scatter(lower_triangle(d, 0.4), 1, 2, &full, scatter).ok());
  std::vector<double> all = {full.once, full.twice};
  for (const GaussianSums& s : swept) all.insert(all.end(), {s.once, s.twice});
  for (const GaussianSlopes& s : slopes) {
    all.insert(all.end(), {s.sums.once, s.sums.twice, s.once_s, s.twice_s});
  }
  all.insert(all.end(), scatter.begin(), scatter.end());
  EXPECT_TRUE(sums->full(lower_triangle(d, 0.4), &full).ok());
  all.insert(all.end(), {full.once, full.twice});
  return all;
}

TEST_P(EveryGaussianEngine, HasTheSameBitsForAnyThreads) {
  const std::vector<double> points = normal_points(700, 2);
  const std::vector<double> alone = everything(engine(), points, 2, 1);
  for (const int threads : {2, 3}) {
    const std::vector<double> shared = everything(engine(), points, 2, threads);
    ASSERT_EQ(shared.size(), alone.size());
    for (std::size_t k = 0; k < alone.size(); ++k) {
      EXPECT_EQ(std::bit_cast<std::uint64_t>(shared[k]), std::bit_cast<std::uint64_t>(alone[k]))
          << threads << " threads, number " << k;
    }
  }
}

struct StopAfter {
  int polls = 0;
  int limit = 0;
};

bool stop_after(void* arg) {
  StopAfter* stop = static_cast<StopAfter*>(arg);
  return ++stop->polls > stop->limit;
}

TEST(GaussianCancellation, EndsEverySum) {
  const int n = 4000;
  const std::vector<double> points = normal_points(n, 2);
  const std::vector<double> h = {0.2, 0.5};
  const std::vector<double> a = diagonal(2, 0.3);
  std::vector<GaussianSums> swept(2);
  std::vector<GaussianSlopes> slopes(2);
  GaussianSums full;
  std::vector<double> scatter(4);
  using Call = std::function<Status(GaussianPairSums&)>;
  const std::vector<Call> calls = {
      [&](GaussianPairSums& s) { return s.sweep(h, swept); },
      [&](GaussianPairSums& s) { return s.sweep_slopes(h, slopes); },
      [&](GaussianPairSums& s) { return s.full(a, &full); },
      [&](GaussianPairSums& s) { return s.full_scatter(a, 1, 1, &full, scatter); },
  };
  // The vector engine polls 64 times as it transforms the points, then over the pairs.
  for (const Engine& engine : {kReference, Engine{}}) {
    for (const int limit : {0, 10, 100}) {
      for (std::size_t call = 0; call < calls.size(); ++call) {
        StopAfter stop{0, limit};
        const auto sums = make(engine, points, 2, {1, stop_after, &stop});
        ASSERT_EQ(stop.polls, 0);
        EXPECT_EQ(calls[call](*sums).code, Code::cancelled) << "call " << call;
        // Once told to stop, no engine asks again.
        EXPECT_EQ(stop.polls, limit + 1) << "call " << call;
      }
    }
  }
}

TEST(GaussianCancellation, EndsTheOrderingOfALargeSample) {
  StopAfter stop{0, 1};
  std::unique_ptr<GaussianPairSums> sums;
  EXPECT_EQ(make_gaussian_sums({}, normal_points(40000, 1), 1, {1, stop_after, &stop}, &sums).code,
            Code::cancelled);
  EXPECT_EQ(sums, nullptr);
}

TEST(GaussianArguments, OfASampleAreChecked) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const Control control;
  std::unique_ptr<GaussianPairSums> sums;
  for (const Engine& engine : {kReference, Engine{}, Engine{Engine::Kind::spectral, 0, {}}}) {
    const auto code = [&](const std::vector<double>& points, int d) {
      return make_gaussian_sums(engine, points, d, control, &sums).code;
    };
    EXPECT_EQ(code({}, 1), Code::invalid_argument);
    EXPECT_EQ(code({1}, 1), Code::invalid_argument);
    EXPECT_EQ(code({1, 2}, 2), Code::invalid_argument);
    EXPECT_EQ(code({1, 2, 3}, 2), Code::invalid_argument);
    EXPECT_EQ(code({1, 2}, 0), Code::invalid_argument);
    EXPECT_EQ(code({1, 2}, -1), Code::invalid_argument);
    EXPECT_EQ(code(std::vector<double>(34, 1.0), 17), Code::invalid_argument);
    EXPECT_EQ(code({1, nan}, 1), Code::invalid_argument);
    EXPECT_EQ(code({1, infinity}, 1), Code::invalid_argument);
  }
  EXPECT_EQ(make_gaussian_sums({Engine::Kind::spectral, 0, {}}, std::vector<double>{1, 2, 3, 4}, 2,
                               control, &sums)
                .code,
            Code::invalid_argument);
  EXPECT_EQ(make_gaussian_sums({Engine::Kind::simd, 3, Precision::single},
                               std::vector<double>{1, 2}, 1, control, &sums)
                .code,
            Code::invalid_argument);
}

TEST(GaussianArguments, OfASumAreChecked) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Engine& engine : {kReference, Engine{}}) {
    const auto sums = make(engine, {1, 2, 3, 4}, 2);
    std::vector<GaussianSums> one(1);
    std::vector<GaussianSums> two(2);
    std::vector<GaussianSlopes> slopes(1);
    for (const double bad : {0.0, -1.0, nan, infinity}) {
      EXPECT_EQ(sums->sweep(std::vector<double>{bad}, one).code, Code::invalid_argument);
      EXPECT_EQ(sums->sweep(std::vector<double>{1, bad}, two).code, Code::invalid_argument);
      EXPECT_EQ(sums->sweep_slopes(std::vector<double>{bad}, slopes).code, Code::invalid_argument);
    }
    EXPECT_EQ(sums->sweep({}, {}).code, Code::invalid_argument);
    EXPECT_EQ(sums->sweep(std::vector<double>{1}, two).code, Code::invalid_argument);
    EXPECT_EQ(sums->sweep_slopes({}, {}).code, Code::invalid_argument);

    GaussianSums out;
    std::vector<double> scatter(4);
    const auto codes = [&](const std::vector<double>& a, Code expected) {
      EXPECT_EQ(sums->full(a, &out).code, expected);
      EXPECT_EQ(sums->full_scatter(a, 1, 1, &out, scatter).code, expected);
    };
    codes({1, 0, 1, 1}, Code::ok);
    codes({1, 0.5, 1, 1}, Code::invalid_argument);
    codes({1, nan, 1, 1}, Code::invalid_argument);
    codes({1, 0, nan, 1}, Code::invalid_argument);
    codes({infinity, 0, 1, 1}, Code::invalid_argument);
    codes({1}, Code::invalid_argument);
    codes({}, Code::invalid_argument);
    const std::vector<double> a = {1, 0, 1, 1};
    EXPECT_EQ(sums->full_scatter(a, nan, 1, &out, scatter).code, Code::invalid_argument);
    EXPECT_EQ(sums->full_scatter(a, 1, infinity, &out, scatter).code, Code::invalid_argument);
    std::vector<double> three(3);
    EXPECT_EQ(sums->full_scatter(a, 1, 1, &out, three).code, Code::invalid_argument);
  }
}

// The spectral engine's bound (spectral.h) is at most n^2 (2 c_0 + 2 c_2) sqrt(2 pi)/2 for |T| <=
// n^2, 1e-13 n^2, times 2 where S/h^2 is twice (D/s)^2.
TEST(GaussianLine, AgreesWithTheReference) {
  const std::vector<double> x = samples::mix(500);
  const double bound = 2e-13 * 500 * 500;
  std::unique_ptr<PairSums> spectral;
  ASSERT_TRUE(make_spectral_sums(x, {}, {}, &spectral).ok());
  std::unique_ptr<GaussianPairSums> line;
  ASSERT_TRUE(make_line_gaussian_sums(*spectral, &line).ok());
  const auto owning = make({Engine::Kind::spectral, 0, {}}, x, 1);
  const auto reference = make(kReference, x, 1);

  const std::vector<double> h = {0.02, 0.2, 3.0};
  std::vector<GaussianSlopes> expected(h.size());
  ASSERT_TRUE(reference->sweep_slopes(h, expected).ok());
  for (GaussianPairSums* sums : {line.get(), owning.get()}) {
    std::vector<GaussianSums> swept(h.size());
    std::vector<GaussianSlopes> slopes(h.size());
    ASSERT_TRUE(sums->sweep(h, swept).ok());
    ASSERT_TRUE(sums->sweep_slopes(h, slopes).ok());
    for (std::size_t k = 0; k < h.size(); ++k) {
      const GaussianSlopes& right = expected[k];
      EXPECT_NEAR(swept[k].once, right.sums.once, bound);
      EXPECT_NEAR(swept[k].twice, right.sums.twice, bound);
      EXPECT_NEAR(slopes[k].sums.once, right.sums.once, bound);
      EXPECT_NEAR(slopes[k].sums.twice, right.sums.twice, bound);
      EXPECT_NEAR(slopes[k].once_s / h[k] / h[k], right.once_s / h[k] / h[k], bound);
      EXPECT_NEAR(slopes[k].twice_s / h[k] / h[k], right.twice_s / h[k] / h[k], bound);

      GaussianSums full;
      GaussianSums full_right;
      double scatter = 0;
      double scatter_right = 0;
      const std::vector<double> a = {-1 / h[k]};
      ASSERT_TRUE(sums->full_scatter(a, 3, -2, &full, {&scatter, 1}).ok());
      ASSERT_TRUE(reference->full_scatter(a, 3, -2, &full_right, {&scatter_right, 1}).ok());
      EXPECT_NEAR(full.once, full_right.once, bound);
      EXPECT_NEAR(full.twice, full_right.twice, bound);
      EXPECT_NEAR(scatter, scatter_right, 5 * bound);
      ASSERT_TRUE(sums->full(a, &full).ok());
      EXPECT_NEAR(full.once, full_right.once, bound);
    }
  }
}

class NoSums : public PairSums {
 public:
  Status derivative(int, double, double*) override {
    return Status::error(Code::too_large, "no sums");
  }
};

TEST(GaussianLine, ReportsWhatItCannotDo) {
  const std::vector<double> x = samples::mix(50);
  const auto line = make({Engine::Kind::spectral, 0, {}}, x, 1);
  GaussianSums out;
  double scatter = 0;
  EXPECT_EQ(line->full(std::vector<double>{0}, &out).code, Code::invalid_argument);
  EXPECT_EQ(line->full(std::vector<double>{1, 2}, &out).code, Code::invalid_argument);
  EXPECT_EQ(line->full_scatter(std::vector<double>{0}, 1, 1, &out, {&scatter, 1}).code,
            Code::invalid_argument);
  EXPECT_EQ(line->full_scatter(std::vector<double>{1}, 1, 1, &out, {}).code,
            Code::invalid_argument);
  EXPECT_EQ(line->sweep({}, {}).code, Code::invalid_argument);

  NoSums pairs;
  std::unique_ptr<GaussianPairSums> without;
  ASSERT_TRUE(make_line_gaussian_sums(pairs, &without).ok());
  const double h = 1;
  EXPECT_EQ(without->sweep({&h, 1}, {&out, 1}).code, Code::too_large);
}

}  // namespace
}  // namespace kde
