// Whole rows are drawn uniformly and stay together; every row is in the summaries.
#include "core/joint/joint_sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kde {
namespace {

JointSample draw(std::int64_t rows, std::int64_t size, std::uint64_t seed) {
  JointSampler sampler({2, size, seed});
  for (std::int64_t i = 0; i < rows; ++i) {
    const double row[2] = {static_cast<double>(i), static_cast<double>(3 * i)};
    EXPECT_TRUE(sampler.add(row, 0).ok());
  }
  JointSample out;
  EXPECT_TRUE(sampler.finish(&out).ok());
  return out;
}

TEST(JointSampler, RowsStayTogether) {
  const JointSample s = draw(5000, 300, 1);
  EXPECT_EQ(s.rows, 300);
  EXPECT_EQ(s.rows_read, 5000);
  for (std::size_t i = 0; i < 300; ++i) EXPECT_EQ(s.value[2 * i + 1], 3 * s.value[2 * i]);
}

// Of 400 samples of 50 among 500 rows each tenth of the rows gets 2,000 in the mean, with the
// variance 400 * 50 * 0.1 * 0.9 * (450/499): 40.3; five of them.
TEST(JointSampler, IsUniform) {
  double tenth[10] = {};
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const JointSample s = draw(500, 50, seed);
    for (std::size_t i = 0; i < 50; ++i) tenth[static_cast<int>(s.value[2 * i]) / 50] += 1;
  }
  for (const double count : tenth) EXPECT_NEAR(count, 2000, 5 * 40.3);
}

TEST(JointSampler, SameSeedSameSample) {
  EXPECT_EQ(draw(1000, 100, 7).value, draw(1000, 100, 7).value);
  EXPECT_NE(draw(1000, 100, 7).value, draw(1000, 100, 8).value);
}

TEST(JointSampler, FewRowsAreAllKept) {
  const JointSample s = draw(3, 100, 1);
  EXPECT_EQ(s.rows, 3);
  EXPECT_EQ(s.value, (std::vector<double>{0, 0, 1, 3, 2, 6}));
}

TEST(JointSampler, NullsAndSpecialValues) {
  JointSampler sampler({2, 10, 1});
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double rows[3][2] = {{99, 1}, {nan, 2}, {-inf, -0.0}};
  const std::uint16_t null[3] = {1, 0, 0};
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(sampler.add(rows[i], null[i]).ok());
  JointSample s;
  ASSERT_TRUE(sampler.finish(&s).ok());
  EXPECT_EQ(s.null, (std::vector<std::uint16_t>{1, 0, 0}));
  EXPECT_EQ(s.value[0], 0);  // what a NULL's value was is not kept
  EXPECT_TRUE(std::isnan(s.value[2]));
  EXPECT_EQ(s.value[4], -inf);
  EXPECT_FALSE(std::signbit(s.value[5]));
  EXPECT_EQ(s.column[0].specials.nulls, 1);
  EXPECT_EQ(s.column[0].specials.nans, 1);
  EXPECT_EQ(s.column[0].specials.negative_infinities, 1);
  EXPECT_EQ(s.column[1].totals.count(), 3);
}

// Blocks whose rows are alike, and in no order, say less than their rows.
TEST(JointSampler, DesignEffectOfTheWorstColumn) {
  JointSampler sampler({2, 2000, 1});
  for (int b = 0; b < 100; ++b) {
    ASSERT_TRUE(sampler.begin_block().ok());
    for (int i = 0; i < 20; ++i) {
      const double row[2] = {static_cast<double>(b * 37 % 100),
                             static_cast<double>((b * 20 + i) * 7919 % 2000)};
      ASSERT_TRUE(sampler.add(row, 0).ok());
    }
  }
  JointSample s;
  ASSERT_TRUE(sampler.finish(&s).ok());
  EXPECT_GT(s.design_effect(), 10);  // of 20 rows a block, all alike in the first column
}

// At whichever of its polls the end of a scan is told to stop.
TEST(JointSampler, TheEndCanBeCancelled) {
  for (int polls = 1;; ++polls) {
    JointSampler sampler({2, 1000, 1});
    for (int i = 0; i < 3000; ++i) {
      if (i % 10 == 0) {
        ASSERT_TRUE(sampler.begin_block().ok());
      }
      const double row[2] = {std::sin(i), std::cos(i)};
      ASSERT_TRUE(sampler.add(row, 0).ok());
    }
    int left = polls;
    Control control;
    control.should_stop = [](void* arg) { return --*static_cast<int*>(arg) < 0; };
    control.stop_arg = &left;
    JointSample s;
    const Status status = sampler.finish(&s, control);
    if (status.ok()) {
      EXPECT_GE(polls, 4);  // each column's summary and each column's design effect
      break;
    }
    EXPECT_EQ(status.code, Code::cancelled);
  }
}

}  // namespace
}  // namespace kde
