// Which blocks a scan reads (sampling/block_choice.h): each as likely as any other, one of each
// stretch, whatever pattern the table has.
#include "core/sampling/block_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace kde {
namespace {

std::vector<std::uint64_t> chosen(std::uint64_t total, std::size_t wanted, Random* random) {
  std::vector<std::uint64_t> out(wanted);
  choose_blocks(total, out, random);
  return out;
}

const std::pair<std::uint64_t, std::size_t> kSizes[] = {
    {1, 1}, {2, 1}, {3, 2}, {7, 7}, {1081, 500}, {1000, 999}, {40, 17}, {(1ULL << 62) - 1, 1000}};

TEST(BlockChoice, AscendingAndDifferent) {
  Random random(1);
  for (const auto& [total, wanted] : kSizes) {
    for (int i = 0; i < 20; ++i) {
      const std::vector<std::uint64_t> blocks = chosen(total, wanted, &random);
      EXPECT_LT(blocks.back(), total);
      EXPECT_TRUE(std::is_sorted(blocks.begin(), blocks.end(), std::less_equal<>()))
          << wanted << " of " << total;
    }
  }
}

// However blocks lie, a run of them holds whole stretches and parts of two.
TEST(BlockChoice, OneOfEachStretch) {
  Random random(2);
  for (const auto& [total, wanted] : {std::pair<std::uint64_t, std::size_t>{1081, 500}, {40, 17}}) {
    const double p = static_cast<double>(wanted) / static_cast<double>(total);
    for (int i = 0; i < 200; ++i) {
      const std::vector<std::uint64_t> blocks = chosen(total, wanted, &random);
      const std::uint64_t first = random.below(total);
      const std::uint64_t length = 1 + random.below(total - first);
      const auto in_run = std::count_if(blocks.begin(), blocks.end(), [&](std::uint64_t b) {
        return b >= first && b < first + length;
      });
      EXPECT_LT(std::abs(static_cast<double>(in_run) - p * static_cast<double>(length)), 2);
    }
  }
}

TEST(BlockChoice, EachAsLikely) {
  Random random(3);
  constexpr int kDraws = 20000;
  constexpr std::uint64_t kTotal = 40;
  constexpr std::size_t kWanted = 17;
  std::vector<int> times(kTotal);
  for (int i = 0; i < kDraws; ++i) {
    for (const std::uint64_t b : chosen(kTotal, kWanted, &random)) ++times[b];
  }
  const double p = static_cast<double>(kWanted) / kTotal;
  const double deviation = std::sqrt(kDraws * p * (1 - p));
  for (const int t : times) EXPECT_NEAR(t, kDraws * p, 5 * deviation);
}

// Every other twenty blocks are full. Only a stretch across an end of them is uncertain, by 1/4 at
// most. Stretches of two and of three blocks, which keep step with the table here, had 37.
TEST(BlockChoice, PatternOfTheTable) {
  Random random(4);
  constexpr int kDraws = 2000;
  constexpr std::uint64_t kTotal = 1081, kRun = 20;
  double sum = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    double full = 0;
    for (const std::uint64_t b : chosen(kTotal, 500, &random)) full += b / kRun % 2 != 0;
    sum += full;
    squares += full * full;
  }
  const double mean = sum / kDraws;
  EXPECT_LT(squares / kDraws - mean * mean, static_cast<double>(kTotal / kRun) / 4);
}

}  // namespace
}  // namespace kde
