// What is done to a batch of values at once against the same for one after another.
#include "core/density/round_ends.h"
#include "core/random.h"
#include "core/summary/batch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace kde {
namespace {

// Ends of a level, what is next to them, and any values.
std::vector<double> values_at(const RoundEnds& ends, int level, Random* random) {
  std::vector<double> out;
  for (int i = 0; i < 300; ++i) {
    const double far = std::pow(10.0, 12 * random->uniform());
    const auto k = static_cast<std::int64_t>(far * (random->uniform() - 0.5));
    const double end = ends.end(level, k);
    for (const double x : {end, std::nextafter(end, HUGE_VAL), std::nextafter(end, -HUGE_VAL),
                           end + ends.step(level) * random->uniform()})
      out.push_back(x + 0.0);
  }
  return out;
}

TEST(BatchWork, FindsTheCellOrLeavesIt) {
  Random random(7);
  std::size_t found = 0;
  for (const Chain chain :
       {Chain::decimal, Chain::calendar, Chain::duration, Chain::milliseconds}) {
    const RoundEnds ends(chain);
    for (int level = chain == Chain::decimal ? 900 : 0; level < 1010 && level < ends.levels();
         ++level) {
      if (!ends.is_even(level)) continue;
      const std::vector<double> x = values_at(ends, level, &random);
      std::vector<std::int64_t> keys(x.size());
      batch_work().find_keys(x.data(), x.size(), 1 / ends.step(level), keys.data());
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (keys[i] == kSlowKey) continue;
        ++found;
        const std::int64_t k = ends.cell(level, x[i]);
        ASSERT_EQ(keys[i], 2 * k + 1) << level << " " << x[i];
        ASSERT_LT(ends.end(level, k), x[i]) << level;
      }
    }
  }
  EXPECT_GT(found, 10000U);
}

TEST(BatchWork, TellsAndMakesWholeUnits) {
  Random random(8);
  for (const std::size_t n : {1U, 5U, 8U, 27U}) {
    for (const double scale : {1.0, 100.0, 1e6}) {
      std::vector<double> y(n);
      for (double& value : y) value = std::floor((random.uniform() - 0.5) * 1e9) / scale;
      std::vector<double> units = y;
      units[n / 2] = std::nan("");
      batch_work().make_units(units.data(), n, scale, 17);
      for (std::size_t i = 0; i < n; ++i) {
        if (i == n / 2) {
          EXPECT_TRUE(std::isnan(units[i]));
          continue;
        }
        EXPECT_EQ(units[i], std::nearbyint(y[i] * scale) - 17);
      }
      EXPECT_TRUE(batch_work().are_decimal(y.data(), n, scale));
      for (const double other : {y[n - 1] + 0.37 / scale, 0x1p52}) {
        std::vector<double> not_all = y;
        not_all[n - 1] = other;
        EXPECT_FALSE(batch_work().are_decimal(not_all.data(), n, scale));
      }
    }
  }
}

TEST(BatchWork, AddsAsOneAfterAnother) {
  Random random(9);
  std::vector<double> x(64 * kLanes);
  for (double& value : x) value = (random.uniform() - 0.3) * std::pow(10.0, 9 * random.uniform());
  const double origin = x[3];
  Lanes sum, squares;
  batch_work().add(x.data(), x.size(), 0.5, origin, &sum, &squares);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    long double of = 0, of_squares = 0;
    for (std::size_t i = lane; i < x.size(); i += kLanes) {
      const long double d = static_cast<long double>(x[i]) * 0.5L - origin;
      of += d;
      of_squares += d * d;
    }
    const auto found = static_cast<long double>(sum.high[lane]) + sum.low[lane];
    const auto found_squares = static_cast<long double>(squares.high[lane]) + squares.low[lane];
    EXPECT_NEAR(static_cast<double>(found - of), 0,
                1e-17 * std::fabs(static_cast<double>(of_squares)));
    EXPECT_NEAR(static_cast<double>(found_squares / of_squares - 1), 0, 0x1p-60);
  }
}

}  // namespace
}  // namespace kde
