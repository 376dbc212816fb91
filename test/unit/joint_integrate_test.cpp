// Boxes on joint densities: against the formulas in double on every instruction set, against
// quadrature of the density, draws from it, and tables whose every row is stored.
#include "core/joint/joint_moments.h"
#include "joint_reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/kernel/normal.h"
#include "core/joint/box_plan.h"
#include "core/joint/product.h"
#include "core/sums/pair_sums.h"
#include "joint_rows.h"

namespace kde {
namespace {

using joint_rows::closed;
using joint_rows::Column;
using joint_rows::Density;
using joint_rows::kInf;
using joint_rows::kNan;

JointMoments moments_on(std::int64_t simd_target, const JointView& d,
                        std::span<const BoxSide> sides, int target) {
  BoxPlan plan;
  if (!plan_box(d, sides, target, &plan)) return {};
  plan.simd_target = simd_target;
  return finish_moments(plan, sum_blocks(plan));
}

// A box of `sides` columns chosen anew, each bound as random_range makes it.
std::vector<BoxSide> random_box(const std::vector<Column>& columns, int sides, Random* random) {
  std::vector<int> order;
  for (int k = 0; k < static_cast<int>(columns.size()); ++k) order.push_back(k);
  std::vector<BoxSide> box;
  for (int s = 0; s < sides; ++s) {
    const std::size_t at = random->below(order.size());
    const int k = order[at];
    order.erase(order.begin() + static_cast<std::ptrdiff_t>(at));
    box.push_back({k, joint_rows::random_range(columns[static_cast<std::size_t>(k)], random)});
  }
  return box;
}

TEST(JointIntegrate, NormalDistribution) {
  for (const SimdTarget& target : simd_targets()) {
    const HalfNormals evaluate = half_normals(target.target);
    double worst = 0;
    double worst_density = 0;
    double worst_fall = 0;
    double last = -1;
    double x[kJointBlock];
    double half[kJointBlock];
    double density[kJointBlock];
    for (int from = -(1 << 18); from < 1 << 18; from += kJointBlock) {
      for (int i = 0; i < kJointBlock; ++i) x[i] = (from + i) * 0x1p-15;  // within [-8, 8]
      evaluate(x, half, density);
      for (int i = 0; i < kJointBlock; ++i) {
        const double exact = 0.5 * std::erf(x[i] / std::numbers::sqrt2);
        worst = std::max(worst, std::fabs(half[i] - exact));
        worst_density = std::max(worst_density, std::fabs(density[i] / normal_pdf(x[i]) - 1));
        worst_fall = std::max(worst_fall, last - half[i]);
        last = half[i];
      }
    }
    EXPECT_LE(worst, 1e-9) << target.name;
    EXPECT_LE(worst_fall, 1e-15) << target.name;  // ascends, but for rounding
    EXPECT_LE(worst_density, 1e-12) << target.name;
    for (const double t : {6.0, 7.0, 1e4, 7e6, kInf}) {
      std::fill(std::begin(x), std::end(x), t);
      x[1] = -t;
      evaluate(x, half, density);
      EXPECT_EQ(half[0], 0.5) << t;
      EXPECT_EQ(half[1], -0.5) << t;
    }
  }
}

// Of counts 1e-6 of the rows (integrate.h). Of the target's moments: those are quotients by
// the rows they are made of, so that an error of 1e-6 rows in each sum is one of 1e-6 rows/those
// rows times the values' span. Those are the rows of `finite`, or with bounds of the target's own
// the ones that have values within them: of these boxes' at least a fifth.
void expect_near(const JointMoments& fast, const JointMoments& exact, double rows, double span) {
  EXPECT_NEAR(fast.count, exact.count, 1e-6 * rows);
  EXPECT_NEAR(fast.finite, exact.finite, 1e-6 * rows);
  EXPECT_NEAR(fast.nans, exact.nans, 1e-6 * rows);
  EXPECT_NEAR(fast.positive_infinities, exact.positive_infinities, 1e-6 * rows);
  EXPECT_NEAR(fast.negative_infinities, exact.negative_infinities, 1e-6 * rows);
  if (exact.finite < 1e-4 * rows) return;
  const double share = 5 * 2e-6 * rows / exact.finite;
  EXPECT_NEAR(fast.mean, exact.mean, share * span);
  EXPECT_NEAR(fast.variance, exact.variance, 4 * share * span * span);
  EXPECT_NEAR(fast.fourth, exact.fourth, 16 * share * std::pow(span, 4));
  EXPECT_NEAR(fast.effective_points, exact.effective_points, 1e-3 * exact.effective_points + 1e-2);
}

TEST(JointIntegrate, AgreesWithTheFormulasOnEveryInstructionSet) {
  Random random(21);
  for (const int d : {2, 3, 5, 16}) {
    const std::vector<Column> columns = joint_rows::correlated(d, 1000, 22);
    std::vector<double> weight;
    for (int i = 0; i < 1000; ++i) weight.push_back(random.uniform());
    const std::vector<double> h(static_cast<std::size_t>(d), 1.5);
    const Density densities[] = {joint_rows::scores(columns, 0.4, 3, 1e6, weight),
                                 joint_rows::scores(columns, 0.9, 0, 1e6),
                                 joint_rows::linear(columns, h, 1e6)};
    for (const Density& density : densities) {
      for (int trial = 0; trial < 12; ++trial) {
        const int sides = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(d)));
        const std::vector<BoxSide> box = random_box(columns, sides, &random);
        const int target = static_cast<int>(random.below(static_cast<std::uint64_t>(d) + 1)) - 1;
        // No value of 1,000 is farther than 40 from any other.
        const JointMoments exact = joint_moments_reference(density.view(), box, target);
        for (const SimdTarget& simd : simd_targets()) {
          SCOPED_TRACE(simd.name + " d " + std::to_string(d) + " sides " + std::to_string(sides));
          expect_near(moments_on(simd.target, density.view(), box, target), exact, 1e6, 60);
        }
      }
    }
  }
}

// Every row stored, no kernels: what the table itself answers, to the last row.
struct Answer {
  double count = 0, finite = 0, nans = 0, below = 0, above = 0, mean = 0, variance = 0, fourth = 0;
};

Answer answer_of(const std::vector<Column>& columns, std::span<const BoxSide> box, int target) {
  Answer a;
  std::vector<double> values;
  for (std::size_t i = 0; i < columns[0].value.size(); ++i) {
    bool in = true;
    for (const BoxSide& side : box) {
      const Column& c = columns[static_cast<std::size_t>(side.column)];
      in = in && !c.is_null(i) && joint_rows::holds(side.range, c.value[i]);
    }
    if (!in) continue;
    ++a.count;
    if (target < 0) continue;
    const Column& c = columns[static_cast<std::size_t>(target)];
    if (c.is_null(i)) continue;
    const double y = c.value[i];
    if (std::isnan(y)) ++a.nans;
    if (y == kInf) ++a.above;
    if (y == -kInf) ++a.below;
    if (std::isfinite(y)) values.push_back(y);
  }
  a.finite = static_cast<double>(values.size());
  for (const double y : values) a.mean += y / a.finite;
  for (const double y : values) {
    a.variance += (y - a.mean) * (y - a.mean) / a.finite;
    a.fourth += std::pow(y - a.mean, 4) / a.finite;
  }
  return a;
}

TEST(JointIntegrate, ATableWhoseEveryRowIsStored) {
  Random random(23);
  // 500 rows: marginals are exact. 2,000: theirs are rounded, but not the rows.
  for (const std::size_t n : {500, 2000}) {
    const std::vector<Column> columns = joint_rows::mixed(n, true, 24);
    const Density density = joint_rows::scores(columns, 0.3, 1, static_cast<double>(n));
    for (int trial = 0; trial < 3000; ++trial) {
      const int sides = (n == 500 ? 1 : 2) + static_cast<int>(random.below(n == 500 ? 4 : 3));
      const std::vector<BoxSide> box = random_box(columns, sides, &random);
      int bounds = 0;
      for (const BoxSide& s : box)
        bounds += !(s.range.lower_unbounded && s.range.upper_unbounded) ? 1 : 0;
      if (n > 500 && bounds < 2) continue;  // the marginal answers
      const int target = static_cast<int>(random.below(5)) - 1;
      const Answer a = answer_of(columns, box, target);
      const JointMoments m = joint_moments(density.view(), box, target);
      ASSERT_NEAR(m.count, a.count, 1e-9);
      ASSERT_NEAR(m.finite, a.finite, 1e-9);
      ASSERT_NEAR(m.nans, a.nans, 1e-9);
      ASSERT_NEAR(m.positive_infinities, a.above, 1e-9);
      ASSERT_NEAR(m.negative_infinities, a.below, 1e-9);
      if (!(a.finite > 0)) continue;
      // Values are stored to 2^-24 of a standard deviation or of themselves: 1e-6 at |y| < 10.
      ASSERT_NEAR(m.mean, a.mean, 1e-6);
      ASSERT_NEAR(m.variance, a.variance, 1e-5 * (1 + a.variance));
      ASSERT_NEAR(m.fourth, a.fourth, 1e-4 * (1 + a.fourth));
    }
  }
}

TEST(JointIntegrate, WholeNumbersAddUpExactly) {
  const std::vector<Column> columns = joint_rows::mixed(3000, false, 25);
  const Density density = joint_rows::scores(columns, 0.3, 1, 3000);
  const BoxSide box[] = {{0, closed(-1, 1)}, {1, closed(-3, 5)}};
  double sum = 0;
  double count = 0;
  for (std::size_t i = 0; i < 3000; ++i) {
    if (std::fabs(columns[0].value[i]) > 1) continue;
    if (columns[1].value[i] < -3 || columns[1].value[i] > 5) continue;
    sum += columns[1].value[i];
    ++count;
  }
  const JointMoments m = joint_moments(density.view(), box, 1);
  EXPECT_EQ(m.count, count);
  EXPECT_EQ(std::round(m.mean * m.finite), sum);
  EXPECT_NEAR(m.mean * m.finite, sum, 1e-12 * count);
}

// Composite Simpson weights.
double simpson(int i, int n) { return i == 0 || i == n ? 1 : i % 2 == 1 ? 4 : 2; }

// The plain kernel sum in two columns: count, mean and variance of x in the box, the latter as
// finish_moments defines it, from the density on a grid. Simpson's rule errs by
// (b - a) step^4 max|f''''|/180; with steps of h/25 and |phi''''| <= 1.2 that is below 1e-7.
TEST(JointIntegrate, AgreesWithQuadratureOfTheDensity) {
  const std::vector<Column> columns = joint_rows::correlated(2, 120, 26);
  const double h[] = {1.2, 0.9};
  const Density density = joint_rows::linear(columns, {h[0], h[1]}, 120);
  const JointView view = density.view();
  // The density's own points, as stored.
  std::vector<double> x;
  std::vector<double> y;
  for (std::size_t b = 0; b < view.blocks(); ++b) {
    for (std::size_t i = 0; i < kJointBlock && b * kJointBlock + i < 120; ++i) {
      x.push_back(view.column(0).center + h[0] * view.coordinate(b, 0, i));
      y.push_back(view.column(1).center + h[1] * view.coordinate(b, 1, i));
    }
  }
  const double boxes[][4] = {{8, 13, 9, 12}, {10, 10.3, 5, 15}, {14, 19, 10, 13}};
  for (const auto& box : boxes) {
    const int nx = 2 * static_cast<int>(std::ceil(12.5 * (box[1] - box[0]) / h[0]));
    const int ny = 2 * static_cast<int>(std::ceil(12.5 * (box[3] - box[2]) / h[1]));
    const double dx = (box[1] - box[0]) / nx;
    const double dy = (box[3] - box[2]) / ny;
    std::vector<double> over_y(static_cast<std::size_t>(nx) + 1);  // integral of f(x, .) over y
    for (int i = 0; i <= nx; ++i) {
      for (int j = 0; j <= ny; ++j) {
        double f = 0;
        for (std::size_t p = 0; p < x.size(); ++p)
          f += normal_pdf((box[0] + i * dx - x[p]) / h[0]) *
               normal_pdf((box[2] + j * dy - y[p]) / h[1]) / (h[0] * h[1]);
        over_y[static_cast<std::size_t>(i)] += simpson(j, ny) * dy / 3 * f;
      }
    }
    const auto integral = [&](auto g) {
      double sum = 0;
      for (int i = 0; i <= nx; ++i)
        sum += simpson(i, nx) * dx / 3 * over_y[static_cast<std::size_t>(i)] * g(box[0] + i * dx);
      return sum;
    };
    const double count = integral([](double) { return 1.0; });
    const double mean = integral([](double u) { return u; }) / count;
    const double second = integral([&](double u) { return (u - mean) * (u - mean); });
    const double ends = (box[1] - mean) * over_y.back() - (box[0] - mean) * over_y.front();
    const double variance = (second - h[0] * h[0] * (count - ends)) / count;
    const BoxSide sides[] = {{0, closed(box[0], box[1])}, {1, closed(box[2], box[3])}};
    for (const SimdTarget& simd : simd_targets()) {
      const JointMoments m = moments_on(simd.target, view, sides, 0);
      EXPECT_NEAR(m.count, count, 1e-6 * 120);
      EXPECT_NEAR(m.mean, mean, 1e-6 * 120 / count);
      EXPECT_NEAR(m.variance, std::max(variance, 0.0), 1e-5 * 120 / count);
    }
    const JointMoments reference = joint_moments_reference(view, sides, 0);
    EXPECT_NEAR(reference.count, count, 1e-6);
    EXPECT_NEAR(reference.mean, mean, 1e-6);
    EXPECT_NEAR(reference.variance, std::max(variance, 0.0), 1e-5);
  }
}

// Draws from the density as axis.h defines it: a point, its kernel about the shrunk score, and back
// through the column's own distribution to a value.
TEST(JointIntegrate, AgreesWithDrawsInFiveColumns) {
  constexpr int kColumns = 5;
  constexpr int kDraws = 2000000;
  constexpr std::size_t kPoints = 2000;
  constexpr double kH = 0.4;
  Random random(27);
  const std::vector<Column> columns = joint_rows::correlated(kColumns, kPoints, 28);
  const Density density = joint_rows::scores(columns, kH, 1, 4.0 * kPoints);
  const JointView view = density.view();
  std::vector<std::vector<BoxSide>> boxes;
  boxes.push_back({{0, closed(8, 13)}, {1, closed(9, 12)}});
  boxes.push_back({{0, closed(5, 15)}, {2, closed(0.5, 3)}, {4, closed(6, 12)}});
  Range half = closed(0, 0.8);
  half.lower_unbounded = true;
  boxes.push_back(
      {{0, closed(7, 14)}, {1, closed(4, 11)}, {2, half}, {3, closed(8, 16)}, {4, closed(7, 20)}});
  // z of each bound: Phi(z) <= F(bound).
  struct Bounds {
    double low[kColumns], high[kColumns];
  };
  std::vector<Bounds> bounds;
  const auto score_below = [&](int k, double v, bool inclusive) {
    Range r;
    r.upper_unbounded = false;
    r.upper = v;
    r.upper_inclusive = inclusive;
    const double p = count(DensityView(view.marginal(k)), r) / kPoints;
    double low = -40;
    double high = 40;
    for (int i = 0; i < 100; ++i) {
      const double middle = (low + high) / 2;
      (normal_cdf(middle) < p ? low : high) = middle;
    }
    return p >= 1 ? 50 : low;
  };
  for (const auto& box : boxes) {
    Bounds b;
    std::fill(b.low, b.low + kColumns, -kInf);
    std::fill(b.high, b.high + kColumns, kInf);
    for (const BoxSide& s : box) {
      if (!s.range.lower_unbounded) b.low[s.column] = score_below(s.column, s.range.lower, false);
      b.high[s.column] = score_below(s.column, s.range.upper, true);
    }
    bounds.push_back(b);
  }
  struct Tally {
    double rows = 0, sum = 0, squares = 0;
  };
  constexpr int kTarget = 3;
  std::vector<Tally> kernels(boxes.size());
  for (int i = 0; i < kDraws; ++i) {
    const std::size_t p = random.below(kPoints);
    const std::size_t b = p / kJointBlock;
    const int at = static_cast<int>(p % kJointBlock);
    double z[kColumns];
    for (int k = 0; k < kColumns; k += 2) {
      const double radius = std::sqrt(-2 * std::log(random.uniform()));
      const double angle = 2 * std::numbers::pi * random.uniform();
      z[k] = kH * (view.coordinate(b, k, at) + radius * std::cos(angle));
      if (k + 1 < kColumns)
        z[k + 1] = kH * (view.coordinate(b, k + 1, at) + radius * std::sin(angle));
    }
    for (std::size_t j = 0; j < boxes.size(); ++j) {
      bool in = true;
      for (int k = 0; k < kColumns; ++k)
        in = in && z[k] > bounds[j].low[k] && z[k] <= bounds[j].high[k];
      if (!in) continue;
      const double y = view.value(b, kTarget, at);
      ++kernels[j].rows;
      kernels[j].sum += y;
      kernels[j].squares += y * y;
    }
  }
  for (std::size_t j = 0; j < boxes.size(); ++j) {
    // Of 8,000 rows 2,000 are the points' own, 6,000 the kernels'.
    const JointMoments own = [&] {
      const Density stored = joint_rows::scores(columns, kH, 1, kPoints);
      return joint_moments(stored.view(), boxes[j], -1);
    }();
    const JointMoments m = joint_moments(view, boxes[j], -1);
    const double p = kernels[j].rows / kDraws;
    EXPECT_GT(kernels[j].rows, 1000);
    EXPECT_NEAR((m.count - own.count) / (3.0 * kPoints), p, 4 * std::sqrt(p * (1 - p) / kDraws));

    // The mean of a column that is not bounded, over the kernels alone.
    bool target_bounded = false;
    for (const BoxSide& s : boxes[j]) target_bounded = target_bounded || s.column == kTarget;
    if (target_bounded) continue;
    const Density smooth = joint_rows::scores(columns, kH, 0, 4.0 * kPoints);
    const double mean = kernels[j].sum / kernels[j].rows;
    const double variance = kernels[j].squares / kernels[j].rows - mean * mean;
    EXPECT_NEAR(joint_moments(smooth.view(), boxes[j], kTarget).mean, mean,
                4 * std::sqrt(variance / kernels[j].rows));
  }
}

TEST(JointIntegrate, GrowsWithTheBoxAndAddsUp) {
  Random random(29);
  const std::vector<Column> columns = joint_rows::mixed(1500, false, 30);
  const double rows = 1e5;
  const Density density = joint_rows::scores(columns, 0.35, 2, rows);
  const std::vector<Column> smooth = joint_rows::correlated(3, 1500, 31);
  const Density plain = joint_rows::linear(smooth, {1, 1, 0.3}, rows);
  for (const auto& [d, table] : {std::pair{&density, &columns}, std::pair{&plain, &smooth}}) {
    for (int trial = 0; trial < 300; ++trial) {
      const BoxSide other = random_box(*table, 1, &random)[0];
      int k = static_cast<int>(random.below(table->size()));
      if (k == other.column) k = (k + 1) % static_cast<int>(table->size());
      const std::vector<double>& values = (*table)[static_cast<std::size_t>(k)].value;
      double b[4];
      for (double& v : b) v = values[random.below(1500)];
      std::sort(b, b + 4);
      Range left = closed(b[0], b[1]);
      Range right = closed(b[1], b[3]);
      left.upper_inclusive = trial % 2 == 0;
      right.lower_inclusive = !left.upper_inclusive;
      const auto counted = [&](const Range& r) {
        const BoxSide box[] = {{k, r}, other};
        return joint_moments(d->view(), box, -1).count;
      };
      EXPECT_NEAR(counted(left) + counted(right), counted(closed(b[0], b[3])), 1e-6 * rows);
      EXPECT_LE(counted(closed(b[1], b[2])), counted(closed(b[0], b[2])) + 1e-6 * rows);
      EXPECT_LE(counted(closed(b[1], b[2])), counted(closed(b[1], b[3])) + 1e-6 * rows);
      Range open = closed(b[1], b[2]);
      open.lower_unbounded = true;
      EXPECT_LE(counted(closed(b[1], b[2])), counted(open) + 1e-6 * rows);
      EXPECT_GE(counted(closed(b[1], b[2])), 0);
    }
  }
}

TEST(JointIntegrate, TheWholeRangeIsAllRows) {
  const std::vector<Column> columns = joint_rows::mixed(900, true, 32);
  const double rows = 900;
  const Density density = joint_rows::scores(columns, 0.35, 0.25, rows);
  const JointView view = density.view();
  EXPECT_EQ(joint_moments(view, {}, -1).count, rows);
  const BoxSide unbounded[] = {{0, Range{}}, {1, Range{}}};
  for (int target = 0; target < 4; ++target) {
    const JointMoments m = joint_moments(view, unbounded, target);
    const Header& h = *view.marginal(target);
    EXPECT_EQ(m.count, rows);
    EXPECT_EQ(m.finite, h.finite_rows());
    EXPECT_EQ(m.nans, h.nans);
    EXPECT_EQ(m.mean, h.mean);
    EXPECT_EQ(m.variance, h.variance);
    EXPECT_GE(m.fourth, m.variance * m.variance);
  }
  // A range, also one without bounds, holds all rows but those with NULL there.
  const Header& third = *view.marginal(2);
  EXPECT_GT(third.nulls, 0);
  const BoxSide of_third[] = {{0, Range{}}, {2, Range{}}};
  for (int target = -1; target < 4; ++target)
    EXPECT_EQ(joint_moments(view, of_third, target).count, third.rows);
  EXPECT_EQ(joint_moments(view, of_third, 2).finite, third.finite_rows());
  const BoxSide both[] = {{2, Range{}}, {3, Range{}}};
  Range all = closed(-kInf, kNan);
  const BoxSide bounded[] = {{2, all}, {3, all}};
  double filled = 0;
  for (std::size_t i = 0; i < 900; ++i)
    filled += !columns[2].is_null(i) && !columns[3].is_null(i) ? 1 : 0;
  EXPECT_NEAR(joint_moments(view, bounded, -1).count, filled, 1e-6 * rows);
  EXPECT_NEAR(joint_moments(view, both, -1).count, filled, 1e-6 * rows);
  const BoxSide between[] = {{0, closed(-1e9, 1e9)}, {1, closed(-1e9, 1e9)}};
  EXPECT_NEAR(joint_moments(view, between, -1).count, rows, 1e-6 * rows);
}

TEST(JointIntegrate, OneBoundedColumnIsItsOwnDistribution) {
  const std::vector<Column> columns = joint_rows::mixed(5000, true, 33);
  const Density density = joint_rows::scores(columns, 0.35, 0.25, 5000);
  const JointView view = density.view();
  Random random(34);
  for (int trial = 0; trial < 200; ++trial) {
    const BoxSide side = random_box(columns, 1, &random)[0];
    const RangeMoments exact = moments(DensityView(view.marginal(side.column)), side.range);
    if (side.range.lower_unbounded && side.range.upper_unbounded) continue;
    const JointMoments m = joint_moments(view, {&side, 1}, side.column);
    EXPECT_EQ(m.count, exact.count);
    EXPECT_EQ(m.finite, exact.finite);
    EXPECT_EQ(m.mean, exact.mean);
    EXPECT_EQ(m.variance, exact.variance);
    EXPECT_EQ(m.nans, exact.nans);
    EXPECT_GE(m.fourth, m.variance * m.variance);
    EXPECT_EQ(joint_moments(view, {&side, 1}, -1).count, exact.count);
  }
}

// All rows by kernels, none by the points themselves: a third of column 1 is 0 nonetheless, and
// a quarter of column 3 is 0.25.
TEST(JointIntegrate, HeavyValuesDoNotLeak) {
  const std::vector<Column> columns = joint_rows::mixed(2000, false, 35);
  const Density density = joint_rows::scores(columns, 0.3, 0, 2000);
  const Range all = closed(-1e9, 1e9);
  const auto rows_at = [&](std::size_t k, double v) {
    return static_cast<double>(std::count(columns[k].value.begin(), columns[k].value.end(), v));
  };
  const BoxSide zero[] = {{1, closed(0, 0)}, {0, all}};
  EXPECT_NEAR(joint_moments(density.view(), zero, -1).count, rows_at(1, 0), 1e-6 * 2000);
  const BoxSide quarter[] = {{3, closed(0.25, 0.25)}, {0, all}};
  EXPECT_NEAR(joint_moments(density.view(), quarter, -1).count, rows_at(3, 0.25), 1e-6 * 2000);
  // Of the rows on one side none is on the other.
  Range above = closed(0.25, 0);
  above.lower_inclusive = false;
  above.upper_unbounded = true;
  const BoxSide rest[] = {{3, above}, {0, all}};
  double expected = 0;
  for (const double x : columns[3].value) expected += x > 0.25 ? 1 : 0;
  EXPECT_NEAR(joint_moments(density.view(), rest, -1).count, expected, 1e-6 * 2000);
}

TEST(JointIntegrate, EmptyBoxes) {
  const std::vector<Column> columns = joint_rows::mixed(300, true, 36);
  const Density density = joint_rows::scores(columns, 0.35, 0.25, 300);
  Range empty;
  empty.empty = true;
  Range point = closed(1, 1);
  point.upper_inclusive = false;
  Range between = closed(2, 3);
  between.lower_inclusive = between.upper_inclusive = false;
  for (const Range& r : {empty, point, between, closed(3, 2), closed(1e6, 2e6), closed(2.2, 2.8)}) {
    const BoxSide box[] = {{0, closed(-1e9, 1e9)}, {1, r}};
    const JointMoments m = joint_moments(density.view(), box, 0);
    EXPECT_EQ(m.count, 0);
    EXPECT_EQ(m.finite, 0);
    EXPECT_EQ(m.mean, 0);
    EXPECT_EQ(m.effective_points, 0);
    EXPECT_EQ(joint_moments_reference(density.view(), box, 0).count, 0);
  }
}

// What is out of every kernel's reach is not visited.
TEST(JointIntegrate, VisitsTheBlocksAtTheBorder) {
  const std::vector<Column> columns = joint_rows::correlated(2, 10000, 37);
  const Density density = joint_rows::scores(columns, 0.05, 1, 1e5);
  const BoxSide box[] = {{0, closed(9, 11)}, {1, closed(9, 11)}};
  const JointMoments m = joint_moments(density.view(), box, -1);
  EXPECT_GT(m.points_visited, 0);
  EXPECT_LT(m.points_visited, 5000);
  EXPECT_NEAR(m.count, joint_moments_reference(density.view(), box, -1).count, 1e-6 * 1e5);
}

TEST(JointIntegrate, TheMeanLiesWithinTheTargetsBounds) {
  Random random(38);
  const std::vector<Column> columns = joint_rows::correlated(3, 800, 39);
  const Density densities[] = {joint_rows::scores(columns, 0.5, 0, 800),
                               joint_rows::linear(columns, {2, 2, 1}, 800)};
  for (const Density& density : densities) {
    for (int trial = 0; trial < 300; ++trial) {
      const std::vector<BoxSide> box = random_box(columns, 2, &random);
      const JointMoments m = joint_moments(density.view(), box, box[0].column);
      EXPECT_GE(m.variance, 0);
      if (!(m.finite > 0)) continue;
      const Range& r = box[0].range;
      EXPECT_GE(m.mean, r.lower_unbounded ? -kInf : r.lower);
      EXPECT_LE(m.mean, r.upper_unbounded ? kInf : r.upper);
    }
  }
}

}  // namespace
}  // namespace kde
