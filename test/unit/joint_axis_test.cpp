// Where values and bounds lie on the axes of a joint density: the formulas of axis.h, and every
// bound between the values that it should be between.
#include "core/joint/axis.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/kernel/normal.h"
#include "joint_rows.h"

namespace kde {
namespace {

using joint_rows::closed;
using joint_rows::Column;
using joint_rows::kInf;
using joint_rows::kNan;

// A column, its marginal and its axis.
struct Scored {
  Column column;
  DensityBytes bytes;
  std::vector<double> heavy;
  Axis axis;

  Scored(Column c, double h) : column(std::move(c)), bytes(joint_rows::marginal(column)) {
    axis.normal_scores = true;
    axis.bandwidth = h;
    axis.marginal = &bytes.header();
    heavy = heavy_values(axis.marginal, h);
    axis.heavy = heavy;
  }
  Scored(const Scored&) = delete;
  Scored& operator=(const Scored&) = delete;

  float place(double x) const { return std::isnan(x) ? kNotANumber : axis.coordinate(x); }
};

bool may_contain(const AxisRange& r, float t) {
  return !r.empty && t >= r.member_lower && t <= r.member_upper;
}
bool must_contain(const AxisRange& r, float t) {
  return !r.empty && t > r.member_lower && t < r.member_upper;
}

// Phi^-1 by bisection.
double score(double p) {
  double low = -40;
  double high = 40;
  for (int i = 0; i < 300; ++i) {
    const double middle = (low + high) / 2;
    (normal_cdf(middle) < p ? low : high) = middle;
  }
  return low;
}

Column whole_numbers(int n) {
  Column c;
  for (int i = 0; i < n; ++i) c.value.push_back(i);
  c.lattice_step = 1;
  return c;
}

TEST(JointAxis, CoordinatesAreShrunkScoresOfTheMiddleOfTheJump) {
  constexpr double kH = 0.3;
  const Scored s(whole_numbers(300), kH);
  ASSERT_TRUE(s.heavy.empty());  // less than 1/256
  for (int i = 0; i < 300; ++i) {
    const double z = score((i + 0.5) / 300);
    // Coordinates are below 10: half the last place of a float is 5e-7.
    EXPECT_NEAR(s.axis.coordinate(i), std::sqrt(1 - kH * kH) * z / kH, 5e-7) << i;
    const AxisRange r = s.axis.range(closed(i, i));
    if (i > 0) {
      EXPECT_NEAR(r.kernel_lower, score(i / 300.0) / kH, 5e-7) << i;
      EXPECT_NEAR(r.member_lower, std::sqrt(1 - kH * kH) * score(i / 300.0) / kH, 5e-7) << i;
    }
    if (i < 299) {
      EXPECT_NEAR(r.kernel_upper, score((i + 1) / 300.0) / kH, 5e-7) << i;
    }
  }
}

TEST(JointAxis, OfALinearAxis) {
  Axis axis;
  axis.center = 10;
  axis.bandwidth = 2;
  EXPECT_EQ(axis.coordinate(14), 2);
  EXPECT_EQ(axis.coordinate(1e300), kFarthest);
  const AxisRange r = axis.range(closed(8, 14));
  EXPECT_EQ(r.kernel_lower, -1);
  EXPECT_EQ(r.kernel_upper, 2);
  EXPECT_EQ(r.member_lower, -1);
  EXPECT_EQ(r.member_upper, 2);
}

// Columns with ties, gaps, heavy values and tails; of so few values that marginals are exact.
std::vector<Column> columns() {
  std::vector<Column> all = joint_rows::mixed(500, true, 11);
  Random random(12);
  Column tails;
  for (int i = 0; i < 500; ++i)
    tails.value.push_back(std::exp(6 * joint_rows::normal(&random)) *
                          (random.below(2) == 0 ? 1 : -1));
  all.push_back(tails);
  Column constant;
  constant.value.assign(500, 5);
  all.push_back(constant);
  return all;
}

TEST(JointAxis, PointsOfARangeLieWithinItsEdges) {
  Random random(13);
  for (const Column& column : columns()) {
    for (const double h : {1e-3, 0.1, 0.5, 1.0}) {
      const Scored s(column, h);
      for (int trial = 0; trial < 300; ++trial) {
        const Range r = joint_rows::random_range(column, &random);
        const AxisRange on_axis = s.axis.range(r);
        EXPECT_LE(on_axis.kernel_lower, on_axis.kernel_upper);
        for (std::size_t i = 0; i < column.value.size(); ++i) {
          if (column.is_null(i)) continue;
          const double x = column.value[i];
          const float t = s.place(x);
          if (joint_rows::holds(r, x) ? !may_contain(on_axis, t) : must_contain(on_axis, t))
            FAIL() << x << " in " << r.lower << ", " << r.upper << " h " << h;
        }
        EXPECT_FALSE(may_contain(on_axis, kNowhere));
      }
    }
  }
}

// Of bounds in ascending order, edges ascend: a range that grows holds no less, of kernels and of
// points.
TEST(JointAxis, EdgesAscendWithTheBounds) {
  Random random(14);
  for (const Column& column : columns()) {
    for (const double h : {1e-3, 0.05, 0.3, 0.9}) {
      const Scored s(column, h);
      std::vector<double> bounds;
      for (int i = 0; i < 400; ++i) {
        const double x = column.value[random.below(column.value.size())];
        if (!std::isfinite(x)) continue;
        bounds.push_back(x);
        bounds.push_back(x + 0.01 * joint_rows::normal(&random));
        bounds.push_back(x + 1e-9);
      }
      bounds.insert(bounds.end(), {-kInf, kInf, -1e300, 1e300});
      std::sort(bounds.begin(), bounds.end());
      bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
      AxisRange last{};
      bool any = false;
      for (const double b : bounds) {
        for (const bool inclusive : {true, false}) {
          Range from;  // [b, or (b,
          from.lower_unbounded = false;
          from.lower = b;
          from.lower_inclusive = inclusive;
          Range to;  // b) or b]
          to.upper_unbounded = false;
          to.upper = b;
          to.upper_inclusive = !inclusive;
          const AxisRange lower = s.axis.range(from);
          const AxisRange upper = s.axis.range(to);
          // What is above a bound is not below it, and all is one of both.
          if (!upper.empty) {
            EXPECT_EQ(lower.kernel_lower, upper.kernel_upper) << b;
            EXPECT_EQ(lower.member_lower, upper.member_upper) << b;
          }
          if (any) {
            ASSERT_LE(last.kernel_lower, lower.kernel_lower) << b << " h " << h;
            ASSERT_LE(last.member_lower, lower.member_lower) << b << " h " << h;
          }
          last = lower;
          any = true;
        }
      }
    }
  }
}

TEST(JointAxis, BetweenLatticePointsThereIsNothing) {
  const Scored s(whole_numbers(50), 0.4);
  Range open = closed(20, 21);
  open.lower_inclusive = open.upper_inclusive = false;
  for (const Range& r : {open, closed(20.2, 20.9), closed(20 + 1e-9, 21 - 1e-9)}) {
    const AxisRange on_axis = s.axis.range(r);
    EXPECT_EQ(on_axis.kernel_lower, on_axis.kernel_upper);
    EXPECT_EQ(on_axis.member_lower, on_axis.member_upper);
  }
  // Bounds between the same points are the same bound.
  EXPECT_EQ(s.axis.range(closed(20.1, 30.9)).kernel_lower,
            s.axis.range(closed(21, 30)).kernel_lower);
  EXPECT_EQ(s.axis.range(closed(20.1, 30.9)).kernel_upper,
            s.axis.range(closed(21, 30)).kernel_upper);
}

TEST(JointAxis, NothingLiesBeyondTheLeastAndTheGreatest) {
  const Scored s(whole_numbers(50), 0.4);
  const AxisRange r = s.axis.range(closed(0, 49));
  EXPECT_LT(r.kernel_lower, -kFarthest);
  EXPECT_GT(r.kernel_upper, kFarthest);
  EXPECT_GT(r.kernel_lower, kNegativeInfinity);
  EXPECT_LT(r.kernel_upper, kPositiveInfinity);
  for (const double x : {-1e300, -1.0, 50.0, 1e300})
    EXPECT_LE(std::fabs(s.axis.coordinate(x)), kFarthest) << x;
}

TEST(JointAxis, KernelsDoNotCrossHeavyValues) {
  Random random(15);
  for (const double h : {0.05, 0.3, 0.6}) {
    // Half of the rows are 0, a quarter 7; the rest lies around and between them.
    Column c;
    for (int i = 0; i < 1200; ++i) {
      const std::uint64_t which = random.below(4);
      c.value.push_back(which < 2 ? 0 : which == 2 ? 7 : 12 * random.uniform() - 3);
    }
    const Scored s(c, h);
    ASSERT_EQ(s.heavy, (std::vector<double>{0, 7}));
    for (const double v : {0.0, 7.0}) {
      const AxisRange r = s.axis.range(closed(v, v));
      // Half a gap, but for rounding: coordinates are below 128.
      const double reach = kGap / 2 - 1e-5;
      for (const double x : c.value) {
        const float t = s.place(x);
        EXPECT_GE(std::fabs(t - r.kernel_lower), reach) << x;
        EXPECT_GE(std::fabs(t - r.kernel_upper), reach) << x;
        EXPECT_EQ(t > r.kernel_lower && t < r.kernel_upper, x == v);
      }
    }
    // A bound with no row between it and a heavy value is at the heavy value.
    std::vector<double> sorted = c.value;
    std::sort(sorted.begin(), sorted.end());
    const double next = *std::upper_bound(sorted.begin(), sorted.end(), 0.0);
    const double last = *(std::lower_bound(sorted.begin(), sorted.end(), 0.0) - 1);
    const AxisRange wide = s.axis.range(closed(last + 1e-9, next - 1e-9));
    const AxisRange narrow = s.axis.range(closed(0, 0));
    EXPECT_EQ(wide.kernel_lower, narrow.kernel_lower);
    EXPECT_EQ(wide.kernel_upper, narrow.kernel_upper);
  }
}

TEST(JointAxis, HeavyIsWhatIsWiderThanTheKernel) {
  // 1,000 whole numbers 0 .. 99 and as many rows at 50 as asked.
  for (const int rows : {20, 100, 200, 400}) {
    Column c;
    c.lattice_step = 1;
    for (int i = 0; i < 1000; ++i) c.value.push_back(i % 100);
    for (int i = 0; i < rows; ++i) c.value.push_back(50);
    const DensityBytes bytes = joint_rows::marginal(c);
    for (const double h : {0.05, 0.2, 0.5, 1.0}) {
      const double share = (rows + 10.0) / (1000 + rows);
      const double z = score(500.0 / (1000 + rows) + share / 2);
      const std::vector<double> heavy = heavy_values(&bytes.header(), h);
      const bool is_heavy = std::find(heavy.begin(), heavy.end(), 50) != heavy.end();
      EXPECT_EQ(is_heavy, share > h * normal_pdf(z) && share >= 1.0 / 256) << rows << " " << h;
    }
  }
}

TEST(JointAxis, WhatIsNotFinite) {
  const Scored s(whole_numbers(50), 0.4);
  const float places[] = {kNegativeInfinity, s.axis.coordinate(0), s.axis.coordinate(49),
                          kPositiveInfinity, kNotANumber};
  const double values[] = {-kInf, 0, 49, kInf, kNan};
  const double bounds[] = {-kInf, -5, 60, kInf, kNan};
  for (const double lower : bounds) {
    for (const double upper : bounds) {
      for (int bits = 0; bits < 16; ++bits) {
        Range r = closed(lower, upper);
        r.lower_inclusive = (bits & 1) != 0;
        r.upper_inclusive = (bits & 2) != 0;
        r.lower_unbounded = (bits & 4) != 0;
        r.upper_unbounded = (bits & 8) != 0;
        const AxisRange on_axis = s.axis.range(r);
        for (int i = 0; i < 5; ++i) {
          const bool held = joint_rows::holds(r, values[i]);
          EXPECT_EQ(must_contain(on_axis, places[i]), held) << lower << " " << upper << " " << bits;
          // No kernel reaches from one to the other.
          if (!on_axis.empty && on_axis.kernel_lower < on_axis.kernel_upper) {
            EXPECT_GT(std::min(std::fabs(places[i] - on_axis.kernel_lower),
                               std::fabs(places[i] - on_axis.kernel_upper)),
                      1e4);
            EXPECT_EQ(places[i] > on_axis.kernel_lower && places[i] < on_axis.kernel_upper, held);
          }
        }
        EXPECT_FALSE(may_contain(on_axis, kNowhere));
      }
    }
  }
  EXPECT_TRUE(s.axis.range(closed(3, 2)).empty);
  Range empty;
  empty.empty = true;
  EXPECT_TRUE(s.axis.range(empty).empty);
}

}  // namespace
}  // namespace kde
