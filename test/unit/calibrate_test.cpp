// Raking: margins that can be met are met, and the weights stay near one another.
#include "core/joint/calibrate.h"

#include <gtest/gtest.h>

#include <numeric>

namespace kde {
namespace {

double sum_of_class(const std::vector<double>& weight, const Margin& m, std::uint16_t c) {
  double sum = 0;
  for (std::size_t i = 0; i < weight.size(); ++i) sum += m.row_class[i] == c ? weight[i] : 0;
  return sum;
}

TEST(Calibrate, OneMarginIsMetExactly) {
  Margin m;
  m.row_class = {0, 0, 0, 1, 1, 2};
  m.target = {30, 40, 30};
  std::vector<double> w;
  ASSERT_TRUE(calibrate({&m, 1}, 6, 100, {}, &w).ok());
  EXPECT_NEAR(w[0], 10, 1e-9);
  EXPECT_NEAR(w[3], 20, 1e-9);
  EXPECT_NEAR(w[5], 30, 1e-9);
}

// Two margins of a table whose rows and columns are dependent: the fitted table has the cross ratio
// of the first one (Deming & Stephan), as both margins multiply.
TEST(Calibrate, TwoMarginsKeepTheCrossRatio) {
  const int cell[2][2] = {{40, 10}, {20, 30}};
  Margin a, b;
  for (std::uint16_t i = 0; i < 2; ++i) {
    for (std::uint16_t j = 0; j < 2; ++j) {
      for (int k = 0; k < cell[i][j]; ++k) {
        a.row_class.push_back(i);
        b.row_class.push_back(j);
      }
    }
  }
  a.target = {600, 400};
  b.target = {700, 300};
  const Margin both[] = {a, b};
  std::vector<double> w;
  ASSERT_TRUE(calibrate(both, 100, 1000, {}, &w).ok());
  // kMet is 1e-4 of the total.
  EXPECT_NEAR(sum_of_class(w, a, 0), 600, 0.2);
  EXPECT_NEAR(sum_of_class(w, b, 0), 700, 0.2);
  double fitted[2][2] = {};
  for (std::size_t i = 0; i < w.size(); ++i) fitted[a.row_class[i]][b.row_class[i]] += w[i];
  EXPECT_NEAR(fitted[0][0] * fitted[1][1] / (fitted[0][1] * fitted[1][0]), 6, 1e-9);
}

TEST(Calibrate, WeightsAreBounded) {
  Margin m;
  m.row_class.assign(100, 0);
  m.row_class[0] = 1;  // one row that should be half of all
  m.target = {50, 50};
  std::vector<double> w;
  ASSERT_TRUE(calibrate({&m, 1}, 100, 100, {}, &w).ok());
  // Both bounds are of the mean before the last scaling to the total, which here is upwards by no
  // more than 2.
  EXPECT_LE(w[0], 2 * kLargestWeight);
  EXPECT_GT(w[1], 0);
  EXPECT_NEAR(std::accumulate(w.begin(), w.end(), 0.0), 100, 1e-9);
}

TEST(Calibrate, ClassesWithoutRowsAreEverybodys) {
  Margin m;
  m.row_class = {0, 0, 2, 2};
  m.target = {10, 20, 30, 40};
  std::vector<double> w;
  ASSERT_TRUE(calibrate({&m, 1}, 4, 100, {}, &w).ok());
  EXPECT_NEAR(w[0] + w[1], 25, 1e-9);
  EXPECT_NEAR(w[2] + w[3], 75, 1e-9);
}

TEST(Calibrate, NothingToShareOut) {
  Margin m;
  m.row_class = {0, 1};
  m.target = {0, 0};
  std::vector<double> w;
  ASSERT_TRUE(calibrate({&m, 1}, 2, 0, {}, &w).ok());
  EXPECT_EQ(w, (std::vector<double>{0, 0}));
  ASSERT_TRUE(calibrate({&m, 1}, 2, 10, {}, &w).ok());
  EXPECT_NEAR(w[0] + w[1], 10, 1e-9);
  for (const double x : w) EXPECT_TRUE(x >= 0);
}

TEST(Calibrate, StopsWhenAsked) {
  Margin m;
  m.row_class = {0, 1};
  m.target = {1, 2};
  Control control;
  control.should_stop = [](void*) { return true; };
  std::vector<double> w;
  EXPECT_EQ(calibrate({&m, 1}, 2, 3, control, &w).code, Code::cancelled);
}

}  // namespace
}  // namespace kde
