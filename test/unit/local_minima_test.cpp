// Every local minimum on a range, by single bandwidths and by sweeps.
#include "core/select/local_minima.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kde {
namespace {

// (h - 1)^2 (h - 4)^2 - h/100: minima near 1 and 4, the second lower.
Status quartic(double h, Criterion* at) {
  at->value = (h - 1) * (h - 1) * (h - 4) * (h - 4) - h / 100;
  at->slope = h * (2 * (h - 1) * (h - 4) * (2 * h - 5) - 0.01);
  return Status::success();
}

void expect_both(const LocalMinima& found) {
  ASSERT_EQ(found.interior.size(), 2u);
  EXPECT_NEAR(found.interior[0].h, 1, 1e-3);
  EXPECT_NEAR(found.interior[1].h, 4, 1e-3);
  EXPECT_LT(found.interior[1].value, found.interior[0].value);
  EXPECT_EQ(found.lowest.h, 0.1);
  EXPECT_EQ(found.highest.h, 100);
}

TEST(LocalMinima, FindsEveryOne) {
  LocalMinima found;
  ASSERT_TRUE(find_local_minima(CriterionAt(quartic), 0.1, 100, &found).ok());
  expect_both(found);
  EXPECT_EQ(find_local_minima(CriterionAt(quartic), 2, 1, &found).code, Code::invalid_argument);
  const CriterionAt nan = [](double, Criterion* at) {
    at->value = std::nan("");
    return Status::success();
  };
  EXPECT_EQ(find_local_minima(nan, 1, 2, &found).code, Code::degenerate);
}

TEST(LocalMinima, SweepsTheGridOnce) {
  int grids = 0;
  const CriterionSweep sweep = [&grids](std::span<const double> h, std::span<Criterion> at) {
    grids += h.size() > 1;
    for (std::size_t k = 0; k < h.size(); ++k) (void)quartic(h[k], &at[k]);
    return Status::success();
  };
  LocalMinima found;
  ASSERT_TRUE(find_local_minima(sweep, 0.1, 100, &found).ok());
  expect_both(found);
  EXPECT_EQ(grids, 1);
}

// A sweep that cannot take the narrowest: the search ends at the last it can.
TEST(LocalMinima, EndsWhereTheCriterionIsTooLarge) {
  const CriterionSweep sweep = [](std::span<const double> h, std::span<Criterion> at) {
    for (std::size_t k = 0; k < h.size(); ++k) {
      if (h[k] < 2) return Status::error(Code::too_large, "too narrow");
      (void)quartic(h[k], &at[k]);
    }
    return Status::success();
  };
  LocalMinima found;
  ASSERT_TRUE(find_local_minima(sweep, 0.1, 100, &found).ok());
  ASSERT_EQ(found.interior.size(), 1u);
  EXPECT_NEAR(found.interior[0].h, 4, 1e-3);
  EXPECT_GE(found.lowest.h, 2);
  EXPECT_LT(found.lowest.h, 2 * std::exp2(0.25));
  EXPECT_EQ(find_local_minima(sweep, 0.1, 1, &found).code, Code::too_large);
}

}  // namespace
}  // namespace kde
