// fit_column: what it refuses, what it does at the edges of double precision, and that nothing but
// the values decides its bytes.
#include "core/fit/fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "answers.h"
#include "core/density/names.h"
#include "core/answer/column_evidence.h"
#include "distinct.h"
#include "fitted.h"
#include "stop_at.h"

namespace kde {
namespace {

using fitted::fit;
using fitted::Fitted;
using fitted::kInf;
using fitted::kNan;
using fitted::range;
using fitted::sample_of;

constexpr double kMax = std::numeric_limits<double>::max();
constexpr double kTiny = std::numeric_limits<double>::denorm_min();

constexpr Method kMethods[] = {Method::automatic, Method::plugin, Method::silverman};

Status try_fit(const Sample& sample, const FitOptions& options, const Control& control,
               Fitted* out) {
  return fit_column(sample, options, control, &out->bytes, &out->report);
}

TEST(FitColumn, RefusesNoValues) {
  Sampler sampler({});
  sampler.add_null();
  Sample s;
  ASSERT_TRUE(sampler.finish(&s).ok());
  Fitted f;
  EXPECT_EQ(try_fit(s, {}, {}, &f).code, Code::invalid_argument);
}

TEST(FitColumn, OnlySpecialValues) {
  const Fitted f = fit(std::vector<double>{kNan, kNan, kInf});
  EXPECT_EQ(count(f.view(), Range{}), 3);
  EXPECT_EQ(count(f.view(), range(-kMax, kMax)), 0);
  EXPECT_EQ(f.report.bandwidth, 0);
  fitted::expect_sane_answers(f.view(), 50);
}

TEST(FitColumn, AllValuesEqual) {
  for (double v : {0.0, -7.25, 1e300, -kMax, kMax, kTiny, 1e-300}) {
    for (Method method : kMethods) {
      SCOPED_TRACE(v);
      const Fitted f = fit(std::vector<double>(5, v), method);
      const DensityView d = f.view();
      EXPECT_EQ(count(d, range(v, v)), 5);
      EXPECT_EQ(count(d, range(v, kInf, false, true)), 0);
      EXPECT_EQ(moments(d, range(v, v)).mean, v);
      EXPECT_EQ(moments(d, range(v, v)).variance, 0);
      EXPECT_EQ(quantile(d, 0.5), v);
      fitted::expect_sane_answers(d, 50);
    }
  }
}

// A step that the values do not keep to, and beside which their bandwidth is nothing.
TEST(FitColumn, ValuesFarNearerThanTheirLattice) {
  std::vector<double> x;
  for (int i = 0; i < 40; ++i) x.push_back(1e-5 * i);
  const Fitted f = fit(x, Method::automatic, 1e300);
  ASSERT_TRUE(f.status.ok());
  EXPECT_EQ(count(f.view(), Range{}), 40);
  fitted::expect_sane_answers(f.view(), 100);
}

// The two values may be as near or as far apart as double precision has them.
// Beside one far off, the others are nearer to each other than double precision tells once they are
// scaled.
TEST(FitColumn, ValuesFarNearerThanAnOutlier) {
  std::vector<double> zeros(14, 0.0);
  zeros.insert(zeros.end(), {kTiny, 59});
  const std::vector<double> columns[] = {
      {0, 0, 0, 2.5426100331928071e-319, 1}, {0, 1.5123522339714908e-15, 96}, zeros};
  for (const std::vector<double>& x : columns) {
    for (const Method method : {Method::automatic, Method::sheather_jones, Method::silverman}) {
      FitOptions options;
      options.method = method;
      options.rows_per_row_read = 11;
      Fitted f;
      f.status = try_fit(sample_of(x), options, {}, &f);
      ASSERT_TRUE(f.status.ok()) << f.status.message;
      EXPECT_NEAR(count(f.view(), Range{}), 11.0 * static_cast<double>(x.size()), 1e-6);
      fitted::expect_sane_answers(f.view(), 50);
    }
  }
}

TEST(FitColumn, TwoDistinctValues) {
  const std::pair<double, double> pairs[] = {{0, 1},
                                             {0, kTiny},
                                             {-kTiny, kTiny},
                                             {1, std::nextafter(1, 2)},
                                             {kMax, std::nextafter(kMax, 0)},
                                             {1e-310, 2e-310},
                                             {-1e-300, 1e300},
                                             {0, 1e300}};
  for (auto [a, b] : pairs) {
    for (int repeats : {1, 3, 30}) {
      for (Method method : kMethods) {
        SCOPED_TRACE(testing::Message() << a << " and " << b << ", " << repeats << " of each, "
                                        << static_cast<int>(method));
        std::vector<double> x(static_cast<std::size_t>(repeats), a);
        x.insert(x.end(), static_cast<std::size_t>(repeats), b);
        Fitted f;
        FitOptions options;
        options.method = method;
        f.status = try_fit(sample_of(x), options, {}, &f);
        // A plain kernel sum that reaches beyond DBL_MAX cannot be stored; said, not crashed.
        if (method != Method::automatic && !f.status.ok()) {
          EXPECT_GT(std::max(std::fabs(a), std::fabs(b)), 1e307) << f.status.message;
          continue;
        }
        ASSERT_TRUE(f.status.ok()) << f.status.message;
        const DensityView d = f.view();
        EXPECT_EQ(count(d, Range{}), 2 * repeats);
        fitted::expect_sane_answers(d, 100);
        if (method == Method::automatic) {
          EXPECT_EQ(count(d, range(std::min(a, b), std::max(a, b))), 2 * repeats);
        }
        if (method == Method::automatic && repeats >= 30) {
          EXPECT_EQ(count(d, range(a, a)), repeats);
          EXPECT_EQ(count(d, range(b, b)), repeats);
        }
      }
    }
  }
}

// As above, at the end of double precision.
TEST(FitColumn, QuantilesAtTheLargestDoubles) {
  for (const double low : {-kMax, 0.0}) {
    for (Method method : {Method::plugin, Method::silverman}) {
      std::vector<double> x(30, low);
      x.insert(x.end(), 30, kMax);
      const Fitted f = fit(x, method);
      ASSERT_TRUE(f.status.ok());
      fitted::expect_sane_answers(f.view(), 100);
    }
  }
}

// What the edges of double precision do to kernel sums.
TEST(FitColumn, ByNameAtExtremes) {
  const std::vector<double> z = samples::normal(300, 9);
  for (Method method : {Method::plugin, Method::silverman}) {
    SCOPED_TRACE(method_name(method));
    std::vector<std::vector<double>> columns = {
        {0, kTiny}, {1, std::nextafter(1, 2)}, {-1, 1, 1e12}, {0, 0, 0, 1}};
    for (double scale : {1e300, 1e-300, 1e-320}) {
      columns.push_back(z);
      for (double& v : columns.back()) v *= scale;
    }
    columns.push_back(z);
    columns.back()[7] = 1e11;  // beside it the bandwidth is hardly more than positions resolve
    for (const std::vector<double>& x : columns) {
      const Fitted f = fit(x, method);
      fitted::expect_sane_answers(f.view(), 50);
      EXPECT_NEAR(count(f.view(), Range{}), static_cast<double>(x.size()), 1e-9);
    }
  }
}

// Multiplying by a power of two changes nothing but the unit: the same bandwidth and answers, bit
// for bit.
TEST(FitColumn, ScaleEquivariance) {
  const std::vector<double> x = samples::mix(800);
  for (Method method : kMethods) {
    const Fitted one = fit(x, method);
    for (int e : {-990, -300, -1, 10, 300, 1000}) {
      SCOPED_TRACE(e);
      std::vector<double> scaled = x;
      for (double& v : scaled) v = std::ldexp(v, e);
      const Fitted two = fit(scaled, method);
      EXPECT_EQ(two.report.bandwidth, std::ldexp(one.report.bandwidth, e));
      Random random(6);
      for (int i = 0; i < 200; ++i) {
        const double a = 8 * random.uniform() - 3;
        const double b = a + 3 * random.uniform();
        const RangeMoments m1 = moments(one.view(), range(a, b));
        const RangeMoments m2 = moments(two.view(), range(std::ldexp(a, e), std::ldexp(b, e)));
        ASSERT_EQ(m1.count, m2.count);
        ASSERT_EQ(std::ldexp(m1.mean, e), m2.mean);
        ASSERT_EQ(std::ldexp(m1.variance, 2 * e), m2.variance);
        ASSERT_EQ(std::ldexp(quantile(one.view(), i / 200.0), e), quantile(two.view(), i / 200.0));
      }
    }
  }
}

// Reflected data: the same bandwidth, mirrored answers.
TEST(FitColumn, MirrorEquivariance) {
  const std::vector<double> x = samples::lognormal(900, 4);
  std::vector<double> y = x;
  for (double& v : y) v = -v;
  for (Method method : kMethods) {
    const Fitted one = fit(x, method);
    const Fitted two = fit(y, method);
    // Two sums of single precision terms, each good to 1e-5.
    EXPECT_NEAR(one.report.bandwidth, two.report.bandwidth, 2e-5 * one.report.bandwidth);
    Random random(6);
    for (int i = 0; i < 200; ++i) {
      const double a = 8 * random.uniform() - 1;
      const double b = a + 3 * random.uniform();
      // A relative change of 2e-5 in h moves F by at most 2e-5 max |z phi(z)| = 0.5e-5 at an end.
      // What is stored may be off at either end, by as much as it says.
      const double stored = 2 * (one.view().header().error + two.view().header().error);
      ASSERT_NEAR(count(one.view(), range(a, b)), count(two.view(), range(-b, -a)),
                  (3e-5 + stored) * 900);
    }
  }
}

// A mean of 1e9 standard deviations: the values themselves keep some 7 digits of their spread.
TEST(FitColumn, HugeOffset) {
  const std::vector<double> z = samples::normal(2000, 8);
  std::vector<double> x = z;
  std::vector<double> rounded = z;
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] += 1e9;
    rounded[i] = x[i] - 1e9;  // exact
  }
  const Fitted near = fit(rounded);
  const Fitted far = fit(x);
  EXPECT_NEAR(far.report.bandwidth, near.report.bandwidth, 2e-5 * near.report.bandwidth);
  EXPECT_NEAR(moments(far.view(), Range{}).variance, moments(near.view(), Range{}).variance, 1e-9);
  for (double a = -3; a < 3; a += 0.25) {
    const RangeMoments m1 = moments(near.view(), range(a, a + 0.5));
    const RangeMoments m2 = moments(far.view(), range(1e9 + a, 1e9 + a + 0.5));
    EXPECT_NEAR(m1.count, m2.count, 3e-5 * 2000);
    // As SUM about the range's middle: 1e-5 rows * width/2 each, over the rows there.
    EXPECT_NEAR(m1.mean, m2.mean - 1e9, 6e-5 * 2000 * 0.25 / m1.count + 1e-6);
  }
}

TEST(FitColumn, ExtremeScales) {
  for (double scale : {1e300, 1e-300, 1e-320}) {
    for (Method method : kMethods) {
      SCOPED_TRACE(scale);
      std::vector<double> x = samples::normal(500, 9);
      for (double& v : x) v *= scale;
      const Fitted f = fit(x, method);
      const DensityView d = f.view();
      fitted::expect_sane_answers(d, 100);
      const double inside = static_cast<double>(
          std::count_if(x.begin(), x.end(), [&](double v) { return v > 0 && v <= scale; }));
      // Smoothing moves at most a few rows across two ends; far from 0 and from all.
      EXPECT_NEAR(count(d, range(0, scale)), inside, 50);
    }
  }
}

TEST(FitColumn, OneSampledValueOfAVariedColumn) {
  // The reservoir holds one value; the totals know of others.
  Sampler::Options o;
  o.sample_rows = 1;
  for (Method method : kMethods) {
    FitOptions options;
    options.method = method;
    // More distinct values than are counted, so that nothing but the sample is known.
    const Fitted f = fit(sample_of(samples::normal(2000, 1), o), options);
    EXPECT_EQ(count(f.view(), Range{}), 2000);
    EXPECT_GT(f.report.bandwidth, 0);
    // Automatic says what it is made of instead.
    EXPECT_NE(f.report.notice[0] + f.report.model[0], '\0');
    fitted::expect_sane_answers(f.view(), 50);
  }
}

// Where numbers lie nearly as far apart as the points of a lattice, halfway between two of them
// there is none: no lattice is of use.
TEST(FitColumn, NoLatticeBeyondDoublePrecision) {
  const double step = 86400;
  std::vector<double> x;
  for (int i = 0; i < 26; ++i) x.push_back(std::nearbyint(i * 1.537e19 / step) * step);
  FitOptions options;
  options.lattice_step = step;
  options.rows_per_row_read = 11.14;
  const Fitted f = fit(sample_of(x), options);
  EXPECT_EQ(f.view().header().lattice_step, 0);
  const Status valid = validate(f.bytes.data(), f.bytes.size());
  EXPECT_TRUE(valid.ok()) << valid.message;
}

// A decimal is the nearest number to a quotient, which a multiple of a step need not be; and steps
// too fine for that are no lattice.
TEST(FitColumn, OneDecimalIsStoredAsItIs) {
  for (const auto& [x, step] : {std::pair(0.57, 0.01), {2.07e-306, 1e-308}, {5.0, 1.0}}) {
    FitOptions options;
    options.lattice_step = step;
    options.rows_per_row_read = 2.41;
    const Fitted f = fit(sample_of(std::vector<double>(20, x)), options);
    const Status valid = validate(f.bytes.data(), f.bytes.size());
    EXPECT_TRUE(valid.ok()) << valid.message;
    EXPECT_NEAR(count(f.view(), range(x, x)), 48.2, 1e-12);
    EXPECT_EQ(quantile(f.view(), 0.5), x);
  }
}

// More separate spikes than there is room for: kept as well as they can be, and honest.
TEST(FitColumn, MoreSpikesThanCells) {
  std::vector<double> x;
  Random random(2);
  for (int i = 0; i < 2500; ++i) x.insert(x.end(), 3, random.uniform());
  for (Method method : kMethods) {
    SCOPED_TRACE(static_cast<int>(method));
    const Fitted f = fit(x, method);
    EXPECT_LE(f.bytes.size(), kMaxBytes);
    fitted::expect_sane_answers(f.view(), 50);
    const double n = static_cast<double>(x.size());
    for (double a = 0.05; a < 0.9; a += 0.05) {
      const double exact = static_cast<double>(
          std::count_if(x.begin(), x.end(), [&](double v) { return v >= a && v <= 0.95; }));
      // Smoothing: the rows within 7h of either end; storage: what it says of itself, at both.
      const double h = f.report.bandwidth;
      double near = 0;
      for (double end : {a, 0.95})
        near += static_cast<double>(std::count_if(
            x.begin(), x.end(), [&](double v) { return std::fabs(v - end) <= 7 * h; }));
      EXPECT_NEAR(count(f.view(), range(a, 0.95)), exact,
                  near + 2 * n * f.view().header().error + 1e-6);
    }
  }
}

TEST(FitColumn, TotalsAndRowsScale) {
  FitOptions options;
  options.rows_per_row_read = 12.5;
  std::vector<double> x = samples::normal(400, 2);
  x.push_back(kNan);
  const Fitted f = fit(sample_of(x), options);
  EXPECT_EQ(f.view().header().rows, 401 * 12.5);
  EXPECT_EQ(f.view().header().nans, 12.5);
  EXPECT_EQ(count(f.view(), Range{}), 401 * 12.5);
  EXPECT_EQ(f.view().header().flags & kEveryRowRead, 0);
  EXPECT_EQ(f.report.method, Method::plugin);
  EXPECT_EQ(f.report.sample_rows, 400);
}

// Of 40,000 whole numbers the even ones come 10 times each, the odd ones hardly. They share cells,
// which know of each no more than the mean: what is asked of a row's own number is twice that. Its
// interval must say so, and that of as many numbers that come alike must not.
TEST(FitColumn, PointsOfACellThatDiffer) {
  constexpr int kValues = 20000, kEach = 10, kAsked = 400;
  for (const bool even : {true, false}) {
    Random random(17);
    std::vector<double> table;
    for (int i = 0; i < kValues * kEach; ++i) {
      const auto at = static_cast<double>(random.below(even ? kValues : 2 * kValues));
      table.push_back(even ? 2 * at + (random.below(100) < 3 ? 1 : 0) : at);
    }
    std::vector<double> read;
    for (const double x : table) {
      if (random.below(2) == 0) read.push_back(x);
    }
    FitOptions options;
    options.rows_per_row_read =
        static_cast<double>(table.size()) / static_cast<double>(read.size());
    options.share_of_blocks = 1 / options.rows_per_row_read;
    const Fitted f = fit(sample_of(read), options);
    ASSERT_GT(f.view().header().lattice_step, 0);
    std::sort(table.begin(), table.end());
    int held = 0;
    double width = 0;
    for (int i = 0; i < kAsked; ++i) {
      const double x = table[random.below(table.size())];
      const auto [low, high] = std::equal_range(table.begin(), table.end(), x);
      const Interval of = interval_of(Wanted::count, f.view(), range(x, x), {});
      held += of.lower <= static_cast<double>(high - low) &&
              static_cast<double>(high - low) <= of.upper;
      width += (of.upper - of.lower) / kAsked;
    }
    // 95 % of 400, less three standard deviations of 1.1 %.
    EXPECT_GE(held, kAsked * 0.91) << even;
    // Of 5 rows of which half were read 1.96 sqrt(5) to either side.
    if (!even) {
      EXPECT_LT(width, 2 * 2 * 1.96 * std::sqrt(5.0));
    }
  }
}

// What marks an unknown number, or lies far out, is not spread over the void before it.
TEST(FitColumn, OutermostRowsAreStoredAsTheyAre) {
  std::vector<double> x = samples::normal(20000, 5);
  x.insert(x.end(), 18, 999999);
  x.insert(x.end(), {-50, -70});
  FitOptions options;
  options.rows_per_row_read = 2;
  options.share_of_blocks = 0.5;
  const Fitted f = fit(sample_of(x), options);
  EXPECT_NE(f.report.model, std::string("the sample itself"));
  Range above;
  above.lower_unbounded = false;
  above.lower = 999999;
  constexpr double kRounding = 1e-8;
  EXPECT_NEAR(count(f.view(), above), 36, kRounding);
  EXPECT_NEAR(moments(f.view(), above).mean, 999999, kRounding);
  EXPECT_NEAR(count(f.view(), range(-70, -70)), 2, kRounding);
  EXPECT_NEAR(count(f.view(), range(-60, -40)), 2, kRounding);
  EXPECT_NEAR(count(f.view(), Range{}), 2 * 20020, kRounding);
  // Nor does the bandwidth know of them: a normal one's is some 1.06 n^(-1/5) = 0.15.
  for (const bool exact : {false, true}) {
    options.exact = exact;
    const Fitted g = fit(sample_of(x), options);
    EXPECT_GT(g.report.bandwidth, 0.05);
    EXPECT_LT(g.report.bandwidth, 0.3);
  }
}

// Nor where it has too many rows to be one of the outermost: what lies on this side of the void
// stays there.
TEST(FitColumn, NothingReachesIntoTheVoidBesideAValueApart) {
  for (const double apart : {999999.0, -999999.0}) {
    for (const int rows : {40, 150}) {
      SCOPED_TRACE(testing::Message() << rows << " rows of " << apart);
      std::vector<double> x = samples::normal(20000, 5);
      x.insert(x.end(), static_cast<std::size_t>(rows), apart);
      FitOptions options;
      options.rows_per_row_read = 2;
      options.share_of_blocks = 0.5;
      const Fitted f = fit(sample_of(x), options);
      EXPECT_NEAR(count(f.view(), range(apart, apart)), 2 * rows, 0.01 * rows);
      // The kernels' tails alone: half a row, where a cell of joined values had 22.
      EXPECT_LT(count(f.view(),
                      apart > 0 ? range(10, apart, true, false) : range(apart, -10, false, true)),
                1);
    }
  }
}

// Where nothing but one value is left between them, all is smoothed.
TEST(FitColumn, OutermostRowsAroundOneValue) {
  std::vector<double> x(10000, 5);
  x.insert(x.end(), {1, 9});
  FitOptions options;
  options.rows_per_row_read = 10 / 3.;
  options.share_of_blocks = 0.3;
  const Fitted f = fit(sample_of(x), options);
  EXPECT_EQ(f.view().header().lattice_step, 1);
  EXPECT_GT(f.report.bandwidth, 0);
  EXPECT_NEAR(count(f.view(), range(5, 5)), 1e5 / 3, 20);
}

// Rows scaled by what is no binary fraction: the atoms' sums round, the promises do not.
TEST(FitColumn, ScaledRowsKeepTheirSum) {
  std::vector<double> x;
  for (int i = 0; i < 3000; ++i) x.push_back(i % 70);
  for (double scale : {1.1, 7.3, 1e6 / 3}) {
    for (double special : {69.0, kNan, kInf}) {
      x.back() = special;
      FitOptions options;
      options.rows_per_row_read = scale;
      const Fitted f = fit(sample_of(x), options);
      const DensityView d = f.view();
      const double finite = special == 69 ? 3000 : 2999;
      EXPECT_DOUBLE_EQ(count(d, range(0, 69)), finite * scale);
      EXPECT_EQ(count(d, range(0, 69)), count(d, range(-kMax, kMax)));
      EXPECT_EQ(count(d, range(69, kMax, false, true)), 0);
      EXPECT_EQ(count(d, Range{}), 3000 * scale);
    }
  }
}

// An int8 column may have whole numbers that double precision cannot tell from their neighbours.
TEST(FitColumn, LatticeThatCannotBeResolvedIsLeftOut) {
  std::vector<double> x = samples::normal(400, 2);
  for (double& v : x) v = 1e18 * v;
  const Fitted f = fit(x, Method::automatic, 1);
  EXPECT_EQ(f.view().header().lattice_step, 0);
  EXPECT_EQ(count(f.view(), Range{}), 400);
}

// An outlier that the sample lacks, beside which the squares of all distances are nothing.
void expect_fits_of_near_values(const std::vector<Method>& methods) {
  Sampler::Options sampling;
  sampling.sample_rows = 100;
  Sampler sampler(sampling);
  for (const double x : samples::normal(1000, 4)) ASSERT_TRUE(sampler.add(x).ok());
  ASSERT_TRUE(sampler.add(1e200).ok());
  Sample sample;
  ASSERT_TRUE(sampler.finish(&sample).ok());
  ASSERT_LT((*sample.cells)->totals().max(), 10) << "the outlier is in the sample";
  for (const Method method : methods) {
    SCOPED_TRACE(method_name(method));
    FitOptions options;
    options.method = method;
    Fitted f;
    f.status = try_fit(sample, options, {}, &f);
    ASSERT_TRUE(f.status.ok()) << f.status.message;
    EXPECT_NEAR(count(f.view(), Range{}), 1001, 1e-6);
    fitted::expect_sane_answers(f.view(), 20);
  }
}

TEST(FitColumn, SampledValuesNearerThanTheRangeTells) {
  expect_fits_of_near_values({Method::automatic});
}

TEST(FitColumn, SampledValuesNearerThanTheRangeTellsByName) {
  expect_fits_of_near_values(
      {Method::plugin, Method::silverman, Method::scott, Method::lscv, Method::sheather_jones});
}

// numeric(9, -300) has values within half a step of the end of double precision; numeric(5, -400)
// has a step beyond it.
TEST(FitColumn, LatticeThatEndsBeyondDoublePrecisionIsLeftOut) {
  for (const double step : {1e300, 1e308, kInf}) {
    for (const double sign : {1.0, -1.0}) {
      SCOPED_TRACE(testing::Message() << step << ' ' << sign);
      FitOptions options;
      options.lattice_step = step;
      options.rows_per_row_read = 30;
      Fitted f;
      f.status = try_fit(sample_of({0, 0, 0, 0, sign * 1.79769313e308}), options, {}, &f);
      ASSERT_TRUE(f.status.ok()) << f.status.message;
      EXPECT_EQ(f.view().header().lattice_step, 0);
      EXPECT_EQ(count(f.view(), Range{}), 150);
      fitted::expect_sane_answers(f.view(), 20);
    }
  }
}

TEST(FitColumn, NothingButTheValuesDecides) {
  std::vector<double> x = samples::cauchy(3000, 6);
  for (Method method : kMethods) {
    for (double rows_per_row : {1.0, 5.0}) {
      FitOptions options;
      options.method = method;
      options.rows_per_row_read = rows_per_row;
      options.share_of_blocks = 1 / rows_per_row;
      Fitted first;
      Control control;
      ASSERT_TRUE(try_fit(sample_of(x), options, control, &first).ok());
      Random random(3);
      for (int threads : {1, 2, 5}) {
        for (std::size_t i = x.size() - 1; i > 0; --i) std::swap(x[i], x[random.below(i + 1)]);
        control.threads = threads;
        Fitted again;
        ASSERT_TRUE(try_fit(sample_of(x), options, control, &again).ok());
        // Totals are sums in the order of the rows.
        Header& h = again.bytes.header();
        const Header& expected = first.view().header();
        EXPECT_NEAR(h.mean, expected.mean, 1e-12 * std::fabs(h.max));
        h.mean = expected.mean;
        h.variance = expected.variance;
        EXPECT_EQ(first.bytes, again.bytes) << threads;
      }
    }
  }
}

TEST(FitColumn, StopsAtWhicheverPollSaysSo) {
  const auto s = sample_of(samples::normal(2000, 1));
  for (Method method : {Method::automatic, Method::plugin, Method::lscv}) {
    for (bool exact : {false, true}) {
      FitOptions options;
      options.method = method;
      options.exact = exact;
      options.rows_per_row_read = 3;
      Fitted f;
      StopAt never;
      ASSERT_TRUE(try_fit(s, options, never.control, &f).ok());
      ASSERT_GT(never.polls, 2);
      // Every one of the first, and then some up to the last.
      for (int k = 1; k <= never.polls; k += k < 5 ? 1 : std::max(1, never.polls / 4)) {
        StopAt stop(k);
        EXPECT_EQ(try_fit(s, options, stop.control, &f).code, Code::cancelled) << k;
        EXPECT_LE(stop.polls, k + 1);  // no work goes on for long
      }
    }
  }
}

// By a method's name every answer is the plain kernel sum over the sample with the bandwidth shown:
// what is stored is every value, so only rounding is between them. A range's
// moments lose the digits that its distance from 0 has on its width.
TEST(FitColumn, ByNameIsTheKernelSum) {
  for (const fitted::Column& column : fitted::columns(300)) {
    SCOPED_TRACE(column.name);
    const Fitted f = fit(column.x, Method::silverman);
    const DensityView d = f.view();
    ASSERT_EQ(d.header().error, 0);
    const double h = f.report.bandwidth;
    const std::vector<WeightedValue> values = samples::distinct(column.x);
    const fitted::Reference exact(values, h);
    const double n = static_cast<double>(column.x.size());
    const std::vector<double> cuts = fitted::cuts(values, h, 300);
    Random random(3);
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      const double a = cuts[i];
      ASSERT_NEAR(cdf(d, a), exact.mass(a), 1e-12) << a;
      ASSERT_NEAR(pdf(d, a) * h, exact.density(a) * h, 1e-11) << a;
      const double b = cuts[random.below(cuts.size())];
      if (!(a < b)) continue;
      const RangeMoments m = moments(d, range(a, b));
      const double mass = exact.mass(a, b);
      ASSERT_NEAR(m.count, n * mass, 1e-12 * n) << a << " " << b;
      if (!(mass > 1e-3)) continue;
      const double reach = std::max(std::fabs(a), std::fabs(b));
      ASSERT_NEAR(m.mean, exact.first(a, b) / mass, 1e-9 * reach) << a << " " << b;
    }
    for (double q : {0.001, 0.1, 0.5, 0.77, 0.999}) {
      const double x = quantile(d, q);
      ASSERT_NEAR(exact.mass(x), q, 1e-9) << q;
    }
  }
}

}  // namespace
}  // namespace kde
