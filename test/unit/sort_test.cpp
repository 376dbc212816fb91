// The radix sort against std::sort, on bits of every kind.
#include "core/summary/sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/random.h"
#include "samples.h"

namespace kde {
namespace {

void expect_sorted(std::vector<double> values) {
  std::vector<double> expected = values;
  std::sort(expected.begin(), expected.end());
  ASSERT_TRUE(sort_values(&values, {}));
  EXPECT_EQ(values, expected) << values.size() << " values";
}

// Numbers of every sign and exponent, subnormal ones and infinities among them.
std::vector<double> of_any_bits(std::size_t n) {
  Random random(31);
  std::vector<double> out;
  while (out.size() < n) {
    std::uint64_t bits = 0;
    for (int k = 0; k < 4; ++k) {
      bits = bits << 16 | static_cast<std::uint64_t>(random.uniform() * 65536);
    }
    const auto x = std::bit_cast<double>(bits);
    if (!std::isnan(x)) out.push_back(x);
  }
  out[n / 2] = std::numeric_limits<double>::infinity();
  out[n / 3] = -std::numeric_limits<double>::infinity();
  out[n / 4] = std::numeric_limits<double>::denorm_min();
  return out;
}

// Sizes about where comparisons end and where a block does.
TEST(Sort, GivesTheOrderOfComparisons) {
  for (const std::size_t n : {2u, 3u, 1024u, 1025u, 5000u, 65536u, 65537u, 200000u}) {
    expect_sorted(of_any_bits(n));
    expect_sorted(samples::normal(static_cast<int>(n), 32));
  }
}

TEST(Sort, TakesTiesAndBothZeros) {
  std::vector<double> x = samples::normal(30000, 33);
  for (double& v : x) v = std::round(2 * v) / 2;  // -0 and 0 among them
  expect_sorted(x);
  expect_sorted(std::vector<double>(5000, 7.0));
  expect_sorted({});
  expect_sorted({3});
}

// Values that differ in one digit of eight bits alone, whichever it is.
TEST(Sort, LooksAtEveryDigit) {
  for (int shift = 0; shift < 64; shift += 8) {
    std::vector<double> x;
    for (std::uint64_t k = 0; k < 3000; ++k) {
      const double v = std::bit_cast<double>(0x3ff0000000000000 ^ ((k * 37 % 256) << shift));
      if (!std::isnan(v)) x.push_back(v);
    }
    expect_sorted(x);
  }
}

bool stop_at(void* polls_left) { return --*static_cast<int*>(polls_left) < 0; }

TEST(Sort, EndsAtEveryPoll) {
  const std::vector<double> x = samples::normal(150000, 34);
  int polls = 0;
  for (bool done = false; !done; ++polls) {
    std::vector<double> values = x;
    int left = polls;
    done = sort_values(&values, {1, stop_at, &left});
    EXPECT_EQ(std::is_sorted(values.begin(), values.end()), done);
    ASSERT_LT(polls, 100);
  }
  // Three blocks, counted once and moved for at least the six digits that a normal's bits fill.
  EXPECT_GT(polls, 3 * 7);
}

}  // namespace
}  // namespace kde
