// Cross-validation for compact kernels: the window moments against all pairs one by one, the
// criterion against its definition by quadrature, the search against a finer one, ties.
#include "core/select/kernel_lscv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/density/names.h"
#include "core/kernel/kernel.h"
#include "kernel_sum.h"
#include "core/select/line_summary.h"
#include "reference_data.h"
#include "samples.h"
#include "stop_at.h"

namespace kde {
namespace {

namespace data = reference_data;

constexpr Kernel kCompact[] = {Kernel::epanechnikov, Kernel::biweight, Kernel::triangular,
                               Kernel::uniform, Kernel::cosine};
constexpr LscvDivisor kDivisors[] = {LscvDivisor::n_squared, LscvDivisor::leave_one_out};

std::vector<double> sorted(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x;
}

// g(h) of kernel_lscv.h, over all pairs one by one.
double by_all_pairs(Kernel kernel, const std::vector<double>& x, const std::vector<double>& weights,
                    LscvDivisor divisor, double h) {
  double n = 0;
  double sum = 0;
  double kernels = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double weight = weights.empty() ? 1 : weights[i];
    n += weight;
    for (std::size_t j = 0; j <= i; ++j) {
      const double pairs =
          j == i ? weight * (weight - 1) / 2 : weight * (weights.empty() ? 1 : weights[j]);
      sum += pairs * kernel_convolution(kernel, (x[i] - x[j]) / h);
      kernels += pairs * kernel_pdf(kernel, (x[i] - x[j]) / h);
    }
  }
  const double m = divisor == LscvDivisor::leave_one_out ? n - 1 : n;
  return (kernel_roughness(kernel) / n + 2 / (n * n) * (sum - 2 * n / m * kernels)) / h;
}

class KernelLscvTest : public testing::TestWithParam<Kernel> {
 protected:
  Kernel kernel = GetParam();

  double by_pairs(const std::vector<double>& x, double h,
                  LscvDivisor divisor = LscvDivisor::n_squared) const {
    return by_all_pairs(kernel, x, {}, divisor, h);
  }
  double by_windows(const std::vector<double>& x, double h,
                    LscvDivisor divisor = LscvDivisor::n_squared) const {
    double g = 0;
    const Status status = kernel_lscv_objective(kernel, x, {}, divisor, h, {}, &g);
    EXPECT_TRUE(status.ok()) << status.message;
    return g;
  }
  KernelLscv select(const std::vector<double>& x,
                    LscvDivisor divisor = LscvDivisor::n_squared) const {
    KernelLscv result;
    const Status status = select_kernel_lscv(kernel, x, {}, divisor, {}, &result);
    EXPECT_TRUE(status.ok()) << status.message;
    return result;
  }
  // The range searched, as stated.
  std::pair<double, double> range_of(const std::vector<double>& x) const {
    LineSummary line;
    EXPECT_TRUE(summarize_line(x, {}, &line).ok());
    const double h0 =
        canonical_rescale(std::pow(4 / (3 * static_cast<double>(line.n)), 0.2), kernel);
    return {h0 / 64 * line.robust_scale(1.34), 4 * h0 * line.sigma};
  }
};

// g(h) = integral f^2 - (2/n) sum f_-i(x_i), f_-i without (n - 1: and not counting) point i. With
// the divisor n the kernel at 0 is left out of the sum alone.
TEST_P(KernelLscvTest, IsItsDefinition) {
  const std::vector<double> x = sorted(samples::mix(25));
  const double n = 25;
  std::vector<WeightedValue> values;
  for (double v : x) values.push_back({v, 1});
  for (const double h : {0.05, 0.4, 2.0}) {
    const KernelSum f(values, h, kernel);
    // The square is analytic between corners: Simpson with 8 steps a piece is exact to degree 3 a
    // step; the error of degree 8 pieces (a square of quartics) is below (1/16)^4 of each.
    std::vector<double> corners;
    for (double v : x) corners.insert(corners.end(), {v - h, v, v + h});
    std::sort(corners.begin(), corners.end());
    double square = 0;
    for (std::size_t i = 0; i + 1 < corners.size(); ++i) {
      constexpr int kSteps = 64;
      const double width = corners[i + 1] - corners[i];
      for (int k = 0; k < kSteps; ++k) {
        // Gauss's two points: never at a corner, where the uniform kernel jumps.
        for (double at : {0.5 - std::sqrt(1 / 12.0), 0.5 + std::sqrt(1 / 12.0)}) {
          const double value = f.density(corners[i] + width * (k + at) / kSteps);
          square += value * value * width / (2 * kSteps);
        }
      }
    }
    for (const LscvDivisor divisor : kDivisors) {
      const double m = divisor == LscvDivisor::leave_one_out ? n - 1 : n;
      double left_out = 0;
      for (double v : x) left_out += (n * f.density(v) - kernel_pdf(kernel, 0) / h) / m / n;
      // Gauss's error: h^4/4320 max|(f^2)''''| a unit of length, (f^2)'''' <= 1e3/h^4 f^2's size,
      // pieces of at most h/64: 1e-8 of f^2.
      const double g = by_pairs(x, h, divisor);
      EXPECT_NEAR(g, square - 2 * left_out, 1e-7 * (square + left_out)) << h;
    }
  }
}

// The bound of kernel_lscv.h: 1e-11 of all pairs' weights within 2h, 2/(n^2 h) a pair.
TEST_P(KernelLscvTest, WindowMomentsAreTheSumsOverPairs) {
  std::vector<std::vector<double>> columns = {sorted(samples::mix(300)),
                                              sorted(samples::cauchy(300, 3)),
                                              sorted(samples::lognormal(300, 4)),
                                              sorted(data::eruptions),
                                              {0, 1},
                                              {0, 1, 1, 1, 2, 5}};
  for (const std::vector<double>& x : columns) {
    const double n = static_cast<double>(x.size());
    const auto [low, high] = range_of(x);
    for (double h = low / 3; h < 20 * high; h *= 1.7) {
      for (const LscvDivisor divisor : kDivisors) {
        double pairs = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
          for (std::size_t j = 0; j < i; ++j) pairs += x[i] - x[j] <= 2 * h ? 1 : 0;
        }
        const double scale = (kernel_roughness(kernel) / n + 4 * pairs / (n * n)) / h;
        EXPECT_NEAR(by_windows(x, h, divisor), by_pairs(x, h, divisor), 1e-11 * scale) << h;
      }
    }
  }
}

// Distances that are a whole number of bandwidths lie on the corners of K and of its convolution.
TEST_P(KernelLscvTest, CountsDistancesOnTheCorners) {
  std::vector<double> x;
  for (int i = 0; i < 40; ++i) x.push_back(i % 7 == 0 ? i + 0.5 : i);
  x = sorted(x);
  for (const double h : {0.5, 1.0, 2.0, 4.0})
    EXPECT_NEAR(by_windows(x, h), by_pairs(x, h), 1e-12) << h;
}

TEST_P(KernelLscvTest, WeightsStandForRepeatedValues) {
  std::vector<double> repeated;
  std::vector<double> x;
  std::vector<double> weights;
  for (double v : sorted(samples::mix(120))) {
    const int times = 1 + static_cast<int>(x.size()) % 3;
    repeated.insert(repeated.end(), static_cast<std::size_t>(times), v);
    x.push_back(v);
    weights.push_back(times);
  }
  double weighted = 0;
  for (const double h : {0.02, 0.3}) {
    ASSERT_TRUE(
        kernel_lscv_objective(kernel, x, weights, LscvDivisor::leave_one_out, h, {}, &weighted)
            .ok());
    EXPECT_EQ(weighted, by_windows(repeated, h, LscvDivisor::leave_one_out));
    EXPECT_NEAR(by_all_pairs(kernel, x, weights, LscvDivisor::leave_one_out, h), weighted,
                1e-12 / h);
  }
}

// No bandwidth of a grid five times as fine is better but for g's roughness. Each distance that h
// passes bends g by at most 4 K'(1)/(n^2 h) < 4e-4/h a unit of log h: within the last bracket of
// the search, 0.011 in log h, a valley that it misses is lower by less than 4e-6/h (h > 0.1 here).
// The uniform kernel's g jumps by 4 K(1)/(n^2 h) = 1e-4/h at each distance, some of them together.
TEST_P(KernelLscvTest, FindsTheLowestMinimum) {
  for (const std::vector<double>& x :
       {sorted(samples::mix(150)), sorted(samples::lognormal(150, 6))}) {
    for (const LscvDivisor divisor : kDivisors) {
      const KernelLscv found = select(x, divisor);
      EXPECT_EQ(found.end, LscvEnd::converged);
      EXPECT_GE(found.minima, 1);
      EXPECT_NEAR(by_pairs(x, found.bandwidth, divisor), found.objective,
                  1e-10 * std::fabs(found.objective));
      const auto [low, high] = range_of(x);
      EXPECT_GT(found.bandwidth, low);
      EXPECT_LT(found.bandwidth, high);
      const double slack = kernel == Kernel::uniform ? 0.01 * std::fabs(found.objective) : 4e-5;
      for (double h = low; h < high; h *= std::exp2(1.0 / 40))
        EXPECT_GE(by_pairs(x, h, divisor), found.objective - slack) << h;
    }
  }
}

// Between the pairs' distance and the spread of the whole: two minima, the lower is taken.
TEST_P(KernelLscvTest, TakesTheLowerOfTwoMinima) {
  const std::vector<double> centres = samples::normal(40, 13);
  const std::vector<double> offsets = samples::normal(80, 14);
  std::vector<double> x;
  for (std::size_t i = 0; i < offsets.size(); ++i) x.push_back(centres[i % 40] + 0.02 * offsets[i]);
  x = sorted(x);
  const KernelLscv found = select(x);
  EXPECT_GE(found.minima, 2);
  const auto [low, high] = range_of(x);
  const double slack = kernel == Kernel::uniform ? 0.03 * std::fabs(found.objective) : 1e-3;
  for (double h = 1.001 * low; h < high; h *= std::exp2(1.0 / 40))
    EXPECT_GE(by_pairs(x, h), found.objective - slack) << h;
}

// To the last bit, by powers of two and by offsets that the values have digits for: g is rough, and
// a search that took another way would end elsewhere.
TEST_P(KernelLscvTest, DoesNotDependOnScaleOrOffset) {
  std::vector<double> x;
  for (double v : samples::mix(400)) x.push_back(std::round(v * 0x1p20) / 0x1p20);
  x = sorted(x);
  const KernelLscv one = select(x);
  for (const auto& [scale, offset] : {std::pair{8.0, 1024.0}, {0x1p-900, 0.0}, {0x1p900, 0.0}}) {
    std::vector<double> moved;
    for (double v : x) moved.push_back(scale * v + offset);
    const KernelLscv two = select(moved);
    EXPECT_EQ(two.bandwidth / scale, one.bandwidth);
    EXPECT_EQ(two.objective * scale, one.objective);
  }
}

TEST_P(KernelLscvTest, KnowsTheBoundOfTies) {
  const int n = 400;
  const std::vector<double> normal = samples::normal(n, 16);
  // D/n = R/(4 K(0) - 2 R) for the divisor n.
  const double r = kernel_roughness(kernel);
  const double bound = r / (4 * kernel_pdf(kernel, 0) - 2 * r);
  EXPECT_NEAR(select(sorted(normal)).tie_bound, bound, 1e-12);
  for (const int more : {-1, 2}) {
    const int pairs = static_cast<int>(bound * n) + more;
    ASSERT_LE(2 * pairs, n + 4);
    std::vector<double> x = normal;
    for (int i = 0; i < pairs; ++i) {
      // Beyond half the sample, three alike make three pairs.
      const int from = n - 1 - i;
      x[static_cast<std::size_t>(from)] = x[static_cast<std::size_t>(i % (n / 2))];
    }
    const KernelLscv found = select(sorted(x));
    EXPECT_EQ(found.end == LscvEnd::tied_values, more > 0) << pairs;
    EXPECT_GT(found.bandwidth, 0);
  }
}

TEST_P(KernelLscvTest, HasNoMinimumWhereTiesOverwhelm) {
  std::vector<double> x(90, 0.0);
  for (const double v : samples::normal(10, 17)) x.push_back(v);
  KernelLscv result;
  const Status status =
      select_kernel_lscv(kernel, sorted(x), {}, LscvDivisor::n_squared, {}, &result);
  EXPECT_EQ(status.code, Code::degenerate) << result.bandwidth;
  EXPECT_NE(std::string(status.message).find("4005 pairs"), std::string::npos) << status.message;
}

TEST_P(KernelLscvTest, StopsWhenAsked) {
  const std::vector<double> x = sorted(samples::mix(500));
  StopAt never;
  KernelLscv result;
  ASSERT_TRUE(
      select_kernel_lscv(kernel, x, {}, LscvDivisor::n_squared, never.control, &result).ok());
  ASSERT_GT(never.polls, 50);
  for (int k : {1, 2, 3, never.polls / 2, never.polls - 1}) {
    StopAt stop(k);
    const Status status =
        select_kernel_lscv(kernel, x, {}, LscvDivisor::n_squared, stop.control, &result);
    EXPECT_EQ(status.code, Code::cancelled) << k;
    EXPECT_EQ(stop.polls, k);  // and did no more
  }
}

std::string name_of(const testing::TestParamInfo<Kernel>& info) { return kernel_name(info.param); }
INSTANTIATE_TEST_SUITE_P(Kernels, KernelLscvTest, testing::ValuesIn(kCompact), name_of);

TEST(KernelLscv, RefusesWhatHasNoMeaning) {
  double g = 0;
  KernelLscv result;
  const std::vector<double> x = {0, 1, 3};
  const auto divisor = LscvDivisor::n_squared;
  EXPECT_EQ(select_kernel_lscv(Kernel::gaussian, x, {}, divisor, {}, &result).code,
            Code::invalid_argument);
  EXPECT_EQ(kernel_lscv_objective(Kernel::gaussian, x, {}, divisor, 1, {}, &g).code,
            Code::invalid_argument);
  for (const double h : {0.0, -1.0, std::nan("")}) {
    EXPECT_EQ(kernel_lscv_objective(Kernel::uniform, x, {}, divisor, h, {}, &g).code,
              Code::invalid_argument);
  }
  EXPECT_EQ(
      select_kernel_lscv(Kernel::uniform, std::vector<double>{1, 1}, {}, divisor, {}, &result).code,
      Code::degenerate);
  EXPECT_EQ(
      select_kernel_lscv(Kernel::uniform, std::vector<double>{2, 1}, {}, divisor, {}, &result).code,
      Code::invalid_argument);
}

}  // namespace
}  // namespace kde
