// Answers from histograms against the rows they stand for, one by one, and against quadrature of
// the kernel sum.
#include "core/integrate/integrate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "answers.h"
#include "core/kernel/normal.h"
#include "core/answer/column_evidence.h"
#include "core/integrate/histogram_integral.h"
#include "core/integrate/last_cuts.h"
#include "core/random.h"
#include "histogram_fixture.h"

namespace kde {
namespace {

using histograms::Bytes;
using histograms::encode;
using histograms::mixture;
using histograms::Parts;
using histograms::Row;

Range between(double lower, double upper, bool lower_inclusive = true,
              bool upper_inclusive = true) {
  Range r;
  r.lower = lower;
  r.upper = upper;
  r.lower_unbounded = r.upper_unbounded = false;
  r.lower_inclusive = lower_inclusive;
  r.upper_inclusive = upper_inclusive;
  return r;
}

bool holds(const Range& r, double x) {
  return (r.lower_inclusive ? x >= r.lower : x > r.lower) &&
         (r.upper_inclusive ? x <= r.upper : x < r.upper);
}

struct Truth {
  double count = 0, mean = 0, variance = 0;
};

Truth truth(const std::vector<Row>& rows, const Range& r) {
  Truth t;
  double sum = 0;
  for (const Row& row : rows) {
    if (!holds(r, row.value)) continue;
    t.count += row.rows;
    sum += row.rows * row.value;
  }
  if (!(t.count > 0)) return t;
  t.mean = sum / t.count;
  for (const Row& row : rows) {
    if (holds(r, row.value)) t.variance += row.rows * (row.value - t.mean) * (row.value - t.mean);
  }
  t.variance /= t.count;
  return t;
}

// Boundaries, the middles between them, and random values.
std::vector<double> probes(const Parts& p) {
  std::vector<double> out = {p.header.min - 1, p.header.min, p.header.max, p.header.max + 1};
  Random random(8);
  for (std::size_t i = 0; i < p.cells.size(); i += 1 + p.cells.size() / 12) {
    out.push_back(p.cells[i].value);
    out.push_back(p.cells[i].value + 0.01);
  }
  for (const HistogramCell& atom : p.atoms) out.push_back(atom.value);
  for (int i = 0; i < 8; ++i)
    out.push_back(p.header.min + random.uniform() * (p.header.max - p.header.min));
  return out;
}

// With a lattice the rows are known one by one: exact but for rounding.
TEST(HistogramIntegral, OnALatticeEveryAnswerIsThatOfTheRows) {
  for (const int a_block : {1, 6, 64}) {
    Parts p = mixture(90, true);
    p.cells_a_block = a_block;
    p.key_bits = 8;
    p.rows_bits = 8;
    const Bytes b = encode(p);
    ASSERT_TRUE(b.validate().ok());
    const std::vector<Row> rows = histograms::rows_of(p, 1);
    const std::vector<double> at = probes(p);
    for (double lower : at) {
      for (double upper : at) {
        for (int closed = 0; closed < 4; ++closed) {
          const Range r = between(lower, upper, (closed & 1) != 0, (closed & 2) != 0);
          const Truth t = truth(rows, r);
          const RangeMoments m = moments(b.view(), r);
          ASSERT_NEAR(m.count, t.count, 1e-9) << lower << " " << upper << " " << closed;
          ASSERT_EQ(count(b.view(), r), m.count);
          if (!(t.count > 0.01)) continue;
          ASSERT_NEAR(m.mean, t.mean, 1e-9);
          ASSERT_NEAR(m.variance, t.variance, 1e-8);
        }
      }
    }
  }
}

// Without one a range's rows are even: `fine` of them are off by a part's rows at either end.
TEST(HistogramIntegral, WithoutALatticeRangesAreEven) {
  constexpr int kFine = 500;
  for (const int a_block : {1, 6, 64}) {
    Parts p = mixture(60, false);
    p.cells_a_block = a_block;
    const Bytes b = encode(p);
    ASSERT_TRUE(b.validate().ok());
    const std::vector<Row> rows = histograms::rows_of(p, kFine);
    const double part = 50.0 / kFine;
    const double width = p.header.max - p.header.min;
    const std::vector<double> at = probes(p);
    for (double lower : at) {
      for (double upper : at) {
        for (int closed = 0; closed < 4; ++closed) {
          const Range r = between(lower, upper, (closed & 1) != 0, (closed & 2) != 0);
          const Truth t = truth(rows, r);
          const RangeMoments m = moments(b.view(), r);
          ASSERT_NEAR(m.count, t.count, 2 * part) << lower << " " << upper << " " << closed;
          ASSERT_EQ(count(b.view(), r), m.count);
          if (t.count < 1) continue;
          const double error = 2 * part * width / t.count;
          ASSERT_NEAR(m.mean, t.mean, error);
          ASSERT_NEAR(m.variance, t.variance, 4 * error * width);
        }
      }
    }
  }
}

// Points and atoms are exact to the last bit, on either side of the bound.
TEST(HistogramIntegral, PointsAndAtomsAreExact) {
  Parts p;
  p.header = histograms::plain_header();
  for (int i = 0; i < 300; ++i) p.cells.push_back({-7.3 + i * 0.1, 1.0 + i % 9, true});
  p.atoms = {{-7.3 + 11 * 0.1, 1000, true}, {3.25, 500, true}};
  p.by_kind = true;
  histograms::set_totals(&p);
  const Bytes b = encode(p);
  ASSERT_TRUE(b.validate().ok());
  const std::vector<Row> rows = histograms::rows_of(p, 1);
  for (const Row& low : rows) {
    for (std::size_t j = 0; j < rows.size(); j += 7) {
      for (int closed = 0; closed < 4; ++closed) {
        const Range r = between(low.value, rows[j].value, (closed & 1) != 0, (closed & 2) != 0);
        ASSERT_EQ(count(b.view(), r), truth(rows, r).count);
      }
    }
  }
  double below = 0;
  const double all = b.view().header().rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    below += rows[i].rows;
    if (i + 1 < rows.size() && rows[i + 1].value == rows[i].value) continue;
    EXPECT_EQ(quantile(b.view(), below / all), rows[i].value);
    EXPECT_EQ(quantile(b.view(), (below - 0.5) / all), rows[i].value);
  }
}

TEST(HistogramIntegral, TheWholeIsTheHeadersTotals) {
  for (const bool lattice : {false, true}) {
    Parts p = mixture(200, lattice);
    p.key_bits = lattice ? 8 : 63;
    const Bytes b = encode(p);
    const Header& h = b.view().header();
    const RangeMoments m = moments(b.view(), between(h.min, h.max));
    EXPECT_EQ(m.count, h.finite_rows());
    EXPECT_EQ(m.mean, h.mean);
    EXPECT_EQ(m.variance, h.variance);
    EXPECT_EQ(count(b.view(), Range{}), h.rows);
    EXPECT_EQ(count(b.view(), between(-fitted::kInf, fitted::kInf, false, false)), h.finite_rows());
    EXPECT_EQ(moments(b.view(), Range{}).nans, h.nans);
    fitted::expect_sane_answers(b.view(), 2000);
  }
}

// Rounding included: units beyond 2^53 in a block, parts of units, ranges narrow and wide.
TEST(HistogramIntegral, CountsNeverFall) {
  for (const bool lattice : {false, true}) {
    Parts p = mixture(150, lattice);
    p.key_bits = lattice ? 8 : 63;
    p.cells_a_block = 9;
    p.header.nans = p.header.negative_infinities = p.header.positive_infinities = 0;
    for (HistogramCell& cell : p.cells) {
      if (cell.rows > 0) cell.rows = 1 + cell.rows * 1.7e14;
    }
    const Bytes b = encode(p);
    ASSERT_TRUE(b.validate().ok());
    const Header& h = b.view().header();
    double before = 0;
    const auto expect_above = [&](double x, bool inclusive) {
      Range r = between(0, x, true, inclusive);
      r.lower_unbounded = true;
      const double c = count(b.view(), r);
      ASSERT_GE(c, before) << x;
      before = c;
    };
    for (double x = h.min - 0.1; x < h.max + 0.1; x += 0.013) {
      for (double y : {x, std::nextafter(x, 1e9)}) {
        expect_above(y, false);
        expect_above(y, true);
      }
    }
    EXPECT_EQ(before, h.rows);
  }
}

// What was cut last changes no answer, in whatever order ends come: bit for bit.
TEST(HistogramIntegral, LastCutsChangeNothing) {
  for (const fitted::Column& column : fitted::columns(4000)) {
    SCOPED_TRACE(column.name);
    const fitted::Fitted f = fitted::fit(column.x);
    const DensityView plain = f.view();
    LastCuts cuts;
    const DensityView view(&plain.header(), {nullptr, nullptr, &cuts});
    Random random(1);
    std::vector<double> ends = {plain.header().min, plain.header().max};
    for (int i = 0; i < 300; ++i) {
      // Some ends ascend within a block, some are where another was.
      const double x = column.x[random.below(column.x.size())];
      const double before = ends[random.below(ends.size())];
      ends.insert(ends.end(), {x, std::nextafter(x, 1e300), x, before});
    }
    for (const double x : ends) {
      for (const bool inclusive : {false, true}) {
        ASSERT_EQ(histogram::finite_below(view, x, inclusive),
                  histogram::finite_below(plain, x, inclusive));
        const CutCell a = cut_cell(view, x, inclusive), b = cut_cell(plain, x, inclusive);
        ASSERT_EQ(std::vector({a.low, a.high, a.below, a.rows}),
                  std::vector({b.low, b.high, b.below, b.rows}));
      }
    }
  }
}

TEST(HistogramIntegral, QuantilesInvertTheDistribution) {
  for (const bool lattice : {false, true}) {
    Parts p = mixture(150, lattice);
    p.key_bits = lattice ? 8 : 63;
    p.header.nans = p.header.negative_infinities = p.header.positive_infinities = 0;
    const Bytes b = encode(p);
    const Header& h = b.view().header();
    double before = h.min;
    for (int i = 0; i <= 5000; ++i) {
      const double q = i / 5000.0;
      const double x = quantile(b.view(), q);
      ASSERT_GE(x, before);
      before = x;
      ASSERT_LE(x, h.max);
      ASSERT_GE(cdf(b.view(), x), q - 1e-12) << q;
      if (q == 0) continue;
      // Not before: at the lattice point, or just, before it.
      const double less = lattice ? x - h.lattice_step : x - 1e-9;
      ASSERT_LT(cdf(b.view(), less), q) << q;
      if (lattice) {
        ASSERT_EQ(x, h.lattice_point(std::nearbyint((x - h.lattice_offset) * 4)));
      }
    }
    EXPECT_EQ(quantile(b.view(), 0), h.min);
    EXPECT_EQ(quantile(b.view(), 1), h.max);
  }
}

// A bound within 1e-15 of a lattice point is that point: of cells and of atoms.
TEST(HistogramIntegral, BoundsBesideALatticePoint) {
  Parts p;
  p.header = histograms::plain_header();
  p.header.lattice_step = 0.1;
  p.header.lattice_scale = 10;
  p.cells = {{0, 1, true}, {1.1, 10, false}};
  p.atoms = {{0.3, 7, true}};
  p.key_bits = 4;
  histograms::set_totals(&p);
  const Bytes b = encode(p);
  ASSERT_TRUE(b.validate().ok());
  ASSERT_NE(0.1 + 0.2, 0.3);
  for (double x : {0.3, 0.1 + 0.2, std::nextafter(0.3, 0.0)}) {
    EXPECT_EQ(count(b.view(), between(0, x)), 11) << x;
    EXPECT_EQ(count(b.view(), between(0, x, true, false)), 3) << x;
    EXPECT_EQ(count(b.view(), between(x, x)), 8) << x;
  }
  EXPECT_NEAR(pdf(b.view(), 0.3), 8 / 18.0 / 0.1, 1e-12);
  EXPECT_NEAR(pdf(b.view(), 0.54), 1 / 18.0 / 0.1, 1e-12);
}

TEST(HistogramIntegral, ColumnsOfEveryScale) {
  for (const double scale : {1e-310, 1e-200, 1e-3, 1e200, 1e306}) {
    Parts p = mixture(60, false);
    for (std::vector<HistogramCell>* list : {&p.cells, &p.atoms}) {
      for (HistogramCell& cell : *list) cell.value *= scale;
    }
    p.header.bandwidth = 2 * scale;
    p.header.min *= scale;
    p.header.max *= scale;
    p.header.mean *= scale;
    p.header.variance = 1;
    for (const std::uint8_t flags : {kBounded | kEveryRowRead, int{kEveryRowRead}}) {
      p.header.flags = flags;
      const Bytes b = encode(p);
      ASSERT_TRUE(b.validate().ok()) << b.validate().message;
      fitted::expect_sane_answers(b.view(), 500);
      const Range r = between(-10 * scale, 20 * scale);
      Parts one = mixture(60, false);
      one.header.bandwidth = 2;
      one.header.flags = flags;
      const RangeMoments of_one = moments(encode(one).view(), between(-10, 20));
      const RangeMoments m = moments(b.view(), r);
      // Subnormal values have 13 digits less.
      const double digits = scale < 1e-300 ? 1e-3 : 1e-9;
      EXPECT_NEAR(m.count, of_one.count, digits * of_one.count) << scale;
      EXPECT_NEAR(m.mean / scale, of_one.mean, digits * 30) << scale;
      if (scale > 1e-150 && scale < 1e150) {
        EXPECT_NEAR(m.variance / scale / scale, of_one.variance, digits * 900) << scale;
      }
    }
  }
}

// A bound far beyond the rows takes no digits from their mean.
TEST(HistogramIntegral, MeanBelowAFarBound) {
  Parts p;
  p.header = histograms::plain_header();
  p.header.min = p.header.mean = 1500.25;
  p.header.max = 1e17;
  for (int i = 0; i < 300; ++i) p.cells.push_back({1500.25 + i, 1, true});
  p.cells.push_back({1e17, 1, true});
  const Bytes b = encode(p);
  ASSERT_TRUE(b.validate().ok()) << b.validate().message;
  for (const double bound : {1e4, 1e12, 1e16, 9.9e16})
    EXPECT_EQ(moments(b.view(), between(0, bound)).mean, 1500.25 + 149.5) << bound;
}

// The middle of a range of subnormal numbers is in it: half of the least rounds to nothing.
TEST(HistogramIntegral, MiddleOfSubnormalValues) {
  const double least = std::numeric_limits<double>::denorm_min();
  Parts p;
  p.header = histograms::plain_header();
  p.header.min = p.header.mean = least;
  p.header.max = 512 * least;
  p.header.lattice_step = 50 * least;
  p.header.nans = 1;
  p.header.rows = 1 + 0x1p-40;
  p.header.sample_rows = 1;
  p.keep_header = true;
  p.cells = {{0, 0, true}};
  Bytes b = encode(p);
  // Rows in cells that have none are refused. A mean of them is in its range all the same.
  b.header().cell_rows = 0x1p-40;
  ASSERT_FALSE(b.validate().ok());
  const RangeMoments m = moments(b.view(), between(-least, least));
  ASSERT_GT(m.finite, 0);
  EXPECT_EQ(m.mean, least);
}

// ---------------------------------------------------------------------------- the kernel sum

// Cells as uniform stretches [a, b]; points have a = b.
struct Stretch {
  double a, b, rows;
};
std::vector<Stretch> stretches(const Parts& p) {
  std::vector<Stretch> out;
  const double half = p.header.lattice_step / 2;
  double before = p.cells[0].value;
  for (const HistogramCell& cell : p.cells) {
    if (cell.point) {
      out.push_back({cell.value, cell.value, cell.rows});
    } else if (cell.rows > 0) {
      out.push_back({before + half, cell.value - half, cell.rows});
    }
    before = cell.value;
  }
  for (const HistogramCell& atom : p.atoms) out.push_back({atom.value, atom.value, atom.rows});
  return out;
}

double kernel_density(const std::vector<Stretch>& s, double h, double x) {
  double f = 0;
  for (const Stretch& c : s) {
    f += c.rows * (c.b > c.a ? (normal_cdf((x - c.a) / h) - normal_cdf((x - c.b) / h)) / (c.b - c.a)
                             : normal_pdf((x - c.a) / h) / h);
  }
  return f;
}

// Simpson's rule of (x - c)^k f over [low, high], in steps well below the bandwidth.
struct Quadrature {
  double m0 = 0, m1 = 0, m2 = 0;
};
Quadrature integrate(const std::vector<Stretch>& s, double h, double low, double high) {
  const int n = 2 * static_cast<int>(std::ceil((high - low) / h * 10));
  Quadrature q;
  for (int i = 0; i <= n; ++i) {
    const double x = low + (high - low) * i / n;
    const double weight = (i == 0 || i == n ? 1 : i % 2 == 1 ? 4 : 2) * (high - low) / n / 3;
    const double f = weight * kernel_density(s, h, x);
    q.m0 += f;
    q.m1 += f * x;
    q.m2 += f * x * x;
  }
  return q;
}

TEST(HistogramKernel, AnswersAreTheKernelSums) {
  for (const bool lattice : {false, true}) {
    for (const double h : {0.05, 0.7, 6.0, 300.0}) {
      SCOPED_TRACE(h);
      Parts p = mixture(60, lattice);
      p.key_bits = lattice ? 8 : 63;
      p.cells_a_block = 6;
      p.header.flags = kEveryRowRead;
      p.header.bandwidth = h;
      const Bytes b = encode(p);
      ASSERT_TRUE(b.validate().ok());
      const std::vector<Stretch> s = stretches(p);
      const double rows = b.view().header().rows;
      const double span = p.header.max - p.header.min;
      for (const auto& [from, to] : std::vector<std::pair<double, double>>{
               {0.1, 0.3}, {0.25, 0.27}, {-0.3, 0.5}, {0.62, 1.4}}) {
        const double low = p.header.min + from * span;
        const double high = p.header.min + to * span;
        // A twentieth of a bandwidth a step: Simpson's error is below (1/20)^4/180 f''''.
        const Quadrature q = integrate(s, h, low, high);
        const RangeMoments m = moments(b.view(), between(low, high));
        EXPECT_NEAR(m.count, q.m0, 1e-6 * q.m0 + 1e-9);
        EXPECT_EQ(count(b.view(), between(low, high)), m.count);
        if (!(q.m0 > 1e-3)) continue;
        const double mean = q.m1 / q.m0;
        EXPECT_NEAR(m.mean, mean, 1e-5 * (high - low));
        const double edge =
            (high - mean) * kernel_density(s, h, high) - (low - mean) * kernel_density(s, h, low);
        const double share = std::clamp(q.m0 - edge, 0.0, q.m0);
        const double variance = q.m2 / q.m0 - mean * mean - h * h * share / q.m0;
        const double half = (high - low) / 2;
        EXPECT_NEAR(m.variance, std::clamp(variance, 0.0, half * half),
                    1e-4 * (high - low) * (high - low));
        EXPECT_NEAR(pdf(b.view(), low), kernel_density(s, h, low) / rows, 1e-12);
      }
      // The whole line: the totals.
      EXPECT_EQ(moments(b.view(), Range{}).variance, p.header.variance);
      EXPECT_NEAR(count(b.view(), between(-1e4, 1e4)), b.view().header().finite_rows(), 1e-6);
      fitted::expect_sane_answers(b.view(), 300);
    }
  }
}

TEST(HistogramKernel, QuantilesInvertTheDistribution) {
  for (const double h : {0.05, 6.0}) {
    Parts p = mixture(60, false);
    p.header.flags = kEveryRowRead;
    p.header.bandwidth = h;
    p.header.nans = p.header.negative_infinities = p.header.positive_infinities = 0;
    const Bytes b = encode(p);
    double before = -fitted::kInf;
    for (int i = 1; i < 400; ++i) {
      const double q = i / 400.0;
      const double x = quantile(b.view(), q);
      ASSERT_GT(x, before);
      before = x;
      ASSERT_NEAR(cdf(b.view(), x), q, 1e-11);
    }
  }
}

// Cells far narrower than the bandwidth, where the differences lose digits, against their middles:
// by (w/h)^2/24 times the second derivative's largest share.
// A bandwidth that vanishes beside the lattice's step shows in no answer, least of all as NaN.
TEST(HistogramKernel, BandwidthFarBelowTheLattice) {
  Parts p;
  p.header = histograms::plain_header();
  p.header.flags = kEveryRowRead;
  p.header.lattice_step = 1e200;
  p.header.bandwidth = 1e-130;
  p.cells = {{0, 3, true}};
  const Bytes b = encode(p);
  ASSERT_TRUE(b.validate().ok()) << b.validate().message;
  fitted::expect_sane_answers(b.view(), 2000);
  const RangeMoments m = moments(b.view(), between(-1, 1));
  EXPECT_EQ(m.count, 3);
  EXPECT_EQ(m.mean, 0);
  EXPECT_EQ(m.variance, 0);
}

TEST(HistogramKernel, NarrowCells) {
  for (const double w : {0.5, 0.04, 0.03, 1e-3, 1e-6, 1e-9, 1e-13}) {
    Parts p;
    p.header = histograms::plain_header();
    p.header.flags = kEveryRowRead;
    p.header.bandwidth = 1;
    p.cells = {{1, 0, false}, {1 + w, 1000, false}};
    histograms::set_totals(&p);
    const Bytes b = encode(p);
    ASSERT_TRUE(b.validate().ok());
    const double middle = 1 + w / 2;
    for (double t = -6; t < 8; t += 0.37) {
      const double z = t - middle;
      const double e = w * w / 24;
      // With the next term of the series, w^4/1920 phi''' , |phi'''| < 1.4.
      EXPECT_NEAR(1000 * cdf(b.view(), t), 1000 * (normal_cdf(z) - e * z * normal_pdf(z)),
                  1.4 * w * w * w * w + 1e-10)
          << w << " " << t;
      EXPECT_NEAR(pdf(b.view(), t), normal_pdf(z) * (1 + e * (z * z - 1)),
                  0.01 * w * w * w * w + 1e-13);
    }
  }
}

// kBounded: the kernel only in pdf(), reflected: its integral over [min, max] is 1.
TEST(HistogramKernel, ReflectedDensity) {
  for (const bool lattice : {false, true}) {
    Parts p = mixture(60, lattice);
    p.key_bits = lattice ? 8 : 63;
    p.header.bandwidth = 1.5;
    p.header.nans = p.header.negative_infinities = p.header.positive_infinities = 0;
    const Bytes b = encode(p);
    const Header& h = b.view().header();
    const std::vector<Stretch> s = stretches(p);
    constexpr int kSteps = 4000;
    double sum = 0;
    for (int i = 0; i <= kSteps; ++i) {
      const double x = h.min + (h.max - h.min) * i / kSteps;
      const double f = pdf(b.view(), std::min(x, h.max));
      sum += f * (i == 0 || i == kSteps ? 1 : i % 2 == 1 ? 4 : 2);
      if (i % 100 != 0) continue;
      EXPECT_NEAR(f,
                  (kernel_density(s, 1.5, x) + kernel_density(s, 1.5, 2 * h.min - x) +
                   kernel_density(s, 1.5, 2 * h.max - x)) /
                      h.rows,
                  1e-9);
    }
    EXPECT_NEAR(sum * (h.max - h.min) / kSteps / 3, 1, 1e-6);
    EXPECT_EQ(pdf(b.view(), h.min - 1), 0);
    EXPECT_EQ(pdf(b.view(), h.max + 1), 0);
  }
}

// A die: a kernel narrower than half the step between its faces would make a comb of it.
TEST(HistogramKernel, DensityOfFewLatticePoints) {
  Parts p;
  p.header = histograms::plain_header();
  p.header.lattice_step = 1;
  p.header.bandwidth = 0.2;
  for (int face = 1; face <= 6; ++face) p.cells.push_back({static_cast<double>(face), 10, true});
  const Bytes b = encode(p);
  for (double x : {1.0, 2.0, 2.4, 3.6, 6.0}) EXPECT_NEAR(pdf(b.view(), x), 1.0 / 6, 1e-12) << x;
}

TEST(HistogramIntegral, DensityWithoutAKernel) {
  Parts p;
  p.header = histograms::plain_header();
  p.cells = {{0, 2, true}, {4, 8, false}, {6, 0, false}, {8, 10, false}};
  p.atoms = {{1, 20, true}};
  histograms::set_totals(&p);
  const Bytes b = encode(p);
  EXPECT_DOUBLE_EQ(pdf(b.view(), 1), 2 / 40.0);
  EXPECT_DOUBLE_EQ(pdf(b.view(), 3), 2 / 40.0);
  EXPECT_EQ(pdf(b.view(), 5), 0);
  EXPECT_DOUBLE_EQ(pdf(b.view(), 7), 5 / 40.0);
  EXPECT_EQ(pdf(b.view(), -1), 0);
  EXPECT_EQ(pdf(b.view(), 9), 0);
}

// ------------------------------------------------------------------------------- intervals

// The stored function may be off by Header::error anywhere; any column whose distribution function
// is that close lies within all intervals.
TEST(HistogramInterval, HoldsEveryColumnWithinTheError) {
  Random random(21);
  for (int trial = 0; trial < 40; ++trial) {
    Parts truth_parts = mixture(80, false, 5 + static_cast<std::uint64_t>(trial));
    truth_parts.atoms.clear();
    truth_parts.header.nans = truth_parts.header.negative_infinities = 0;
    truth_parts.header.positive_infinities = 0;
    histograms::set_totals(&truth_parts);
    const Bytes exact = encode(truth_parts);
    const double rows = exact.view().header().rows;
    // The same with rows moved to the next cell, at most 6 at a time.
    Parts off = truth_parts;
    for (std::size_t i = 1; i + 2 < off.cells.size(); i += 2) {
      HistogramCell& from = off.cells[i];
      HistogramCell& to = off.cells[i + 1];
      if (!(from.rows > 7) || !(to.rows > 0)) continue;
      const double moved = static_cast<double>(1 + random.below(6));
      from.rows -= moved;
      to.rows += moved;
    }
    off.header.error = 6 / rows;
    const Bytes stored = encode(off);
    ASSERT_TRUE(stored.validate().ok());
    const std::vector<double> at = probes(truth_parts);
    for (int i = 0; i < 200; ++i) {
      double a = at[random.below(at.size())];
      double b = at[random.below(at.size())];
      if (a > b) std::swap(a, b);
      const Range r = between(a, b, random.below(2) == 0, random.below(2) == 0);
      const RangeMoments m = moments(exact.view(), r);
      const Interval c = interval_of(Wanted::count, stored.view(), r, {});
      ASSERT_LE(c.lower, m.count + 1e-9);
      ASSERT_GE(c.upper, m.count - 1e-9);
      ASSERT_LE(c.upper - c.lower, 4 * 6 + 1e-9);
      if (!(m.count > 0) || !(c.estimate > 0)) continue;
      const Interval sum = interval_of(Wanted::sum, stored.view(), r, {});
      ASSERT_LE(sum.lower, m.mean * m.count + 1e-6);
      ASSERT_GE(sum.upper, m.mean * m.count - 1e-6);
      const Interval mean = interval_of(Wanted::mean, stored.view(), r, {});
      ASSERT_LE(mean.lower, m.mean + 1e-9);
      ASSERT_GE(mean.upper, m.mean - 1e-9);
      const double q = random.uniform();
      const Interval x = quantile_interval(stored.view(), q, {});
      const double true_quantile = quantile(exact.view(), q);
      ASSERT_LE(x.lower, true_quantile + 1e-9);
      ASSERT_GE(x.upper, true_quantile - 1e-9);
    }
  }
}

TEST(HistogramInterval, NoneWhereNothingIsUncertain) {
  Parts p = mixture(80, false);
  const Bytes exact = encode(p);
  const Interval some = interval_of(Wanted::count, exact.view(), between(-10, 10), {});
  EXPECT_EQ(some.lower, some.estimate);
  EXPECT_EQ(some.upper, some.estimate);
  p.header.error = 0.01;
  const Bytes stored = encode(p);
  const Header& h = stored.view().header();
  for (const Range& r : {Range{}, between(h.min, h.max), between(h.min - 1, h.max + 1),
                         between(-fitted::kInf, fitted::kInf)}) {
    const Interval all = interval_of(Wanted::count, stored.view(), r, {});
    EXPECT_EQ(all.lower, all.estimate);
    EXPECT_EQ(all.upper, all.estimate);
    const Interval mean = interval_of(Wanted::mean, stored.view(), r, {});
    EXPECT_EQ(mean.lower, mean.upper);
  }
  // One end cut, and two.
  const Interval one = interval_of(Wanted::count, stored.view(), between(h.min, 10), {});
  EXPECT_NEAR(one.upper - one.estimate, 0.01 * h.rows, 1e-9);
  const Interval two = interval_of(Wanted::count, stored.view(), between(-10, 10), {});
  EXPECT_NEAR(two.upper - two.estimate, 0.02 * h.rows, 1e-9);
}

}  // namespace
}  // namespace kde
