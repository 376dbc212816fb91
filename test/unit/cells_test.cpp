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

// Values as a summary that has joined none of them gives them.
std::vector<HistogramCell> points(const std::vector<WeightedValue>& values) {
  std::vector<HistogramCell> out;
  for (const WeightedValue& v : values) out.push_back({v.value, v.weight, true});
  return out;
}

Line line_of(const std::vector<HistogramCell>& cells, double beyond = 0) {
  return {cells, cells.front().value - beyond, cells.back().value + beyond};
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
  for (const HistogramCell& c : line.rows) there += c.rows;
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

// Of a line of points: each cell's count and mean are those of the values strictly between its
// edges; points are the atoms, each with its own.
void expect_counts(const Cells& cells, const Line& line) {
  auto v = line.rows.begin();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const double low = cells.edge[i];
    const double high = cells.edge[i + 1];
    double count = 0, moment = 0;
    const bool point = low == high;
    const bool last = high == line.high;
    while (v != line.rows.end() && (point || last ? v->value <= high : v->value < high)) {
      // A value at an edge belongs to the point there, if there is one.
      if (!point && v->value == high && i + 1 < cells.size()) break;
      ASSERT_GE(v->value, low);
      count += v->rows;
      moment += v->rows * v->value;
      ++v;
    }
    ASSERT_DOUBLE_EQ(cells.count[i], count) << i;
    if (count > 0) {
      ASSERT_NEAR(cells.centre[i], moment / count, 1e-12) << i;
    } else {
      ASSERT_EQ(cells.centre[i], low + (high - low) / 2) << i;
    }
  }
  EXPECT_EQ(v, line.rows.end());
}

TEST(Cells, FewValuesHaveACellEach) {
  const std::vector<HistogramCell> x =
      points(samples::distinct({-1, -0.5, -0.5, 0, 0.25, 0.5, 0.5, 0.5}));
  const Line line = line_of(x, 0.25);
  const Cells cells = value_cells(line, {});
  expect_sound(cells, line);
  EXPECT_FALSE(cells.lattice);
  EXPECT_EQ(cells.edge, (std::vector<double>{-1.25, -0.75, -0.25, 0.125, 0.375, 0.75}));
  EXPECT_EQ(cells.count, (std::vector<double>{1, 2, 1, 1, 3}));
  EXPECT_EQ(cells.centre, (std::vector<double>{-1, -0.5, 0, 0.25, 0.5}));
}

TEST(Cells, AtomsAreByThemselves) {
  const std::vector<HistogramCell> x =
      points(samples::distinct({-1, -1, -0.5, 0, 0, 0, 0.125, 0.125, 0.25, 0.5, 1, 1}));
  // At both ends, in the middle, and two in a row.
  const std::vector<std::size_t> atoms = {0, 2, 3, 6};
  const Line line = line_of(x);
  const Cells cells = value_cells(line, atoms);
  expect_sound(cells, line);
  expect_counts(cells, line);
  EXPECT_EQ(cells.edge, (std::vector<double>{-1, -1, 0, 0, 0.125, 0.125, 0.375, 1, 1}));
  EXPECT_EQ(cells.count, (std::vector<double>{2, 1, 3, 0, 2, 1, 1, 2}));
  EXPECT_EQ(cells.points, (std::vector<std::size_t>{0, 2, 4, 7}));
  for (std::size_t i = 0; i < atoms.size(); ++i)
    EXPECT_EQ(cells.centre[cells.points[i]], x[atoms[i]].value);
}

TEST(Cells, AllAtoms) {
  const std::vector<HistogramCell> x = points(samples::distinct({0, 0, 0.5, 1}));
  const Line line = line_of(x, 0.25);
  const Cells cells = value_cells(line, std::vector<std::size_t>{0, 1, 2});
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
    const std::vector<HistogramCell> values = points(samples::distinct(x));
    std::vector<std::size_t> atoms;
    // As many as a fit makes at most.
    const std::size_t most = seed % 4 == 0 ? kMaxCells / 6 : 40;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (atoms.size() < most && (values[i].rows > 1 || random.below(8) == 0)) atoms.push_back(i);
    }
    const Line line = line_of(values, seed % 2 == 0 ? 0 : 0.125);
    const Cells cells = value_cells(line, atoms);
    expect_sound(cells, line);
    expect_counts(cells, line);
    ASSERT_EQ(cells.points.size(), atoms.size());
    for (std::size_t i = 0; i < atoms.size(); ++i) {
      EXPECT_EQ(cells.edge[cells.points[i]], values[atoms[i]].value);
      EXPECT_EQ(cells.count[cells.points[i]], values[atoms[i]].rows);
    }
    // Of equal weight, up to the heaviest value's: at most twice what an even division gives.
    double heaviest = 0;
    for (const HistogramCell& v : values) heaviest = std::max(heaviest, v.rows);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (cells.edge[i] < cells.edge[i + 1]) {
        ASSERT_LE(cells.count[i], 2 * static_cast<double>(x.size()) / (kMaxCells / 4.0) + heaviest);
      }
    }
  }
}

TEST(Cells, OfALattice) {
  // Quarters from -0.5 to 0.75, none at 0.25; a stray beside 0.5 and others beyond the points.
  const std::vector<HistogramCell> x =
      points(samples::distinct({-0.6, -0.5, -0.5, -0.25, 0, 0, 0, 0.5, 0.53, 0.75, 0.8}));
  Line line;
  line.rows = x;
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

// A summary's joined cells are even between the value before and theirs: each is a cell of the
// line, of which the middle stands for its rows.
TEST(Cells, OfJoinedCells) {
  const std::vector<HistogramCell> x = {{-1, 3, true},   {-0.5, 8, false}, {0, 0, false},
                                        {0.5, 4, false}, {0.5, 9, true},   {1, 2, true}};
  const Line line = line_of(x);
  const Cells cells = value_cells(line, std::vector<std::size_t>{4});
  expect_sound(cells, line);
  EXPECT_EQ(cells.points, (std::vector<std::size_t>{2}));
  EXPECT_EQ(cells.edge, (std::vector<double>{-1, -0.5, 0.5, 0.5, 1}));
  EXPECT_EQ(cells.count, (std::vector<double>{11, 4, 9, 2}));
  // 3 rows at -1 and 8 about -0.75.
  EXPECT_DOUBLE_EQ(cells.centre[0], -9.0 / 11);
  EXPECT_EQ(cells.centre[1], 0.25);
}

// On a lattice the rows of a joined cell are spread evenly over its points.
TEST(Cells, OfALatticesJoinedCells) {
  const std::vector<HistogramCell> x = {{0, 2, true}, {3, 9, false}, {4, 1, true}};
  const Line line = {x, -0.5, 4.5};
  const Cells cells = lattice_cells(line, 0, 1, 0, 4);
  expect_sound(cells, line);
  EXPECT_EQ(cells.count, (std::vector<double>{2, 3, 3, 3, 1}));
}

}  // namespace
}  // namespace kde
