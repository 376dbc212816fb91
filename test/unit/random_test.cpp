// The raw output is the standard's std::mt19937_64.
#include "core/random.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace kde {
namespace {

// The top 52 bits are what uniform() shows.
double uniform(std::mt19937_64& engine) {
  return (static_cast<double>(engine() >> 12) + 0.5) * 0x1p-52;
}

TEST(Random, IsTheStandardsEngine) {
  for (const std::uint64_t seed :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{5489}, UINT64_MAX}) {
    std::mt19937_64 engine(seed);
    Random random(seed);
    for (int i = 0; i < 2000; ++i) ASSERT_EQ(random.uniform(), uniform(engine)) << seed << ' ' << i;
    for (int i = 0; i < 100; ++i) ASSERT_EQ(random.below(UINT64_MAX), engine());
  }
}

}  // namespace
}  // namespace kde
