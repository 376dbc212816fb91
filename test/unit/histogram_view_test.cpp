// Reading a histogram: sizes, cells and what decode_histogram makes of them.
#include "core/density/histogram_view.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "histogram_fixture.h"

namespace kde {
namespace {

using histograms::Bytes;
using histograms::encode;
using histograms::mixture;
using histograms::Parts;

// The last value that may be in a range.
double before(double end, const Header& h) {
  return h.lattice_step > 0 ? end - h.lattice_step : std::nextafter(end, -fitted::kInf);
}

std::vector<HistogramCell> decoded(const Bytes& b) {
  std::vector<HistogramCell> cells;
  decode_histogram(b.view(), &cells);
  return cells;
}

void expect_cells(const std::vector<HistogramCell>& actual,
                  const std::vector<HistogramCell>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_EQ(actual[i].value, expected[i].value) << i;
    EXPECT_DOUBLE_EQ(actual[i].rows, expected[i].rows) << i;
    EXPECT_EQ(actual[i].point, expected[i].point) << i;
  }
}

TEST(HistogramKeys, AscendWithTheDoubles) {
  const double inf = std::numeric_limits<double>::infinity();
  double x = -std::numeric_limits<double>::max();
  std::vector<double> values = {x};
  for (double v : {-1e300, -1.5, -1.0, -1e-300, -5e-324, 0.0, 5e-324, 1e-310, 1.0, 2.0, 1e308})
    values.push_back(v);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(value_of_key(key_of(values[i])), values[i]);
    EXPECT_EQ(value_of_key(key_of(values[i]) + 1), std::nextafter(values[i], inf));
    if (i > 0) {
      EXPECT_LT(key_of(values[i - 1]), key_of(values[i]));
    }
  }
  EXPECT_EQ(key_of(-0.0), 0);
}

TEST(DensityView, GivesBackTheCells) {
  for (const bool lattice : {false, true}) {
    for (const int a_block : {1, 5, 64}) {
      for (const bool by_kind : {false, true}) {
        Parts p = mixture(60, lattice);
        p.atoms.clear();
        p.cells_a_block = a_block;
        p.by_kind = by_kind;
        // Only what nothing follows, or a point, needs no cell of its own.
        std::vector<HistogramCell> expected;
        for (std::size_t i = 0; i < p.cells.size(); ++i) {
          const HistogramCell& cell = p.cells[i];
          const bool begins =
              i + 1 < p.cells.size() && !p.cells[i + 1].point && p.cells[i + 1].rows > 0;
          if (cell.point)
            expected.push_back(cell);
          else if (cell.rows > 0)
            expected.push_back({before(cell.value, p.header), cell.rows, false});
          if (begins && !cell.point) expected.push_back({cell.value, 0, false});
        }
        expect_cells(decoded(encode(p)), expected);
      }
    }
  }
}

TEST(DensityView, AtomsDivideRangesByWidth) {
  Parts p;
  p.header = histograms::plain_header();
  p.header.min = 0;
  p.header.max = 9;
  p.cells = {{0, 1, true}, {4, 8, false}, {8, 4, false}, {8, 2, true}};
  p.atoms = {{0, 10, true}, {1, 20, true}, {8, 30, true}, {9, 40, true}};
  expect_cells(decoded(encode(p)), {{0, 11, true},
                                    {1, 2, false},
                                    {1, 20, true},
                                    {before(4, p.header), 6, false},
                                    {4, 0, false},
                                    {before(8, p.header), 4, false},
                                    {8, 32, true},
                                    {9, 40, true}});
  // On a lattice by the points: 1 and 2 of 1 .. 4, and 6 and 7.
  p.header.lattice_step = 1;
  p.cells = {{0, 1, true}, {5, 8, false}, {8, 4, false}, {8, 2, true}};
  p.atoms = {{2, 20, true}};
  expect_cells(decoded(encode(p)), {{0, 1, true},
                                    {2, 4, false},
                                    {2, 20, true},
                                    {4, 4, false},
                                    {5, 0, false},
                                    {7, 4, false},
                                    {8, 2, true}});
}

TEST(DensityView, WhatIsBeyondMaxStandsForIt) {
  Parts p;
  p.header = histograms::plain_header();
  p.header.min = 1;
  p.header.max = p.header.mean = 4;
  p.cells = {{1, 1, true}, {3, 8, false}, {5, 4, false}, {6, 2, false}, {7, 1, true}};
  const Bytes b = encode(p);
  ASSERT_TRUE(b.validate().ok());
  expect_cells(
      decoded(b),
      {{1, 1, true}, {before(3, p.header), 8, false}, {3, 0, false}, {4, 4, false}, {4, 3, true}});
  EXPECT_EQ(b.view().value(std::numeric_limits<std::int64_t>::max()), 4);
  EXPECT_EQ(b.view().value(std::numeric_limits<std::int64_t>::min()), 1);
}

// Keys with a shift: whole multiples of its unit above the block's first, of which doubles have none.
TEST(DensityView, ShiftedKeys) {
  Parts p;
  p.header = histograms::plain_header();
  p.cells = {{1, 1, true}, {3, 8, false}};
  p.header.min = p.header.mean = 1;
  p.header.max = 20;
  for (const bool lattice : {false, true}) {
    p.header.lattice_step = lattice ? 1 : 0;
    Bytes b = encode(p);
    ASSERT_EQ(decoded(b).back().value, before(3, p.header));
    b.block(0).key_shift = 1;
    ASSERT_EQ(b.validate().ok(), lattice);
    if (lattice) {
      EXPECT_EQ(decoded(b).back().value, 10);
    }
  }
}

TEST(DensityView, SizeOfAPart) {
  const Bytes b = encode(mixture(100, false));
  EXPECT_EQ(histogram_size(b.data(), b.size()), b.size());
  // The blocks are enough; less is not.
  const std::size_t arrays = sizeof(Header) + b.view().atoms() * std::size_t{16} +
                             b.view().blocks() * sizeof(HistogramBlock);
  EXPECT_EQ(histogram_size(b.data(), arrays), b.size());
  EXPECT_EQ(histogram_size(b.data(), arrays - 1), 0u);
  EXPECT_EQ(histogram_size(b.data(), sizeof(Header)), 0u);
}

}  // namespace
}  // namespace kde
