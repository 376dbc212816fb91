// Fits of several columns: what is stored, what it answers, and what is refused.
#include "core/joint/fit_joint.h"

#include "core/fit/fit.h"
#include "core/joint/conditional.h"
#include "core/joint/joint_moments.h"
#include "core/joint/box_evidence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

namespace kde {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Row {
  std::vector<double> value;
  std::uint16_t null = 0;
};

struct Fit {
  JointSample sample;
  DensityBytes bytes;
  JointFitReport report;
  int column = -1;
  Status status;

  JointView view() const { return JointView(bytes.data()); }
};

Fit fit(const std::vector<Row>& rows, std::int64_t sample_rows, JointFitOptions options = {},
        const Control& control = {}) {
  Fit f;
  const int d = static_cast<int>(rows.front().value.size());
  JointSampler sampler({d, sample_rows, 3});
  for (const Row& r : rows) EXPECT_TRUE(sampler.add(r.value.data(), r.null).ok());
  EXPECT_TRUE(sampler.finish(&f.sample).ok());
  for (ValueType& t : options.value_type) t = ValueType::float8;
  options.every_row_read = options.rows_per_row_read == 1;
  options.share_of_blocks = 1 / options.rows_per_row_read;
  f.status = fit_joint(f.sample, options, control, &f.bytes, &f.report, &f.column);
  if (f.status.ok()) {
    const Status valid = validate_joint(f.bytes.data(), f.bytes.size());
    EXPECT_TRUE(valid.ok()) << valid.message;
  }
  return f;
}

BoxSide side(int column, double lower, double upper) {
  BoxSide s;
  s.column = column;
  s.range = {};
  s.range.lower = lower;
  s.range.upper = upper;
  s.range.lower_unbounded = s.range.upper_unbounded = false;
  return s;
}

double normal(Random* random) {
  const double u = random->uniform();
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * random->uniform());
}

// Two correlated columns and one of whole numbers that follows the first.
std::vector<Row> three_columns(std::size_t n) {
  Random random(11);
  std::vector<Row> rows(n);
  for (Row& r : rows) {
    const double x = normal(&random);
    const double y = 0.8 * x + 0.6 * normal(&random);
    r.value = {x, std::exp(y), std::round(10 * x + 3 * normal(&random))};
  }
  return rows;
}

double count_rows(const std::vector<Row>& rows, std::span<const BoxSide> box) {
  double count = 0;
  for (const Row& r : rows) {
    bool in = true;
    for (const BoxSide& s : box) {
      const double x = r.value[static_cast<std::size_t>(s.column)];
      in = in && (r.null >> s.column & 1) == 0 && x >= s.range.lower && x <= s.range.upper;
    }
    count += in;
  }
  return count;
}

// As far as the columns' own distributions are, which keep some 500 values that are not on a
// lattice.
TEST(JointFit, WithEveryRowStoredAnswersAreExact) {
  const std::vector<Row> rows = three_columns(500);
  const Fit f = fit(rows, 500);
  ASSERT_TRUE(f.status.ok()) << f.status.message;
  EXPECT_EQ(f.report.points, 500);
  Random random(2);
  for (int i = 0; i < 200; ++i) {
    const double a = 3 * random.uniform() - 2;
    const double b = 40 * random.uniform() - 30;
    const BoxSide box[] = {side(0, a, a + 1), side(2, std::round(b), std::round(b) + 12)};
    const JointMoments m = joint_moments(f.view(), box, 2);
    EXPECT_NEAR(m.count, count_rows(rows, box), 1e-6);
    double sum = 0;
    for (const Row& r : rows) sum += count_rows({r}, box) * r.value[2];
    EXPECT_NEAR(m.mean * m.finite, sum, 1e-6);
  }
}

// What asks of one column is answered as by a fit of it alone, of all rows that were read.
TEST(JointFit, OneColumnIsAnsweredAsByItsOwnFit) {
  std::vector<Row> rows = three_columns(3000);
  for (std::size_t i = 0; i < rows.size(); i += 7) rows[i].null = 1;
  JointFitOptions options;
  options.rows_per_row_read = 10;
  const Fit f = fit(rows, 400, options);
  ASSERT_TRUE(f.status.ok()) << f.status.message;
  for (int k = 0; k < 3; ++k) {
    Sampler sampler({});
    for (const Row& r : rows) {
      if ((r.null >> k & 1) != 0) {
        sampler.add_null();
      } else {
        ASSERT_TRUE(sampler.add(r.value[static_cast<std::size_t>(k)]).ok());
      }
    }
    Sample sample;
    ASSERT_TRUE(sampler.finish(&sample).ok());
    FitOptions own;
    own.value_type = ValueType::float8;
    own.rows_per_row_read = 10;
    own.share_of_blocks = 0.1;
    own.budget = kMaxBytes;  // as of a marginal
    DensityBytes bytes;
    FitReport report;
    ASSERT_TRUE(fit_column(sample, own, {}, &bytes, &report).ok());
    const DensityView alone(&bytes.header());
    for (const double at : {-1.5, -0.2, 0.9}) {
      const BoxSide box[] = {side(k, at, at + 0.7)};
      const JointMoments m = joint_moments(f.view(), box, k);
      const Interval count = interval_of(Wanted::count, f.view(), box, m, {});
      const Interval count_alone = interval_of(Wanted::count, alone, box[0].range, {});
      EXPECT_NEAR(count.estimate, count_alone.estimate, 1e-9 * 30000);
      EXPECT_NEAR(count.lower, count_alone.lower, 1e-9 * 30000);
      EXPECT_NEAR(count.upper, count_alone.upper, 1e-9 * 30000);
      if (!(m.finite > 0)) continue;
      const Interval mean = interval_of(Wanted::mean, f.view(), box, m, {});
      const Interval mean_alone = interval_of(Wanted::mean, alone, box[0].range, {});
      EXPECT_DOUBLE_EQ(mean.estimate, mean_alone.estimate);
      EXPECT_DOUBLE_EQ(mean.upper, mean_alone.upper);
      const Interval sum = interval_of(Wanted::sum, f.view(), box, m, {});
      EXPECT_NEAR(sum.lower, interval_of(Wanted::sum, alone, box[0].range, {}).lower,
                  1e-9 * 30000 * 50);
    }
  }
}

TEST(JointFit, TheSameBytesForAnyThreads) {
  const std::vector<Row> rows = three_columns(250);
  for (const JointMethod method : {JointMethod::automatic, JointMethod::lscv_matrix}) {
    JointFitOptions options;
    options.method = method;
    const Fit one = fit(rows, 250, options);
    ASSERT_TRUE(one.status.ok()) << one.status.message;
    Control three;
    three.threads = 3;
    const Fit many = fit(rows, 250, options, three);
    ASSERT_TRUE(many.status.ok()) << many.status.message;
    EXPECT_EQ(many.bytes, one.bytes) << static_cast<int>(method);
  }
}

// The squared error of counts of 300 boxes on the first two columns, over the raw sample's, which
// is p (1 - p)/n (1 - n/N) in the mean.
double squared_error_over_the_samples(const std::vector<Row>& rows, const Fit& f) {
  const double n = static_cast<double>(rows.size());
  const auto sampled = static_cast<std::size_t>(f.sample.rows);
  std::vector<Row> sample(sampled);
  for (std::size_t i = 0; i < sampled; ++i)
    sample[i].value.assign(f.sample.value.begin() + static_cast<std::ptrdiff_t>(3 * i),
                           f.sample.value.begin() + static_cast<std::ptrdiff_t>(3 * i + 3));
  Random random(4);
  double squared = 0;
  double raw_squared = 0;
  for (int i = 0; i < 300; ++i) {
    const Row* centre = nullptr;
    do {
      centre = &rows[random.below(rows.size())];
    } while (!std::isfinite(centre->value[0]) || !std::isfinite(centre->value[1]));
    const double w = 0.2 + random.uniform();
    const BoxSide box[] = {
        side(0, centre->value[0] - w, centre->value[0] + w),
        side(1, centre->value[1] * std::exp(-w), centre->value[1] * std::exp(w))};
    const double p = count_rows(rows, box) / n;
    const double pq = p * (1 - p);
    if (pq < 0.004) continue;
    const double e = joint_moments(f.view(), box, -1).count / n - p;
    const double r = count_rows(sample, box) / static_cast<double>(sampled) - p;
    squared += e * e / pq;
    raw_squared += r * r / pq;
  }
  return squared / raw_squared;
}

// On smooth data the density's error must be well below the sample's; of 300 boxes in the mean a
// ratio of 0.7 leaves room for their dependence, and a density that only counts the sample's rows
// has a ratio of 1.
TEST(JointFit, PredictsBetterThanTheSampleItself) {
  const std::vector<Row> rows = three_columns(40000);
  const Fit f = fit(rows, 1500);
  ASSERT_TRUE(f.status.ok()) << f.status.message;
  EXPECT_LT(squared_error_over_the_samples(rows, f), 0.7);
  // What the fit says of itself is of that order.
  EXPECT_LT(f.view().header().count_error[1], 0.9);
}

// So too where a column has other values than finite ones: the boxes by which a fit measures its
// errors end among the finite.
TEST(JointFit, PredictsBetterThanTheSampleItselfWhereFewRowsAreFinite) {
  for (const double special : {kNan, -kInfinity}) {
    std::vector<Row> rows = three_columns(40000);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i % 10 < 4) rows[i].value[i % 2] = special;
    }
    const Fit f = fit(rows, 1500);
    ASSERT_TRUE(f.status.ok()) << f.status.message;
    EXPECT_LT(squared_error_over_the_samples(rows, f), 0.7) << special;
    EXPECT_LT(f.view().header().count_error[1], 0.9) << special;
  }
}

TEST(JointFit, WholeRangeIsAllRowsThatAreNotNull) {
  std::vector<Row> rows = three_columns(5000);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i % 5 == 0) rows[i].null = 2;
    if (i % 7 == 0) rows[i].null |= 1;
  }
  const Fit f = fit(rows, 800);
  ASSERT_TRUE(f.status.ok()) << f.status.message;
  const BoxSide second[] = {side(1, -1e9, 1e9)};
  EXPECT_NEAR(joint_moments(f.view(), second, -1).count, 4000, 1e-6);
  // Both: what the sample's own NULLs say within what calibration leaves, 1e-4 of the rows a class,
  // and the pairs' sampling, sqrt(p (1 - p)/800) with p = 0.686: 0.016.
  const BoxSide both[] = {side(0, -1e9, 1e9), side(1, -1e9, 1e9)};
  EXPECT_NEAR(joint_moments(f.view(), both, -1).count / 5000, 24.0 / 35, 4 * 0.016);
  // No bounds, no condition.
  EXPECT_NEAR(joint_moments(f.view(), {}, -1).count, 5000, 1e-6);
}

TEST(JointFit, InfinitiesAndNaN) {
  std::vector<Row> rows = three_columns(1000);
  for (std::size_t i = 0; i < 1000; i += 10) rows[i].value[0] = i % 20 == 0 ? kInfinity : kNan;
  const Fit f = fit(rows, 400);
  ASSERT_TRUE(f.status.ok()) << f.status.message;
  BoxSide above[2] = {side(0, 0, 0), side(2, -1e6, 1e6)};
  above[0].range.lower = 1e300;
  above[0].range.upper_unbounded = true;
  // Calibrated to the column's own 5 % of each: 2 class totals, each to 1e-4 of the rows.
  EXPECT_NEAR(joint_moments(f.view(), above, -1).count, 100, 0.5);
}

// Where a column lies and how far it spreads its finite rows alone say, be they few of all.
TEST(JointFit, FiniteRowsMayBeFew) {
  for (const double special : {kNan, kInfinity, -kInfinity}) {
    for (const JointMethod method : {JointMethod::automatic, JointMethod::normal_reference}) {
      std::vector<Row> rows = three_columns(600);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        rows[i].value[0] += 1e6;
        if (i % 8 != 0) rows[i].value[0] = special;
      }
      rows[0].value[0] = 1e15;
      JointFitOptions options;
      options.method = method;
      const Fit f = fit(rows, 600, options);
      ASSERT_TRUE(f.status.ok()) << f.status.message;
      EXPECT_NEAR(f.view().column(0).value_center, 1e6, 2);
      if (method != JointMethod::automatic) continue;
      // The quartiles' distance of 75 normal values, 1.35, give or take 0.2 a standard deviation.
      EXPECT_NEAR(f.view().column(0).value_unit, 1.35, 0.8);
      const BoxSide box[] = {side(0, 1e6 - 0.5, 1e6 + 1), side(1, 0, 10)};
      EXPECT_NEAR(joint_moments(f.view(), box, 0).count, count_rows(rows, box), 1e-6);
    }
  }
}

// Enough rows to choose a bandwidth by, and nothing to choose by in any of them.
TEST(JointFit, ColumnsOfOneValueEach) {
  const std::vector<Row> rows(150, {{3, -1}});
  JointFitOptions options;
  options.rows_per_row_read = 4;
  const Fit f = fit(rows, 1000, options);
  ASSERT_TRUE(f.status.ok()) << f.status.message;
  const BoxSide there[] = {side(0, 2, 4), side(1, -1, -1)};
  const BoxSide beside[] = {side(0, 2, 4), side(1, 0, 1)};
  EXPECT_DOUBLE_EQ(joint_moments(f.view(), there, 0).count, 600);
  EXPECT_EQ(joint_moments(f.view(), beside, 0).count, 0);
}

TEST(JointFit, MethodsByNameAreThePlainKernelSum) {
  const std::vector<Row> rows = three_columns(300);
  JointFitOptions options;
  options.method = JointMethod::plugin_product;
  const Fit f = fit(rows, 300, options);
  ASSERT_TRUE(f.status.ok()) << f.status.message;
  ASSERT_EQ(f.report.bandwidth.size(), 9u);
  const double h0 = std::sqrt(f.report.bandwidth[0]);
  const double h1 = std::sqrt(f.report.bandwidth[4]);
  EXPECT_EQ(f.report.bandwidth[1], 0);
  const auto phi = [](double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); };
  const BoxSide box[] = {side(0, -0.5, 0.7), side(1, 0.4, 1.9)};
  double expected = 0;
  for (const Row& r : rows)
    expected += (phi((0.7 - r.value[0]) / h0) - phi((-0.5 - r.value[0]) / h0)) *
                (phi((1.9 - r.value[1]) / h1) - phi((0.4 - r.value[1]) / h1));
  // Coordinates are floats: 6e-8 of some 30 bandwidths, times phi(0) and 300 rows.
  EXPECT_NEAR(joint_moments(f.view(), box, -1).count, expected, 3e-4);
}

TEST(JointFit, ScalarLscvHasTheShapeOfTheCovariance) {
  JointFitOptions options;
  options.method = JointMethod::lscv;
  const Fit f = fit(three_columns(400), 400, options);
  ASSERT_TRUE(f.status.ok()) << f.status.message;
  EXPECT_STREQ(f.report.status, "converged");
  const std::vector<double>& h = f.report.bandwidth;
  double mean[3] = {}, cov[3] = {};
  for (std::size_t i = 0; i < 400; ++i)
    for (std::size_t k = 0; k < 3; ++k) mean[k] += f.sample.value[3 * i + k] / 400;
  for (std::size_t i = 0; i < 400; ++i) {
    const double x = f.sample.value[3 * i] - mean[0];
    const double y = f.sample.value[3 * i + 1] - mean[1];
    cov[0] += x * x;
    cov[1] += x * y;
    cov[2] += y * y;
  }
  EXPECT_NEAR(h[1] / std::sqrt(h[0] * h[4]), cov[1] / std::sqrt(cov[0] * cov[2]), 1e-9);
  EXPECT_NEAR(f.view().correlation(0, 1), cov[1] / std::sqrt(cov[0] * cov[2]), 1e-9);
}

TEST(JointFit, RefusesWhatHasNoDensity) {
  JointFitOptions options;
  options.method = JointMethod::lscv_matrix;
  std::vector<Row> rows = three_columns(500);
  for (Row& r : rows) r.value[1] = 7;
  Fit f = fit(rows, 500, options);
  EXPECT_EQ(f.status.code, Code::degenerate);
  EXPECT_EQ(f.column, 1);
  for (Row& r : rows) r.value[1] = 3 * r.value[0] - 1;
  f = fit(rows, 500, options);
  EXPECT_EQ(f.status.code, Code::degenerate);
  EXPECT_EQ(f.column, 1);
  // Three different rows in three columns, but for rounding: what is left cannot be stored.
  options.method = JointMethod::normal_reference;
  const double unit = -0x1.753938p+85;
  rows.assign(11, Row{{6 * unit, 6 * unit, 6 * unit}});
  rows[0].value = {unit, 2 * unit, 3 * unit};
  rows[1].value = {4 * unit, 5 * unit, 6 * unit};
  f = fit(rows, 20, options);
  EXPECT_EQ(f.status.code, Code::degenerate) << f.status.message;
  EXPECT_EQ(f.column, 2);
  options.method = JointMethod::lscv_matrix;
  f = fit(three_columns(9), 9, options);
  EXPECT_EQ(f.status.code, Code::degenerate);
  EXPECT_EQ(f.column, -1);
  rows = three_columns(500);
  for (std::size_t i = 0; i < 495; ++i) rows[i].null = 1;
  EXPECT_EQ(fit(rows, 500, options).status.code, Code::degenerate);
  // The automatic density has an answer in all these cases.
  EXPECT_TRUE(fit(rows, 500).status.ok());
  for (Row& r : rows) r.value[1] = 7;
  EXPECT_TRUE(fit(rows, 200).status.ok());
  EXPECT_TRUE(fit(three_columns(2), 2).status.ok());
  EXPECT_EQ(fit(three_columns(1), 2).status.code, Code::degenerate);
}

// Squares of such values overflow: neither the variance nor an error relative to it is a number.
TEST(JointFit, ValuesAtTheEndsOfDoublePrecision) {
  std::vector<Row> rows = three_columns(4000);
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i].value[1] = (i % 2 == 0 ? 1 : -1) * 1e200 * (1 + rows[i].value[0] / 10);
  const Fit f = fit(rows, 1000);
  ASSERT_TRUE(f.status.ok()) << f.status.message;
  const BoxSide box[] = {side(0, -1, 1), side(2, -20, 20)};
  // p is about 0.6: four standard deviations of 4000 rows counted from 1000.
  EXPECT_NEAR(joint_moments(f.view(), box, 1).count, count_rows(rows, box), 4 * 62);
  // What the other columns' means tell is not lost: 1 would be that nothing was measured.
  EXPECT_NE(f.view().header().mean_error[1], 1);
}

TEST(JointFit, ColumnsThatAreAllNull) {
  std::vector<Row> rows = three_columns(300);
  for (Row& r : rows) r.null = 4;
  const Fit f = fit(rows, 150);
  ASSERT_TRUE(f.status.ok()) << f.status.message;
  const BoxSide nothing[] = {side(0, -1, 1), side(2, -1e9, 1e9)};
  EXPECT_EQ(joint_moments(f.view(), nothing, -1).count, 0);
}

TEST(JointFit, TheSampleIsThinnedToTheBudget) {
  JointFitOptions options;
  options.budget = 64 * 1024;
  const std::vector<Row> rows = three_columns(30000);
  const Fit f = fit(rows, 20000, options);
  ASSERT_TRUE(f.status.ok()) << f.status.message;
  EXPECT_LE(f.bytes.size(), options.budget);
  EXPECT_GT(f.bytes.size(), options.budget / 2);
  EXPECT_EQ(f.report.sample_rows, 20000);
  EXPECT_LT(f.report.points, 64 * 1024 / 14);  // three columns take 14 bytes or more
  const BoxSide box[] = {side(0, -1e9, 1e9), side(1, -1e9, 1e9)};
  EXPECT_NEAR(joint_moments(f.view(), box, -1).count, 30000, 1);
  options.budget = 600;
  EXPECT_EQ(fit(rows, 20000, options).status.code, Code::too_large);
}

// Counts of a table that is stored as a whole are exact: none whose values lost bits is said to be.
TEST(JointFit, RowsThatAreAllStoredKeepTheirBits) {
  JointFitOptions options;
  options.budget = 64 * 1024;
  int whole = 0;
  int thinned = 0;
  for (std::size_t n = 2400; n <= 4800; n += 200) {
    const Fit f = fit(three_columns(n), static_cast<std::int64_t>(n), options);
    ASSERT_TRUE(f.status.ok()) << f.status.message;
    const JointColumn& c = f.view().column(0);
    if (f.report.points == static_cast<std::int64_t>(n)) {
      ++whole;
      EXPECT_TRUE(c.value_bytes == 4 || (c.flags & kLatticeValues) != 0) << n;
    } else {
      ++thinned;
      EXPECT_GT(f.view().header().sampling_variance, 0) << n;
    }
  }
  EXPECT_GT(whole, 0);
  EXPECT_GT(thinned, 0);
}

// Values are kept in single precision about the median: an outlier, however far, must not take the
// digits of the others, neither from the rows that stand for themselves nor from means.
TEST(JointFit, AnOutlierLeavesTheOthersTheirDigits) {
  for (const double outlier : {1e9, -1e12, 1e300, std::numeric_limits<double>::max()}) {
    std::vector<Row> rows = three_columns(500);
    rows[7].value[0] = rows[7].value[1] = outlier;
    const Fit f = fit(rows, 500);
    ASSERT_TRUE(f.status.ok()) << f.status.message;
    Random random(2);
    for (int i = 0; i < 50; ++i) {
      const double a = 3 * random.uniform() - 2;
      const BoxSide box[] = {side(0, a, a + 1), side(1, 0.5, 2)};
      const JointMoments m = joint_moments(f.view(), box, 0);
      EXPECT_NEAR(m.count, count_rows(rows, box), 1e-6);
      double sum = 0;
      for (const Row& r : rows) sum += count_rows({r}, box) * r.value[0];
      // Distances of at most some 5 quartile distances from the median, rounded to 6e-8 of them.
      EXPECT_NEAR(m.mean * m.finite, sum, 1e-6 * m.finite);
      EXPECT_LE(m.variance, 0.25);
    }
    // A bound beyond all that a float of that unit can be: the outlier alone, or nothing.
    BoxSide beyond[] = {side(0, outlier / 2, 0), side(2, -1e9, 1e9)};
    beyond[0].range.upper_unbounded = outlier > 0;
    if (outlier < 0) std::swap(beyond[0].range.lower, beyond[0].range.upper);
    if (outlier < 0) beyond[0].range.lower_unbounded = true;
    const JointMoments alone = joint_moments(f.view(), beyond, 0);
    EXPECT_NEAR(alone.count, 1, 1e-6);
    EXPECT_TRUE(std::isfinite(alone.mean));
    // Nothing is NaN where squares overflow.
    const BoxSide others[] = {side(2, -1e9, 1e9), side(1, -1e9, 1e9)};
    for (int target = 0; target < 3; ++target) {
      const JointMoments m = joint_moments(f.view(), others, target);
      EXPECT_GE(m.variance, 0);
      const Interval sum = interval_of(Wanted::sum, f.view(), others, m, {});
      EXPECT_LE(sum.lower, sum.estimate);
      EXPECT_GE(sum.upper, sum.estimate);
      const Interval variance = interval_of(Wanted::variance, f.view(), others, m, {});
      EXPECT_LE(variance.lower, variance.estimate);
      EXPECT_GE(variance.upper, variance.estimate);
      const Interval given = conditional_mean(f.view(), target, (target + 1) % 3, 1, {});
      EXPECT_LE(given.lower, given.estimate);
      EXPECT_GE(given.upper, given.estimate);
    }
  }
}

// By name too: the centre of the axis is where the rows are, and the outlier not among the 1000
// rows that the bandwidth is made of. What the kernel's bandwidth leaves is the same as without it.
TEST(JointFit, AnOutlierLeavesKernelSumsTheOthers) {
  JointFitOptions options;
  options.method = JointMethod::plugin_product;
  options.bandwidth_rows = 200;
  std::vector<Row> rows = three_columns(2000);
  const BoxSide box[] = {side(0, -0.5, 0.7), side(1, 0.4, 1.9)};
  const Fit without = fit(rows, 2000, options);
  ASSERT_TRUE(without.status.ok()) << without.status.message;
  std::size_t changed = 0;
  while (std::abs(rows[changed].value[0]) < 3) ++changed;  // far from the box
  rows[changed].value[0] = rows[changed].value[1] = 1e12;
  const Fit with = fit(rows, 2000, options);
  ASSERT_TRUE(with.status.ok()) << with.status.message;
  ASSERT_EQ(with.report.bandwidth, without.report.bandwidth) << "it is among the 200";
  // Coordinates are floats: 6e-8 of some 100 bandwidths, times phi(0) and 2000 rows.
  EXPECT_NEAR(joint_moments(with.view(), box, -1).count,
              joint_moments(without.view(), box, -1).count, 5e-3);
}

// Kernels err where every row is a point: a density that smooths 620 rows to 545 must not call that
// exact. Errors are a matter of some 40 boxes: at least 80 % must be covered.
TEST(JointFit, KernelSumsOfEveryRowAreNotExact) {
  JointFitOptions options;
  options.method = JointMethod::normal_reference;
  const std::vector<Row> rows = three_columns(2000);
  const Fit f = fit(rows, 2000, options);
  ASSERT_TRUE(f.status.ok()) << f.status.message;
  EXPECT_EQ(f.view().header().reading_variance, 0);
  Random random(5);
  int covered = 0;
  for (int i = 0; i < 40; ++i) {
    const Row& centre = rows[random.below(rows.size())];
    const BoxSide box[] = {side(0, centre.value[0] - 0.4, centre.value[0] + 0.4),
                           side(1, centre.value[1] / 2, centre.value[1] * 2)};
    const Interval count =
        interval_of(Wanted::count, f.view(), box, joint_moments(f.view(), box, -1), {});
    const double truth = count_rows(rows, box);
    covered += count.lower <= truth && truth <= count.upper;
  }
  EXPECT_GE(covered, 32);
}

// Rows of the middle that go to the ends of the range, rows at the ends that are deleted, rows
// inserted at the mean: the variance is inside, and for few rows the interval says something.
TEST(JointFit, AVarianceTakesInChangedRows) {
  const std::vector<Row> rows = three_columns(2000);
  const Fit f = fit(rows, 2000);
  ASSERT_TRUE(f.status.ok()) << f.status.message;
  const BoxSide box[] = {side(0, -1, 1)};
  const JointMoments m = joint_moments(f.view(), box, 0);
  std::vector<double> x;
  for (const Row& r : rows)
    if (std::abs(r.value[0]) <= 1) x.push_back(r.value[0]);
  std::sort(x.begin(), x.end(),
            [](double a, double b) { return std::abs(a) < std::abs(b); });  // the mean is near 0
  const auto variance = [](const std::vector<double>& values) {
    double mean = 0, out = 0;
    for (double v : values) mean += v / static_cast<double>(values.size());
    for (double v : values) out += (v - mean) * (v - mean) / static_cast<double>(values.size());
    return out;
  };
  const Interval before = interval_of(Wanted::variance, f.view(), box, m, {});
  const double fewest = interval_of(Wanted::count, f.view(), box, m, {}).lower;
  for (std::size_t k : {10, 100, 1000}) {
    IntervalOptions options;
    options.changed_rows = static_cast<double>(k);
    const Interval got = interval_of(Wanted::variance, f.view(), box, m, options);
    EXPECT_EQ(got.estimate, before.estimate);
    std::vector<double> apart = x, together(x.begin(), x.end() - static_cast<std::ptrdiff_t>(k));
    for (std::size_t i = 0; i < k; ++i) apart[i] = i % 2 == 0 ? -1 : 1;
    std::vector<double> more = x;
    more.insert(more.end(), k, 0.0);
    for (const auto& values : {apart, together, more}) {
      EXPECT_LE(got.lower, variance(values)) << k;
      EXPECT_GE(got.upper, variance(values)) << k;
    }
    EXPECT_LE(got.upper, before.upper + 4 * static_cast<double>(k) / fewest * (1 + 1e-12)) << k;
  }
}

TEST(JointFit, SameSeedSameBytes) {
  const std::vector<Row> rows = three_columns(3000);
  EXPECT_EQ(fit(rows, 500).bytes, fit(rows, 500).bytes);
}

TEST(JointFit, CanBeCancelledAnywhere) {
  const std::vector<Row> rows = three_columns(2000);
  struct Polls {
    int left, seen;
  };
  for (const JointMethod method : {JointMethod::automatic, JointMethod::lscv_matrix}) {
    JointFitOptions options;
    options.method = method;
    Polls all{std::numeric_limits<int>::max(), 0};
    Control control;
    control.should_stop = [](void* arg) {
      auto* polls = static_cast<Polls*>(arg);
      return ++polls->seen > polls->left;
    };
    control.stop_arg = &all;
    ASSERT_TRUE(fit(rows, 400, options, control).status.ok());
    for (int i = 0; i < 12; ++i) {
      Polls some{all.seen * i / 12, 0};
      control.stop_arg = &some;
      EXPECT_EQ(fit(rows, 400, options, control).status.code, Code::cancelled) << i;
    }
  }
}

TEST(JointFit, SixteenColumns) {
  Random random(9);
  std::vector<Row> rows(600);
  for (Row& r : rows) {
    for (int k = 0; k < 16; ++k)
      r.value.push_back(normal(&random) + (k > 0 ? r.value.back() / 2 : 0));
  }
  for (const JointMethod method : {JointMethod::automatic, JointMethod::normal_reference}) {
    JointFitOptions options;
    options.method = method;
    options.budget = 1 << 20;
    const Fit f = fit(rows, 300, options);
    ASSERT_TRUE(f.status.ok()) << f.status.message;
    std::vector<BoxSide> box;
    for (int k = 0; k < 16; ++k) box.push_back(side(k, -50, 50));
    EXPECT_NEAR(joint_moments(f.view(), box, 3).count, 600, 1e-2);
  }
}

}  // namespace
}  // namespace kde
