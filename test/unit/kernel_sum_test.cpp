// The closed forms of kernel_sum.h against Simpson's rule over its own density: each checks the
// other.
#include "kernel_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "samples.h"

namespace kde {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr int kStepsPerBandwidth = 64;

// Composite Simpson of t^k f(t) over [a, b] with steps of at most h/64.
double simpson(const KernelSum& f, int k, double a, double b, double h) {
  const int half = static_cast<int>(std::ceil((b - a) * kStepsPerBandwidth / h / 2));
  const double step = (b - a) / (2 * half);
  double sum = 0;
  for (int i = 0; i <= 2 * half; ++i) {
    const double t = a + i * step;
    const int factor = i == 0 || i == 2 * half ? 1 : (i % 2 == 1 ? 4 : 2);
    sum += factor * std::pow(t, k) * f.density(t);
  }
  return sum * step / 3;
}

// Simpson's error, (b - a) step^4/180 max |(t^k f)''''|, and
//   (t^k f)'''' = t^k f'''' + 4 k t^(k-1) f''' + 6 k (k-1) t^(k-2) f''
// with |f''| <= phi(0)/h^3, |f'''| <= 1.39/h^4, |f''''| <= 3 phi(0)/h^5. The last term is for the
// rounding of the sums, which are at most of the order of max |t|^k.
double simpson_bound(int k, double a, double b, double h) {
  const double t = std::max(std::fabs(a), std::fabs(b));
  const double derivative = std::pow(t, k) * 1.2 / std::pow(h, 5) +
                            (k > 0 ? 4 * k * std::pow(t, k - 1) * 1.39 / std::pow(h, 4) : 0) +
                            (k > 1 ? 6 * k * (k - 1) * 0.4 / std::pow(h, 3) : 0);
  return (b - a) * std::pow(h / kStepsPerBandwidth, 4) / 180 * derivative +
         1e-13 * std::max(1.0, std::pow(t, k));
}

TEST(KernelSum, ClosedFormsAgreeWithQuadrature) {
  for (const double offset : {0.0, -40.0}) {
    std::vector<WeightedValue> values;
    for (double x : samples::mix(50)) values.push_back({x + offset, x > 0 ? 3.0 : 1.0});
    for (double h : {0.02, 0.3, 5.0}) {
      const KernelSum f(values, h);
      for (auto [a, b] : {std::pair{-1.0, 1.0}, {-0.5, -0.45}, {-3.0, 6.0}, {2.0, 2.0}}) {
        a += offset;
        b += offset;
        if (a == b) continue;
        SCOPED_TRACE(testing::Message() << "h " << h << " [" << a << ", " << b << "]");
        EXPECT_NEAR(f.mass(a, b), simpson(f, 0, a, b, h), simpson_bound(0, a, b, h));
        EXPECT_NEAR(f.first_moment(a, b), simpson(f, 1, a, b, h), simpson_bound(1, a, b, h));
        EXPECT_NEAR(f.second_moment(a, b), simpson(f, 2, a, b, h), simpson_bound(2, a, b, h));
      }
    }
  }
}

TEST(KernelSum, OnePointIsTheNormalDistribution) {
  const std::vector<WeightedValue> one = {{0, 3}};
  const KernelSum f(one, 1);
  // Tables of the normal distribution.
  EXPECT_NEAR(f.mass(-1.959963984540054, 1.959963984540054), 0.95, 1e-14);
  EXPECT_NEAR(f.density(0), 0.3989422804014327, 1e-15);
  EXPECT_NEAR(f.density(1), 0.24197072451914337, 1e-15);
  EXPECT_NEAR(f.first_moment(0, kInf), 0.3989422804014327, 1e-15);
  EXPECT_NEAR(f.second_moment(0, kInf), 0.5, 1e-15);
}

// The whole line: mass 1, the values' mean, and their second moment plus h^2.
TEST(KernelSum, WholeLine) {
  const std::vector<WeightedValue> values = {{-2, 1}, {1, 2}, {7, 5}};
  const double h = 0.7;
  const KernelSum f(values, h);
  EXPECT_NEAR(f.mass(-kInf, kInf), 1, 1e-15);
  EXPECT_NEAR(f.first_moment(-kInf, kInf), (-2 + 2 + 35) / 8.0, 1e-14);
  EXPECT_NEAR(f.second_moment(-kInf, kInf), (4 + 2 + 245) / 8.0 + h * h, 1e-13);
  EXPECT_EQ(f.mass(3, 3), 0);
  EXPECT_NEAR(f.mass(-kInf, 2) + f.mass(2, kInf), 1, 1e-15);
}

}  // namespace
}  // namespace kde
