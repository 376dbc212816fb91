// Sums over pairs of weighted values against the reference engine on the sample written out, and
// against their definition in long double where weights are no whole numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <vector>

#include "core/random.h"
#include "core/select/line_bandwidth.h"
#include "core/sums/pair_sums.h"

namespace kde {
namespace {

struct Weighted {
  std::vector<double> values, weights;
};

// m ascending values some 1/m apart, with weights 1 .. most, in steps of `unit`.
Weighted sample(int m, int most, double unit, std::uint64_t seed) {
  Random random(seed);
  Weighted out;
  double x = -1;
  for (int i = 0; i < m; ++i) {
    x += (0.1 + random.uniform()) / m;
    out.values.push_back(x);
    out.weights.push_back(unit * (1 + std::floor(most * random.uniform())));
  }
  return out;
}

long double term(int r, long double z) {
  long double before = 0;
  long double hermite = 1;
  for (int k = 0; k < r; ++k) {
    const long double next = z * hermite - k * before;
    before = hermite;
    hermite = next;
  }
  return hermite * std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi_v<long double>);
}

// |K^(r)| is at most |K^(r)(0)| = (r - 1)!!/sqrt(2 pi): each of the n^2/2 terms errs by some tens
// of roundings of that, of which 1e-14 a term is twenty times too many for a sum of both signs.
double bound(int r, double n) { return 1e-14 * std::fabs(double(term(r, 0))) * n * n / 2; }

std::unique_ptr<PairSums> make(const Weighted& s, const Control& control = {}) {
  return make_tied_sums(s.values, s.weights, best_simd_target(), control);
}

double sum_of(const Weighted& s, int r, double g) {
  const auto sums = make(s);
  double sum = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(sums->derivative(r, g, &sum).ok());
  return sum;
}

// From fewer values than a vector has to several vectors and a rest.
constexpr int kSizes[] = {2, 3, 8, 17, 60};
constexpr double kBandwidths[] = {0.003, 0.05, 0.3, 4};

TEST(WeightedPairs, AreTheReferencesOfTheSampleWrittenOut) {
  for (const int m : kSizes) {
    const Weighted s = sample(m, 5, 1, 1);
    std::vector<double> written;
    for (std::size_t i = 0; i < s.values.size(); ++i)
      written.insert(written.end(), static_cast<std::size_t>(s.weights[i]), s.values[i]);
    std::unique_ptr<PairSums> reference;
    const Engine engine{Engine::Kind::reference, 0, Precision::full};
    ASSERT_TRUE(make_pair_sums(engine, written, {}, &reference).ok());
    for (int r = 0; r <= 10; r += 2) {
      for (const double g : kBandwidths) {
        double expected = 0;
        ASSERT_TRUE(reference->derivative(r, g, &expected).ok());
        EXPECT_NEAR(sum_of(s, r, g), expected, bound(r, static_cast<double>(written.size())))
            << "m " << m << " r " << r << " g " << g;
      }
    }
  }
}

// sum_{i<j} = [sum_ij w_i w_j K(x_i - x_j) - sum_i w_i K(0)] / 2.
TEST(WeightedPairs, TakeWeightsThatAreNoWholeNumbers) {
  for (const int m : kSizes) {
    const Weighted s = sample(m, 9, 0.3, 2);
    double n = 0;
    for (const double w : s.weights) n += w;
    for (int r = 0; r <= 10; r += 2) {
      for (const double g : kBandwidths) {
        long double twice = 0;
        for (std::size_t i = 0; i < s.values.size(); ++i) {
          twice -= s.weights[i] * term(r, 0);
          for (std::size_t j = 0; j < s.values.size(); ++j) {
            const long double distance = static_cast<long double>(s.values[i]) - s.values[j];
            twice += static_cast<long double>(s.weights[i]) * s.weights[j] * term(r, distance / g);
          }
        }
        EXPECT_NEAR(sum_of(s, r, g), static_cast<double>(twice / 2), bound(r, n))
            << "m " << m << " r " << r << " g " << g;
      }
    }
  }
}

TEST(WeightedPairs, RefuseWhatIsNoDerivativeOrBandwidth) {
  const auto sums = make(sample(5, 3, 1, 3));
  double sum = 0;
  EXPECT_EQ(sums->derivative(3, 1, &sum).code, Code::invalid_argument);
  EXPECT_EQ(sums->derivative(4, 0, &sum).code, Code::invalid_argument);
  EXPECT_EQ(sums->derivative(4, std::nan(""), &sum).code, Code::invalid_argument);
}

TEST(WeightedPairs, CanBeCancelled) {
  Control control;
  control.should_stop = [](void*) { return true; };
  const auto sums = make(sample(5, 3, 1, 4), control);
  double sum = 0;
  EXPECT_EQ(sums->derivative(4, 1, &sum).code, Code::cancelled);
}

// The two engines that take weights, by every method: the spectral one's functionals are right to
// some 1e-9 (spectral.h), searches end within 1e-8 of their minimum.
TEST(WeightedPairs, SelectTheSpectralEnginesBandwidth) {
  const Weighted s = sample(60, 4, 1, 5);
  const LineValues values{s.values, s.weights, 0};
  for (const Method method :
       {Method::plugin, Method::lscv, Method::sheather_jones, Method::smoothed_cv}) {
    LineRequest request;
    request.method = method;
    LineBandwidth spectral;
    LineBandwidth pairs;
    request.engine.kind = Engine::Kind::spectral;
    ASSERT_TRUE(select_line_bandwidth(request, values, {}, &spectral).ok());
    request.engine.kind = Engine::Kind::simd;
    request.engine.precision = Precision::full;
    ASSERT_TRUE(select_line_bandwidth(request, values, {}, &pairs).ok());
    EXPECT_NEAR(pairs.h, spectral.h, 1e-6 * spectral.h) << static_cast<int>(method);
  }
}

}  // namespace
}  // namespace kde
