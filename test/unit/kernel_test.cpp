// The closed forms of kernel.h against quadrature of the kernel itself, and its constants against
// published values.
#include "core/kernel/kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "core/density/names.h"
#include "kernel_sum.h"
#include "samples.h"

namespace kde {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

constexpr Kernel kAll[] = {Kernel::gaussian,   Kernel::epanechnikov, Kernel::biweight,
                           Kernel::triangular, Kernel::uniform,      Kernel::cosine};

// From a to b, piece by piece between the given corners. Between them the integrands are analytic:
// 61 Gauss-Kronrod points a piece (of length at most 8) leave nothing but rounding, 1e-14.
template <typename F>
double integral(F f, double a, double b, std::vector<double> corners = {}) {
  corners.insert(corners.end(), {a, b});
  std::sort(corners.begin(), corners.end());
  double sum = 0;
  for (std::size_t i = 0; i + 1 < corners.size(); ++i) {
    const double low = std::clamp(corners[i], a, b);
    const double high = std::clamp(corners[i + 1], a, b);
    if (low < high)
      sum += boost::math::quadrature::gauss_kronrod<double, 61>::integrate(f, low, high, 0);
  }
  return sum;
}

// Beyond it a kernel has no mass that double precision sees.
double far_end(Kernel kernel) { return is_compact(kernel) ? 1 : 12; }

class EveryKernel : public testing::TestWithParam<Kernel> {
 protected:
  Kernel kernel = GetParam();
  double end = far_end(kernel);
  double pdf(double u) const { return kernel_pdf(kernel, u); }
};

TEST_P(EveryKernel, PartialMomentsAreIntegralsOfTheKernel) {
  for (int i = -10; i <= 10; ++i) {
    const double u = end * i / 10;
    SCOPED_TRACE(u);
    const auto moment = [&](int k) {
      return integral([&](double v) { return std::pow(v, k) * pdf(v); }, -end, u, {-1, 0, 1});
    };
    EXPECT_NEAR(kernel_cdf(kernel, u), moment(0), 1e-14);
    EXPECT_NEAR(kernel_first_moment(kernel, u), moment(1), 1e-14);
    EXPECT_NEAR(kernel_second_moment(kernel, u), moment(2), 1e-14);
  }
}

TEST_P(EveryKernel, EndsWhereItSays) {
  for (double u : {1.0000001 * end, 40.0, kInf}) {
    EXPECT_NEAR(pdf(u), 0, 1e-30);
    EXPECT_NEAR(pdf(-u), 0, 1e-30);
    EXPECT_EQ(kernel_cdf(kernel, u), 1);
    EXPECT_NEAR(kernel_cdf(kernel, -u), 0, 1e-30);
    EXPECT_NEAR(kernel_first_moment(kernel, u), 0, 1e-16);
    EXPECT_NEAR(kernel_first_moment(kernel, -u), 0, 1e-16);
    EXPECT_NEAR(kernel_second_moment(kernel, u), kernel_variance(kernel), 1e-15);
    EXPECT_NEAR(kernel_second_moment(kernel, -u), 0, 1e-16);
  }
  // Beyond its reach it has no mass.
  const double reach = is_compact(kernel) ? 1 : 8;
  EXPECT_NEAR(kernel_cdf(kernel, -reach), 0, 1e-15);
  EXPECT_GT(kernel_cdf(kernel, -0.95 * reach), 1e-15);
}

TEST_P(EveryKernel, ConstantsAreIntegralsOfTheKernel) {
  const std::vector<double> corners = {-1, 0, 1};
  EXPECT_NEAR(kernel_variance(kernel),
              integral([&](double u) { return u * u * pdf(u); }, -end, end, corners), 1e-14);
  EXPECT_NEAR(kernel_roughness(kernel),
              integral([&](double u) { return pdf(u) * pdf(u); }, -end, end, corners), 1e-14);
  EXPECT_NEAR(kernel_convolution(kernel, 0), kernel_roughness(kernel), 1e-15);
}

TEST_P(EveryKernel, ConvolutionIsTheIntegral) {
  for (int i = -20; i <= 20; ++i) {
    const double t = (is_compact(kernel) ? 2.2 : 8) * i / 20;
    SCOPED_TRACE(t);
    const double expected = integral([&](double u) { return pdf(u) * pdf(t - u); }, -end, end,
                                     {-1, 0, 1, t - 1, t, t + 1});
    EXPECT_NEAR(kernel_convolution(kernel, t), expected, 1e-14);
  }
  EXPECT_EQ(kernel_convolution(kernel, 2) == 0, is_compact(kernel));
}

// Lower tails keep their relative accuracy: at a distance e from the end, with K(u) ~ c (1 + u)^p
// there, the mass is c e^(p+1)/(p+1) (1 + O(e)).
TEST_P(EveryKernel, TailsAreNotRounding) {
  if (!is_compact(kernel) || kernel == Kernel::cosine) return;  // a sine ends in rounding
  const double e = 0x1p-20;
  const double mass = kernel_cdf(kernel, e - 1);
  const double expected = integral([&](double u) { return pdf(u); }, -1, e - 1);
  EXPECT_NEAR(mass, expected, 1e-9 * expected);
  EXPECT_GT(mass, 0);
}

TEST_P(EveryKernel, HasANameThatReadsBack) {
  Kernel back = kernel == Kernel::gaussian ? Kernel::cosine : Kernel::gaussian;
  ASSERT_TRUE(parse_kernel(kernel_name(kernel), &back));
  EXPECT_EQ(back, kernel);
  EXPECT_FALSE(parse_kernel(std::string(kernel_name(kernel)) + "s", &back));
  EXPECT_FALSE(parse_kernel("", &back));
}

// The sum's integrals over quadrature of its own density, piece by piece between the corners.
TEST_P(EveryKernel, SumsIntegrateTheirDensity) {
  for (const double offset : {0.0, -40.0}) {
    std::vector<WeightedValue> values;
    for (double x : samples::mix(20)) values.push_back({x + offset, x > 0 ? 3.0 : 1.0});
    for (double h : {0.02, 0.3, 5.0}) {
      const KernelSum f(values, h, kernel);
      std::vector<double> corners;
      for (const WeightedValue& v : values) {
        for (int k = -8; k <= 8; ++k) corners.push_back(v.value + k * h);
      }
      for (auto [a, b] : {std::pair{-1.0, 1.0}, {-0.5, -0.45}, {-3.0, 6.0}, {0.0, 60.0}}) {
        a += offset;
        b += offset;
        SCOPED_TRACE(testing::Message() << "h " << h << " [" << a << ", " << b << "]");
        // 1e-13: the rounding of some 300 pieces; where the kernel jumps, its two jumps of at most
        // 1/h are misplaced by the rounding of their places.
        const double size = std::max(std::fabs(a), std::fabs(b));
        const double bound = 1e-13 + 0x1p-52 * size / h;
        const auto density = [&](double t) { return f.density(t); };
        EXPECT_NEAR(f.mass(a, b), integral(density, a, b, corners), bound);
        EXPECT_NEAR(f.first_moment(a, b),
                    integral([&](double t) { return t * f.density(t); }, a, b, corners),
                    bound * size);
        EXPECT_NEAR(f.second_moment(a, b),
                    integral([&](double t) { return t * t * f.density(t); }, a, b, corners),
                    bound * size * size);
      }
    }
  }
}

// The whole line: mass 1, the values' mean, their second moment plus h^2 mu2(K).
TEST_P(EveryKernel, SumOverTheWholeLine) {
  const std::vector<WeightedValue> values = {{-2, 1}, {1, 2}, {7, 5}};
  const double h = 0.7;
  const KernelSum f(values, h, kernel);
  EXPECT_NEAR(f.mass(-kInf, kInf), 1, 1e-15);
  EXPECT_NEAR(f.first_moment(-kInf, kInf), (-2 + 2 + 35) / 8.0, 1e-14);
  EXPECT_NEAR(f.second_moment(-kInf, kInf), (4 + 2 + 245) / 8.0 + h * h * kernel_variance(kernel),
              1e-13);
}

std::string name_of(const testing::TestParamInfo<Kernel>& info) { return kernel_name(info.param); }
INSTANTIATE_TEST_SUITE_P(Kernels, EveryKernel, testing::ValuesIn(kAll), name_of);

// Marron & Nolan (1988), four decimals.
TEST(CanonicalBandwidth, GivesThePublishedValues) {
  EXPECT_NEAR(canonical_bandwidth(Kernel::gaussian), 0.7764, 5e-5);
  EXPECT_NEAR(canonical_bandwidth(Kernel::uniform), 1.3510, 5e-5);
  EXPECT_NEAR(canonical_bandwidth(Kernel::epanechnikov), 1.7188, 5e-5);
  EXPECT_NEAR(canonical_bandwidth(Kernel::biweight), 2.0362, 5e-5);
  EXPECT_NEAR(canonical_bandwidth(Kernel::triangular), 1.8882, 5e-5);
}

TEST(CanonicalBandwidth, RescalesFromTheGaussian) {
  EXPECT_EQ(canonical_rescale(0.3, Kernel::gaussian), 0.3);
  // Scott, Multivariate Density Estimation (1992), table 6.2: Gaussian to Epanechnikov 2.214, to
  // biweight 2.623, to triangular 2.432, to uniform 1.740.
  EXPECT_NEAR(canonical_rescale(1, Kernel::epanechnikov), 2.214, 5e-4);
  EXPECT_NEAR(canonical_rescale(2, Kernel::biweight), 2 * 2.623, 1e-3);
  EXPECT_NEAR(canonical_rescale(1, Kernel::triangular), 2.432, 5e-4);
  EXPECT_NEAR(canonical_rescale(1, Kernel::uniform), 1.740, 5e-4);
}

}  // namespace
}  // namespace kde
