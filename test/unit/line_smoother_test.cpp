// estimate/line_smoother.h against the direct sum over the cells and all their mirror images, on
// each transformed line.
#include "core/estimate/line_smoother.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "distinct.h"
#include "samples.h"

namespace kde {
namespace {

using Kind = Transformation::Kind;

double phi(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

// Silverman, Density Estimation (1986), section 2.10: v + 2k(upper - lower) and 2 lower - v +
// 2k(upper - lower). What is further off than 9h adds less than Phi(-9) = 1.1e-19 of a value's
// mass.
std::vector<WeightedValue> with_images(const std::vector<WeightedValue>& values, double h,
                                       double lower, double upper) {
  std::vector<WeightedValue> out;
  const double period = 2 * (upper - lower);
  const int repeats = static_cast<int>(9 * h / period) + 2;
  for (const WeightedValue& v : values) {
    for (int k = -repeats; k <= repeats; ++k) {
      for (double at : {v.value + k * period, 2 * lower - v.value + k * period}) {
        if (at >= lower - 9 * h && at <= upper + 9 * h) out.push_back({at, v.weight});
      }
    }
  }
  return out;
}

// What each cell gets of the cells' centres, each smeared by a Gaussian in t and mirrored at both
// ends of the support; atoms are no part of it.
std::vector<double> direct(const Cells& cells, const Transformation& t, double h) {
  std::vector<WeightedValue> values;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells.count[i] > 0 && cells.edge[i] < cells.edge[i + 1])
      values.push_back({t(cells.centre[i]), cells.count[i]});
  }
  const double low = t(cells.edge.front());
  const double high = t(cells.edge.back());
  values = with_images(values, h, low, high);
  std::vector<double> out;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const double a = t(cells.edge[i]);
    const double b = t(cells.edge[i + 1]);
    double mass = 0;
    for (const WeightedValue& v : values)
      mass += v.weight * (phi((b - v.value) / h) - phi((a - v.value) / h));
    out.push_back(mass);
  }
  return out;
}

Cells some_cells(bool with_atoms) {
  std::vector<double> x = samples::lognormal(300, 5);
  for (double& v : x) v = std::min(v / 10, 0.9);
  if (with_atoms) x.insert(x.end(), 100, 0.125);
  std::vector<HistogramCell> values;
  std::vector<std::size_t> atoms;
  for (const WeightedValue& v : samples::distinct(x)) {
    if (v.value == 0.125 && with_atoms) atoms.push_back(values.size());
    values.push_back({v.value, v.weight, true});
  }
  return value_cells({values, values.front().value - 0.01, 0.95}, atoms);
}

std::vector<Transformation> transformations(const Cells& cells) {
  const double low = cells.edge.front();
  const double high = cells.edge.back();
  return {{},
          {Kind::log_right, low - 0.02, 1},
          {Kind::log_left, high + 0.05, 1},
          {Kind::arsinh, 0.2, 0.03}};
}

// On a grid of step d, one observation's distribution function errs by at most
//   d^2/8 max|f'|   dividing it between two nodes adds a variance of at most d^2/4
//   d^2/12 max|f'|  masses of grid cells by their middles (Euler & Maclaurin, both ends)
//   d^2/8 max|f'|   straight lines between the nodes
// with max|f'| = phi(1)/h^2 = 0.242/h^2; a cell is the difference of two such, and at a mirror two
// Gaussians meet: together 4 0.242/3 (d/h)^2 = 0.33 (d/h)^2 of the observations.
TEST(LineSmoother, IsTheReflectedKernelSum) {
  constexpr std::size_t kNodes = 4096;
  for (bool with_atoms : {false, true}) {
    const Cells cells = some_cells(with_atoms);
    for (const Transformation& t : transformations(cells)) {
      SCOPED_TRACE(transformation_name(t.kind));
      const LineSmoother smoother(cells, t, kNodes);
      const double width = t(cells.edge.back()) - t(cells.edge.front());
      EXPECT_DOUBLE_EQ(smoother.width(), width);
      const std::vector<double> transformed = smoother.transform(cells.count);
      for (double share : {0.01, 0.1, 3.0}) {  // of the width
        const std::vector<double> masses = smoother.cell_masses(transformed, share * width);
        const std::vector<double> expected = direct(cells, t, share * width);
        const double bound = 300 * 0.33 * std::pow(1.0 / kNodes / share, 2) + 300 * 1e-12;
        ASSERT_LT(bound, 0.1);
        double largest = 0;
        for (std::size_t i = 0; i < cells.size(); ++i) {
          ASSERT_NEAR(masses[i], expected[i], bound) << i << " at h = " << share;
          largest = std::max(largest, expected[i]);
        }
        EXPECT_GT(largest, 20 * bound);  // else it says nothing
        // No mass is lost or made: 300 values besides the atom.
        EXPECT_NEAR(samples::total(masses), 300, 300 * 1e-12);
        for (std::size_t point : cells.points) EXPECT_EQ(masses[point], 0);
      }
    }
  }
}

// As the bandwidth grows, the estimate becomes the uniform distribution of t.
TEST(LineSmoother, WideBandwidthsLevel) {
  const Cells cells = some_cells(false);
  for (const Transformation& t : transformations(cells)) {
    const LineSmoother smoother(cells, t, 1024);
    const std::vector<double> masses =
        smoother.cell_masses(smoother.transform(cells.count), 100 * smoother.width());
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const double width = t(cells.edge[i + 1]) - t(cells.edge[i]);
      ASSERT_NEAR(masses[i], 300 * width / smoother.width(), 1e-10);
    }
  }
}

// The transform is of counts, whatever they are: half of them, another sample on the same cells.
TEST(LineSmoother, IsLinearInTheCounts) {
  const Cells cells = some_cells(true);
  const LineSmoother smoother(cells, {}, 1024);
  std::vector<double> odd = cells.count;
  std::vector<double> even = cells.count;
  for (std::size_t i = 0; i < cells.size(); ++i) (i % 2 == 0 ? odd : even)[i] = 0;
  const double h = 0.05 * smoother.width();
  const auto all = smoother.cell_masses(smoother.transform(cells.count), h);
  const auto a = smoother.cell_masses(smoother.transform(odd), h);
  const auto b = smoother.cell_masses(smoother.transform(even), h);
  for (std::size_t i = 0; i < cells.size(); ++i) ASSERT_NEAR(all[i], a[i] + b[i], 1e-10);
}

TEST(Transformation, IncreasesWithTheSlopeStated) {
  const Transformation all[] = {{},
                                {Kind::log_right, -1.5, 1},
                                {Kind::log_left, 1.25, 1},
                                {Kind::arsinh, 0.3, 0.01},
                                {Kind::arsinh, -20, 3}};
  for (const Transformation& t : all) {
    double before = t(-1.001);
    for (double x = -1; x <= 1; x += 1.0 / 64) {
      EXPECT_GT(t(x), before);
      before = t(x);
      // Central differences: d^2/6 times the third derivative, at most 2e6 here (arsinh's).
      constexpr double kStep = 1e-6;
      const double slope = (t(x + kStep) - t(x - kStep)) / (2 * kStep);
      EXPECT_NEAR(t.slope(x), slope, 1e-6 + 1e-8 * slope) << transformation_name(t.kind);
    }
  }
}

}  // namespace
}  // namespace kde
