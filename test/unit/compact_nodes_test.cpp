// The nodes of compact kernels: their values and moments against the closed forms of kernel_sum.h,
// where they lie, and what a cubic between neighbours misses.
#include "core/estimate/compact_nodes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/density/cell.h"
#include "core/density/text.h"
#include "core/estimate/kernel_sum.h"
#include "fitted.h"
#include "samples.h"

namespace kde {
namespace {

// Within |u| <= 1, ascending; unequal weights where asked for.
std::vector<WeightedValue> points(std::vector<double> x, bool weighted = false) {
  std::sort(x.begin(), x.end());
  double reach = 0;
  for (double v : x) reach = std::max(reach, std::fabs(v));
  std::vector<WeightedValue> out;
  for (std::size_t i = 0; i < x.size(); ++i)
    out.push_back({x[i] / (2 * reach), weighted ? 1.0 + static_cast<double>(i % 5) : 1.0});
  return out;
}

class CompactNodesTest : public testing::TestWithParam<Kernel> {
 protected:
  Kernel kernel = GetParam();

  CompactNodes unbounded(const std::vector<WeightedValue>& values, double h) const {
    CompactNodes nodes;
    EXPECT_TRUE(CompactNodes::unbounded(kernel, values, h, {}, &nodes).ok());
    return nodes;
  }

  // `bound`: of the mass. Merging misplaces a point by at most h/2048, which moves F by K h/2048
  // and the density, whose slope is at most 1.5/h, by less than twenty times that over h.
  void expect_values(const CompactNodes& nodes, const fitted::Reference& reference, double h,
                     double bound, std::int64_t stride = 1) const {
    ASSERT_GE(nodes.nodes(), 2);
    const double start = nodes.position(0);
    for (std::int64_t q = 0; q < nodes.nodes(); q += stride) {
      const double u = nodes.position(q);
      SCOPED_TRACE(u);
      EXPECT_NEAR(nodes.value(q).mass, reference.mass(start, u), bound);
      // Where the density jumps its value is either one.
      if (kernel != Kernel::uniform) {
        EXPECT_NEAR(nodes.value(q).density, reference.density(u), 20 * bound / h);
      }
      const NodeSource::Moments m = nodes.moments(q);
      EXPECT_NEAR(m.first, reference.first(start, u), bound);
      EXPECT_NEAR(m.second, reference.second(start, u), bound);
    }
  }
};

// Sums of at most 300 terms, differences of them: 1e-13; and where the last bits of u are cut off
// at the ends, 2^-36 of at most the density 1/h.
TEST_P(CompactNodesTest, FewPointsAreExact) {
  for (int n : {1, 2, 3, 10, 100}) {
    for (bool weighted : {false, true}) {
      const std::vector<WeightedValue> values = points(samples::mix(n), weighted);
      for (double h : {0.003, 0.1, 0.4}) {
        SCOPED_TRACE(testing::Message() << n << " points, h = " << h);
        const CompactNodes nodes = unbounded(values, h);
        const fitted::Reference reference(values, h, kernel);
        expect_values(nodes, reference, h, 1e-13 + 0x1p-35 / h, 1 + nodes.nodes() / 200);
        EXPECT_EQ(nodes.value(0).mass, 0);
        EXPECT_EQ(nodes.value(nodes.nodes() - 1).mass, 1);
      }
    }
  }
}

TEST_P(CompactNodesTest, ReflectedPointsAreExact) {
  for (int n : {2, 10, 100}) {
    const std::vector<WeightedValue> values = points(samples::mix(n));
    const double low = values.front().value - 0.01;
    const double high = values.back().value;
    for (double h : {0.01, 0.2, high - low}) {
      SCOPED_TRACE(testing::Message() << n << " points, h = " << h);
      CompactNodes nodes;
      ASSERT_TRUE(CompactNodes::bounded(kernel, values, h, low, high, {}, &nodes).ok());
      const fitted::Reference reference(values, h, low, high, kernel);
      expect_values(nodes, reference, h, 1e-13 + 0x1p-33 / h, 1 + nodes.nodes() / 200);
      EXPECT_EQ(nodes.position(0), truncate_position(low));
      EXPECT_EQ(nodes.position(nodes.nodes() - 1), truncate_position(high));
    }
  }
}

// The bounds of compact_nodes.h: 2e-7 in the middle of a merged point and 1.2e-7 at a corner. The
// moments are those of u |u| <= 1: twice that.
TEST_P(CompactNodesTest, ManyPointsAreMerged) {
  for (const std::vector<double>& x : {samples::mix(30'000), samples::cauchy(30'000, 4)}) {
    const std::vector<WeightedValue> values = points(x);
    for (double h : {1e-5, 0.02}) {
      const CompactNodes nodes = unbounded(values, h);
      const fitted::Reference reference(values, h, kernel);
      expect_values(nodes, reference, h, 6.4e-7, nodes.nodes() / 20);
    }
  }
}

TEST_P(CompactNodesTest, NodesCanBeStored) {
  for (double h : {0x1p-34, 1e-8, 1e-3, 0.3}) {
    for (const std::vector<double>& x : {samples::mix(50), std::vector<double>{-1, 0, 1e-9, 1}}) {
      const CompactNodes nodes = unbounded(points(x), h);
      for (std::int64_t q = 0; q < nodes.nodes(); ++q) {
        EXPECT_EQ(nodes.position(q), truncate_position(nodes.position(q)));
        if (q > 0) {
          EXPECT_LT(nodes.position(q - 1), nodes.position(q));
          EXPECT_LE(nodes.value(q - 1).mass, nodes.value(q).mass);
        }
      }
    }
  }
}

// A cubic through each two neighbours, against the sum at eight points between them: the bounds of
// compact_nodes.h, and for the jumps' own cells w 4e-5/16 of the corner within.
TEST_P(CompactNodesTest, CubicsBetweenNeighboursMissLittle) {
  for (int n : {1, 5, 60, 20'000}) {
    const std::vector<WeightedValue> values = points(samples::mix(n));
    const double h = n > 1000 ? 0.02 : 0.07;
    const CompactNodes nodes = unbounded(values, h);
    const KernelSum sum(values, h, kernel);
    const double start = nodes.position(0);
    const std::int64_t stride = n > 1000 ? nodes.nodes() / 40 : 1 + nodes.nodes() / 500;
    for (std::int64_t q = 0; q + 1 < nodes.nodes(); q += stride) {
      const double u0 = nodes.position(q);
      const double u1 = nodes.position(q + 1);
      const NodeSource::Value v0 = nodes.value(q);
      const NodeSource::Value v1 = nodes.value(q + 1);
      const double steepest = 3 * (v1.mass - v0.mass) / (u1 - u0);
      const Cell cell = Cell::hermite(u0, u1, v0.mass, v1.mass, std::min(v0.density, steepest),
                                      std::min(v1.density, steepest));
      for (int k = 1; k < 8; ++k) {
        const double u = u0 + (u1 - u0) * k / 8;
        EXPECT_NEAR(cell.value(cell.local(u)), sum.mass(start, u), n > 1000 ? 1.6e-6 : 2.6e-6 / n)
            << n << " points, at " << u;
      }
    }
  }
}

TEST_P(CompactNodesTest, StopsWhenAsked) {
  const std::vector<WeightedValue> values = points(samples::mix(20'000));
  int polls = 0;
  const auto stop = [](void* arg) { return ++*static_cast<int*>(arg) >= 3; };
  CompactNodes nodes;
  EXPECT_EQ(CompactNodes::unbounded(kernel, values, 0.05, {1, stop, &polls}, &nodes).code,
            Code::cancelled);
  EXPECT_EQ(polls, 3);
}

std::string name_of(const testing::TestParamInfo<Kernel>& info) { return kernel_name(info.param); }
INSTANTIATE_TEST_SUITE_P(Kernels, CompactNodesTest,
                         testing::Values(Kernel::epanechnikov, Kernel::biweight, Kernel::triangular,
                                         Kernel::uniform, Kernel::cosine),
                         name_of);

}  // namespace
}  // namespace kde
