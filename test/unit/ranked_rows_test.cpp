// Rows in a box by ranks, against the plain comparison of every row's values.
#include "core/joint/ranked_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/random.h"

namespace kde {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Three columns: uniform ones, whole numbers, and one that is often NULL, NaN or infinite.
JointSample sample_of(std::int64_t n, std::uint64_t seed) {
  Random random(seed);
  JointSample sample;
  sample.columns = 3;
  sample.rows = n;
  for (std::int64_t i = 0; i < n; ++i) {
    sample.value.push_back(random.uniform());
    sample.value.push_back(std::floor(9 * random.uniform()));
    const double odd[] = {std::nan(""), kInf, -kInf, -0.0, 0.0};
    const std::uint64_t which = random.below(12);
    sample.value.push_back(which < 5 ? odd[which] : random.uniform() - 0.5);
    sample.null.push_back(which == 11 ? 4 : 0);
  }
  return sample;
}

struct Side {
  int column;
  double lower, upper;
};

bool inside(const JointSample& sample, std::uint32_t row, const std::vector<Side>& box) {
  for (const Side& s : box) {
    const double x = sample.value[row * std::size_t{3} + static_cast<std::size_t>(s.column)];
    if ((sample.null[row] >> s.column & 1) != 0 || !std::isfinite(x)) return false;
    if (x < s.lower || x > s.upper) return false;
  }
  return true;
}

std::vector<Side> draw_box(const JointSample& sample, Random* random) {
  std::vector<Side> box;
  for (int k = 0; k < 3; ++k) {
    if (random->below(3) == 0) continue;
    // Ends at values themselves and between them, beyond all of them, and the wrong way round.
    const auto end = [&] {
      const std::size_t row = random->below(static_cast<std::uint64_t>(sample.rows));
      const double x = sample.value[row * 3 + static_cast<std::size_t>(k)];
      return std::isfinite(x) && random->below(2) == 0 ? x : 12 * random->uniform() - 2;
    };
    const double a = end();
    const double b = end();
    const bool wrong = random->below(10) == 0;
    box.push_back(
        {k, wrong ? std::max(a, b) : std::min(a, b), wrong ? std::min(a, b) : std::max(a, b)});
  }
  return box;
}

TEST(RankedRows, AreInABoxAsTheirValuesAre) {
  for (const std::int64_t n : {1, 63, 64, 65, 1000}) {
    const JointSample sample = sample_of(n, static_cast<std::uint64_t>(n));
    std::vector<std::uint32_t> rows;
    for (std::uint32_t i = 0; i < n; ++i)
      if (i % 5 != 3) rows.push_back(i);
    const RankedRows ranked(sample, rows);
    const RankTable table = ranked.table_of(rows);
    std::vector<std::uint32_t> order(ranked.order().begin(), ranked.order().end());
    std::sort(order.begin(), order.end());
    ASSERT_EQ(order, rows);
    Random random(3);
    for (int i = 0; i < 300; ++i) {
      const std::vector<Side> box = draw_box(sample, &random);
      std::vector<RankSide> sides;
      for (const Side& s : box) sides.push_back(ranked.side(s.column, s.lower, s.upper));
      std::vector<std::uint32_t> expected;
      for (const std::uint32_t row : rows)
        if (inside(sample, row, box)) expected.push_back(row);
      EXPECT_EQ(table.count(sides), expected.size());
      std::vector<std::uint32_t> found;
      ranked.visit(sides, [&](std::size_t b, std::uint64_t bits) {
        EXPECT_NE(bits, 0U);
        for (; bits != 0; bits &= bits - 1)
          found.push_back(
              ranked.order()[b * kRankBlock + static_cast<std::size_t>(std::countr_zero(bits))]);
      });
      std::sort(found.begin(), found.end());
      EXPECT_EQ(found, expected) << n;
    }
  }
}

// Of uniform points a small box meets few blocks: the rows of a block are near each other.
TEST(RankedRows, NeighboursAreNear) {
  Random random(5);
  JointSample sample;
  sample.columns = 2;
  sample.rows = 64 * 256;
  for (std::int64_t i = 0; i < 2 * sample.rows; ++i) sample.value.push_back(random.uniform());
  sample.null.assign(static_cast<std::size_t>(sample.rows), 0);
  std::vector<std::uint32_t> rows;
  for (std::uint32_t i = 0; i < sample.rows; ++i) rows.push_back(i);
  const RankedRows ranked(sample, rows);
  // Blocks are squares of a side of 1/16: a box of that side meets four to nine of them.
  const RankSide box[] = {ranked.side(0, 0.4, 0.4625), ranked.side(1, 0.7, 0.7625)};
  int blocks = 0;
  ranked.visit(box, [&](std::size_t, std::uint64_t) { ++blocks; });
  EXPECT_GE(blocks, 1);
  EXPECT_LE(blocks, 16);
}

}  // namespace
}  // namespace kde
