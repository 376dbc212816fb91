// Automatic's densities of tables read whole: nothing is estimated, so that an interval, which then
// has the error of what is stored alone, holds the exact count of every range; and what is stored
// in full has a density.
#include "core/estimate/clumps.h"
#include "core/grid/lattice.h"
#include "core/answer/column_evidence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "distinct.h"
#include "fitted.h"

namespace kde {
namespace {

using fitted::Column;
using fitted::Fitted;
using fitted::range;

std::vector<Column> whole_columns(int n) {
  std::vector<Column> out = fitted::columns(n);
  std::vector<double> x = samples::normal(n, 8);
  for (double& v : x) v = v < 0 ? 0 : v;
  out.push_back({"half zeros", x});
  x = samples::normal(n, 9);
  for (double& v : x) v = std::round(1e4 * v) / 100;  // of more points than are stored one by one
  out.push_back({"hundredths", x});
  return out;
}

// Ranges between values and from middle to middle of two neighbours: the latter fall inside cells.
void expect_exact_counts_held(const DensityView& d, std::vector<double> x) {
  std::sort(x.begin(), x.end());
  Random random(3);
  const auto pick = [&] {
    const auto i = static_cast<std::size_t>(random.below(x.size() - 1));
    return random.below(2) == 0 ? x[i] : x[i] + (x[i + 1] - x[i]) / 2;
  };
  const double rounding = 1e-9 * d.header().rows;
  for (int i = 0; i < 400; ++i) {
    const auto [a, b] = std::minmax({pick(), pick()});
    const auto exact = static_cast<double>(std::upper_bound(x.begin(), x.end(), b) -
                                           std::lower_bound(x.begin(), x.end(), a));
    const Interval c = interval_of(Wanted::count, d, range(a, b), {});
    ASSERT_LE(c.lower, exact + rounding) << a << " to " << b;
    ASSERT_GE(c.upper, exact - rounding) << a << " to " << b;
  }
}

TEST(ReadWhole, IntervalsHoldExactCounts) {
  for (int n : {300, 30000}) {
    for (const Column& c : whole_columns(n)) {
      SCOPED_TRACE(c.name + ", " + std::to_string(n));
      const Fitted f = fitted::fit(c.x);
      expect_exact_counts_held(f.view(), c.x);
    }
  }
}

// More distinct values than a summary has cells: what joining them moves is within its bound, of
// values on no lattice and of lattice points.
TEST(ReadWhole, IntervalsOfJoinedCellsHoldExactCounts) {
  std::vector<Column> columns = whole_columns(200000);
  for (double points : {150.0, 9000.0}) {
    std::vector<double> x = samples::normal(200000, 4);
    for (double& v : x) v = std::round(points * v);
    columns.push_back({std::to_string(points) + " a sigma", x});
  }
  int joined = 0;
  for (const Column& c : columns) {
    SCOPED_TRACE(c.name);
    const auto sample = fitted::sample_of(c.x);
    joined += (*sample.cells)->level() >= 0;
    FitOptions options;
    options.every_row_read = true;
    const Fitted f = fitted::fit(sample, options);
    expect_exact_counts_held(f.view(), c.x);
  }
  EXPECT_GE(joined, 3);
}

TEST(ReadWhole, LatticePointsHaveTheirShareAsDensity) {
  for (int points : {6, 12}) {
    std::vector<double> x;
    for (int i = 0; i < 7000; ++i) x.push_back(0.25 * (i % points));
    const Fitted f = fitted::fit(x);
    const DensityView d = f.view();
    for (double v : {0.0, 0.5, 1.25}) {
      for (double at : {v - 0.12, v, v + 0.12}) {
        EXPECT_NEAR(pdf(d, at) * 0.25 * 7000, count(d, range(v, v)), 1e-6);
      }
    }
    EXPECT_EQ(pdf(d, -0.13), 0);
    EXPECT_EQ(pdf(d, 0.25 * points), 0);
  }
}

// Tenths: 0.1 k is not the double nearest to k / 10.
TEST(ReadWhole, QuantilesAreDecimals) {
  std::vector<double> x;
  for (int i = 0; i < 30000; ++i) x.push_back((i % 3000) / 10.0);
  const Fitted f = fitted::fit(x);
  for (int k = 1; k < 3000; k += 7) EXPECT_EQ(quantile(f.view(), (k + 0.5) / 3000), k / 10.0);
}

TEST(ReadWhole, LatticesAndClumpsStopWhenAsked) {
  Control stop;
  stop.should_stop = [](void*) { return true; };
  const auto values = samples::distinct({1, 2, 2, 2, 3, 4, 7});
  ASSERT_TRUE(find_lattice(values));
  EXPECT_FALSE(find_lattice(values, stop));
  std::vector<double> x = samples::normal(100, 1);
  x.insert(x.end(), 50, 0.5);
  EXPECT_EQ(find_clumps(samples::distinct(x), 0, 100).size(), 1u);
  EXPECT_TRUE(find_clumps(samples::distinct(x), 0, 100, stop).empty());
}

}  // namespace
}  // namespace kde
