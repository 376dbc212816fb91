// The values that a density knows one by one, against the parts it was made of.
#include "core/density/single_values.h"

#include <gtest/gtest.h>

#include <map>

#include "histogram_fixture.h"

namespace kde {
namespace {

using histograms::encode;
using histograms::key_at;
using histograms::mixture;
using histograms::Parts;
using histograms::set_totals;

TEST(SingleValues, AreThePointsAndAtomsOfTheParts) {
  for (const bool lattice : {false, true}) {
    for (const int a_block : {1, 7, 64}) {
      Parts p = mixture(300, lattice);
      p.cells_a_block = a_block;
      std::map<double, double> expected;
      double in_ranges = 0;
      double before = p.cells[0].value;
      for (const HistogramCell& cell : p.cells) {
        const bool one_point =
            lattice && key_at(p.header, cell.value) == key_at(p.header, before) + 2;
        if (cell.point || one_point) {
          if (cell.rows > 0)
            expected[cell.point ? cell.value : cell.value - p.header.lattice_step] += cell.rows;
        } else {
          in_ranges += cell.rows;
        }
        before = cell.value;
      }
      for (const HistogramCell& atom : p.atoms) expected[atom.value] += atom.rows;
      const histograms::Bytes bytes = encode(p);
      SingleValues values(bytes.view());
      double value, rows;
      for (const auto& [x, n] : expected) {
        ASSERT_TRUE(values.next(&value, &rows));
        EXPECT_EQ(value, x);
        EXPECT_DOUBLE_EQ(rows, n);
      }
      EXPECT_FALSE(values.next(&value, &rows));
      EXPECT_DOUBLE_EQ(values.rows_in_ranges(), in_ranges);
      EXPECT_GT(in_ranges, 0);
      EXPECT_EQ(distinct_values(bytes.view()), -1);
    }
  }
}

Parts points(int n) {
  Parts p;
  for (int i = 0; i < n; ++i) p.cells.push_back({i / 7.0, 1.0 + i % 3, true});
  p.atoms.push_back({3 / 7.0, 10, true});
  p.atoms.push_back({1e6, 10, true});
  set_totals(&p);
  return p;
}

TEST(DistinctValues, AreKnownWhereEachIsStoredByItself) {
  Parts p = points(200);
  EXPECT_EQ(distinct_values(encode(p).view()), 201);
  p.header.nans = 2;
  p.header.negative_infinities = 1;
  EXPECT_EQ(distinct_values(encode(p).view()), 203);
}

TEST(DistinctValues, AreNotWhereAnythingIsLeftOut) {
  Parts sampled = points(20);
  sampled.header.flags = kBounded;
  EXPECT_EQ(distinct_values(encode(sampled).view()), -1);
  Parts simplified = points(20);
  simplified.header.error = 1e-9;
  EXPECT_EQ(distinct_values(encode(simplified).view()), -1);
  Parts ranged = points(20);
  ranged.cells.push_back({100, 1, false});
  EXPECT_EQ(distinct_values(encode(ranged).view()), -1);
  Parts numeric = points(20);
  numeric.header.value_type = ValueType::numeric;
  EXPECT_EQ(distinct_values(encode(numeric).view()), -1);
}

TEST(DistinctValues, OfNoRowsAreNone) {
  Parts p;
  EXPECT_EQ(distinct_values(encode(p).view()), 0);
}

}  // namespace
}  // namespace kde
