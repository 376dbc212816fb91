// The pieces of the joint part of `make accuracy` whose faults would not show in its figures: rows
// with NULL, the truth of a box, the rule of the boxes, the counting of errors and ratios.
#include "accuracy/joint_boxes.h"
#include "accuracy/joint_comparators.h"
#include "accuracy/joint_estimators.h"
#include "accuracy/joint_measure.h"
#include "accuracy/joint_ratios.h"
#include "accuracy/joint_rows.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/random.h"

namespace kde::accuracy {
namespace {

// Columns: uniform; the same rounded to tenths (ties); a mixture with the first. Every 50th row is
// NULL in the last column, apart from row 0.
RowSet example(std::size_t rows) {
  RowSet set;
  set.columns = 3;
  set.rows = rows;
  Random random(5);
  for (std::size_t i = 0; i < rows; ++i) {
    const double x = random.uniform();
    set.value.push_back(x);
    set.value.push_back(std::round(10 * x) / 10);
    const bool null = i % 50 == 49;
    set.value.push_back(null ? 0 : x + 0.2 * random.uniform());
    set.null.push_back(null ? 4 : 0);
  }
  return set;
}

// --- rows ----------------------------------------------------------------------------------------

TEST(JointRows, NullsKeepTheirRows) {
  const Table table = parse_table("t", "a,b,c,d\n1,NA,x,4\n2,5,y,\n3,6,z,8\n");
  const JointTable joint = joint_table(table, {"d", "b"});
  EXPECT_EQ(joint.columns(), 2);
  EXPECT_EQ(joint.type, (std::vector<ColumnType>{ColumnType::integer, ColumnType::integer}));
  EXPECT_EQ(joint.rows.value, (std::vector<double>{4, 0, 0, 5, 8, 6}));
  EXPECT_EQ(joint.rows.null, (std::vector<std::uint16_t>{2, 1, 0}));
  EXPECT_THROW(joint_table(table, {"a", "c"}), std::runtime_error);
  EXPECT_THROW(joint_table(table, {"a", "e"}), std::runtime_error);

  const RowSet part = part_of(joint.rows, {1}, {2, 0});
  EXPECT_EQ(part.value, (std::vector<double>{6, 0}));
  EXPECT_EQ(part.null, (std::vector<std::uint16_t>{0, 1}));
}

TEST(JointRows, TotalsOfABox) {
  RowSet rows;
  rows.columns = 2;
  rows.rows = 5;
  rows.value = {1, 10, 2, 20, 3, 0, 4, 40, 0, 30};
  rows.null = {0, 0, 2, 0, 1};  // b of the third row, a of the fifth
  const BoxTotals a = totals_of(rows, {{0}, {closed_range(2, 4)}});
  EXPECT_EQ(a.rows, 3U);
  EXPECT_EQ(a.slice[0].rows, 3U);
  EXPECT_EQ(a.slice[0].mean, 3);
  EXPECT_EQ(a.slice[1].rows, 2U);  // a NULL is in the count and not in the mean
  EXPECT_EQ(a.slice[1].mean, 30);
  EXPECT_EQ(a.slice[1].deviation, 10);
  const BoxTotals both = totals_of(rows, {{1, 0}, {closed_range(10, 30), closed_range(0, 4)}});
  EXPECT_EQ(both.rows, 2U);  // 0 is stored for a NULL, which is in no range
  EXPECT_EQ(both.slice[0].sum, 3);
}

// --- boxes ---------------------------------------------------------------------------------------

// The rule, counted anew by totals written out here. Each tenth holds 10 % of the rows, so that
// three of them are more than is allowed.
TEST(JointBoxes, HoldWhatTheRuleAllows) {
  const RowSet rows = example(4000);
  BoxRule rule;
  rule.boxes = 60;
  for (const std::vector<int>& columns : {std::vector<int>{0, 2}, {2, 1, 0}, {1}}) {
    const std::vector<BoxQuestion> questions = make_boxes(rows, columns, rule, 3);
    ASSERT_EQ(questions.size(), 60U);
    for (const BoxQuestion& q : questions) {
      ASSERT_EQ(q.box.column, columns);
      std::size_t inside = 0;
      double sum = 0;
      std::vector<std::set<double>> values(columns.size());
      for (std::size_t i = 0; i < rows.rows; ++i) {
        bool in = true;
        for (std::size_t k = 0; k < columns.size(); ++k) {
          const double x = rows.row(i)[columns[k]];
          if (!rows.is_null(i, columns[k])) values[k].insert(x);
          in = in && !rows.is_null(i, columns[k]) && q.box.range[k].lower <= x &&
               x <= q.box.range[k].upper;
        }
        if (!in) continue;
        ++inside;
        sum += rows.row(i)[0];
      }
      EXPECT_EQ(q.truth.rows, inside);
      EXPECT_NEAR(q.truth.slice[0].sum, sum, 1e-9 * sum);
      EXPECT_EQ(q.fraction, static_cast<double>(inside) / 4000);
      EXPECT_GE(q.fraction, 0.005);
      EXPECT_LE(q.fraction, 0.2);
      for (std::size_t k = 0; k < columns.size(); ++k) {
        EXPECT_TRUE(values[k].count(q.box.range[k].lower) == 1 &&
                    values[k].count(q.box.range[k].upper) == 1);
        EXPECT_FALSE(q.box.range[k].lower_unbounded || q.box.range[k].upper_unbounded);
      }
    }
  }
}

// Without ties a box holds as many rows as were asked for, none more and none fewer.
TEST(JointBoxes, AreTheSmallestThatHoldAsMany) {
  BoxRule rule;
  rule.lowest = rule.highest = 0.1;
  EXPECT_EQ(make_boxes(example(4000), {0, 2}, rule, 3).size(), 300U);
}

// Without ties a box holds as many rows as were asked for, so the fractions are log-uniform: half
// are below the geometric middle, 0.0316 (300 draws: 150, and 5 standard deviations are 43).
TEST(JointBoxes, FractionsAreLogUniform) {
  const auto questions = make_boxes(example(4000), {0, 2}, BoxRule(), 7);
  ASSERT_EQ(questions.size(), 300U);
  const auto below = std::count_if(questions.begin(), questions.end(), [](const BoxQuestion& q) {
    return q.fraction < std::sqrt(0.005 * 0.2);
  });
  EXPECT_GT(below, 150 - 43);
  EXPECT_LT(below, 150 + 43);
}

// Two independent uniform columns: where the box meets no edge, its sides in rank space are 2 s
// a_k, so that their ratio is within e^-1 and e^1, and reaches beyond e^-0.7 and e^0.7 (of the 300
// some 4.5 % each way). Off by a rank at each end, of some hundreds.
TEST(JointBoxes, AspectsAreTheRules) {
  RowSet rows;
  rows.columns = 2;
  rows.rows = 4000;
  Random random(11);
  for (std::size_t i = 0; i < 2 * rows.rows; ++i) rows.value.push_back(random.uniform());
  rows.null.resize(rows.rows);
  double least = 0;
  double most = 0;
  for (const BoxQuestion& q : make_boxes(rows, {0, 1}, BoxRule(), 1)) {
    const Range& x = q.box.range[0];
    const Range& y = q.box.range[1];
    if (std::min(x.lower, y.lower) < 0.01 || std::max(x.upper, y.upper) > 0.99) continue;
    if (q.fraction < 0.05) continue;  // wide enough for uniform values to stand for their ranks
    const double ratio = std::log((x.upper - x.lower) / (y.upper - y.lower));
    least = std::min(least, ratio);
    most = std::max(most, ratio);
  }
  EXPECT_LT(least, -0.7);
  EXPECT_GT(least, -1.15);
  EXPECT_GT(most, 0.7);
  EXPECT_LT(most, 1.15);
}

TEST(JointBoxes, SeedsFixThem) {
  const RowSet rows = example(1000);
  BoxRule rule;
  rule.boxes = 10;
  const auto a = make_boxes(rows, {0, 1}, rule, 1);
  const auto b = make_boxes(rows, {0, 1}, rule, 1);
  const auto c = make_boxes(rows, {0, 1}, rule, 2);
  ASSERT_EQ(a.size(), 10U);
  int same = 0;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(a[i].box.range[0].lower, b[i].box.range[0].lower);
    EXPECT_EQ(a[i].truth.rows, b[i].truth.rows);
    same += a[i].box.range[0].lower == c[i].box.range[0].lower ? 1 : 0;
  }
  EXPECT_LT(same, 10);
}

// --- cases, errors, ratios -----------------------------------------------------------------------

JointTable example_table(std::size_t rows) {
  JointTable table;
  table.name = "t";
  table.column_name = {"a", "b", "c"};
  table.type = {ColumnType::decimal, ColumnType::decimal, ColumnType::decimal};
  table.mean = {1, 2, 3};
  table.rows = example(rows);
  return table;
}

TEST(JointCases, AskForTheFirstColumnAndThoseOutside) {
  const JointTable table = example_table(1000);
  JointPlan plan;
  plan.rule.boxes = 5;
  const std::vector<JointSet> sets = joint_sets(table, plan);
  ASSERT_EQ(sets.size(), 4U);  // 3 pairs, one triple
  EXPECT_EQ(sets[1].name(), "t(a, c)");
  EXPECT_EQ(sets[3].name(), "t(a, b, c)");
  const std::vector<JointCase> cases = cases_of(sets[1]);
  ASSERT_EQ(cases.size(), 5U);
  EXPECT_EQ(cases[0].quantity, kCount);
  EXPECT_EQ(cases[0].target, -1);
  EXPECT_EQ(cases[2].quantity, kMean);
  EXPECT_EQ(cases[2].target, 0);
  EXPECT_EQ(cases[4].target, 1);
  EXPECT_EQ(cases_of(sets[3]).size(), 3U);

  const BoxQuestion& box = sets[1].questions.front();
  const Question count = question_of(sets[1], box, cases[0]);
  EXPECT_EQ(count.truth.rows, box.truth.rows);
  EXPECT_EQ(error_of(kCount, {{2.0 * static_cast<double>(box.truth.rows), 0, 0}}, count), 1);
  // Without an answer: the middle of the target's own bounds, or the whole column's mean.
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  const Question bounded = question_of(sets[1], box, cases[2]);
  const double middle = (box.box.range[0].lower + box.box.range[0].upper) / 2;
  EXPECT_DOUBLE_EQ(error_of(kMean, {{0, 0, nothing}}, bounded),
                   std::fabs(middle - bounded.truth.mean) / bounded.truth.deviation);
  const Question outside = question_of(sets[1], box, cases[4]);
  EXPECT_DOUBLE_EQ(error_of(kMean, {{0, 0, nothing}}, outside),
                   std::fabs(2 - outside.truth.mean) / outside.truth.deviation);
}

JointCase case_with(std::vector<double> ours, std::vector<double> raw) {
  JointCase of;
  of.errors[kJointAuto] = std::move(ours);
  of.errors[kJointRaw] = std::move(raw);
  return of;
}

// An estimator measured in two samples of three is compared with the raw sample's errors in those.
TEST(JointRatios, AreOfTheSameSamples) {
  JointCase of = case_with({1, 3}, {2, 6, 100});
  EXPECT_DOUBLE_EQ(ratio_of(of, kJointAuto), 0.5);
  EXPECT_DOUBLE_EQ(ratio_of(of, kJointAuto, 0), 0.5);
  of.errors[kJointAuto] = {1, 6};
  EXPECT_DOUBLE_EQ(ratio_of(of, kJointAuto), 7.0 / 8);
  EXPECT_DOUBLE_EQ(ratio_of(of, kJointAuto, 0), 1);
  of.errors[kJointScalar] = {std::nan(""), 3};  // it had no bandwidth for the first
  EXPECT_DOUBLE_EQ(ratio_of(of, kJointScalar), 0.5);
  of.errors[kJointPlanner] = {72};
  EXPECT_DOUBLE_EQ(ratio_of(of, kJointPlanner), 2);  // 72/36: it has no sample of its own
  EXPECT_TRUE(std::isnan(ratio_of(of, kJointMatrix)));
  EXPECT_TRUE(std::isnan(ratio_of(case_with({1}, {0}), kJointAuto)));
}

// Two cases, two samples: ratios 1/2 and 2 over both, so their geometric mean is 1. With a sample
// left out they are 1/4 and 2 (the mean sqrt(1/2)), or 3/4 and 2 (sqrt(3/2)); the jackknife's error
// is half of the difference, as (R-1)/R = 1/2 and both are half a difference from their mean.
TEST(JointRatios, MeanWorstAndJackknife) {
  JointTable table = example_table(10);
  JointSet set;
  set.table = &table;
  set.column = {0, 1};
  const JointCase a = case_with({3, 1}, {4, 4});
  JointCase b = case_with({4, 4}, {2, 2});
  b.target = 2;
  const RatioSummary s = summarise_ratios({{&set, &a}, {&set, &b}}, kJointAuto);
  EXPECT_EQ(s.cases, 2U);
  EXPECT_DOUBLE_EQ(s.mean, 1);
  EXPECT_DOUBLE_EQ(s.worst, 2);
  EXPECT_EQ(s.worst_name, "c | t(a, b)");
  EXPECT_NEAR(s.standard_error, (std::sqrt(1.5) - std::sqrt(0.5)) / 2, 1e-12);
  EXPECT_DOUBLE_EQ(mean_error({{&set, &a}, {&set, &b}}, kJointAuto), 3);
}

TEST(JointComparators, BoxesInSql) {
  JointTable table;
  table.name = "t";
  table.column_name = {"a \"x\"", "b", "d"};
  table.type = {ColumnType::integer, ColumnType::decimal, ColumnType::date};
  EXPECT_EQ(condition_of(table, {{2, 0}, {closed_range(0, 86400), closed_range(1, 7)}}),
            "\"d\" BETWEEN '1970-01-01'::date AND '1970-01-02'::date AND \"a \"\"x\"\"\" "
            "BETWEEN '1'::bigint AND '7'::bigint");
  EXPECT_EQ(condition_of(table, {{1}, {closed_range(0.1, 0.5)}}),
            "\"b\" BETWEEN '0.10000000000000001'::double precision AND '0.5'::double precision");
}

// --- samples and answers -------------------------------------------------------------------------

// A sample's rows are the table's, each no more than once (column a has no ties), whichever columns
// are drawn and however many rows were read.
TEST(JointDraws, AreRowsOfTheTable) {
  const JointTable table = example_table(2000);
  for (const std::size_t read : {std::size_t{2000}, std::size_t{600}, std::size_t{200}}) {
    const JointDraw draw = draw_joint(table, {2, 0}, 200, read, 9);
    const JointDraw other = draw_joint(table, {0}, 200, read, 9);
    EXPECT_EQ(draw.read, read);
    EXPECT_EQ(draw.sample.rows_read, static_cast<std::int64_t>(read));
    ASSERT_EQ(draw.rows.rows, 200U);
    std::set<double> seen;
    for (std::size_t i = 0; i < 200; ++i) {
      const double a = draw.rows.row(i)[1];
      EXPECT_EQ(a, other.rows.row(i)[0]);
      seen.insert(a);
      std::size_t j = 0;
      while (j < table.rows.rows && table.rows.row(j)[0] != a) ++j;
      ASSERT_LT(j, table.rows.rows);
      EXPECT_EQ(draw.rows.is_null(i, 0), table.rows.is_null(j, 2));
      if (draw.rows.is_null(i, 0)) continue;
      EXPECT_EQ(draw.rows.row(i)[0], table.rows.row(j)[2]);
    }
    EXPECT_EQ(seen.size(), 200U);
  }
}

TEST(JointAnswers, OfTheRawSampleAreScaled) {
  BoxTotals totals;
  totals.rows = 3;
  const Answers answers = raw_answers(totals, slice_of(std::vector<double>{2, 4}), 10, 100);
  EXPECT_EQ(answers.value[kCount], 30);
  EXPECT_EQ(answers.value[kSum], 60);
  EXPECT_EQ(answers.value[kMean], 3);
  EXPECT_EQ(box_within({{4, 1}, {}}, {1, 3, 4}).column, (std::vector<int>{2, 0}));
}

// --- the run -------------------------------------------------------------------------------------

std::vector<JointSet> measured(const JointTable& table, int threads) {
  JointPlan plan;
  plan.rows = {100, 10000};
  plan.repetitions = {2, 1};
  plan.other_repetitions = {1, 1};
  plan.rule.boxes = 20;
  std::vector<JointSet> sets = joint_sets(table, plan);
  sets.erase(sets.begin() + 1, sets.end());  // the pair a, b, with the target c outside
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  measure_joint(plan, &sets);
  omp_set_num_threads(before);
  return sets;
}

// What is counted: samples times boxes; the other estimators in the first samples alone. The same
// whatever the number of threads.
TEST(JointMeasure, CountsEverySampleAndBox) {
  const JointTable table = example_table(400);
  const std::vector<JointSet> one = measured(table, 1);
  const std::vector<JointSet> two = measured(table, 2);
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].name(), "t(a, b)");
  for (int r = 0; r < kReadings; ++r) {
    const JointLevel& level = one[0].levels[r][0];
    const std::size_t samples = r == kReadAll ? 2 : 1;
    ASSERT_TRUE(level.measured);
    EXPECT_FALSE(one[0].levels[r][1].measured);  // 400 rows have no sample of 10,000
    ASSERT_EQ(level.cases.size(), 5U);
    for (std::size_t c = 0; c < 5; ++c) {
      const auto& errors = level.cases[c].errors;
      EXPECT_EQ(errors[kJointAuto].size(), samples);
      EXPECT_EQ(errors[kJointRaw].size(), samples);
      EXPECT_EQ(errors[kJointPlugin].size(), r == kReadAll ? 1U : 0U);
      // One density over all three columns is another only where the target is not the third.
      EXPECT_EQ(errors[kJointWide].size(), r == kReadAll && c < 3 ? 1U : 0U);
      EXPECT_GT(errors[kJointRaw][0], 0);
      EXPECT_EQ(errors[kJointAuto], two[0].levels[r][0].cases[c].errors[kJointAuto]);
    }
    EXPECT_EQ(level.coverage[kCount].density_total().total, static_cast<long>(samples * 20));
    EXPECT_EQ(level.coverage[kSum].density_total().total, static_cast<long>(samples * 2 * 20));
    EXPECT_EQ(level.coverage[kMean].width_ratios(),
              two[0].levels[r][0].coverage[kMean].width_ratios());
  }
}

// An interval is around the answer, and a sample of every row leaves nothing to guess.
TEST(JointAnswers, AndIntervalsAgree) {
  const JointTable table = example_table(1000);
  const JointDraw draw = draw_joint(table, {2, 0}, 400, 1000, 3);
  const auto fitted = fit_joint(draw, table, JointMethod::automatic);
  ASSERT_TRUE(fitted);
  const Box box{{1}, {closed_range(0.2, 0.6)}};
  const Answers answers = joint_answers(fitted->view(), box, 0);
  for (const Quantity q : {kCount, kSum, kMean}) {
    const auto interval = joint_interval(q, fitted->view(), box, 0);
    ASSERT_TRUE(interval);
    EXPECT_DOUBLE_EQ(interval->estimate, answers.value[q]);
    EXPECT_LE(interval->lower, answers.value[q]);
    EXPECT_GE(interval->upper, answers.value[q]);
  }
  const JointDraw whole = draw_joint(table, {2, 0}, 1000, 1000, 3);
  const auto exact = fit_joint(whole, table, JointMethod::automatic);
  ASSERT_TRUE(exact);
  const BoxTotals truth = totals_of(table.rows, {{0}, box.range});
  const Answers all = joint_answers(exact->view(), box, 0);
  EXPECT_NEAR(all.value[kCount], static_cast<double>(truth.rows), 1e-3);
  EXPECT_NEAR(all.value[kMean], truth.slice[2].mean, 1e-4);  // stored in single precision
}

}  // namespace
}  // namespace kde::accuracy
