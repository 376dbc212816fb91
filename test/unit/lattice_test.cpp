// grid/lattice.h: the steps that people write numbers in are found, strays or not, and nothing
// is found where there is none.
#include "core/grid/lattice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "core/random.h"
#include "distinct.h"
#include "samples.h"

namespace kde {
namespace {

// whole / 10^decimals as PostgreSQL would read it: through its digits.
double literal(std::int64_t whole, int decimals) {
  std::string digits = std::to_string(whole < 0 ? -whole : whole);
  const auto places = static_cast<std::size_t>(decimals);
  if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
  digits.insert(digits.size() - places, ".");
  return std::strtod(((whole < 0 ? "-" : "") + digits).c_str(), nullptr);
}

// A column of the values (offset + k gap) / 10^decimals.
struct Decimal {
  std::int64_t offset, gap;
  int decimals;

  double value(std::int64_t k) const { return literal(offset + k * gap, decimals); }
  double scale() const { return std::round(std::pow(10, decimals)); }
};

// n values around k = 0 with a spread of 100 steps.
std::vector<double> column(const Decimal& d, int n, std::uint64_t seed = 1) {
  std::vector<double> x;
  for (double z : samples::normal(n, seed)) x.push_back(d.value(std::llround(100 * z)));
  return x;
}

bool on(const Lattice& l, double x) { return l.value(l.nearest(x)) == x; }

constexpr Decimal kDecimals[] = {
    {0, 1, 0},               // whole numbers
    {3, 5, 0},               // every fifth
    {0, 1, 2},               // cents
    {5, 5, 1},               // halves
    {3200, 18, 2},           // tenths of a Celsius degree in Fahrenheit
    {0, 25, 0},              //
    {1700006400, 86400, 0},  // days in seconds
    {1700000100, 3600, 0},   // hours, a hundred seconds past
    {-123456789, 7, 3},      // far below 0
    {99900000000001, 10, 0},
    {-4000000000000, 1, 1},
    {0, 1, 6},
    {0, 125, 3},  // eighths
};

TEST(Lattice, FindsStepAndOffsetAndReadsDecimalLiterals) {
  for (const Decimal& d : kDecimals) {
    SCOPED_TRACE(testing::Message() << d.offset << " + k " << d.gap << " to " << d.decimals);
    const Lattice l = find_lattice(samples::distinct(column(d, 400)));
    ASSERT_TRUE(l);
    EXPECT_EQ(l.gap, d.gap);
    EXPECT_EQ(l.scale, d.scale());
    EXPECT_EQ(l.step(), literal(d.gap, d.decimals));
    EXPECT_EQ((l.base - d.offset) % d.gap, 0);
    // Points never seen as well, each a literal to the last bit, in the order of their numbers.
    const std::int64_t first = l.nearest(d.value(-5000));
    for (std::int64_t k = -5000; k <= 5000; ++k) {
      const double x = d.value(k);
      ASSERT_EQ(l.nearest(x), first + 5000 + k);
      ASSERT_EQ(l.value(l.nearest(x)), x);
    }
  }
}

// Parts that no decimals write: months of a year, thirds, minutes of a day.
TEST(Lattice, PartsOfAUnit) {
  for (int parts : {3, 7, 12, 60, 1440}) {
    Random random(6);
    std::vector<double> x;
    for (int i = 0; i < 2000; ++i) x.push_back((1 + double(random.below(400))) / parts);
    std::sort(x.begin(), x.end());
    const Lattice l = find_lattice(samples::distinct(x));
    EXPECT_DOUBLE_EQ(l.step(), 1.0 / parts);
    for (double v : x) ASSERT_EQ(l.value(l.nearest(v)), v);
  }
}

TEST(Lattice, AFewStraysDoNotHideIt) {
  Random random(4);
  for (const Decimal& d : kDecimals) {
    SCOPED_TRACE(testing::Message() << d.offset << " + k " << d.gap << " to " << d.decimals);
    std::vector<double> x = column(d, 2000);
    const double step = literal(d.gap, d.decimals);
    for (int i = 0; i < 18; ++i)  // 0.9 %, anywhere between the points
      x.push_back(x[random.below(2000)] + step * (0.2 + 0.3 * random.uniform()));
    const Lattice l = find_lattice(samples::distinct(x));
    ASSERT_TRUE(l);
    EXPECT_EQ(l.gap, d.gap);
    EXPECT_EQ(l.scale, d.scale());
    int off = 0;
    for (double v : x) off += on(l, v) ? 0 : 1;
    EXPECT_LE(off, 18);
    EXPECT_GE(off, 9);  // a coarse double may put a stray on a point
  }
}

// Strays on a finer lattice, within the share allowed and beyond it.
TEST(Lattice, StraysBeyondOnePercentMakeTheStepFiner) {
  const Decimal fives{0, 5, 0};
  for (const auto& [strays, gap] : {std::pair{15, 5}, std::pair{45, 1}}) {
    std::vector<double> x = column(fives, 2000);
    for (int i = 0; i < strays; ++i) x.push_back(5 * (i - 20) + 1);
    const Lattice l = find_lattice(samples::distinct(x));
    ASSERT_TRUE(l);
    EXPECT_EQ(l.gap, gap) << strays;
  }
  // Among continuous strays there is no step at all.
  std::vector<double> x = column(fives, 2000);
  for (double z : samples::normal(60, 3)) x.push_back(100 * z);
  EXPECT_FALSE(find_lattice(samples::distinct(x)));
}

TEST(Lattice, NoneOnContinuousValues) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_FALSE(find_lattice(samples::distinct(samples::normal(300, seed))));
    EXPECT_FALSE(find_lattice(samples::distinct(samples::lognormal(300, seed))));
  }
}

TEST(Lattice, NoneWithoutTwoValuesOrBeyondTheDigitsOfADouble) {
  EXPECT_FALSE(find_lattice({}));
  EXPECT_FALSE(find_lattice(samples::distinct({3, 3, 3})));
  // Seven decimals.
  EXPECT_FALSE(find_lattice(samples::distinct(column({0, 1, 7}, 300))));
  std::vector<double> x;
  for (int i = 0; i < 300; ++i) x.push_back(1e18 + 1024.0 * i);
  EXPECT_FALSE(find_lattice(samples::distinct(x)));
  for (double& v : x) v = (v - 1e18) * 1e290;
  EXPECT_FALSE(find_lattice(samples::distinct(x)));
  // 0.3 and 0.1 + 0.2 are one whole number of tenths: no two points.
  EXPECT_FALSE(find_lattice(samples::distinct({0.3, 0.1 + 0.2})));
}

// Strays may be anything; the point nearest to them must exist and nothing may overflow.
TEST(Lattice, NearestOfAnyValueIsAPoint) {
  constexpr double kMax = std::numeric_limits<double>::max();
  for (const Decimal& d : kDecimals) {
    const Lattice l = find_lattice(samples::distinct(column(d, 400)));
    for (double x : {kMax, -kMax, 1e300, -1e300, 1e19, -1e19, 5e-324}) {
      const double point = l.value(l.nearest(x));
      EXPECT_TRUE(std::isfinite(point));
      if (std::fabs(x) > 1) {
        EXPECT_NE(point, x);
      }
    }
    EXPECT_GT(l.value(l.nearest(kMax)), d.value(1000000));
    EXPECT_LT(l.value(l.nearest(-kMax)), d.value(-1000000));
  }
}

}  // namespace
}  // namespace kde
