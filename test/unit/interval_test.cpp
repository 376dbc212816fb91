// Intervals: Wilson's closed form, what widens them, that they hold the estimate and, of samples,
// the truth as often as they say.
#include "core/answer/column_evidence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "distinct.h"
#include "fitted.h"
#include "histogram_fixture.h"

namespace kde {
namespace {

using fitted::Fitted;
using fitted::kInf;
using fitted::kNan;
using fitted::range;

constexpr double kZ95 = 1.959963984540054;   // Phi^-1(0.975)
constexpr double kZ99 = 2.5758293035489004;  // Phi^-1(0.995)

Header* header_of(Fitted* f) { return &f->bytes.header(); }

void set_variance(Fitted* f, float variance) {
  for (auto& scales : header_of(f)->count_variance)
    std::fill(std::begin(scales), std::end(scales), variance);
}

IntervalOptions at(double confidence, double changed_rows = 0) {
  IntervalOptions o;
  o.confidence = confidence;
  o.changed_rows = changed_rows;
  return o;
}

// Values by their rows, from `sample` rows with the variance of each count given.
Fitted atoms_of(const std::vector<HistogramCell>& values, double sample, float variance) {
  histograms::Parts parts;
  parts.header.flags = kBounded | kFitted;
  parts.atoms = values;
  histograms::set_totals(&parts);
  parts.header.sample_rows = sample;
  Fitted f;
  f.bytes = histograms::encode(parts);
  const Status status = validate(f.bytes.data(), f.bytes.size());
  EXPECT_TRUE(status.ok()) << status.message;
  set_variance(&f, variance);
  return f;
}

// Rows 0, 1, 2 ... of the weights given.
Fitted atoms(const std::vector<double>& weights, double sample, float variance) {
  std::vector<HistogramCell> values;
  for (std::size_t i = 0; i < weights.size(); ++i)
    values.push_back({static_cast<double>(i), weights[i], true});
  return atoms_of(values, sample, variance);
}

// The ends of Wilson's interval are the p with (p_hat - p)^2 = z^2 p (1 - p) / m: the roots of
// (1 + z^2/m) p^2 - (2 p_hat + z^2/m) p + p_hat^2.
std::pair<double, double> wilson(double p_hat, double m, double z) {
  const double a = 1 + z * z / m;
  const double b = 2 * p_hat + z * z / m;
  const double root = std::sqrt(std::max(b * b - 4 * a * p_hat * p_hat, 0.0));
  return {(b - root) / (2 * a), (b + root) / (2 * a)};
}

TEST(Interval, CountIsWilsons) {
  // 5, 0.01, 40 and 54.99 % of 100,000 rows.
  const Fitted f = atoms({5000, 10, 40000, 54990}, 1000, 0.75F);
  const double m = 1000 / 0.75;
  for (auto [confidence, z] : {std::pair{0.95, kZ95}, std::pair{0.99, kZ99}}) {
    for (auto [low, high] : {std::pair{0., 0.}, std::pair{1., 1.}, std::pair{0., 2.},
                             std::pair{2., 3.}, std::pair{0., 3.}, std::pair{4., 9.}}) {
      const Interval i = interval_of(Wanted::count, f.view(), range(low, high), at(confidence));
      const double p = count(f.view(), range(low, high)) / 1e5;
      EXPECT_EQ(i.estimate, 1e5 * p);
      const auto [lower, upper] = wilson(p, m, z);
      EXPECT_NEAR(i.lower, 1e5 * lower, 1e-7);
      EXPECT_NEAR(i.upper, 1e5 * upper, 1e-7);
    }
  }
}

TEST(Interval, RatiosAreInterpolatedInLogP) {
  // A power of four is at each scale; halves lie midway between two in log4.
  std::vector<double> weights;
  for (double p : {0x1p-2, 0x1p-3, 0x1p-4, 0x1p-9, 0x1p-16, 0x1p-20})
    weights.push_back(p * (1 << 24));
  weights.push_back((1 << 24) - std::accumulate(weights.begin(), weights.end(), 0.0));
  Fitted f = atoms(weights, 1000, 1);
  for (int shape = 0; shape < kShapes; ++shape) {
    for (int i = 0; i < kErrorScales; ++i)
      header_of(&f)->count_variance[shape][i] =
          static_cast<float>((i + 1) * (i + 1) * (shape + 1)) / 8;
  }
  const auto expect = [&f](const Range& r, double ratio) {
    const double p = count(f.view(), r) / (1 << 24);
    const auto [lower, upper] = wilson(p, 1000 / ratio, kZ95);
    const Interval i = interval_of(Wanted::count, f.view(), r, at(0.95));
    EXPECT_NEAR(i.lower, lower * (1 << 24), 1e-4) << p;
    EXPECT_NEAR(i.upper, upper * (1 << 24), 1e-4) << p;
  };
  expect(range(0, 0), 1 / 8.);           // 4^-1
  expect(range(1, 1), (1 + 4) / 16.);    // 4^-1.5
  expect(range(2, 2), 4 / 8.);           // 4^-2
  expect(range(3, 3), (16 + 25) / 16.);  // 4^-4.5
  expect(range(4, 4), 64 / 8.);          // 4^-8
  expect(range(5, 5), 64 / 8.);          // 4^-10: the last
  expect(range(1, 9), 1 / 8.);           // 1 - 4^-1
  expect(range(0, 9), 64 / 8.);          // all
  Range below;
  below.upper_unbounded = false;
  below.upper = 0;
  expect(below, 3 / 8.);
  Range above;
  above.lower_unbounded = false;
  above.lower = 1;
  expect(above, 3 / 8.);  // what it leaves out lies below
  // 1 - 4^-2: the complement's.
  Fitted g = atoms({15, 1}, 1000, 1);
  header_of(&g)->count_variance[0][1] = 3;
  const auto [lower, upper] = wilson(15. / 16, 1000 / 3., kZ95);
  EXPECT_NEAR(interval_of(Wanted::count, g.view(), range(0, 0), at(0.95)).lower, 16 * lower, 1e-9);
  EXPECT_NEAR(interval_of(Wanted::count, g.view(), range(0, 0), at(0.95)).upper, 16 * upper, 1e-9);
}

// Rows that lie together are seen together or not at all: where counts of a share s have a larger
// variance than those of the share p seen, the upper end takes in what s would have shown.
TEST(Interval, UpperEndAllowsForRowsThatLieTogether) {
  const double p = 0x1p-12;
  Fitted f = atoms({p * (1 << 24), (1 - p) * (1 << 24)}, 1000, 1);
  header_of(&f)->count_variance[0][4] = 40;  // at 4^-5, which Wilson's interval at p reaches
  const Interval i = interval_of(Wanted::count, f.view(), range(0, 0), at(0.95));
  EXPECT_NEAR(i.lower, wilson(p, 1000, kZ95).first * (1 << 24), 1e-4);
  EXPECT_NEAR(i.upper, wilson(p, 1000 / 40., kZ95).second * (1 << 24), 1e-4);
}

// Blocks of one value each: counts of a share vary by the rows of a block, whatever the share. A
// value that was not seen may fill one, though no smaller share would show as much.
TEST(Interval, UpperEndAllowsForAWholeBlockUnseen) {
  constexpr double kSample = 0x1p16, kBlock = 64;
  Fitted f = atoms({1 << 20}, kSample, 1);
  for (int i = 0; i < kErrorScales; ++i)
    header_of(&f)->count_variance[0][i] =
        static_cast<float>(std::min(kBlock, std::max(1.0, std::ldexp(kSample / 4, -2 * i))));
  const Interval none = interval_of(Wanted::count, f.view(), range(7, 7), at(0.95));
  EXPECT_NEAR(none.upper, wilson(0, kSample / kBlock, kZ95).second * (1 << 20), 1e-4);
}

// That the number of rows was estimated is independent of their shares.
TEST(Interval, OfAnEstimatedNumberOfRows) {
  Fitted f = atoms({30000, 70000}, 2500, 0.5F);
  const Interval known = interval_of(Wanted::count, f.view(), range(0, 0), at(0.95));
  header_of(&f)->rows_variance = 0.02 * 0.02;
  const Interval i = interval_of(Wanted::count, f.view(), range(0, 0), at(0.95));
  const double all = kZ95 * 0.02 * 30000;
  EXPECT_NEAR(i.upper - i.estimate, std::hypot(known.upper - known.estimate, all), 1e-9);
  EXPECT_NEAR(i.estimate - i.lower, std::hypot(known.estimate - known.lower, all), 1e-9);
  const Interval whole = interval_of(Wanted::count, f.view(), Range{}, at(0.95));
  EXPECT_NEAR(whole.upper - 1e5, kZ95 * 2000, 1e-9);
  EXPECT_NEAR(1e5 - whole.lower, kZ95 * 2000, 1e-9);
  // A mean does not depend on it.
  EXPECT_EQ(interval_of(Wanted::mean, f.view(), Range{}, at(0.95)).lower, 0.7);
}

// Of all rows the count is known and the mean is not.
TEST(Interval, TheMeanOfAllHasItsOwnError) {
  Fitted f = atoms({30000, 70000}, 2500, 0.5F);
  header_of(&f)->mean_error = 0.01;
  const Interval mean = interval_of(Wanted::mean, f.view(), Range{}, at(0.95));
  EXPECT_NEAR(mean.upper - 0.7, kZ95 * 0.01, 1e-12);
  EXPECT_NEAR(0.7 - mean.lower, kZ95 * 0.01, 1e-12);
  const Interval sum = interval_of(Wanted::sum, f.view(), Range{}, at(0.95));
  EXPECT_NEAR(sum.upper - 7e4, kZ95 * 0.01 * 1e5, 1e-7);
  EXPECT_EQ(interval_of(Wanted::count, f.view(), Range{}, at(0.95)).upper, 1e5);
}

// The variance of a share's (x - mean)^2, which is 0.49 three times in ten, else 0.09.
TEST(Interval, AVarianceIsAMeanOfSquares) {
  const Fitted f = atoms({30000, 70000}, 2500, 0.5F);
  const Interval variance = interval_of(Wanted::variance, f.view(), range(0, 1), at(0.95));
  EXPECT_NEAR(variance.estimate, 0.21, 1e-12);
  const double half = kZ95 * 0.4 * std::sqrt(0.21 * 0.5 / 2500);
  EXPECT_GT(variance.upper - 0.21, half);
  EXPECT_LT(variance.upper - 0.21, 1.5 * half);
  // Rows that change go from one end to the other at worst.
  const Interval changed = interval_of(Wanted::variance, f.view(), range(0, 1), at(0.95, 1000));
  const double fewest = interval_of(Wanted::count, f.view(), range(0, 1), at(0.95)).lower;
  EXPECT_NEAR(changed.upper - variance.upper, 1000 / fewest, 1e-12);
}

// Rows known one by one have no error; those between them have what a range open to that side has.
TEST(Interval, KnownRowsAreCertain) {
  Fitted f = atoms({1, 30000, 20000, 10000, 1}, 2500, 0);
  header_of(&f)->known_below = 1;
  header_of(&f)->known_above = 3;
  for (int i = 0; i < kErrorScales; ++i) {
    header_of(&f)->count_variance[static_cast<int>(Shape::below)][i] = 0.5F;
    header_of(&f)->count_variance[static_cast<int>(Shape::above)][i] = 0.75F;
    header_of(&f)->count_variance[static_cast<int>(Shape::two_ends)][i] = 1;
  }
  const auto expect = [&f](const Range& r, double known, double p, double variance) {
    const auto [lower, upper] = wilson(p, 2500 / variance, kZ95);
    const Interval i = interval_of(Wanted::count, f.view(), r, at(0.95));
    EXPECT_NEAR(i.lower, known + lower * 60000, 1e-6);
    EXPECT_NEAR(i.upper, known + upper * 60000, 1e-6);
  };
  expect(range(2, 2), 0, 1. / 3, 1);
  expect(range(0, 1), 1, 1. / 2, 0.5);
  expect(range(2, 4), 1, 1. / 2, 0.75);
  const Interval all = interval_of(Wanted::count, f.view(), range(0, 4), at(0.95));
  EXPECT_EQ(all.lower, all.estimate);
  EXPECT_EQ(all.upper, all.estimate);
}

// Of ranges that have none but known rows.
TEST(Interval, RangesOfKnownRowsAreCertain) {
  Fitted f = atoms({1, 30000, 20000, 10000, 1}, 2500, 1);
  header_of(&f)->known_below = 1;
  header_of(&f)->known_above = 3;
  for (const Range& r : {range(0, 0), range(4, 4), range(-7, 0.5), range(3, 9, false)}) {
    const Interval i = interval_of(Wanted::count, f.view(), r, at(0.95));
    EXPECT_EQ(i.lower, i.estimate);
    EXPECT_EQ(i.upper, i.estimate);
  }
}

TEST(Interval, SumMeanAndQuantile) {
  const Fitted f = atoms({30000, 20000, 10000, 40000}, 2500, 0.375F);
  // Rows 1 and 2 only: p = 0.3, mean 4/3, variance 2/9; width 1. The sum is count times mean.
  const Interval sum = interval_of(Wanted::sum, f.view(), range(1, 2), at(0.95));
  EXPECT_NEAR(sum.estimate, 40000, 1e-6);
  const double rows = 2500 * 0.3;
  const double added = 2;  // rows spread evenly over the range
  const double variance = (rows * 2. / 9 + added / 12) / (rows + added);
  const double student = kZ95 + (kZ95 * kZ95 * kZ95 + kZ95) / (4 * (rows - 1));
  const double half_mean = student * std::sqrt(0.375 * variance / rows);
  const auto [low, high] = wilson(0.3, 2500 / 0.375, kZ95);
  EXPECT_NEAR(sum.upper - sum.estimate, std::hypot(4. / 3 * (high - 0.3) * 1e5, half_mean * 30000),
              1e-6);
  EXPECT_NEAR(sum.estimate - sum.lower, std::hypot(4. / 3 * (0.3 - low) * 1e5, half_mean * 30000),
              1e-6);
  const Interval mean = interval_of(Wanted::mean, f.view(), range(1, 2), at(0.95));
  EXPECT_NEAR(mean.estimate, 4. / 3, 1e-12);
  EXPECT_NEAR(mean.upper - mean.estimate, half_mean, 1e-12);
  EXPECT_NEAR(mean.estimate - mean.lower, half_mean, 1e-12);
  // Wilson's ends at 0.3 are at both sides of the step from 0 to 1.
  const Interval q = quantile_interval(f.view(), 0.3, at(0.95));
  EXPECT_EQ(q.lower, 0);
  EXPECT_EQ(q.estimate, 0);
  EXPECT_EQ(q.upper, 1);
  EXPECT_EQ(quantile_interval(f.view(), 0.25, at(0.95)).upper, 0);
}

// Counts of two ranges that divide the column are off by the same rows.
TEST(Interval, WhatIsLeftOutAboveLiesBelow) {
  Fitted f = atoms({30000, 20000, 10000, 40000}, 2500, 0.375F);
  for (float& v : header_of(&f)->count_variance[static_cast<int>(Shape::above)]) v = 3;
  Range below;
  below.upper_unbounded = false;
  below.upper = 0;
  Range above;
  above.lower_unbounded = above.lower_inclusive = false;
  const Interval few = interval_of(Wanted::count, f.view(), below, at(0.95));
  const Interval many = interval_of(Wanted::count, f.view(), above, at(0.95));
  EXPECT_NEAR(many.estimate, 70000, 1e-6);
  EXPECT_NEAR(many.lower, 1e5 - few.upper, 1e-6);
  EXPECT_NEAR(many.upper, 1e5 - few.lower, 1e-6);
}

// Rows that were not drawn may lie beyond those that were: as far as every row read, or known one
// by one, tells.
TEST(Interval, BeyondTheSample) {
  Fitted f = atoms({3000, 4000, 5000}, 60, 1);
  Range above;
  above.lower_unbounded = false;
  above.lower = 1.5;
  EXPECT_GT(interval_of(Wanted::mean, f.view(), above, at(0.95)).upper, 2);
  EXPECT_EQ(quantile_interval(f.view(), 0.999, at(0.95)).upper, kInf);
  EXPECT_EQ(quantile_interval(f.view(), 0.999, at(0.95)).estimate, 2);
  EXPECT_EQ(quantile_interval(f.view(), 0.001, at(0.95)).lower, -kInf);
  EXPECT_EQ(quantile_interval(f.view(), 1, at(0.95)).upper, kInf);
  EXPECT_EQ(quantile_interval(f.view(), 0.5, at(0.95)).upper, 2);
  header_of(&f)->known_above = 3;
  EXPECT_EQ(quantile_interval(f.view(), 0.999, at(0.95)).upper, 3);
  header_of(&f)->known_above = kInf;
  header_of(&f)->flags |= kEveryRowRead;
  EXPECT_EQ(interval_of(Wanted::mean, f.view(), above, at(0.95)).upper, 2);
  EXPECT_EQ(quantile_interval(f.view(), 0.999, at(0.95)).upper, 2);
  EXPECT_EQ(quantile_interval(f.view(), 0.001, at(0.95)).lower, 0);
}

TEST(Interval, NothingSampledIsExact) {
  const auto expect_exact = [](const Interval& i) {
    EXPECT_EQ(i.lower, i.estimate);
    EXPECT_EQ(i.upper, i.estimate);
  };
  // Every row in the sample and nothing smooth.
  Fitted f = atoms({3, 4, 5}, 12, 0);
  for (const Range& r : {range(1, 2), range(0.5, 1), range(7, 8), Range{}}) {
    expect_exact(interval_of(Wanted::count, f.view(), r, at(0.95)));
    if (count(f.view(), r) > 0) {
      expect_exact(interval_of(Wanted::sum, f.view(), r, at(0.95)));
      expect_exact(interval_of(Wanted::mean, f.view(), r, at(0.95)));
      expect_exact(interval_of(Wanted::variance, f.view(), r, at(0.95)));
    }
  }
  for (double q : {0.0, 0.3, 1.0}) expect_exact(quantile_interval(f.view(), q, at(0.95)));
  // A sample, but totals of every row.
  f = atoms({3, 4, 5}, 6, 0.5);
  EXPECT_GT(interval_of(Wanted::count, f.view(), range(0, 2), at(0.95)).estimate,
            interval_of(Wanted::count, f.view(), range(0, 2), at(0.95)).lower);
  header_of(&f)->flags |= kEveryRowRead;
  for (const Range& r : {Range{}, range(0, 2), range(-1, kNan)}) {
    expect_exact(interval_of(Wanted::count, f.view(), r, at(0.95)));
    expect_exact(interval_of(Wanted::sum, f.view(), r, at(0.95)));
    expect_exact(interval_of(Wanted::mean, f.view(), r, at(0.95)));
    expect_exact(interval_of(Wanted::variance, f.view(), r, at(0.95)));
  }
  for (const Range& r : {range(3, 4), range(2, 3, false), range(-5, 0, true, false)})
    expect_exact(interval_of(Wanted::count, f.view(), r, at(0.95)));
  EXPECT_LT(interval_of(Wanted::count, f.view(), range(0, 2, true, false), at(0.95)).lower, 7);
}

TEST(Interval, EmptyRangesHoldNoRowsForCertain) {
  Fitted f = atoms({3, 4, 5}, 6, 0.5);
  Range empty = range(0, 2);
  empty.empty = true;
  for (const Range& r : {range(2, 1), range(1, 1, true, false), range(1, 1, false, true),
                         range(kNan, 1), range(kNan, kNan, false), empty}) {
    const Interval i = interval_of(Wanted::count, f.view(), r, at(0.95, 100));
    EXPECT_EQ(i.lower, 0);
    EXPECT_EQ(i.estimate, 0);
    EXPECT_EQ(i.upper, 0);
    EXPECT_TRUE(std::isnan(interval_of(Wanted::sum, f.view(), r, at(0.95)).upper));
    EXPECT_TRUE(std::isnan(interval_of(Wanted::mean, f.view(), r, at(0.95)).lower));
    EXPECT_TRUE(std::isnan(interval_of(Wanted::variance, f.view(), r, at(0.95)).lower));
  }
  // No row seen is not none.
  EXPECT_GT(interval_of(Wanted::count, f.view(), range(1.5, 1.6), at(0.95)).upper, 0);
  EXPECT_GT(interval_of(Wanted::count, f.view(), range(kNan, kNan), at(0.95)).upper, 0);
}

// Where none was seen but may be: no estimate, and what the range allows.
TEST(Interval, MeansAndSumsOfWhatWasNotSeen) {
  const Fitted f = atoms({3000, 4000, 5000}, 60, 1);
  const Interval mean = interval_of(Wanted::mean, f.view(), range(1.25, 1.5), at(0.95));
  EXPECT_TRUE(std::isnan(mean.estimate));
  EXPECT_EQ(mean.lower, 1.25);
  EXPECT_EQ(mean.upper, 1.5);
  const double most = interval_of(Wanted::count, f.view(), range(1.25, 1.5), at(0.95)).upper;
  EXPECT_GT(most, 0);
  const Interval sum = interval_of(Wanted::sum, f.view(), range(1.25, 1.5), at(0.95));
  EXPECT_TRUE(std::isnan(sum.estimate));
  EXPECT_EQ(sum.lower, 0);
  EXPECT_EQ(sum.upper, 1.5 * most);
  // Half of them at either end.
  const Interval variance = interval_of(Wanted::variance, f.view(), range(1.25, 1.5), at(0.95));
  EXPECT_TRUE(std::isnan(variance.estimate));
  EXPECT_EQ(variance.lower, 0);
  EXPECT_EQ(variance.upper, 0.125 * 0.125);
  Range above;
  above.lower_unbounded = false;
  above.lower = 7;
  EXPECT_EQ(interval_of(Wanted::mean, f.view(), above, at(0.95)).lower, 7);
  EXPECT_EQ(interval_of(Wanted::mean, f.view(), above, at(0.95)).upper, kInf);
  EXPECT_EQ(interval_of(Wanted::sum, f.view(), above, at(0.95)).lower, 0);
  EXPECT_EQ(interval_of(Wanted::sum, f.view(), above, at(0.95)).upper, kInf);
  // Every row was read: there are none.
  Fitted all = atoms({3000, 4000, 5000}, 12000, 0);
  header_of(&all)->flags |= kEveryRowRead;
  EXPECT_TRUE(std::isnan(interval_of(Wanted::mean, all.view(), range(1.25, 1.5), at(0.95)).upper));
  EXPECT_TRUE(std::isnan(interval_of(Wanted::sum, all.view(), above, at(0.95)).upper));
}

// What is known row by row does not tell of rows that were not drawn: of a range above 2 whose 40
// rows above 3 are known, those between may be as many as its count allows.
TEST(Interval, MeansOfKnownRowsAllowForThoseNotSeen) {
  Fitted f = atoms_of({{0, 50000, true}, {1, 40000, true}, {4, 40, true}}, 1000, 1);
  header_of(&f)->known_above = 3;
  Range above;
  above.lower_unbounded = false;
  above.lower = 2;
  const double more = interval_of(Wanted::count, f.view(), above, at(0.95)).upper - 40;
  ASSERT_GT(more, 100);
  const Interval mean = interval_of(Wanted::mean, f.view(), above, at(0.95));
  EXPECT_EQ(mean.estimate, 4);
  EXPECT_NEAR(mean.lower, 4 - 2 * more / (40 + more), 1e-9);
  const Interval sum = interval_of(Wanted::sum, f.view(), above, at(0.95));
  EXPECT_GE(sum.upper, 160 + 3 * more);
}

// Whatever the sign of the rows that are known, a sum moves by those that may not have been seen.
TEST(Interval, SumsOfKnownRowsMoveByThoseNotSeen) {
  for (const double known : {4.0, -4.0}) {
    SCOPED_TRACE(known);
    Fitted f = atoms_of({{-20, 50000, true}, {-15, 40000, true}, {known, 30, true}}, 1000, 1);
    header_of(&f)->known_above = -5;
    Range above;
    above.lower_unbounded = false;
    above.lower = -10;
    const double more = interval_of(Wanted::count, f.view(), above, at(0.95)).upper - 30;
    ASSERT_GT(more, 100);
    const Interval sum = interval_of(Wanted::sum, f.view(), above, at(0.95));
    EXPECT_EQ(sum.estimate, 30 * known);
    EXPECT_NEAR(sum.lower, 30 * known - 10 * more, 1e-9);
    EXPECT_EQ(sum.upper, 30 * known);  // all unseen ones are negative
  }
  // On both sides of 0.
  Fitted f = atoms_of({{-20, 50000, true}, {-15, 40000, true}, {14, 30, true}}, 1000, 1);
  header_of(&f)->known_above = 9;
  Range above;
  above.lower_unbounded = false;
  above.lower = -10;
  const double more = interval_of(Wanted::count, f.view(), above, at(0.95)).upper - 30;
  const Interval sum = interval_of(Wanted::sum, f.view(), above, at(0.95));
  EXPECT_NEAR(sum.lower, 420 - 10 * more, 1e-9);
  EXPECT_NEAR(sum.upper, 420 + 9 * more, 1e-9);
}

// A range of NaN alone has no finite rows: no mean, and no limits of one.
TEST(Interval, NothingFiniteInARangeOfNan) {
  const Fitted f = atoms({3000, 4000, 5000}, 60, 1);
  for (const Interval& i : {interval_of(Wanted::mean, f.view(), range(kNan, kNan), at(0.95)),
                            interval_of(Wanted::sum, f.view(), range(kNan, kNan), at(0.95))}) {
    EXPECT_TRUE(std::isnan(i.estimate));
    EXPECT_TRUE(std::isnan(i.lower));
    EXPECT_TRUE(std::isnan(i.upper));
  }
}

TEST(Interval, WhatIsStoredIsKnownWithinItsError) {
  Fitted f = fitted::fit(samples::normal(2000, 4));
  header_of(&f)->error = 1e-3;
  const Header& h = f.view().header();
  const auto width = [&f](const Range& r) {
    const Interval i = interval_of(Wanted::count, f.view(), r, at(0.95));
    EXPECT_NEAR(i.upper - i.estimate, i.estimate - i.lower, 1e-9);
    return (i.upper - i.lower) / 2;
  };
  EXPECT_NEAR(width(range(-1, 1)), 2 * 1e-3 * h.rows, 1e-9);
  EXPECT_NEAR(width(range(-1, 1, false, false)), 2 * 1e-3 * h.rows, 1e-9);
  EXPECT_EQ(width(range(h.min - 1, h.max + 1)), 0);
  EXPECT_EQ(width(Range{}), 0);
  Range half;
  half.upper_unbounded = false;
  half.upper = 0.5;
  const Interval i = interval_of(Wanted::count, f.view(), half, at(0.95));
  EXPECT_NEAR(i.upper - i.lower, 2 * 1e-3 * h.rows, 1e-9);
  const Interval q = quantile_interval(f.view(), 0.5, at(0.95));
  EXPECT_NEAR(cdf(f.view(), q.upper) - 0.5, 1e-3, 1e-6);
  EXPECT_NEAR(0.5 - cdf(f.view(), q.lower), 1e-3, 1e-6);
  // With E the error of the rows below x, at most e, a sum about the mean m is off by (x - m) E at
  // either end, here 2 e together, and by the integral of E over the width of 2: 4 e, over the
  // fewest rows there may be.
  const Interval mean = interval_of(Wanted::mean, f.view(), range(-1, 1), at(0.95));
  const double least = interval_of(Wanted::count, f.view(), range(-1, 1), at(0.95)).lower;
  EXPECT_NEAR(mean.upper - mean.estimate, 4e-3 * h.rows / least, 1e-9);
  EXPECT_NEAR(mean.estimate - mean.lower, 4e-3 * h.rows / least, 1e-9);
}

// Every density, every kind of range: the interval holds the estimate, grows with the confidence
// and with the rows changed, and has no NaN.
TEST(Interval, HoldsTheEstimateAndGrows) {
  Random random(31);
  const auto check = [&random](const DensityView& d, const std::string& name) {
    const Header& h = d.header();
    const double reach = std::isfinite(h.max - h.min) ? h.max - h.min : 1;
    const auto point = [&] {
      switch (random.below(8)) {
        case 0:
          return kInf;
        case 1:
          return -kInf;
        case 2:
          return h.min;
        case 3:
          return h.max;
        case 4:
          return d.atoms() > 0 ? d.atom_value(static_cast<int>(
                                     random.below(static_cast<std::uint64_t>(d.atoms()))))
                               : kNan;
        case 5:
          return quantile(d, random.uniform());
        default:
          return h.min + (1.4 * random.uniform() - 0.2) * reach;
      }
    };
    // Kernel sums take their time.
    const int questions = (h.flags & kBounded) != 0 ? 400 : 40;
    for (int k = 0; k < questions; ++k) {
      Range r = range(point(), point(), random.below(2) == 0, random.below(2) == 0);
      r.lower_unbounded = random.below(8) == 0;
      r.upper_unbounded = random.below(8) == 0;
      const double q = k % 8 == 0 ? static_cast<double>(k % 16) / 8 : random.uniform();
      const double changed = random.below(2) == 0 ? 0 : random.uniform() * h.rows;
      const RangeMoments m = moments(d, r);
      Interval narrower[4];
      for (int step = 0; step < 4; ++step) {
        constexpr double kConfidence[] = {1e-200, 0.5, 0.95, 0.95};
        const IntervalOptions o = at(kConfidence[step], step < 3 ? changed : 2 * changed);
        const Interval answers[] = {interval_of(Wanted::count, d, r, o),
                                    interval_of(Wanted::sum, d, r, o),
                                    interval_of(Wanted::mean, d, r, o), quantile_interval(d, q, o)};
        for (int a = 0; a < 4; ++a) {
          const Interval& i = answers[a];
          if ((a == 1 || a == 2) && !(m.finite > 0)) {
            ASSERT_TRUE(std::isnan(i.estimate));
            if (!r.lower_unbounded && std::isnan(r.lower)) continue;  // NaN alone
            ASSERT_EQ(std::isnan(i.lower), std::isnan(i.upper));
            if (step > 0 && !std::isnan(narrower[a].lower)) {
              ASSERT_LE(i.lower, narrower[a].lower) << name << " answer " << a << " step " << step;
              ASSERT_GE(i.upper, narrower[a].upper) << name << " answer " << a << " step " << step;
            }
            if (!std::isnan(i.lower)) {
              ASSERT_LE(i.lower, i.upper) << name << " answer " << a << " step " << step;
            }
            narrower[a] = i;
            continue;
          }
          if (a == 3 && h.nans > 0 && std::isnan(i.upper)) continue;
          ASSERT_LE(i.lower, i.estimate) << name << " answer " << a << " step " << step;
          ASSERT_LE(i.estimate, i.upper) << name << " answer " << a << " step " << step;
          if (step > 0) {
            // A count's ends come from shares, whose rounding is of all rows.
            const double rounding = a == 0 ? 1e-15 * h.rows : 0;
            ASSERT_LE(i.lower, narrower[a].lower + rounding)
                << name << " answer " << a << " step " << step;
            ASSERT_GE(i.upper, narrower[a].upper - rounding)
                << name << " answer " << a << " step " << step;
          }
          narrower[a] = i;
        }
        ASSERT_EQ(answers[0].estimate, m.count);
        ASSERT_GE(answers[0].lower, 0);
        if (h.rows_variance == 0) {
          ASSERT_LE(answers[0].upper, (h.rows + o.changed_rows) * (1 + 1e-12));
        }
        if (m.finite > 0) {
          ASSERT_EQ(answers[2].estimate, m.mean);
          if (changed == 0 && (h.flags & kBounded) != 0 && (h.flags & kEveryRowRead) != 0) {
            ASSERT_GE(answers[2].lower, h.min);
            ASSERT_LE(answers[2].upper, h.max);
          }
        }
      }
    }
  };
  std::vector<fitted::Column> columns = fitted::columns(300);
  columns.push_back({"specials", {1, 2, 3, kNan, kInf, -kInf, -kInf, 2, 7}});
  columns.push_back({"no finite value", {kNan, kInf, -kInf}});
  columns.push_back({"huge", {-1e308, 1e308, 3, 1e300, -1e300}});
  columns.push_back({"one value", std::vector<double>(20, 4)});
  for (const fitted::Column& c : columns) {
    for (Method method : {Method::automatic, Method::silverman}) {
      for (double scale : {1.0, 50.0}) {
        FitOptions options;
        options.method = method;
        options.rows_per_row_read = scale;
        options.every_row_read = scale == 1;
        options.share_of_blocks = 1 / scale;
        options.lattice_step = c.name == "integers" ? 1 : 0;
        Fitted f = fitted::fit(fitted::sample_of(c.x), options);
        check(f.view(), c.name);
        for (auto& scales : header_of(&f)->count_variance) {
          for (float& variance : scales) variance = static_cast<float>(7 * random.uniform());
        }
        header_of(&f)->rows_variance = random.below(2) == 0 ? 0 : 0.1 * random.uniform();
        header_of(&f)->end_variance = random.below(2) == 0 ? 0 : 0.01 * random.uniform();
        check(f.view(), c.name + ", other variances");
      }
    }
  }
  const Fitted huge = atoms({1e6, 1e14, 1}, 0, 1);  // no sample at all
  check(huge.view(), "no sample");
}

// Rows inserted, deleted and updated at random, to the ends above all: every answer of the changed
// column lies within the interval of the density made before, which has every row.
TEST(Interval, ChangedRowsAtTheirWorst) {
  Random random(77);
  const double ends[] = {-20, 30};
  int moved = 0;
  for (int run = 0; run < 3000; ++run) {
    std::vector<double> x = {ends[0], ends[1]};
    while (x.size() < 40) x.push_back(std::round(20 * (random.uniform() - 0.5)));
    std::vector<HistogramCell> values;
    for (const WeightedValue& v : samples::distinct(x)) values.push_back({v.value, v.weight, true});
    Fitted f = atoms_of(values, 40, 0);
    header_of(&f)->flags |= kEveryRowRead;
    Range r = range(std::round(40 * random.uniform() - 20), std::round(50 * random.uniform() - 20));
    if (run % 4 == 0) r.upper_unbounded = true;
    if (run % 8 == 0) r.lower_unbounded = true;
    const double low = r.lower_unbounded ? ends[0] : r.lower;
    const double high = r.upper_unbounded ? ends[1] : r.upper;
    if (low > high || !(count(f.view(), r) > 0)) continue;
    const int changes = 1 + static_cast<int>(random.below(30));
    const bool downwards = random.below(2) == 0;
    const double from = downwards ? high : low;
    const double to = downwards ? low : high;
    for (int k = 0; k < changes; ++k) {
      // Mostly from one end of the range (or whatever is nearest to it) to the other.
      std::size_t i = random.below(x.size());
      if (random.below(4) > 0) {
        i = 0;
        for (std::size_t j = 0; j < x.size(); ++j) {
          if (std::fabs(x[j] - from) < std::fabs(x[i] - from)) i = j;
        }
      }
      const double outside = downwards ? ends[0] : ends[1];
      const double value = random.below(4) > 0 ? to : outside;
      switch (random.below(4)) {
        case 0:
          x.push_back(value);
          break;
        case 1:
          if (x.size() > 1) x.erase(x.begin() + static_cast<std::ptrdiff_t>(i));
          break;
        default:
          x[i] = value;
      }
    }
    std::sort(x.begin(), x.end());
    double n = 0;
    double sum = 0;
    for (double v : x) {
      if (v < low || v > high) continue;
      ++n;
      sum += v;
    }
    const IntervalOptions o = at(0.95, changes);
    const Interval counts = interval_of(Wanted::count, f.view(), r, o);
    const Interval sums = interval_of(Wanted::sum, f.view(), r, o);
    const Interval means = interval_of(Wanted::mean, f.view(), r, o);
    ASSERT_LE(counts.lower, n);
    ASSERT_GE(counts.upper, n);
    ASSERT_LE(sums.lower, sum + 1e-9);
    ASSERT_GE(sums.upper, sum - 1e-9);
    if (n > 0) {
      ASSERT_LE(means.lower, sum / n + 1e-9);
      ASSERT_GE(means.upper, sum / n - 1e-9);
      moved += sum / n < means.lower + 0.5 || sum / n > means.upper - 0.5;
    }
    const double q = random.uniform();
    const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(x.size())));
    const double truth = x[std::max<std::size_t>(rank, 1) - 1];
    const Interval quantiles = quantile_interval(f.view(), q, o);
    ASSERT_LE(quantiles.lower, truth) << q << " " << changes;
    ASSERT_GE(quantiles.upper, truth) << q << " " << changes;
  }
  // The bound is met, not merely safe.
  EXPECT_GT(moved, 100);
}

// 1,000 rows drawn without replacement from 100,000 of 50 values, 400 times: the intervals hold the
// truth in 95 of 100. Four disjoint ranges a sample are nearly independent, so the hits are nearly
// binomial: four standard deviations, sqrt(1600 0.95 0.05), either side of 1520. Quantiles of
// repeated values are held more often, never less.
TEST(Interval, HoldsTheTruthAsOftenAsItSays) {
  constexpr int kRows = 100000, kSample = 1000, kFits = 400, kRanges = 4;
  std::vector<double> column;
  for (int i = 0; i < kRows; ++i) {
    const double t = i / static_cast<double>(kRows);
    // On no lattice: the density is the raw sample's.
    column.push_back(std::sqrt(1 + std::floor(50 * t * t)));
  }
  const Range ranges[kRanges] = {range(1.7, 2.1), range(2.4, 3.7), range(3.9, 5.2),
                                 range(5.5, 6.9)};
  struct Truth {
    double count = 0, sum = 0;
  } truths[kRanges];
  for (double v : column) {
    for (int k = 0; k < kRanges; ++k) {
      if (v < ranges[k].lower || v > ranges[k].upper) continue;
      ++truths[k].count;
      truths[k].sum += v;
    }
  }
  const double fractions[kRanges] = {0.1, 0.35, 0.6, 0.9};
  std::vector<double> drawn = column;
  Random random(8);
  int hits[4] = {};
  for (int fit = 0; fit < kFits; ++fit) {
    for (std::size_t i = 0; i < kSample; ++i)
      std::swap(drawn[i], drawn[i + random.below(kRows - i)]);
    FitOptions options;
    options.rows_per_row_read = kRows / kSample;
    options.share_of_blocks = double{kSample} / kRows;
    const Fitted f = fitted::fit(
        fitted::sample_of(std::vector<double>(drawn.begin(), drawn.begin() + kSample)), options);
    const auto holds = [](const Interval& i, double truth) {
      return i.lower <= truth && truth <= i.upper;
    };
    for (int k = 0; k < kRanges; ++k) {
      const Truth& t = truths[k];
      hits[0] += holds(interval_of(Wanted::count, f.view(), ranges[k], at(0.95)), t.count);
      hits[1] += holds(interval_of(Wanted::sum, f.view(), ranges[k], at(0.95)), t.sum);
      hits[2] += holds(interval_of(Wanted::mean, f.view(), ranges[k], at(0.95)), t.sum / t.count);
      const double quantile_truth =
          column[static_cast<std::size_t>(std::ceil(fractions[k] * kRows)) - 1];
      hits[3] += holds(quantile_interval(f.view(), fractions[k], at(0.95)), quantile_truth);
    }
  }
  const double expected = 0.95 * kFits * kRanges;
  const double bound = 4 * std::sqrt(expected * 0.05);
  for (int a = 0; a < 3; ++a) EXPECT_NEAR(hits[a], expected, bound) << "answer " << a;
  EXPECT_GT(hits[3], expected - bound);
}

// What a fit says of answers to come: of n independent rows, two-sided ranges of the share p are
// known within 1.96 sqrt((1-p)/(n p)), as counted, and those open to one side as well. The mean of
// the middle tenth is known within its own spread over the root of its rows, less than a tenth of
// the column's.
TEST(Interval, ExpectedErrorsAreTheTextbooks) {
  const double n = 10000;
  FitOptions options;
  options.rows_per_row_read = 100;
  options.share_of_blocks = 0.01;
  const Fitted f = fitted::fit(fitted::sample_of(samples::normal(10000, 3)), options);
  for (const double p : {0.01, 0.1, 0.5}) {
    const double textbook = 1.96 * std::sqrt((1 - p) / (n * p));
    const ExpectedErrors e = expected_errors(f.view(), p);
    EXPECT_NEAR(e.count, textbook, 0.1 * textbook);
    EXPECT_NEAR(e.one_sided, textbook, 0.1 * textbook);
    EXPECT_GT(e.mean, 0);
    EXPECT_LT(e.mean, 1.96 / std::sqrt(n * p));
  }
  EXPECT_TRUE(std::isnan(expected_errors(fitted::fit({5, 5, 5}).view(), 0.1).count));
  // Rows that are not finite have no mean: what is said is of the others.
  std::vector<double> x = samples::normal(1000, 3);
  x.insert(x.end(), 3000, fitted::kNan);
  x.insert(x.end(), 500, -fitted::kInf);
  const Fitted g = fitted::fit(fitted::sample_of(x), options);
  const ExpectedErrors e = expected_errors(g.view(), 0.1);
  EXPECT_GT(e.count, 0);
  EXPECT_GT(e.mean, 0);
  EXPECT_LT(e.mean, 1);
}

}  // namespace
}  // namespace kde
