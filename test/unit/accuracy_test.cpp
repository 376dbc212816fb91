// The pieces of `make accuracy` whose faults would not show in its figures: the rule of the ranges,
// the definitions of the errors, quantiles, the counting of coverage, the samples, the CSV reader.
#include "accuracy/coverage.h"
#include "accuracy/errors.h"
#include "accuracy/estimators.h"
#include "accuracy/measure.h"
#include "accuracy/picture.h"
#include "accuracy/ranges.h"
#include "accuracy/shapes.h"
#include "accuracy/table.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/random.h"

namespace kde::accuracy {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> whole_numbers(int n) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), 0.0);
  return values;
}

Question question_of(const std::vector<double>& sorted, double lower, double upper) {
  Question question;
  question.range = closed_range(lower, upper);
  question.truth = slice_of(sorted, question.range);
  question.fraction = static_cast<double>(question.truth.rows) / static_cast<double>(sorted.size());
  return question;
}

// --- slices and ranges ---------------------------------------------------------------------------

TEST(Slice, TotalsOfClosedRange) {
  const Slice s = slice_of(std::vector<double>{-3, -1, 2, 2, 5}, closed_range(-3, 2));
  EXPECT_EQ(s.rows, 4U);
  EXPECT_EQ(s.sum, 0);
  EXPECT_EQ(s.absolute_sum, 8);
  EXPECT_EQ(s.square_sum, 18);
  EXPECT_EQ(s.mean, 0);
  EXPECT_DOUBLE_EQ(s.deviation, std::sqrt(4.5));
  EXPECT_TRUE(std::isnan(slice_of(std::vector<double>{1.0}, closed_range(2, 3)).mean));
}

TEST(Slice, OpenRangesHaveNoBound) {
  Range range = closed_range(0, 2);
  range.lower_unbounded = true;
  EXPECT_EQ(slice_of(std::vector<double>{-3, -1, 2, 2, 5}, range).rows, 4U);
  range = closed_range(2, 0);
  range.upper_unbounded = true;
  EXPECT_EQ(slice_of(std::vector<double>{-3, -1, 2, 2, 5}, range).sum, 9);
}

// The rule, counted anew with std::count_if.
TEST(Ranges, HoldWhatTheRuleAllows) {
  std::vector<double> values = whole_numbers(5000);
  for (double& x : values) x = std::floor(std::sqrt(x) * 7);  // ties
  const RangeRule rule;
  const std::vector<Question> questions = make_questions(values, rule, 3);
  ASSERT_EQ(questions.size(), 400U);
  for (const Question& q : questions) {
    const auto inside = std::count_if(values.begin(), values.end(), [&](double x) {
      return x >= q.range.lower && x <= q.range.upper;
    });
    EXPECT_EQ(static_cast<std::size_t>(inside), q.truth.rows);
    EXPECT_EQ(q.fraction, static_cast<double>(inside) / 5000);
    EXPECT_GE(q.fraction, 0.003);
    EXPECT_LE(q.fraction, 0.1);
    EXPECT_FALSE(q.range.lower_unbounded || q.range.upper_unbounded);
  }
}

// Half of the log-uniform fractions are below the geometric middle, 0.0173; the longest do not fit
// at the upper end (a tenth of them at most): 400 draws, 5 standard deviations.
TEST(Ranges, FractionsAreLogUniform) {
  const auto questions = make_questions(whole_numbers(100000), RangeRule(), 5);
  int below = 0;
  for (const Question& q : questions) below += q.fraction < std::sqrt(0.003 * 0.1) ? 1 : 0;
  EXPECT_GT(below, 200 - 50);
  EXPECT_LT(below, 200 + 50 + 20);
}

// Without jitter the ends are values; with it they are up to that much of the width aside, either
// way. Both runs draw the same numbers, and no fraction of the middle third is rejected.
TEST(Ranges, JitterMovesEndsByUpToItsShareOfTheWidth) {
  const std::vector<double> values = whole_numbers(100000);
  RangeRule rule;
  rule.jitter = 0;
  const auto still = make_questions(values, rule, 7);
  for (const Question& q : still) {
    EXPECT_EQ(q.range.lower, std::floor(q.range.lower));
    EXPECT_EQ(q.range.upper, std::floor(q.range.upper));
  }
  rule.jitter = 0.02;
  double least = 0;
  double most = 0;
  const auto moved = make_questions(values, rule, 7);
  for (const Question& q : moved) {
    const auto origin = std::find_if(still.begin(), still.end(), [&](const Question& s) {
      return std::fabs(s.range.lower - q.range.lower) <= 0.021 * s.truth.rows &&
             std::fabs(s.range.upper - q.range.upper) <= 0.021 * s.truth.rows;
    });
    if (origin == still.end()) continue;
    const double width = origin->range.upper - origin->range.lower;
    const double share = (q.range.upper - origin->range.upper) / width;
    least = std::min(least, share);
    most = std::max(most, share);
  }
  EXPECT_LT(least, -0.018);
  EXPECT_GE(least, -0.0201);
  EXPECT_GT(most, 0.018);
  EXPECT_LE(most, 0.0201);
}

// Each of 12 values holds 8.3 %, two of them too much: 12 different ranges and no more, unless ends
// are moved.
TEST(Ranges, NeedFiftyDifferentOnes) {
  std::vector<double> months;
  for (int i = 0; i < 1200; ++i) months.push_back(i / 100);
  RangeRule rule;
  rule.jitter = 0;
  EXPECT_TRUE(make_questions(months, rule, 1).empty());
  rule.least_distinct = 13;
  EXPECT_TRUE(make_questions(months, rule, 1).empty());
  rule.least_distinct = 12;
  EXPECT_EQ(make_questions(months, rule, 1).size(), 400U);
}

TEST(Ranges, EndsOnAGridWhereAsked) {
  RangeRule rule;
  rule.grid = 1;
  std::vector<double> values = whole_numbers(5000);
  for (double& x : values) x *= 1.37;
  for (const Question& q : make_questions(values, rule, 1)) {
    EXPECT_EQ(q.range.lower, std::round(q.range.lower));
    EXPECT_EQ(q.range.upper, std::round(q.range.upper));
  }
}

// --- errors --------------------------------------------------------------------------------------

TEST(Errors, AreRelativeToWhatTheyMeasure) {
  const std::vector<double> sorted = {-3, -1, 2, 2, 5};
  const Question q = question_of(sorted, -3, 2);  // 4 rows, sum 0, sum of |x| 8, mean 0
  const Answers answers = {{5, -2, 1}};
  EXPECT_DOUBLE_EQ(error_of(kCount, answers, q), 0.25);
  EXPECT_DOUBLE_EQ(error_of(kSum, answers, q), 0.25);
  EXPECT_DOUBLE_EQ(error_of(kMean, answers, q), 1 / std::sqrt(4.5));
}

TEST(Errors, MissingAverageIsTheMiddle) {
  const Question q = question_of({1, 2, 6}, 0, 10);
  const Answers answers = {{0, 0, kNan}};
  EXPECT_DOUBLE_EQ(error_of(kMean, answers, q), (5 - 3) / q.truth.deviation);
  EXPECT_TRUE(std::isnan(error_of(kCount, {{kNan, 0, 0}}, q)));
}

TEST(Errors, MissingAverageIsTheOnlyEnd) {
  Question q = question_of({1, 2, 6}, 2, 10);
  q.range.upper_unbounded = true;
  EXPECT_DOUBLE_EQ(error_of(kMean, {{0, 0, kNan}}, q), (4 - 2) / q.truth.deviation);
}

TEST(Errors, NotMeasuredWhereTheirDivisorIsNone) {
  const Question equal = question_of({4, 4, 4}, 4, 4);
  EXPECT_TRUE(std::isnan(error_of(kMean, {{3, 12, 5}}, equal)));
  EXPECT_EQ(error_of(kSum, {{3, 6, 5}}, equal), 0.5);
  EXPECT_TRUE(std::isnan(error_of(kSum, {{2, 1, 0}}, question_of({0, 0, 7}, 0, 0))));
}

// As R: quantile(c(4, 1, 3, 2), c(0, 0.5, 0.95, 1)).
TEST(Errors, QuantilesAreOfTypeSeven) {
  const std::vector<double> values = {4, 1, 3, 2};
  EXPECT_EQ(quantile_of(values, 0), 1);
  EXPECT_EQ(quantile_of(values, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile_of(values, 0.95), 3.85);
  EXPECT_EQ(quantile_of(values, 1), 4);
  EXPECT_TRUE(std::isnan(quantile_of({}, 0.5)));
}

TEST(Errors, SummariesLeaveOutWhatWasNotMeasured) {
  const ErrorSummary s = summarise({0.3, kNan, 0.1, 0.2, kNan});
  EXPECT_EQ(s.measured, 3U);
  EXPECT_DOUBLE_EQ(s.mean, 0.2);
  EXPECT_DOUBLE_EQ(s.median, 0.2);
  EXPECT_DOUBLE_EQ(s.p95, 0.29);
  EXPECT_EQ(summarise({kNan}).measured, 0U);
}

TEST(Errors, GeometricMeanBoundsExactAnswers) {
  EXPECT_DOUBLE_EQ(geometric_mean({0.5, 2, 1}), 1);
  EXPECT_DOUBLE_EQ(geometric_mean({0, 1}), std::sqrt(1e-3));
  EXPECT_TRUE(std::isnan(geometric_mean({})));
}

// --- coverage ------------------------------------------------------------------------------------

TEST(Coverage, ClassesByFraction) {
  EXPECT_EQ(class_of(0.003), 0);
  EXPECT_EQ(class_of(0.01), 0);
  EXPECT_EQ(class_of(0.0101), 1);
  EXPECT_EQ(class_of(0.03), 1);
  EXPECT_EQ(class_of(0.0301), 2);
  EXPECT_EQ(class_of(0.1), 2);
}

// Wilson's interval of 10 of 100: as R's prop.test(10, 100, correct = FALSE), 0.05522914 to
// 0.1743657. Half of the rows sampled count for twice as many.
TEST(Coverage, TextbookCountIsWilsonsWithTheFinitePopulation) {
  Slice slice;
  slice.rows = 10;
  const auto large = textbook_interval(kCount, slice, 100, 1000000000);
  ASSERT_TRUE(large);
  EXPECT_NEAR(large->lower / 1e9, 0.05522914, 1e-7);
  EXPECT_NEAR(large->upper / 1e9, 0.1743657, 1e-7);
  slice.rows = 5;
  const auto half = textbook_interval(kCount, slice, 50, 100);
  EXPECT_NEAR(half->lower / 100, 0.05522914, 1e-7);
  EXPECT_NEAR(half->upper / 100, 0.1743657, 1e-7);
  EXPECT_FALSE(textbook_interval(kCount, slice, 100, 100));
}

TEST(Coverage, TextbookAverageNeedsTwoRows) {
  const std::vector<double> sorted = {1, 2, 4, 9};
  EXPECT_FALSE(textbook_interval(kMean, slice_of(sorted, closed_range(8, 10)), sorted.size(), 100));
  EXPECT_TRUE(textbook_interval(kMean, slice_of(sorted, closed_range(2, 5)), sorted.size(), 100));
}

// What a raw sample's textbook intervals are for: the truth is in 95 % of them. 1,000 of 2,000 rows
// in 2,000 samples, 30 % of them in the range: the share's standard deviation is 0.5 %, the normal
// approximation's fault less than 1 %. Without the finite population's correction it would be
// 2 Phi(1.96 sqrt 2) - 1 = 99.4 %.
TEST(Coverage, TextbookIntervalsHoldTheTruth) {
  std::vector<double> values = whole_numbers(2000);
  for (double& x : values) x = std::sqrt(x);
  const Question q = question_of(values, 20, 31.6);
  std::array<Tally, kQuantities> tally;
  for (int s = 0; s < 2000; ++s) {
    std::vector<double> sample = draw_sample(values, 1000, s);
    std::sort(sample.begin(), sample.end());
    const Slice slice = slice_of(sample, q.range);
    for (const Quantity quantity : {kCount, kSum, kMean}) {
      const auto interval = textbook_interval(quantity, slice, 1000, 2000);
      ASSERT_TRUE(interval);
      tally[quantity].add(covers(*interval, quantity, q));
    }
  }
  for (const Tally& t : tally) {
    EXPECT_EQ(t.total, 2000);
    EXPECT_GT(t.share(), 0.93);
    EXPECT_LT(t.share(), 0.975);
  }
}

TEST(Coverage, HoldsTheTruthBetweenItsEnds) {
  const Question q = question_of({-3, -1, 2, 2, 5}, -3, 2);
  EXPECT_TRUE(covers({4, 4, 4}, kCount, q));
  EXPECT_FALSE(covers({4.1, 4.001, 5}, kCount, q));
  EXPECT_FALSE(covers({3, 2, 3.999}, kCount, q));
  EXPECT_TRUE(covers({1, 1e-9, 2}, kSum, q));  // of 8
  EXPECT_FALSE(covers({1, 1e-7, 2}, kSum, q));
  EXPECT_TRUE(covers({1, 1e-9, 2}, kMean, q));  // of 3
  EXPECT_FALSE(covers({1, 1e-7, 2}, kMean, q));
}

TEST(Coverage, SumsUpClasses) {
  Coverage a;
  a.density[0].add(true);
  a.density[2].add(false);
  a.width_ratio[1].push_back(2);
  Coverage b;
  b.density[2].add(true);
  b.textbook[1].add(false);
  b.width_ratio[1].push_back(3);
  a.add(b);
  EXPECT_EQ(a.density_total().total, 3);
  EXPECT_EQ(a.density_total().covered, 2);
  EXPECT_EQ(a.textbook_total().total, 1);
  EXPECT_EQ(a.width_ratios(), (std::vector<double>{2, 3}));
  EXPECT_TRUE(std::isnan(Tally().share()));
}

// --- estimators ----------------------------------------------------------------------------------

// 20 of 100, 5,000 times: every row is in a fifth of them, +- 6 standard deviations of 28.
TEST(Estimators, SamplesAreUniformWithoutReplacement) {
  const std::vector<double> values = whole_numbers(100);
  std::vector<int> drawn(100, 0);
  for (int s = 0; s < 5000; ++s) {
    const std::vector<double> sample = draw_sample(values, 20, s);
    EXPECT_EQ(std::set<double>(sample.begin(), sample.end()).size(), 20U);
    for (const double x : sample) ++drawn[static_cast<int>(x)];
  }
  for (const int times : drawn) EXPECT_NEAR(times, 1000, 170);
}

// Against the plain sum over all points; their neglect beyond 9 bandwidths is below 1e-18.
TEST(Estimators, UnitKernelIsTheKernelSum) {
  std::vector<double> values;
  Random random(2);
  for (int i = 0; i < 200; ++i) values.push_back(std::floor(60 * random.uniform()) / 2);
  std::sort(values.begin(), values.end());
  const UnitKernel kernel(values);
  for (const Range& range : {closed_range(3, 4.5), closed_range(-2, 11), closed_range(14, 14)}) {
    double count = 0;
    double sum = 0;
    for (const double x : values) {
      const double a = range.lower - x;
      const double b = range.upper - x;
      const double share = (std::erf(b / std::sqrt(2)) - std::erf(a / std::sqrt(2))) / 2;
      count += share;
      sum += x * share +
             (std::exp(-a * a / 2) - std::exp(-b * b / 2)) / std::sqrt(2 * std::acos(-1.0));
    }
    const Answers answers = kernel.answers(range, 1000);
    EXPECT_NEAR(answers.value[kCount], 5 * count, 1e-10);
    EXPECT_NEAR(answers.value[kSum], 5 * sum, 1e-9);
  }
}

TEST(Estimators, RawSampleIsScaled) {
  const Slice slice = slice_of(std::vector<double>{1, 2, 3, 10}, closed_range(2, 5));
  const Answers answers = sample_answers(slice, 4, 40);
  EXPECT_EQ(answers.value[kCount], 20);
  EXPECT_EQ(answers.value[kSum], 50);
  EXPECT_EQ(answers.value[kMean], 2.5);
}

// --- the run -------------------------------------------------------------------------------------

Plan small_plan() {
  Plan plan;
  plan.error_samples = 2;
  plan.coverage_samples = 3;
  plan.timed_rows = 1000;
  plan.timed_fits = 1;
  return plan;
}

std::vector<ColumnResult> measured(int threads) {
  Random random(4);
  Table table;
  table.name = "t";
  table.columns.resize(2);
  for (int c = 0; c < 2; ++c) {
    Column& column = table.columns[c];
    column.name = c == 0 ? "smooth" : "whole";
    column.type = c == 0 ? ColumnType::decimal : ColumnType::integer;
    for (int i = 0; i < 2500; ++i) {
      const double x = -20 * std::log(random.uniform());
      column.values.push_back(c == 0 ? x : std::floor(x));
    }
  }
  std::vector<ColumnResult> columns = columns_to_measure(&table, 1);
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  measure(small_plan(), &columns);
  omp_set_num_threads(before);
  return columns;
}

TEST(Measure, TheSameForAnyNumberOfThreads) {
  const auto one = measured(1);
  const auto three = measured(3);
  ASSERT_EQ(one.size(), 2U);
  ASSERT_EQ(three.size(), 2U);
  for (int c = 0; c < 2; ++c) {
    for (int l = 0; l < kLevels; ++l) {
      const Level& a = one[c].levels[l];
      const Level& b = three[c].levels[l];
      EXPECT_EQ(a.measured, l != kLevel10000);
      EXPECT_EQ(a.measured, b.measured);
      EXPECT_EQ(a.density.bytes, b.density.bytes);
      for (int q = 0; q < kQuantities; ++q) {
        for (int e = 0; e < kEstimators; ++e) {
          EXPECT_EQ(a.errors[e][q].measured, b.errors[e][q].measured);
          if (a.errors[e][q].measured == 0) continue;  // NaN
          EXPECT_EQ(a.errors[e][q].mean, b.errors[e][q].mean);
          EXPECT_EQ(a.errors[e][q].p95, b.errors[e][q].p95);
        }
        EXPECT_EQ(a.coverage[q].width_ratios(), b.coverage[q].width_ratios());
      }
    }
  }
}

// What is counted: samples times ranges, and only samples can miss what every row tells.
TEST(Measure, CountsEverySampleAndRange) {
  for (const ColumnResult& column : measured(2)) {
    const Level& sampled = column.levels[kLevel1000];
    EXPECT_EQ(sampled.sample_rows, 1000U);
    EXPECT_EQ(sampled.errors[kAuto][kCount].measured, 2 * column.questions.size());
    EXPECT_EQ(sampled.errors[kPlanner][kCount].measured, 0U);
    EXPECT_EQ(sampled.coverage[kCount].density_total().total,
              static_cast<long>(3 * column.questions.size()));
    EXPECT_GT(sampled.errors[kRaw][kCount].mean, 0);
    EXPECT_EQ(column.levels[kLevelAll].errors[kRaw][kCount].mean, 0);
    EXPECT_EQ(column.levels[kLevelAll].coverage[kCount].textbook_total().total, 0);
  }
}

// --- shapes --------------------------------------------------------------------------------------

// All values differ, so that every range is of the class it is made for; a tenth are NULL. In order
// of time a block is one end of the column: only intervals that know of blocks hold the truth.
TEST(Shapes, AsksEveryClassOfEveryShape) {
  Table table;
  table.name = "t";
  table.rows = 30000;
  Column column;
  column.name = "x";
  column.type = ColumnType::integer;
  for (std::size_t row = 0; row < table.rows; ++row) {
    if (row % 10 == 7) {
      column.null_rows.push_back(row);
    } else {
      column.values.push_back(static_cast<double>(row));
    }
  }
  table.columns.push_back(column);
  ShapesPlan plan;
  plan.samples = 8;
  plan.questions = 5;
  const std::vector<ShapesColumn> columns = measure_shapes({table}, plan);
  ASSERT_EQ(columns.size(), 1U);
  EXPECT_EQ(columns[0].rows, (std::array<std::size_t, kDraws>{1000, 10000, 13500}));
  for (int way = 0; way < kDraws; ++way) {
    Tally counts;
    for (int asked = 0; asked < kAskeds; ++asked) {
      for (int c = 0; c < classes_of(asked); ++c) {
        const ShapeFigures& figures = columns[0].figures[way][asked][c];
        const long questions = asked == kEqual ? 0 : asked == kQuantile ? 1 : plan.questions;
        EXPECT_NEAR(figures.held[kCount].total, questions * plan.samples, plan.samples);
        counts.add(figures.held[kCount]);
      }
    }
    EXPECT_GT(counts.share(), 0.85) << kDrawNames[way];
  }
}

// --- the CSV reader ------------------------------------------------------------------------------

TEST(Table, TypesNullsAndQuotes) {
  const Table table =
      parse_table("t",
                  "i,\"a \"\"b\"\"\",d,ts,tz,word,empty\r\n"
                  "1,0.5,2000-03-01,2000-03-01 00:00:01,2000-03-01T02:00:00+02:00,\"x,y\",\r\n"
                  "NA,-2e3,NA,1969-12-31T23:59:59.5,1970-01-01 00:00:00Z,NA,NA\r\n"
                  "-7,,1970-01-02,NA,NA,3,");
  ASSERT_EQ(table.columns.size(), 7U);
  EXPECT_EQ(table.rows, 3U);
  const auto expect = [&](int c, ColumnType type, const std::vector<double>& values) {
    EXPECT_EQ(table.columns[c].type, type) << c;
    EXPECT_EQ(table.columns[c].values, values) << c;
  };
  constexpr double kMarch2000 = 951868800;  // date -d 2000-03-01Z +%s
  expect(0, ColumnType::integer, {1, -7});
  expect(1, ColumnType::decimal, {0.5, -2000});
  expect(2, ColumnType::date, {kMarch2000, 86400});
  expect(3, ColumnType::timestamp, {kMarch2000 + 1, -0.5});
  expect(4, ColumnType::timestamptz, {kMarch2000, 0});
  expect(5, ColumnType::text, {});
  expect(6, ColumnType::text, {});
  EXPECT_EQ(table.columns[1].name, "a \"b\"");
  EXPECT_EQ(table.columns[0].nulls, 1);
  EXPECT_EQ(table.columns[6].nulls, 3);
}

TEST(Table, RefusesRaggedRowsAndNoHeader) {
  EXPECT_THROW(parse_table("t", "a,b\n1,2\n3\n"), std::runtime_error);
  EXPECT_THROW(parse_table("t", ""), std::runtime_error);
}

TEST(Picture, TicksAreRoundAndInside) {
  EXPECT_EQ(axis_ticks(0, 10), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  Random random(6);
  for (int i = 0; i < 1000; ++i) {
    const double low = 200 * random.uniform() - 100;
    const double high = low + std::exp(20 * random.uniform() - 10);
    const std::vector<double> ticks = axis_ticks(low, high);
    EXPECT_GE(ticks.size(), 4U);
    EXPECT_LE(ticks.size(), 11U);
    EXPECT_GE(ticks.front(), low - 1e-6 * (high - low));
    EXPECT_LE(ticks.back(), high + 1e-6 * (high - low));
  }
}

}  // namespace
}  // namespace kde::accuracy
