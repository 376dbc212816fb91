// The spectral engine against sums over pairs in long double, within the bound that spectral.h
// states, and PLUGIN on it against the exact engines.
#include "core/sums/spectral.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "core/random.h"
#include "moments.h"
#include "core/select/plugin.h"
#include "core/sums/spline.h"
#include "core/sums/pair_sums.h"
#include "fitted.h"
#include "reference_data.h"
#include "samples.h"

namespace kde {
namespace {

namespace data = reference_data;

const Engine kExact{Engine::Kind::simd, 0, Precision::full};
const Engine kSpectral{Engine::Kind::spectral, 0, Precision::full};

struct NamedSample {
  std::string name;
  std::vector<double> x;
};

// n values each of the shapes that are hard for a grid.
std::vector<NamedSample> shapes(int n) {
  std::vector<NamedSample> out = {{"normal", samples::normal(n, 1)},
                                  {"lognormal", samples::lognormal(n, 2)},
                                  {"cauchy", samples::cauchy(n, 3)}};
  std::vector<double> integers = samples::normal(n, 4);
  for (double& v : integers) v = std::round(8 * v);
  out.push_back({"integers", integers});
  std::vector<double> zeros = samples::normal(n, 5);
  for (std::size_t i = 0; i < zeros.size(); ++i) {
    if (i % 10 != 0) zeros[i] = 0;
  }
  out.push_back({"zeros", zeros});
  std::vector<double> outlier = samples::normal(n, 6);
  outlier[7] = 1e6;
  out.push_back({"outlier", outlier});
  return out;
}

long double derivative_of_gaussian(int r, long double z) {
  long double before = 0;
  long double hermite = 1;
  for (int k = 0; k < r; ++k) {
    const long double next = z * hermite - k * before;
    before = hermite;
    hermite = next;
  }
  return hermite * std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi_v<long double>);
}

long double over_pairs(const std::vector<double>& x, int r, double g) {
  long double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = i + 1; j < x.size(); ++j) {
      const long double distance = static_cast<long double>(x[i]) - x[j];
      sum += derivative_of_gaussian(r, std::min(std::fabs(distance / g), 1e3L));
    }
  }
  return sum;
}

// spectral.h's bound of the sum over i < j, half of that of T, and what rounding may add: each F_k
// errs by at most log2(M) <= 20 roundings of its largest value n, which enters as c_r does, with
// the integral of z^r exp(-z^2/2)/(2 pi) = (r - 1)!!/sqrt(2 pi) in the place of c_r^2.
double bound(int r, double n, double sum) {
  const double c[] = {6.7e-15, 3.1e-14, 1.6e-13, 7.7e-13, 4.1e-12, 2.3e-11};
  const double at_zero = std::fabs(static_cast<double>(derivative_of_gaussian(r, 0)));
  const double both = c[r / 2] + 20 * 0x1p-53 * std::sqrt(at_zero);
  const double all = 2 * std::fabs(sum) + n * at_zero;  // no less than |T|
  const double far = std::fabs(static_cast<double>(derivative_of_gaussian(r, 10.5)));
  return both * n * std::sqrt(all) + (both * both + 3 * far) * n * n / 2;
}

double spectral_sum(const std::vector<double>& x, int r, double g, int threads = 1) {
  Control control;
  control.threads = threads;
  std::unique_ptr<PairSums> sums;
  EXPECT_TRUE(make_spectral_sums(x, {}, control, &sums).ok());
  double sum = 0;
  const Status status = sums->derivative(r, g, &sum);
  EXPECT_TRUE(status.ok()) << status.message;
  return sum;
}

PluginTrace plugin_of(const Engine& engine, const std::vector<double>& x, int threads = 1) {
  Control control;
  control.threads = threads;
  std::unique_ptr<PairSums> sums;
  EXPECT_TRUE(make_pair_sums(engine, x, control, &sums).ok());
  const auto n = static_cast<std::int64_t>(x.size());
  PluginTrace trace;
  const Status status = select_plugin(*sums, two_pass_moments(x).sd, n, n, &trace);
  EXPECT_TRUE(status.ok()) << status.message;
  return trace;
}

void expect_relative(double actual, double expected, double tolerance) {
  EXPECT_NEAR(actual, expected, tolerance * std::fabs(expected));
}

TEST(Spectral, IsWithinItsBoundOfTheSumsOverPairs) {
  for (const NamedSample& s : shapes(300)) {
    std::unique_ptr<PairSums> sums;
    ASSERT_TRUE(make_spectral_sums(s.x, {}, {}, &sums).ok());
    // Up and down, so that spectra made for other bandwidths are used, and made anew.
    for (const double g : {0.3, 0.45, 0.25, 2.0, 0.01, 50.0}) {
      for (int r = 0; r <= 10; r += 2) {
        double sum = 0;
        ASSERT_TRUE(sums->derivative(r, g, &sum).ok());
        const auto exact = static_cast<double>(over_pairs(s.x, r, g));
        EXPECT_NEAR(sum, exact, bound(r, 300, exact)) << s.name << " r " << r << " g " << g;
      }
    }
  }
}

// The worst case for aliasing: all points on a lattice whose spectrum has peaks where the grid's
// aliases come from, some of them under the kernel's own.
TEST(Spectral, IsWithinItsBoundOnLattices) {
  for (const double step : {1.0 / 12, 1.0 / 6, 0.25, 0.7, 1.5, 3.0}) {
    std::vector<double> x;
    for (int i = 0; i < 120; ++i) x.push_back(step * i);
    for (int r = 0; r <= 10; r += 2) {
      const auto exact = static_cast<double>(over_pairs(x, r, 1));
      EXPECT_NEAR(spectral_sum(x, r, 1), exact, bound(r, 120, exact)) << "r " << r << " " << step;
    }
  }
}

// The first bandwidth makes a spectrum for those up to an octave away; at the ends of its window
// the grid is as coarse, and the gaps that remain as narrow, as they get.
TEST(Spectral, IsWithinItsBoundAtTheEndsOfItsWindow) {
  for (const double step : {1.0 / 12, 0.25, 0.7}) {
    std::vector<double> x;
    for (int i = 0; i < 60; ++i) x.push_back(step * i);
    for (int i = 0; i < 60; ++i) x.push_back(1000 + step * i);
    std::unique_ptr<PairSums> sums;
    ASSERT_TRUE(make_spectral_sums(x, {}, {}, &sums).ok());
    double sum = 0;
    ASSERT_TRUE(sums->derivative(0, 1, &sum).ok());
    for (const double g : {2.0, 0.5}) {
      for (int r = 0; r <= 10; r += 2) {
        ASSERT_TRUE(sums->derivative(r, g, &sum).ok());
        const auto exact = static_cast<double>(over_pairs(x, r, g));
        EXPECT_NEAR(sum, exact, bound(r, 120, exact)) << "r " << r << " g " << g;
      }
    }
  }
}

TEST(Spectral, OfTwoPoints) {
  for (const double distance : {1e-8, 0.5, 3.0, 9.0, 30.0, 1e12}) {
    const auto exact = static_cast<double>(derivative_of_gaussian(6, distance));
    EXPECT_NEAR(spectral_sum({1, 1 + distance}, 6, 1), exact, bound(6, 2, exact)) << distance;
  }
}

// A far point has no near pair, and the gap to it is cut.
TEST(Spectral, IsNotMovedByAFarPoint) {
  std::vector<double> x = samples::normal(500, 8);
  const double without = spectral_sum(x, 4, 0.2);
  for (const double far : {1e3, -1e9, 1e15}) {
    x.push_back(far);
    EXPECT_NEAR(spectral_sum(x, 4, 0.2), without, 2 * bound(4, 503, without)) << far;
  }
}

TEST(Spectral, DependsOnNeitherThreadsNorOrder) {
  // Several blocks of points, on a grid and with gaps.
  for (std::vector<double> x : {samples::lognormal(70'000, 9), samples::cauchy(70'000, 10)}) {
    const double g = 0.01;
    const double sum = spectral_sum(x, 6, g);
    EXPECT_EQ(spectral_sum(x, 6, g, 2), sum);
    EXPECT_EQ(spectral_sum(x, 6, g, 5), sum);
    std::reverse(x.begin(), x.end());
    EXPECT_EQ(spectral_sum(x, 6, g), sum);
    // And where blocks meet nothing is lost. 1e-10: the exact engine's part.
    std::unique_ptr<PairSums> sums;
    ASSERT_TRUE(make_pair_sums(kExact, x, {}, &sums).ok());
    double exact = 0;
    ASSERT_TRUE(sums->derivative(6, g, &exact).ok());
    EXPECT_NEAR(sum, exact, bound(6, 70'000, exact) + 1e-10 * std::fabs(exact));
  }
}

TEST(Spectral, TakesAWeightForSoManyEqualValues) {
  const std::vector<double> x = {-1, 0.25, 2, 2.5, 3.5, 9};
  const std::vector<double> weights = {4, 2, 1, 7, 1, 3};
  std::vector<double> written_out;
  for (std::size_t i = 0; i < x.size(); ++i) {
    written_out.insert(written_out.end(), static_cast<std::size_t>(weights[i]), x[i]);
  }
  std::unique_ptr<PairSums> sums;
  ASSERT_TRUE(make_spectral_sums(x, weights, {}, &sums).ok());
  for (int r = 0; r <= 10; r += 2) {
    double sum = 0;
    ASSERT_TRUE(sums->derivative(r, 0.8, &sum).ok());
    EXPECT_EQ(sum, spectral_sum(written_out, r, 0.8));
    const auto exact = static_cast<double>(over_pairs(written_out, r, 0.8));
    EXPECT_NEAR(sum, exact, bound(r, 18, exact));
  }
}

// 20,000 pairs of points farther apart than a grid can hold: summed directly.
TEST(Spectral, SumsNearPairsDirectlyWhereNoGridIsFineEnough) {
  std::vector<double> x;
  for (int i = 0; i < 20'000; ++i) {
    x.push_back(i);
    x.push_back(i + 0x1p-20);
  }
  x.push_back(0);  // equal to the first: pairs at distances 0 and g
  const double k0 = static_cast<double>(derivative_of_gaussian(4, 0));
  const double k1 = static_cast<double>(derivative_of_gaussian(4, 1));
  const double expected = 20'001 * k1 + k0;
  // A sum of 20,000 terms: as many roundings at most.
  expect_relative(spectral_sum(x, 4, 0x1p-20), expected, 20'001 * 0x1p-53 + 1e-14);
  EXPECT_EQ(spectral_sum(x, 4, 0x1p-20, 3), spectral_sum(x, 4, 0x1p-20));
}

TEST(Spectral, RefusesWhatIsTooLargeForBoth) {
  std::vector<double> x;
  for (int i = 0; i < 20'000; ++i) {
    x.push_back(i / 20'000.0);
    x.push_back(1000.0 * (i + 1));
  }
  std::unique_ptr<PairSums> sums;
  ASSERT_TRUE(make_spectral_sums(x, {}, {}, &sums).ok());
  double sum = 0;
  EXPECT_EQ(sums->derivative(4, 1, &sum).code, Code::too_large);
  // And goes on to serve what it can.
  EXPECT_TRUE(sums->derivative(4, 1000, &sum).ok());
}

TEST(Spectral, GivesPluginsReferenceValues) {
  const auto h = [](const std::vector<double>& x) { return plugin_of(kSpectral, x).h; };
  expect_relative(h(data::eruptions), 0.165534133327, 1e-10);
  expect_relative(h(data::waiting), 2.63560392952, 1e-10);
  expect_relative(h(data::quakes_lat), 1.11168576697, 1e-10);
  expect_relative(h(data::quakes_long), 0.555038068384, 1e-10);
  expect_relative(h(data::quakes_depth), 20.4144294659, 1e-10);
  expect_relative(h(data::quakes_mag), 0.0910423754081, 1e-10);
  expect_relative(h(data::iris_sepal_length), 0.306586515121, 1e-10);
  expect_relative(h(data::iris_sepal_width), 0.148517638141, 1e-10);
  expect_relative(h(data::iris_petal_length), 0.297039819267, 1e-10);
  expect_relative(h(data::iris_petal_width), 0.138020494224, 1e-10);
  expect_relative(h(samples::mix(1024)), 0.227060924815, 1e-10);
  expect_relative(h(samples::mix(4096)), 0.161553380622, 1e-10);
}

// The exact engine in double is good to 1e-10, and so by the bound is this one.
TEST(Spectral, AgreesOnPluginWithTheExactEngine) {
  for (const NamedSample& s : shapes(6000)) {
    SCOPED_TRACE(s.name);
    expect_relative(plugin_of(kSpectral, s.x).h, plugin_of(kExact, s.x).h, 2e-10);
  }
}

TEST(Spectral, FollowsScaleAndOffset) {
  std::vector<double> x;
  for (double v : samples::mix(1500)) x.push_back(std::round(v * 1024) / 1024);
  const double h = plugin_of(kSpectral, x).h;
  std::vector<double> moved;
  for (double v : x) moved.push_back(-4 * v + 64);
  expect_relative(plugin_of(kSpectral, moved).h, 4 * h, 1e-10);
  moved.clear();
  for (double v : x) moved.push_back(v + 0x1p31);  // mean/sigma = 1e9; exact
  expect_relative(plugin_of(kSpectral, moved).h, h, 1e-10);
  EXPECT_EQ(plugin_of(kSpectral, moved, 3).h, plugin_of(kSpectral, moved).h);
}

TEST(Spectral, RefusesWhatHasNoMeaning) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  std::unique_ptr<PairSums> sums;
  const auto make = [&](const std::vector<double>& x, const std::vector<double>& weights) {
    return make_spectral_sums(x, weights, {}, &sums).code;
  };
  EXPECT_EQ(make({1}, {}), Code::invalid_argument);
  EXPECT_EQ(make({1, nan}, {}), Code::invalid_argument);
  EXPECT_EQ(make({1, infinity}, {}), Code::invalid_argument);
  EXPECT_EQ(make({1, 2}, {1}), Code::invalid_argument);
  EXPECT_EQ(make({1, 2}, {1, 0}), Code::invalid_argument);
  EXPECT_EQ(make({1, 2}, {1, nan}), Code::invalid_argument);
  ASSERT_EQ(make({1, 2}, {1, 2}), Code::ok);
  double sum = 0;
  for (const int r : {-2, 1, 5, 12}) {
    EXPECT_EQ(sums->derivative(r, 1, &sum).code, Code::invalid_argument);
  }
  for (const double g : {0.0, -1.0, nan, infinity}) {
    EXPECT_EQ(sums->derivative(4, g, &sum).code, Code::invalid_argument);
  }
}

// At the ends of double there may be no answer, but there is always an end.
TEST(Spectral, EndsAtTheEndsOfDouble) {
  const double max = std::numeric_limits<double>::max();
  const double tiny = std::numeric_limits<double>::denorm_min();
  for (const std::vector<double>& x :
       {std::vector<double>{-max, 0, max}, {0, tiny, 3 * tiny}, {1, 1, 1}, {-max, tiny, 1e-300}}) {
    std::unique_ptr<PairSums> sums;
    ASSERT_TRUE(make_spectral_sums(x, {}, {}, &sums).ok());
    for (const double g : {tiny, 1e-300, 1.0, 1e300, max}) {
      double sum = 0;
      const Status status = sums->derivative(6, g, &sum);
      EXPECT_TRUE(!status.ok() || std::isfinite(sum)) << g;
    }
  }
}

bool always(void*) { return true; }

TEST(Spectral, ReportsCancellation) {
  Control control;
  control.should_stop = always;
  std::unique_ptr<PairSums> sums;
  std::vector<double> x = samples::mix(2000);
  EXPECT_EQ(make_spectral_sums(x, {}, control, &sums).code, Code::cancelled);
  std::sort(x.begin(), x.end());  // what is in order is not sorted, and nothing polled
  ASSERT_TRUE(make_spectral_sums(x, {}, control, &sums).ok());
  double sum = 0;
  EXPECT_EQ(sums->derivative(4, 1, &sum).code, Code::cancelled);
}

// Splines of order p reproduce polynomials: the weights add up to 1, and the centre of what a point
// adds to the nodes moves with the point.
TEST(Spline, SpreadsWeightAndPosition) {
  const SplinePieces pieces = spline_pieces();
  for (const double tau : {-0.5, -0.2, 0.0, 0.31, 0.5}) {
    double weight = 0;
    double position = 0;
    for (int j = 0; j < kSplineOrder; ++j) {
      double w = 0;
      for (int q = kSplineOrder - 1; q >= 0; --q) w = w * tau + pieces.node[j][q];
      weight += w;
      position += w * j;
    }
    EXPECT_NEAR(weight, 1, 1e-14);
    EXPECT_NEAR(position, 0.5 * (kSplineOrder - 1) + tau, 1e-13);
  }
}

class AutomaticFit : public testing::Test {
 protected:
  static FitReport report(const Sample& s, bool exact, Engine::Kind kind = Engine::Kind::simd,
                          Method method = Method::automatic) {
    FitOptions options;
    options.method = method;
    options.exact = exact;
    options.bandwidth_rows = 1024;
    options.engine.kind = kind;
    return fitted::fit(s, options).report;
  }
};

TEST_F(AutomaticFit, UsesEveryValueOfALargeSample) {
  const std::vector<double> x = samples::mix(9'000);  // which a summary keeps one by one
  const auto s = fitted::sample_of(x);                // of which the exact sums use 1024
  const FitReport all = report(s, false);
  // But the outermost, which are not smoothed.
  constexpr std::ptrdiff_t kApart = 9;  // one in 1,000 at each end
  std::vector<double> smoothed = x;
  std::sort(smoothed.begin(), smoothed.end());
  smoothed = {smoothed.begin() + kApart, smoothed.end() - kApart};
  EXPECT_EQ(all.bandwidth_rows, 9'000 - 2 * kApart);
  expect_relative(all.bandwidth, plugin_of(kSpectral, smoothed).h, 1e-10);
  // Of 1,024 drawn those that are smoothed.
  for (const std::int64_t rows :
       {report(s, true).bandwidth_rows, report(s, false, Engine::Kind::reference).bandwidth_rows}) {
    EXPECT_LE(rows, 1024);
    EXPECT_GE(rows, 1024 - 2 * kApart);
  }
  EXPECT_EQ(report(s, true, Engine::Kind::simd, Method::plugin).bandwidth_rows, 1024);
  EXPECT_EQ(report(s, false, Engine::Kind::reference, Method::plugin).bandwidth_rows, 1024);
  EXPECT_EQ(report(s, false, Engine::Kind::simd, Method::plugin).bandwidth_rows, 9'000);
  EXPECT_STREQ(all.engine, "spectral");
  EXPECT_EQ(report(s, true, Engine::Kind::simd, Method::plugin).engine, nullptr);
  EXPECT_EQ(report(fitted::sample_of(samples::mix(512)), false, Engine::Kind::simd, Method::plugin)
                .engine,
            nullptr);
}

// More distinct values than there are cells: h is a functional of the distribution function, and of
// values in the middle of cells, which move it by about a cell's share of some 1e-5; ten times that is
// allowed.
TEST_F(AutomaticFit, OfJoinedCells) {
  const std::vector<double> x = samples::mix(200'000);
  const auto s = fitted::sample_of(x);
  ASSERT_GE((*s.cells)->level(), 0);
  const FitReport joined = report(s, false, Engine::Kind::simd, Method::plugin);
  EXPECT_EQ(joined.bandwidth_rows, 200'000);
  expect_relative(joined.bandwidth, plugin_of(kSpectral, x).h, 1.5e-4);
}

}  // namespace
}  // namespace kde
