// What rows changed do to answers, against an adversary who tries all that k rows may have done.
#include "core/answer/changed_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/answer/column_evidence.h"

namespace kde {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Moments {
  double count = 0, sum = 0, mean = kNan, variance = kNan;

  explicit Moments(const std::vector<double>& rows) : count(static_cast<double>(rows.size())) {
    for (const double x : rows) sum += x;
    if (rows.empty()) return;
    mean = sum / count;
    variance = 0;
    for (const double x : rows) variance += (x - mean) * (x - mean) / count;
  }
};

Interval point(double x) { return {x, x, x}; }

// With what the rule says of all rows, those values and that many changes.
struct Ruled {
  Interval count, sum, mean, variance;

  Ruled(const std::vector<double>& rows, const ChangedRows& changed) {
    const Moments m(rows);
    count = point(m.count);
    sum = rows.empty() ? point(kNan) : point(m.sum);
    mean = point(m.mean);
    variance = point(m.variance);
    changed.count(&count);
    changed.sum(&sum);
    changed.mean(m.count, &mean);
    changed.variance(m.count, &variance);
  }
};

void expect_in(const Interval& i, double x, const char* what) {
  if (std::isnan(x)) return;  // no row: NULL
  const double slack = 1e-9 * (1 + std::fabs(x));
  EXPECT_LE(i.lower, x + slack) << what;
  EXPECT_GE(i.upper, x - slack) << what;
}

// Every set of at most k rows goes, and every choice of at most k of the values comes.
class Adversary {
 public:
  Adversary(std::vector<double> rows, std::vector<double> values, std::size_t k)
      : rows_(std::move(rows)), values_(std::move(values)), k_(k) {
    changed_.rows = static_cast<double>(k);
    for (const double x : rows_) changed_.went.take_in({x, x});
    for (const double x : values_) changed_.came.take_in({x, x});
  }

  void run() {
    const Ruled ruled(rows_, changed_);
    take(ruled, 0, 0, {});
    EXPECT_GT(tried_, k_);
  }

 private:
  void take(const Ruled& ruled, std::size_t from, std::size_t gone,
            const std::vector<double>& kept) {
    if (from == rows_.size()) return come(ruled, 0, 0, kept);
    std::vector<double> with = kept;
    with.push_back(rows_[from]);
    take(ruled, from + 1, gone, with);
    if (gone < k_) take(ruled, from + 1, gone + 1, kept);
  }

  void come(const Ruled& ruled, std::size_t value, std::size_t came,
            const std::vector<double>& rows) {
    if (value == values_.size()) {
      ++tried_;
      const Moments now(rows);
      expect_in(ruled.count, now.count, "count");
      if (now.count > 0) expect_in(ruled.sum, now.sum, "sum");
      expect_in(ruled.mean, now.mean, "mean");
      expect_in(ruled.variance, now.variance, "variance");
      return;
    }
    std::vector<double> more = rows;
    for (std::size_t n = 0; came + n <= k_; ++n) {
      come(ruled, value + 1, came + n, more);
      more.push_back(values_[value]);
    }
  }

  std::vector<double> rows_, values_;
  std::size_t k_;
  ChangedRows changed_;
  std::size_t tried_ = 0;
};

TEST(ChangedRows, HoldWhatAnAdversaryDoes) {
  const std::vector<std::vector<double>> tables = {
      {}, {3}, {1, 2, 3, 4}, {-5, -1, 0, 2, 7}, {4, 4, 4, 4, 4}, {-9, -8, -8, -7}, {0, 0, 0, 100}};
  const std::vector<std::vector<double>> comes = {{0, 10},  {-10, 10}, {-3, -1},
                                                  {50, 60}, {4},       {-100, 0, 100}};
  for (const auto& rows : tables)
    for (const auto& values : comes)
      for (std::size_t k : {0, 1, 2, 3}) Adversary(rows, values, k).run();
}

TEST(ChangedRows, HaveNoEndWhereNothingBoundsThem) {
  ChangedRows one;
  one.rows = 1;
  one.went = {1, 5};
  one.came = {-kInf, kInf};
  const Ruled ruled({1, 2, 3, 4, 5}, one);
  EXPECT_EQ(ruled.count.lower, 4);
  EXPECT_EQ(ruled.count.upper, 6);
  EXPECT_EQ(ruled.sum.upper, kInf);
  EXPECT_EQ(ruled.sum.lower, -kInf);
  EXPECT_EQ(ruled.mean.upper, kInf);
  EXPECT_EQ(ruled.variance.upper, kInf);
  EXPECT_GE(ruled.variance.lower, 0);
  // From below alone.
  one.came = {0, kInf};
  const Ruled positive({1, 2, 3, 4, 5}, one);
  EXPECT_EQ(positive.sum.lower, 10);
  EXPECT_EQ(positive.sum.upper, kInf);
  EXPECT_GE(positive.mean.lower, 2);
}

TEST(ChangedRows, AreNoneOfAnEmptyRange) {
  IntervalOptions options;
  options.changed_rows = 5;
  Range r;
  r.lower = 3;
  r.upper = 1;
  r.lower_unbounded = r.upper_unbounded = false;
  Header h = {};
  EXPECT_EQ(changed_rows(h, r, options).rows, 0);
  r.lower = 0;
  const ChangedRows some = changed_rows(h, r, options);
  EXPECT_EQ(some.rows, 5);
  EXPECT_EQ(some.came.low, 0);
  EXPECT_EQ(some.came.high, 1);
}

TEST(ChangedRows, OfAUnionAreShared) {
  ChangedRows a, b;
  a.rows = b.rows = 2;
  a.went = {0, 1};
  b.went = {5, 9};
  a.came = b.came = {0, 10};
  a.take_in(b);
  EXPECT_EQ(a.rows, 2);
  EXPECT_EQ(a.went.low, 0);
  EXPECT_EQ(a.went.high, 9);
}

}  // namespace
}  // namespace kde
