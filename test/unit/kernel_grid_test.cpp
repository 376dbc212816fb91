// The grid's fast sums against the closed forms of kernel_sum.h, within the error of the Taylor
// series in eps, |eps| <= 1/32, that kernel_grid.h cuts after the third power.
#include "core/estimate/kernel_grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "fitted.h"

namespace kde {
namespace {

using fitted::kInf;
using fitted::Reference;

// eps^4 times the bound of the next derivative over its factorial.
constexpr double kEps4 = 1.0 / (32.0 * 32 * 32 * 32);
constexpr double kPhiMax = 0.3990, kPhi1Max = 0.2420, kPhi3Max = 1.3802, kPhi4Max = 1.1969;
// The kernel is cut at 7h, Phi(-7) = 1.3e-12, on either side, and the whole is normalised.
constexpr double kCut = 1e-11;

constexpr double kMassBound = kEps4 / 24 * kPhi3Max + kCut;
// What phi'' leaves of eps Phi, phi'''' of phi, phi' of eps^2 Phi and phi''' of eps phi.
constexpr double kEpsPhi = kEps4 / 6 * kPhiMax;
constexpr double kPdf = kEps4 / 24 * kPhi4Max + kCut;
constexpr double kEps2Phi = kEps4 / 2 * kPhi1Max;
constexpr double kEpsPdf = kEps4 / 6 * kPhi3Max;

std::vector<WeightedValue> weighted(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  std::vector<WeightedValue> out;
  for (double v : x) out.push_back({v, 1});
  return out;
}

// Compares up to 400 nodes spread over the grid, the first and last among them. `images` is the
// mass of all images over that of the values: what lies outside also errs.
void expect_agrees(const KernelGrid& grid, const Reference& reference, double h, double largest,
                   double images) {
  const double x = largest + 7 * h;
  // Both the node and the grid's first node err.
  const double mass = 2 * images * kMassBound;
  const double first = 2 * images * (x * kMassBound + h * (kEpsPhi + kPdf));
  const double second = 2 * images *
                        (x * x * kMassBound + 2 * x * h * kEpsPhi +
                         h * h * (kEps2Phi + kMassBound) + h * (2 * x * kPdf + h * kEpsPdf));
  const std::int64_t last = grid.nodes() - 1;
  const std::int64_t stride = std::max<std::int64_t>(1, last / 400);
  double before = -kInf;
  for (std::int64_t q = 0; q <= last; q = q == last ? last + 1 : std::min(q + stride, last)) {
    const double u = grid.position(q);
    ASSERT_GT(u, before);
    before = u;
    ASSERT_NEAR(grid.value(q).mass, reference.mass(u), mass) << u;
    ASSERT_NEAR(grid.value(q).density, reference.density(u), 2 * images * kPdf / h) << u;
    ASSERT_NEAR(grid.moments(q).first, reference.first(-kInf, u), first) << u;
    ASSERT_NEAR(grid.moments(q).second, reference.second(-kInf, u), second) << u;
  }
  EXPECT_LE(grid.value(0).mass, kCut);
  EXPECT_GE(grid.value(last).mass, 1 - kCut);
}

TEST(KernelGrid, UnboundedAgreesWithTheKernelSum) {
  for (const fitted::Column& column : fitted::columns(300)) {
    const std::vector<WeightedValue> values = weighted(column.x);
    const double largest = std::max(std::fabs(values.front().value), values.back().value);
    for (double h : {0.01, 0.4}) {
      SCOPED_TRACE(testing::Message() << column.name << ", h " << h);
      const KernelGrid grid = KernelGrid::unbounded(values, h);
      expect_agrees(grid, Reference(values, h), h, largest, 1);
      EXPECT_GE(grid.nodes_per_bandwidth(), 16);
      EXPECT_LE(grid.position(0), values.front().value - 6.99 * h);
      EXPECT_GE(grid.position(grid.nodes() - 1), values.back().value + 6.99 * h);
    }
  }
}

TEST(KernelGrid, BoundedAgreesWithMirroredKernelSum) {
  std::vector<double> x;
  for (double v : samples::lognormal(300, 4)) x.push_back(std::min(v, 3.0));
  x.push_back(0);
  const std::vector<WeightedValue> values = weighted(x);
  // Wide bandwidths are mirrored several times over.
  for (double h : {0.001, 0.1, 1.0, 3.25}) {
    for (const auto& [lower, upper] : {std::pair{0.0, 3.0}, {-0.125, 3.125}}) {
      SCOPED_TRACE(testing::Message() << "h " << h << ", lower " << lower);
      if (h > upper - lower) continue;
      const KernelGrid grid = KernelGrid::bounded(values, h, lower, upper);
      const double images = 2 + 2 * std::ceil(7 * h / (upper - lower));
      expect_agrees(grid, Reference(values, h, lower, upper), h, 3.125, images);
      EXPECT_EQ(grid.position(0), lower);
      EXPECT_NEAR(grid.position(grid.nodes() - 1), upper, 1e-14);
      EXPECT_EQ(grid.value(0).mass, 0);
    }
  }
}

TEST(KernelGrid, WeightsCountAsRepeatedValues) {
  const std::vector<WeightedValue> one = {{0, 3}, {0.5, 1}, {2, 2}};
  const std::vector<WeightedValue> many = {{0, 1}, {0, 1}, {0, 1}, {0.5, 1}, {2, 1}, {2, 1}};
  const KernelGrid a = KernelGrid::unbounded(one, 0.3);
  const KernelGrid b = KernelGrid::unbounded(many, 0.3);
  ASSERT_EQ(a.nodes(), b.nodes());
  for (std::int64_t q = 0; q < a.nodes(); ++q) {
    EXPECT_NEAR(a.value(q).mass, b.value(q).mass, 1e-14);
    EXPECT_NEAR(a.moments(q).second, b.moments(q).second, 1e-13);
  }
}

TEST(KernelGrid, SkipsWhatIsFarFromEveryValue) {
  const std::vector<WeightedValue> values = {{-1, 1}, {1, 1}};
  const double h = 0x1p-30;
  const KernelGrid grid = KernelGrid::unbounded(values, h);
  // Two stretches of 14 bandwidths, 16 nodes each, and a node of rounding at either end.
  EXPECT_LE(grid.nodes(), 2 * (14 * 16 + 4));
  expect_agrees(grid, Reference(values, h), h, 1, 1);
}

}  // namespace
}  // namespace kde
