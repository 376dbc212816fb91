// estimate/cells.h: every observation in one cell, the one it lies in; atoms by themselves.
#include "core/estimate/cells.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/random.h"
#include "distinct.h"
#include "samples.h"

namespace kde {
namespace {

Line line_of(const std::vector<WeightedValue>& values, double beyond = 0) {
  return {values, values.front().value - beyond, values.back().value + beyond};
}

void expect_sound(const Cells& cells, const Line& line) {
  const std::size_t n = cells.size();
  ASSERT_EQ(cells.edge.size(), n + 1);
  ASSERT_EQ(cells.centre.size(), n);
  EXPECT_LE(n, kMaxCells);
  EXPECT_EQ(cells.edge.front(), line.low);
  EXPECT_EQ(cells.edge.back(), line.high);
  EXPECT_TRUE(std::is_sorted(cells.edge.begin(), cells.edge.end()));
  EXPECT_TRUE(std::is_sorted(cells.points.begin(), cells.points.end()));
  double seen = 0, there = 0;
  for (double c : cells.count) seen += c;
  for (const WeightedValue& v : line.distinct) there += v.weight;
  EXPECT_NEAR(seen, there, 1e-12 * there);
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_GE(cells.centre[i], cells.edge[i]);
    ASSERT_LE(cells.centre[i], cells.edge[i + 1]);
    ASSERT_GE(cells.count[i], 0);
    // No width, if and only if it is a point.
    const bool point = std::binary_search(cells.points.begin(), cells.points.end(), i);
    ASSERT_EQ(cells.edge[i] == cells.edge[i + 1], point) << i;
  }
}

// Each cell's count and mean are those of the values strictly between its edges; points are the
// atoms, each with its own.
void expect_counts(const Cells& cells, const Line& line) {
  auto v = line.distinct.begin();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const double low = cells.edge[i];
    const double high = cells.edge[i + 1];
    double count = 0, moment = 0;
    const bool point = low == high;
    const bool last = high == line.high;
    while (v != line.distinct.end() && (point || last ? v->value <= high : v->value < high)) {
      // A value at an edge belongs to the point there, if there is one.
      if (!point && v->value == high && i + 1 < cells.size()) break;
      ASSERT_GE(v->value, low);
      count += v->weight;
      moment += v->weight * v->value;
      ++v;
    }
    ASSERT_DOUBLE_EQ(cells.count[i], count) << i;
    if (count > 0) {
      ASSERT_NEAR(cells.centre[i], moment / count, 1e-12) << i;
    } else {
      ASSERT_EQ(cells.centre[i], low + (high - low) / 2) << i;
    }
  }
  EXPECT_EQ(v, line.distinct.end());
}

TEST(Cells, FewValuesHaveACellEach) {
  const std::vector<WeightedValue> x = samples::distinct({-1, -0.5, -0.5, 0, 0.25, 0.5, 0.5, 0.5});
  const Line line = line_of(x, 0.25);
  const Cells cells = value_cells(line, {});
  expect_sound(cells, line);
  EXPECT_FALSE(cells.lattice);
  EXPECT_EQ(cells.edge, (std::vector<double>{-1.25, -0.75, -0.25, 0.125, 0.375, 0.75}));
  EXPECT_EQ(cells.count, (std::vector<double>{1, 2, 1, 1, 3}));
  EXPECT_EQ(cells.centre, (std::vector<double>{-1, -0.5, 0, 0.25, 0.5}));
}

TEST(Cells, AtomsAreByThemselves) {
  const std::vector<WeightedValue> x =
      samples::distinct({-1, -1, -0.5, 0, 0, 0, 0.125, 0.125, 0.25, 0.5, 1, 1});
  // At both ends, in the middle, and two in a row.
  const std::vector<WeightedValue> atoms = {{-1, 2}, {0, 3}, {0.125, 2}, {1, 2}};
  const Line line = line_of(x);
  const Cells cells = value_cells(line, atoms);
  expect_sound(cells, line);
  expect_counts(cells, line);
  EXPECT_EQ(cells.edge, (std::vector<double>{-1, -1, 0, 0, 0.125, 0.125, 0.375, 1, 1}));
  EXPECT_EQ(cells.count, (std::vector<double>{2, 1, 3, 0, 2, 1, 1, 2}));
  EXPECT_EQ(cells.points, (std::vector<std::size_t>{0, 2, 4, 7}));
  for (std::size_t i = 0; i < atoms.size(); ++i)
    EXPECT_EQ(cells.centre[cells.points[i]], atoms[i].value);
}

TEST(Cells, AllAtoms) {
  const std::vector<WeightedValue> x = samples::distinct({0, 0, 0.5, 1});
  const Line line = line_of(x, 0.25);
  const Cells cells = value_cells(line, x);
  expect_sound(cells, line);
  expect_counts(cells, line);
  EXPECT_EQ(cells.points.size(), 3u);
  EXPECT_EQ(cells.size(), 7u);  // and the gaps
}

// Many values, ties and atoms at random: always within the space, and nothing in a wrong cell.
TEST(Cells, ManyValuesShareCells) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<double> x = samples::normal(seed % 3 == 0 ? 300 : 30000, seed);
    const double widest = std::max(1.0, *std::max_element(x.begin(), x.end()));
    for (double& v : x) v = std::max(v / widest, -1.0);
    if (seed % 2 == 0)
      for (std::size_t i = 0; i < x.size(); i += 3) x[i] = x[random.below(100)];
    const std::vector<WeightedValue> values = samples::distinct(x);
    std::vector<WeightedValue> atoms;
    // As many as a fit makes at most.
    const std::size_t most = seed % 4 == 0 ? kMaxCells / 6 : 40;
    for (const WeightedValue& v : values) {
      if (atoms.size() < most && (v.weight > 1 || random.below(8) == 0)) atoms.push_back(v);
    }
    const Line line = line_of(values, seed % 2 == 0 ? 0 : 0.125);
    const Cells cells = value_cells(line, atoms);
    expect_sound(cells, line);
    expect_counts(cells, line);
    ASSERT_EQ(cells.points.size(), atoms.size());
    for (std::size_t i = 0; i < atoms.size(); ++i) {
      EXPECT_EQ(cells.edge[cells.points[i]], atoms[i].value);
      EXPECT_EQ(cells.count[cells.points[i]], atoms[i].weight);
    }
    // Of equal weight, up to the heaviest value's: at most twice what an even division gives.
    double heaviest = 0;
    for (const WeightedValue& v : values) heaviest = std::max(heaviest, v.weight);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (cells.edge[i] < cells.edge[i + 1]) {
        ASSERT_LE(cells.count[i], 2 * static_cast<double>(x.size()) / (kMaxCells / 4.0) + heaviest);
      }
    }
  }
}

TEST(Cells, OfALattice) {
  // Quarters from -0.5 to 0.75, none at 0.25; a stray beside 0.5 and others beyond the points.
  const std::vector<WeightedValue> x =
      samples::distinct({-0.6, -0.5, -0.5, -0.25, 0, 0, 0, 0.5, 0.53, 0.75, 0.8});
  Line line;
  line.distinct = x;
  line.low = -0.625;
  line.high = 0.875;
  const Cells cells = lattice_cells(line, -0.5, 0.25, -7, -2);
  expect_sound(cells, line);
  EXPECT_TRUE(cells.lattice);
  EXPECT_EQ(cells.first_point, -7);
  EXPECT_EQ(cells.centre, (std::vector<double>{-0.5, -0.25, 0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(cells.count, (std::vector<double>{3, 1, 3, 0, 2, 2}));
  EXPECT_EQ(cells.edge, (std::vector<double>{-0.625, -0.375, -0.125, 0.125, 0.375, 0.625, 0.875}));
  EXPECT_TRUE(cells.points.empty());
}

}  // namespace
}  // namespace kde
