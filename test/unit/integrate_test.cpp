// The answers' promises: whole, monotone, additive, ordered, within bounds; exact on atoms and on
// lattices; the data's own moments.
#include "core/integrate/integrate.h"

#include "core/density/names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "answers.h"
#include "core/kernel/normal.h"
#include "fitted.h"
#include "histogram_fixture.h"

namespace kde {
namespace {

using fitted::fit;
using fitted::Fitted;
using fitted::kInf;
using fitted::kNan;
using fitted::range;
using fitted::sample_of;

Range from(double a, bool inclusive = true) {
  Range r;
  r.lower = a;
  r.lower_unbounded = false;
  r.lower_inclusive = inclusive;
  return r;
}

Range up_to(double b, bool inclusive = true) {
  Range r;
  r.upper = b;
  r.upper_unbounded = false;
  r.upper_inclusive = inclusive;
  return r;
}

std::vector<fitted::Column> automatic_columns() {
  std::vector<fitted::Column> out = fitted::columns(2000);
  // Whole numbers by the hundred thousand, on their lattice; and an alphabet.
  std::vector<double> x = samples::normal(2000, 6);
  for (double& v : x) v = std::round(400 * v);
  out.push_back({"integers on a lattice", x});
  for (double& v : x) v = std::round(v / 200);
  out.push_back({"alphabet", x});
  return out;
}

Fitted fit_automatic(const fitted::Column& c) {
  return fit(c.x, Method::automatic, c.name == "integers on a lattice" ? 1 : 0);
}

// Ends of ranges: specials, the extremes, values of the data and points between.
std::vector<double> points_of(const std::vector<double>& x) {
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  std::vector<double> p = {-kInf, *low - 1, *low, *high, *high + 1, kInf};
  Random random(8);
  for (int i = 0; i < 40; ++i) {
    p.push_back(x[random.below(x.size())]);
    p.push_back(*low + (*high - *low) * random.uniform());
    p.push_back(x[random.below(x.size())] + random.uniform() - 0.5);
  }
  std::sort(p.begin(), p.end());
  return p;
}

TEST(Automatic, WholeRangeIsAllRowsAndTheDatasOwnMoments) {
  for (const fitted::Column& c : automatic_columns()) {
    SCOPED_TRACE(c.name);
    const Fitted f = fit_automatic(c);
    const DensityView d = f.view();
    const SummaryTotals t = fitted::sample_of(c.x).totals;
    const double n = static_cast<double>(c.x.size());
    for (const Range& r : {Range{}, range(t.min(), t.max()), range(-kInf, kInf), up_to(t.max()),
                           range(t.min() - 1, kNan), from(t.min())}) {
      EXPECT_EQ(count(d, r), n);
      const RangeMoments m = moments(d, r);
      EXPECT_EQ(m.count, n);
      EXPECT_EQ(m.finite, n);
      EXPECT_EQ(m.mean, t.mean());
      EXPECT_EQ(m.variance, t.variance());
    }
    // Nothing outside, on either side.
    EXPECT_EQ(count(d, up_to(t.min(), false)), 0);
    EXPECT_EQ(count(d, from(t.max(), false)), 0);
    EXPECT_EQ(count(d, range(t.max() + 1, t.max() + 2)), 0);
    EXPECT_EQ(cdf(d, t.max()), 1);
    // A hair below a lattice point is that point.
    const bool lattice = d.header().lattice_step > 0;
    EXPECT_EQ(cdf(d, lattice ? t.min() - 0.25 : std::nextafter(t.min(), -kInf)), 0);
    EXPECT_EQ(pdf(d, t.max() + 1), 0);
  }
}

TEST(Automatic, MonotoneAdditiveAndWithinBounds) {
  for (const fitted::Column& c : automatic_columns()) {
    SCOPED_TRACE(c.name);
    const Fitted f = fit_automatic(c);
    const DensityView d = f.view();
    const Header& h = d.header();
    const std::vector<double> p = points_of(c.x);
    // Half-open pieces add up: [p0, p1) + [p1, p2) + ... is everything below the last point.
    double pieces = count(d, up_to(p[0], false));
    for (std::size_t i = 0; i + 1 < p.size(); ++i) {
      pieces += count(d, range(p[i], p[i + 1], true, false));
      ASSERT_NEAR(pieces, count(d, up_to(p[i + 1], false)), 1e-9 * h.rows) << p[i + 1];
      ASSERT_LE(cdf(d, p[i]), cdf(d, p[i + 1]));
    }
    Random random(31);
    for (int i = 0; i < 3000; ++i) {
      const double a = p[random.below(p.size())];
      const double b = p[random.below(p.size())];
      const Range r = range(a, b, random.below(2) == 0, random.below(2) == 0);
      const RangeMoments m = moments(d, r);
      ASSERT_EQ(m.count, count(d, r));
      ASSERT_GE(m.count, 0);
      if (a > b) {
        ASSERT_EQ(m.count, 0);
      }
      // Larger on each side, and by taking in its ends.
      Range wider = r;
      wider.lower_inclusive = wider.upper_inclusive = true;
      ASSERT_LE(m.count, count(d, wider));
      wider.lower = std::min(p[random.below(p.size())], a);
      ASSERT_LE(m.count, count(d, wider));
      wider.upper = std::max(p[random.below(p.size())], b);
      ASSERT_LE(m.count, count(d, wider));
      if (m.finite > 0) {
        ASSERT_GE(m.mean, std::max(a, h.min)) << a << " " << b;
        ASSERT_LE(m.mean, std::min(b, h.max)) << a << " " << b;
        // Popoviciu: at most a quarter of the squared width.
        const double width = std::min(b, h.max) - std::max(a, h.min);
        ASSERT_GE(m.variance, 0);
        ASSERT_LE(m.variance, width * width / 4 * (1 + 1e-12));
      }
    }
  }
}

// Blocks added up beforehand: the same rows, so the same moments but for rounding, which is that of
// sums of as many numbers of the range's width.
TEST(Automatic, BlockMomentsChangeNothing) {
  std::vector<fitted::Column> columns = automatic_columns();
  std::vector<double> x = samples::normal(5000, 9);
  for (double& v : x) v *= 1e150;
  columns.push_back({"large", x});
  for (double& v : x) v *= 1e-150 * 1e-150;
  columns.push_back({"small", x});
  int most_blocks = 0;
  for (const fitted::Column& c : columns) {
    SCOPED_TRACE(c.name);
    const Fitted f = fit_automatic(c);
    std::vector<double> memory(block_sums_size(f.view()) / sizeof(double));
    const BlockSums sums = add_up_blocks(f.view(), memory.data());
    ASSERT_NE(sums.moments, nullptr);
    most_blocks = std::max(most_blocks, f.view().blocks());
    const DensityView with(f.bytes.data(), sums);
    Random random(4);
    for (int i = 0; i < 200; ++i) {
      double low = quantile(f.view(), random.uniform());
      double high = quantile(f.view(), random.uniform());
      if (low > high) std::swap(low, high);
      Range r = range(low, high);
      r.lower_inclusive = random.below(2) == 0;
      r.lower_unbounded = random.below(8) == 0;
      const RangeMoments slow = moments(f.view(), r);
      const RangeMoments fast = moments(with, r);
      ASSERT_EQ(fast.finite, slow.finite);
      const Header& h = f.view().header();
      const double width = (r.lower_unbounded ? high / 2 - h.min / 2 : high / 2 - low / 2) * 2;
      ASSERT_NEAR(fast.mean, slow.mean, 1e-12 * width);
      ASSERT_NEAR(std::sqrt(fast.variance), std::sqrt(slow.variance), 1e-6 * width);
    }
  }
  EXPECT_GT(most_blocks, 8);
}

// Everywhere cdf(quantile(q)) >= q, but for the rounding of ranks, and anything less has a smaller
// cdf.
TEST(Automatic, QuantileInvertsCdf) {
  for (const fitted::Column& c : automatic_columns()) {
    SCOPED_TRACE(c.name);
    const Fitted f = fit_automatic(c);
    const DensityView d = f.view();
    const Header& h = d.header();
    EXPECT_EQ(quantile(d, 1), h.max);
    EXPECT_GE(quantile(d, 0), h.min);
    double before = h.min;
    for (int i = 0; i <= 1000; ++i) {
      const double q = i / 1000.0;
      const double x = quantile(d, q);
      ASSERT_GE(x, before) << q;
      ASSERT_LE(x, h.max) << q;
      before = x;
      const double slack = 1e-9;
      ASSERT_GE(cdf(d, x), q - slack) << q;
      // Just below, and at least one lattice point below, the rank is not reached.
      const double less = h.lattice_step > 0 ? x - h.lattice_step
                                             : x - 1e-9 * std::max(std::fabs(x), h.max - h.min);
      if (less >= h.min) {
        ASSERT_LE(cdf(d, less), q + slack) << q;
      }
      if (h.lattice_step > 0) {
        ASSERT_EQ(x, std::round(x));
      }
    }
  }
}

// Whole numbers, few and many, as counts of every row and as the estimate from a sample of a third.
void expect_lattice_points(const std::vector<double>& x, const Fitted& f) {
  const DensityView d = f.view();
  const Header& h = d.header();
  ASSERT_EQ(h.lattice_step, 1);
  double sum = 0;
  for (double k = h.min; k <= h.max; ++k) {
    const double at = count(d, range(k, k));
    sum += at;
    EXPECT_EQ(count(d, range(k, k, false, true)), 0);
    EXPECT_EQ(count(d, range(k, k, true, false)), 0);
    EXPECT_EQ(count(d, range(k + 0.1, k + 0.9)), 0);
    EXPECT_NEAR(count(d, range(k - 0.5, k + 0.5)), at, 1e-9 * h.rows);
    EXPECT_NEAR(count(d, range(k - 1, k + 1, false, false)), at, 1e-9 * h.rows);
    EXPECT_NEAR(count(d, range(k, k + 1, true, false)), at, 1e-9 * h.rows);
    // An average of one point is that point.
    if (at > 0) {
      EXPECT_EQ(moments(d, range(k, k)).mean, k);
      EXPECT_EQ(moments(d, range(k, k)).variance, 0);
    }
  }
  EXPECT_NEAR(sum, h.rows, 1e-9 * h.rows);
  for (double v : x) ASSERT_GT(count(d, range(v, v)), 0) << v;
}

TEST(Lattice, PointsShareAllRowsAndOpenBoundsExcludeTheirOwn) {
  const fitted::Column c = automatic_columns()[8];
  expect_lattice_points(c.x, fit(c.x, Method::automatic, 1));

  std::vector<double> x = samples::normal(2000, 6);
  for (double& v : x) v = std::round(100 * v);
  expect_lattice_points(x, fit(x, Method::automatic, 1));

  FitOptions options;
  options.rows_per_row_read = 3;
  for (double step : {0.0, 1.0}) {  // known from the type, or found
    options.lattice_step = step;
    const Fitted sampled = fit(sample_of(x), options);
    expect_lattice_points(x, sampled);
  }
}

// Decimal fractions are not exact in binary: 0.1 + 0.2 and 0.3 are one lattice point.
TEST(Lattice, DecimalStepsAreFoundInSpiteOfRounding) {
  std::vector<double> x;
  for (double z : samples::normal(3000, 2)) x.push_back(std::round(1000 * z) / 100);
  const Fitted f = fit(x);
  const DensityView d = f.view();
  ASSERT_NEAR(d.header().lattice_step, 0.01, 1e-17);
  for (int i = -500; i <= 500; ++i) {
    const double exact = i / 100.0;
    const double by_sum = (i / 10) * 0.1 + (i % 10) * 0.01;
    const double by_product = i * 0.01;
    EXPECT_EQ(count(d, up_to(exact)), count(d, up_to(by_sum)));
    EXPECT_EQ(count(d, up_to(exact)), count(d, up_to(by_product)));
    EXPECT_EQ(count(d, up_to(exact, false)), count(d, up_to(by_product, false)));
    EXPECT_EQ(count(d, up_to(exact + 0.004)), count(d, up_to(exact)));
    EXPECT_EQ(count(d, up_to(exact - 0.004)), count(d, up_to(exact, false)));
  }
}

// A lattice's points are the decimal literals, and so are bounds that SQL reads.
TEST(Lattice, DecimalPointsAreTheirLiterals) {
  std::map<double, double> counts;
  std::vector<double> x;
  for (double z : samples::normal(3000, 2)) x.push_back(std::round(100 * z) / 100);
  for (double v : x) ++counts[v];
  for (double rows_per_row : {1.0, 2.0}) {
    FitOptions options;
    options.rows_per_row_read = rows_per_row;
    const Fitted f = fit(sample_of(x), options);
    const DensityView d = f.view();
    ASSERT_NEAR(d.header().lattice_step, 0.01, 1e-17);
    ASSERT_EQ(d.header().lattice_scale, 100);
    for (const auto& [v, n] : counts) {
      const double rows = count(d, range(v, v));
      ASSERT_GT(rows, 0) << v;
      if (rows_per_row == 1) {
        ASSERT_EQ(rows, n) << v;
      }
      ASSERT_NEAR(count(d, up_to(v)) - count(d, up_to(v, false)), rows, 1e-9 * d.header().rows);
      ASSERT_EQ(count(d, up_to(v, false)), count(d, up_to(v - 0.004)));
      ASSERT_EQ(moments(d, range(v, v)).mean, v);
      ASSERT_EQ(quantile(d, cdf(d, v)), v);
    }
  }
}

// Of a long lattice, far from 0 and with its offset there: a literal is its point,
// though its distance from the offset in steps is rounded at the literal's size.
TEST(Lattice, DecimalBoundsOfALongLattice) {
  std::vector<double> x;
  for (double z : samples::normal(20000, 2)) x.push_back(std::round(50000 + 1000 * z) / 100);
  const Fitted f = fit(x);
  const DensityView d = f.view();
  ASSERT_EQ(d.header().lattice_scale, 100);
  for (int i = 48000; i <= 52000; ++i) {
    const double v = i / 100.0;
    ASSERT_EQ(count(d, up_to(v)), count(d, up_to(v + 0.004))) << v;
    ASSERT_EQ(count(d, up_to(v, false)), count(d, up_to(v - 0.004))) << v;
    if (count(d, range(v, v)) > 0) {
      ASSERT_EQ(quantile(d, cdf(d, v) - 1e-9), v);
    }
  }
}

// Seconds since 1970: 1.7e9 steps from the lattice's offset, a bound between two of them.
TEST(Lattice, BoundsFarFromTheOffset) {
  std::vector<double> x;
  for (double z : samples::normal(3000, 2)) x.push_back(1.7e9 + std::round(1000 * z));
  const Fitted f = fit(x, Method::automatic, 1);
  const DensityView d = f.view();
  for (double k : {x[0], x[1], x[2]}) {
    ASSERT_GT(count(d, range(k, k)), 0);
    EXPECT_EQ(count(d, up_to(k + 0.7)), count(d, up_to(k)));
    EXPECT_EQ(count(d, up_to(k - 0.3)), count(d, up_to(k, false)));
    EXPECT_EQ(count(d, from(k + 0.3)), count(d, from(k, false)));
  }
}

// Beside a step of 1e257 all of [min, max] is the lattice point 0, and so is a range of it whose
// bounds are in the wrong order. Its mean is within them, not the middle of the stored cells.
TEST(Lattice, BoundsOfOnePointInTheWrongOrder) {
  histograms::Parts parts;
  parts.header.lattice_step = 2.612970063016972e+257;
  parts.header.lattice_offset = 2.3422698888e-312;
  parts.cells = {{0, 3, true}};
  histograms::set_totals(&parts);
  parts.header.max = 7.291129461820036e-304;
  parts.header.mean = 1.989371055e-314;
  const histograms::Bytes bytes = histograms::encode(parts);
  ASSERT_TRUE(bytes.validate().ok()) << bytes.validate().message;
  const DensityView d = bytes.view();
  fitted::expect_sane_answers(d, 2000);
  const RangeMoments m = moments(d, range(d.header().mean, 0));
  if (m.finite > 0) {
    EXPECT_GE(m.mean, 0);
    EXPECT_LE(m.mean, d.header().mean);
  }
}

TEST(Atoms, AreExact) {
  std::map<double, int> counts;
  std::vector<double> x;
  Random random(9);
  for (int i = 0; i < 5000; ++i) {
    const double v = static_cast<double>(random.below(80)) / 7 - 3;
    x.push_back(v);
    ++counts[v];
  }
  const Fitted f = fit(x);
  const DensityView d = f.view();
  std::sort(x.begin(), x.end());
  for (int i = 0; i < 500; ++i) {
    double a = x[random.below(x.size())];
    double b = x[random.below(x.size())];
    if (random.below(3) == 0) a += 0.01;
    if (a > b) std::swap(a, b);
    const Range r = range(a, b, random.below(2) == 0, random.below(2) == 0);
    double n = 0;
    long double sum = 0;
    long double squares = 0;
    for (double v : x) {
      if ((r.lower_inclusive ? v >= a : v > a) && (r.upper_inclusive ? v <= b : v < b)) {
        ++n;
        sum += v;
        squares += static_cast<long double>(v) * v;
      }
    }
    ASSERT_EQ(count(d, r), n);
    if (n == 0) continue;
    const RangeMoments m = moments(d, r);
    const double mean = static_cast<double>(sum / n);
    // Sums of at most 80 terms of |x| <= 9 in double: 80 2^-53 9 and 81.
    ASSERT_NEAR(m.mean, mean, 1e-13);
    ASSERT_NEAR(m.variance, static_cast<double>(squares / n) - mean * mean, 1e-12);
  }
  // Quantiles are the data's order statistics.
  for (std::size_t i = 0; i < x.size(); i += 7)
    ASSERT_EQ(quantile(d, (static_cast<double>(i) + 0.5) / 5000), x[i]) << i;
}

TEST(Specials, CountedApartAndOrderedAsPostgresDoes) {
  const std::vector<double> z = samples::normal(600, 3);
  for (bool with_atoms : {false, true}) {
    std::vector<double> x = with_atoms ? std::vector<double>(600, 2.0) : z;
    x.insert(x.end(), 5, kNan);
    x.insert(x.end(), 3, kInf);
    x.insert(x.end(), 2, -kInf);
    const Fitted f = fit(x);
    const DensityView d = f.view();
    EXPECT_EQ(count(d, Range{}), 610);
    EXPECT_EQ(count(d, range(-kInf, -kInf)), 2);
    EXPECT_EQ(count(d, range(-kInf, kInf, false, false)), 600);
    EXPECT_EQ(count(d, range(-kInf, kInf, true, false)), 602);
    EXPECT_EQ(count(d, range(-kInf, kInf, false, true)), 603);
    EXPECT_EQ(count(d, range(-kInf, kInf)), 605);
    EXPECT_EQ(count(d, range(kInf, kInf)), 3);
    EXPECT_EQ(count(d, range(kInf, kNan, false, true)), 5);
    EXPECT_EQ(count(d, range(kNan, kNan)), 5);
    EXPECT_EQ(count(d, range(kNan, kNan, false, true)), 0);
    EXPECT_EQ(count(d, range(kNan, kInf)), 0);
    EXPECT_EQ(count(d, up_to(kNan, false)), 605);
    EXPECT_EQ(count(d, up_to(kNan)), 610);
    EXPECT_EQ(count(d, from(kInf)), 8);
    EXPECT_EQ(count(d, from(kInf, false)), 5);
    EXPECT_EQ(count(d, up_to(-kInf, false)), 0);
    const RangeMoments m = moments(d, Range{});
    EXPECT_EQ(m.nans, 5);
    EXPECT_EQ(m.positive_infinities, 3);
    EXPECT_EQ(m.negative_infinities, 2);
    EXPECT_EQ(m.finite, 600);
    EXPECT_TRUE(std::isfinite(m.mean));
    const RangeMoments tail = moments(d, from(1));
    EXPECT_EQ(tail.nans, 5);
    EXPECT_EQ(tail.positive_infinities, 3);
    EXPECT_EQ(tail.negative_infinities, 0);
    EXPECT_NEAR(tail.finite, tail.count - 8, 1e-9);
    EXPECT_GE(tail.mean, 1);
    EXPECT_EQ(cdf(d, -kInf), 2.0 / 610);
    EXPECT_EQ(cdf(d, kInf), 605.0 / 610);
    EXPECT_EQ(cdf(d, kNan), 1);
    EXPECT_EQ(quantile(d, 0), -kInf);
    EXPECT_EQ(quantile(d, 2.0 / 610), -kInf);
    EXPECT_TRUE(std::isfinite(quantile(d, 2.5 / 610)));
    EXPECT_TRUE(std::isfinite(quantile(d, 602.0 / 610)));
    EXPECT_EQ(quantile(d, 604.0 / 610), kInf);
    EXPECT_TRUE(std::isnan(quantile(d, 607.0 / 610)));
    EXPECT_TRUE(std::isnan(quantile(d, 1)));
    EXPECT_EQ(pdf(d, kInf), 0);
    EXPECT_EQ(pdf(d, kNan), 0);
  }
}

TEST(Specials, EmptyRanges) {
  const Fitted f = fit(samples::normal(100, 1));
  Range empty;
  empty.empty = true;
  EXPECT_EQ(count(f.view(), empty), 0);
  EXPECT_EQ(moments(f.view(), empty).count, 0);
  EXPECT_EQ(count(f.view(), range(1, 0)), 0);
  EXPECT_EQ(count(f.view(), range(0.5, 0.5)), 0);
  EXPECT_EQ(moments(f.view(), range(1, 0)).finite, 0);
}

// The values of a big smooth sample in [a, b] against the density's variance there. The two
// distribution functions, which do not fall, differ by at most D (measured here, at every
// twentieth value, between which both only rise), so that with
// w = b - a and rows in the range m (fractions):
//   the second moment about the middle errs by at most 2 D (w/2)^2 + 2 D (w/2)^2 = D w^2,
//   the first by 2 D w (and what its square adds, by 2 (w/2) 2 D w = 2 D w^2),
//   the mass by 2 D, which changes a mean square of at most w^2/4 by D w^2/2 and the
//   squared mean by at most D w^2;
// together 4.5 D w^2/m and terms of D^2; and the kernel's h^2, of which all or nothing is taken
// out.
TEST(Variance, OfARangeIsTheDatas) {
  constexpr int kRows = 50000, kStride = 20;
  std::vector<double> x = samples::normal(kRows, 12);
  std::sort(x.begin(), x.end());
  for (Method method : {Method::automatic, Method::plugin}) {
    const Fitted f = fit(x, method);
    const DensityView d = f.view();
    double distance = 0;
    double before = 0;
    for (int i = 0; i <= kRows; i += kStride) {
      const double c = i < kRows ? cdf(d, x[static_cast<std::size_t>(i)]) : 1;
      distance = std::max({distance, std::fabs(c - (i - kStride) / double{kRows}),
                           std::fabs(before - (i + 1) / double{kRows})});
      before = c;
    }
    const double h = f.report.bandwidth;
    for (const auto& [a, b] : {std::pair{-1.0, 1.0}, {-0.5, 1.0}, {0.0, 1.5}}) {
      SCOPED_TRACE(testing::Message() << a << " " << b);
      double n = 0, sum = 0, squares = 0;
      for (double v : x) {
        if (v < a || v > b) continue;
        ++n;
        sum += v;
        squares += v * v;
      }
      const double w = std::min(b, x.back()) - std::max(a, x.front());
      const double variance = squares / n - sum / n * sum / n;
      const double bound = 5 * distance * w * w * kRows / n + h * h;
      ASSERT_LT(bound, variance);  // else it says nothing
      EXPECT_NEAR(moments(d, range(a, b)).variance, variance, bound);
    }
  }
}

// Ranges off the centre of the column, and at a reflecting end. The stddev of n_r rows in a range
// has a relative standard error of at most sqrt(kurtosis/(4 n_r)); within a range kurtosis is below
// 3, and n_r is above 3,000 here, so four standard errors are 6.4 %. What remains of the
// first-order correction is of the order of h^4, below 1 % at these widths (4 h and more).
TEST(Variance, OffCentreAndAtTheEnds) {
  const auto check = [](const std::vector<double>& x, Method method, double a, double b) {
    SCOPED_TRACE(testing::Message() << method_name(method) << " " << a << " to " << b);
    FitOptions options;
    options.method = method;
    options.every_row_read = true;
    const Fitted f = fit(sample_of(x), options);
    long double n = 0;
    long double sum = 0;
    long double squares = 0;
    for (double v : x) {
      if (v < a || v > b) continue;
      n += 1;
      sum += v;
      squares += static_cast<long double>(v) * v;
    }
    ASSERT_GT(n, 3000);
    const long double mean = sum / n;
    const double sd = std::sqrt(static_cast<double>(squares / n - mean * mean));
    EXPECT_NEAR(std::sqrt(moments(f.view(), range(a, b)).variance), sd, 0.074 * sd);
  };
  const std::vector<double> normal = samples::normal(50000, 11);
  std::vector<double> uniform;
  Random random(12);
  for (int i = 0; i < 50000; ++i) uniform.push_back(random.uniform());
  for (Method method : {Method::automatic, Method::plugin}) {
    check(normal, method, 0.8, 1.8);
    check(normal, method, -2.2, -0.9);
    check(normal, method, 0.2, 3);
    check(uniform, method, 0.7, 0.9);
  }
  check(uniform, Method::automatic, 0.85, 2);
  check(uniform, Method::automatic, -1, 0.12);
}

// Off a lattice the keys of the greatest values may be rounded beyond the greatest: a range up to
// it has their rows all the same.
TEST(Automatic, MomentsUpToTheGreatestValue) {
  std::vector<double> x;
  Random random(7);
  for (int i = 0; i < 50000; ++i) x.push_back(std::pow(random.uniform(), -0.7));
  const Fitted f = fit(x);
  std::sort(x.begin(), x.end());
  for (const std::size_t last : {1U, 2U, 10U, 100U, 5000U}) {
    const double least = x[x.size() - last];
    const RangeMoments open = moments(f.view(), from(least));
    for (const double beyond : {1.0, 1.000001, 2.0}) {
      const RangeMoments m = moments(f.view(), range(least, beyond * x.back()));
      EXPECT_NEAR(m.count, open.count, 1e-9 * static_cast<double>(last));
      EXPECT_NEAR(m.mean, open.mean, 1e-9 * open.mean) << last << ' ' << beyond;
    }
  }
}

// A kernel's sums over whole blocks are within what the series leaves out of those over cells.
TEST(Variance, BlockSeriesAgreeWithCells) {
  int series = 0;
  for (const fitted::Column& c : automatic_columns()) {
    SCOPED_TRACE(c.name);
    const Fitted f = fit(c.x, Method::silverman);
    std::vector<double> memory(block_sums_size(f.view()) / sizeof(double));
    const BlockSums sums = add_up_blocks(f.view(), memory.data());
    const DensityView with(f.bytes.data(), sums);
    if (sums.series == nullptr) continue;
    for (int b = 0; b < with.blocks(); ++b) series += sums.series[b].radius <= 1 ? 1 : 0;
    const Header& h = f.view().header();
    Random random(4);
    for (int i = 0; i < 100; ++i) {
      const double x = quantile(f.view(), random.uniform());
      const double y = quantile(f.view(), random.uniform());
      const Range r = range(std::min(x, y), std::max(x, y));
      const RangeMoments slow = moments(f.view(), r);
      const RangeMoments fast = moments(with, r);
      ASSERT_NEAR(fast.finite, slow.finite, 1e-10 * h.rows);
      ASSERT_NEAR(pdf(with, x), pdf(f.view(), x), 1e-9 / h.bandwidth);
      if (slow.finite < 1) continue;
      const double reach = r.upper - r.lower + h.bandwidth;
      ASSERT_NEAR(fast.mean, slow.mean, 1e-8 * reach);
      ASSERT_NEAR(fast.variance, slow.variance, 1e-8 * reach * reach);
      ASSERT_NEAR(quantile(with, i / 100.0), quantile(f.view(), i / 100.0), 1e-7 * reach);
    }
    for (const double far : {1e18, 1e300, std::numeric_limits<double>::max()}) {
      for (const double x : {-far, far}) {
        EXPECT_NEAR(cdf(with, x), cdf(f.view(), x), 1e-10) << x;
        EXPECT_EQ(pdf(with, x), 0) << x;
      }
    }
  }
  EXPECT_GT(series, 50);
}

// Far from its ends a plain kernel sum's range has the data's variance plus h^2, which is taken
// out.
TEST(Variance, KernelsOwnSpreadIsTakenOut) {
  std::vector<double> x = samples::normal(400, 5);
  for (std::size_t i = 0; i < 200; ++i) x[i] += 100;  // two groups, apart
  const Fitted f = fit(x, Method::silverman);
  const double h = f.report.bandwidth;
  // Far too wide: the kernel's variance is most of what the density shows.
  const double spread = h * h;
  ASSERT_GT(spread, 25);
  ASSERT_LT(spread, 50.0 * 50 / 2);
  double mean = 0, variance = 0;
  for (double v : x) mean += v / 400;
  for (double v : x) variance += (v - mean) * (v - mean) / 400;
  const double margin = 10 * h;
  const double reach = 100 + 2 * margin;
  // All of the mass but Phi(-8), by the integrals and not by the totals;
  // those hold the second moment to some 1e-13 reach^2.
  const RangeMoments m = moments(f.view(), range(-margin, 100 + margin));
  EXPECT_NEAR(m.mean, mean, 1e-11 * reach);
  EXPECT_NEAR(m.variance, variance, 1e-11 * reach * reach);
  EXPECT_GT(spread, 10 * 1e-11 * reach * reach);  // the test would see it left in
}

// Where the kernel reaches beyond double precision not all rows are below its last number: the
// quantile of them all is that number, not a little less than the one before.
TEST(KernelSums, QuantilesAscendToTheLastNumber) {
  histograms::Parts parts;
  parts.header.flags = kFitted;
  parts.header.bandwidth = std::numeric_limits<double>::max();
  parts.cells = {{-std::numeric_limits<double>::max(), 1, true}, {0, 16, true}};
  histograms::set_totals(&parts);
  const histograms::Bytes bytes = histograms::encode(parts);
  ASSERT_TRUE(bytes.validate().ok());
  for (int i = 0; i < 100; ++i)
    EXPECT_LE(quantile(bytes.view(), i / 100.0), quantile(bytes.view(), (i + 1) / 100.0)) << i;
}

TEST(Automatic, SpreadsAtomsByTheReflectedKernel) {
  std::vector<double> x;
  for (int i = 0; i < 60; ++i) x.push_back(i % 2 == 0 ? 0 : 10);
  // Half the rows at either end of [min, max], where the kernel is reflected.
  const Fitted f = fit(x);
  const double h = f.report.bandwidth;
  ASSERT_GT(h, 0);
  ASSERT_LT(h, 1.2);  // the other end's is beyond its reach
  for (const double t : {0.0, 0.4, 0.6, 2.0}) {
    EXPECT_NEAR(pdf(f.view(), t), normal_pdf(t / h) / h, 1e-12);
    EXPECT_NEAR(pdf(f.view(), 10 - t), normal_pdf(t / h) / h, 1e-12);
  }
  EXPECT_EQ(pdf(f.view(), -0.1), 0);
}

}  // namespace
}  // namespace kde
