// The conditional mean against the same regression solved by its normal equations, point by point;
// what a local line must reproduce; and its interval.
#include "core/joint/conditional.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/answer/interval_parts.h"
#include "core/joint/axis.h"
#include "joint_fixture.h"

namespace kde {
namespace {

using joints::Axes;
using joints::Bytes;
using joints::encode;
using joints::parts;

struct Regression {
  double height, variance;  // of the line at t_0, if sigma^2 is the residuals'
  int points;
};

// Weighted least squares over every point, not only those near.
Regression regression(const JointView& d, int target, int on, double x) {
  const double t0 = axis_of(d, on).coordinate(x);
  std::vector<double> w, u, y;
  for (std::size_t i = 0; i < d.header().points; ++i) {
    const std::size_t b = i / kJointBlock;
    const int at = static_cast<int>(i % kJointBlock);
    const double t = d.coordinate(b, on, at);
    if (std::fabs(d.coordinate(b, target, at)) > kFarthest || std::fabs(t - t0) > 30) continue;
    const double rows =
        d.header().own_rows + (d.has_weights() ? d.weight(b, at) : d.equal_weight());
    w.push_back(rows * std::exp(-(t - t0) * (t - t0) / 2));
    u.push_back(t - t0);
    y.push_back(d.value(b, target, at));
  }
  double s0 = 0, s1 = 0, s2 = 0, r0 = 0, r1 = 0, squares = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    s0 += w[i];
    s1 += w[i] * u[i];
    s2 += w[i] * u[i] * u[i];
    r0 += w[i] * y[i];
    r1 += w[i] * u[i] * y[i];
    squares += w[i] * w[i];
  }
  const double determinant = s0 * s2 - s1 * s1;
  const double height = (s2 * r0 - s1 * r1) / determinant;
  const double slope = (s0 * r1 - s1 * r0) / determinant;
  double residuals = 0;
  double l_squares = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double l = w[i] * (s2 - u[i] * s1) / determinant;
    l_squares += l * l;
    residuals += w[i] * std::pow(y[i] - height - slope * u[i], 2);
  }
  const double n = s0 * s0 / squares;
  return {height, residuals / s0 * n / (n - 2) * l_squares, static_cast<int>(w.size())};
}

// Points farther than the kernel's reach have e^-18 of its weight together at most: 2e-8 of values
// that differ by at most 100, and of the residuals.
constexpr double kTolerance = 1e-5;

TEST(Conditional, IsTheWeightedRegression) {
  for (const Axes axes : {Axes::normal_scores, Axes::linear, Axes::correlated}) {
    JointParts p = parts(3, 700, axes);
    p.header.reading_variance = 0.5;
    p.effect.assign(joint_effects(3), 1);
    const Bytes b = encode(p);
    const JointView d = b.view();
    int tested = 0;
    for (const int on : {0, 1}) {
      for (double x = -30; x < 50; x += 1.5) {
        // Only where the points are, whose coordinates are within 4.
        if (std::fabs(axis_of(d, on).coordinate(x)) > 3.5) continue;
        ++tested;
        const IntervalOptions options = {0.9, 0};
        const Interval got = conditional_mean(d, 2, on, x, options);
        const Regression want = regression(d, 2, on, x);
        ASSERT_GT(want.points, 100);
        const double low = d.marginal(2)->min;
        const double high = d.marginal(2)->max;
        EXPECT_NEAR(got.estimate, std::clamp(want.height, low, high), kTolerance);
        const double half = (got.upper - got.lower) / 2;
        if (got.lower == low || got.upper == high) continue;
        // 0.75 + 0.5 of the variance of independent rows; Student's quantile is within a tenth of
        // the normal's with 20 degrees of freedom and more.
        const double normal = normal_central_quantile(0.9) * std::sqrt(want.variance * 1.25);
        EXPECT_GE(half, normal - kTolerance);
        EXPECT_LE(half, normal * 1.1 + kTolerance);
        EXPECT_NEAR((got.lower + got.upper) / 2, got.estimate, kTolerance);
      }
    }
    EXPECT_GT(tested, 5);
  }
}

// y on a line over t: local lines are it, at the edge of the points and beyond too, where a local
// mean would be off.
TEST(Conditional, LinesAreReproduced) {
  JointParts p = parts(2, 500, Axes::linear);
  for (std::size_t i = 0; i < 500; ++i) p.coordinate[2 * i + 1] = 1.5F + 0.5F * p.coordinate[2 * i];
  const Bytes b = encode(p);
  const JointView d = b.view();
  for (const double t : {-5.0, -4.0, -1.0, 0.5, 3.9}) {
    const double x = d.column(0).center + d.column(0).bandwidth * t;
    const Interval got = conditional_mean(d, 1, 0, x, {});
    const double want = d.column(1).center + d.column(1).bandwidth * (1.5 + 0.5 * t);
    // Coordinates are floats of at most 4: 2.4e-7 each, and lines beyond the points amplify it.
    EXPECT_NEAR(got.estimate, want, 1e-4);
    // Two more of the column's own are little beside the hundred that speak there.
    if (t == 0.5) {
      EXPECT_LT(got.upper - got.lower, std::sqrt(d.marginal(1)->variance) / 10);
    }
  }
}

// Others that no point near has met would move their mean by three in so many of them.
TEST(Conditional, OneValueMetDoesNotTellAll) {
  JointParts p = parts(2, 60, Axes::linear);
  for (std::size_t i = 0; i < 60; ++i) {
    p.coordinate[2 * i] = i < 20 ? 0 : 30 + static_cast<float>(i);
    if (i < 20) p.coordinate[2 * i + 1] = 1;
  }
  const Bytes b = encode(p);
  const JointView d = b.view();
  const Interval got = conditional_mean(d, 1, 0, d.column(0).center, {});
  const double moved = 2.0 / 20 * std::sqrt(d.marginal(1)->variance);
  EXPECT_GT(got.upper - got.estimate, moved);
  EXPECT_GT(got.estimate - got.lower, moved);
}

TEST(Conditional, OnlyPointsWithATargetSpeak) {
  JointParts p = parts(2, 400, Axes::linear);
  constexpr float kSpecial[] = {kNowhere, kNegativeInfinity, kPositiveInfinity, kNotANumber};
  for (std::size_t i = 0; i < 400; ++i) {
    p.coordinate[2 * i] = static_cast<float>(i % 5) / 5;
    // Of every other point a value far away, but for those without one.
    p.coordinate[2 * i + 1] = i % 2 == 0 ? 1 : kSpecial[i / 2 % 4];
  }
  const Bytes b = encode(p);
  const JointView d = b.view();
  const Interval got = conditional_mean(d, 1, 0, d.column(0).center, {});
  EXPECT_NEAR(got.estimate, d.column(1).center + d.column(1).bandwidth, 1e-5);
}

TEST(Conditional, PointsAtOnePlaceHaveAMean) {
  JointParts p = parts(2, 100, Axes::linear);
  double sum = 0;
  for (std::size_t i = 0; i < 100; ++i) {
    p.coordinate[2 * i] = 1;
    sum += p.coordinate[2 * i + 1];
  }
  const Bytes b = encode(p);
  const JointView d = b.view();
  const double x = d.column(0).center + d.column(0).bandwidth * 1.5;
  const Interval got = conditional_mean(d, 1, 0, x, {});
  EXPECT_NEAR(got.estimate, d.column(1).center + d.column(1).bandwidth * sum / 100, 1e-5);
  EXPECT_LT(got.lower, got.estimate);
}

TEST(Conditional, NothingNear) {
  const Bytes b = encode(parts(2, 100, Axes::linear));
  const JointView d = b.view();
  const double x = d.column(0).center + d.column(0).bandwidth * 11;
  EXPECT_TRUE(std::isnan(conditional_mean(d, 1, 0, x, {}).estimate));
  EXPECT_TRUE(
      std::isnan(conditional_mean(d, 1, 0, std::numeric_limits<double>::infinity(), {}).estimate));
}

// With fewer than three points that speak the residuals know nothing.
TEST(Conditional, FewPointsHaveTheColumnsSpread) {
  JointParts p = parts(2, 2, Axes::linear);
  p.coordinate = {-1, -1, 1, 1};
  p.header.sampling_variance = 1;
  const Bytes b = encode(p);
  const JointView d = b.view();
  const Interval got = conditional_mean(d, 1, 0, d.column(0).center, {});
  EXPECT_NEAR(got.estimate, d.column(1).center, 1e-9);
  // Two points of half the weight each.
  const double half = normal_central_quantile(0.95) * std::sqrt(d.marginal(1)->variance / 2);
  EXPECT_TRUE(got.upper - got.estimate >= half || got.upper == d.marginal(1)->max);
  EXPECT_TRUE(got.estimate - got.lower >= half || got.lower == d.marginal(1)->min);
}

TEST(Conditional, StaysWithinTheTargetsValues) {
  JointParts p = parts(2, 300, Axes::linear);
  // Steep: at the edge the line is beyond 60, the greatest value.
  for (std::size_t i = 0; i < 300; ++i) p.coordinate[2 * i + 1] = 10 * p.coordinate[2 * i];
  const Bytes b = encode(p);
  const JointView d = b.view();
  const double x = d.column(0).center + d.column(0).bandwidth * 4;
  const Interval got = conditional_mean(d, 1, 0, x, {});
  EXPECT_EQ(got.estimate, d.marginal(1)->max);
  EXPECT_LE(got.upper, d.marginal(1)->max);
}

// Rows that change, those nearest first and others, come where they do most and to the target's
// ends: the mean that is then stays within the interval, which has no other width here.
TEST(Conditional, TakesInChangedRows) {
  JointParts p = parts(2, 400, Axes::linear);
  p.header.sampling_variance = 0;
  const Bytes before = encode(p);
  const JointView d = before.view();
  Random random(7);
  double widest = 0;
  for (const double t0 : {-3.0, 0.0, 2.0}) {
    const double x = d.column(0).center + d.column(0).bandwidth * t0;
    for (const std::size_t changed : {1, 5, 20}) {
      // Each point stands for three rows.
      // What comes is no other than what there is.
      IntervalOptions options = {0.95, 3.0 * static_cast<double>(changed)};
      options.least_value = d.marginal(1)->min;
      options.greatest_value = d.marginal(1)->max;
      const Interval got = conditional_mean(d, 1, 0, x, options);
      const Interval none = conditional_mean(d, 1, 0, x, {});
      EXPECT_EQ(none.lower, none.upper);
      EXPECT_LT(got.lower, got.estimate);
      EXPECT_GT(got.upper, got.estimate);
      for (int trial = 0; trial < 60; ++trial) {
        JointParts after = p;
        const bool high = trial % 2 == 0;
        const Header& target = *d.marginal(1);
        const double end = high ? target.max : target.min;
        const double place = t0 + (trial % 13 - 6) / 2.0;
        // The points that pull the other way most, or any.
        std::vector<std::size_t> order(400);
        for (std::size_t i = 0; i < 400; ++i) order[i] = i;
        const auto pull = [&](std::size_t i) {
          const double t = p.coordinate[2 * i] - t0;
          const double y = d.column(1).center + d.column(1).bandwidth * p.coordinate[2 * i + 1];
          return std::exp(-t * t / 2) * (high ? got.estimate - y : y - got.estimate);
        };
        if (trial % 3 != 0)
          std::sort(order.begin(), order.end(),
                    [&](std::size_t a, std::size_t b) { return pull(a) > pull(b); });
        for (std::size_t k = 0; k < changed; ++k) {
          const std::size_t i = trial % 3 != 0 ? order[k] : random.below(400);
          after.coordinate[2 * i] = static_cast<float>(place);
          after.coordinate[2 * i + 1] =
              trial % 5 == 4
                  ? kNowhere
                  : static_cast<float>((end - d.column(1).center) / d.column(1).bandwidth);
        }
        const Bytes bytes = encode(after);
        const double now = conditional_mean(bytes.view(), 1, 0, x, {}).estimate;
        EXPECT_GE(now, got.lower - 1e-4) << t0 << " " << changed << " " << trial;
        EXPECT_LE(now, got.upper + 1e-4) << t0 << " " << changed << " " << trial;
        widest = std::max(
            widest, std::fabs(now - got.estimate) /
                        (now > got.estimate ? got.upper - got.estimate : got.estimate - got.lower));
      }
    }
  }
  // Nor is it wider than it has to be by much.
  EXPECT_GT(widest, 0.5);
}

}  // namespace
}  // namespace kde
