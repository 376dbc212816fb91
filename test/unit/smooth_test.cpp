// The stored density against the kernel sum it stands for: what integrate.h promises of counts,
// sums and pdf, on shapes that make it hard, in every range that the cuts of fitted.h span.
#include "core/estimate/smooth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "core/density/cell.h"
#include "core/density/text.h"
#include "core/estimate/kernel_grid.h"
#include "fitted.h"

namespace kde {
namespace {

using fitted::Fitted;
using fitted::Reference;

std::vector<WeightedValue> ascending(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  std::vector<WeightedValue> out;
  for (double v : x) out.push_back({v, 1});
  return out;
}

// counts: header of integrate.h. A range's count errs by the difference of the errors at its ends,
// so the largest error less the smallest bounds every range between the cuts at once.
//
// sums: with F the kernel sum's distribution function, G the stored one, |G - F| <= e,
//   integral_a^b (x - c) d(G - F) = [(x - c)(G - F)]_a^b - integral_a^b (G - F) dx,
// at most e (|b - c| + |a - c| + (b - a)) <= 4 e max(|a - c|, |b - c|); fit_smooth works to
// e = 2.4e-6 and the grid to 5.5e-8, so 1e-5 max(...) is kept.
//
// A compact kernel's points may be merged, and its corners lie between nodes: compact_nodes.h
// bounds both by 1.3e-6, so that e = 3.7e-6 and 1.5e-5 max(...) is kept.
//
// pdf: within 1e-3 of its maximum, but for the uniform kernel's, which jumps.
void expect_represents(const std::vector<double>& x, const Fitted& f, int limit) {
  const DensityView d = f.view();
  const Header& h = d.header();
  const double n = static_cast<double>(x.size());
  ASSERT_LE(f.size, kMaxBytes);
  ASSERT_EQ(h.smooth_rows, n);
  const std::vector<WeightedValue> values = ascending(x);
  const bool bounded = (h.flags & kBounded) != 0;
  std::unique_ptr<Reference> reference;
  if (bounded) {
    reference = std::make_unique<Reference>(values, h.bandwidth, h.min, h.max, h.kernel);
  } else {
    reference = std::make_unique<Reference>(values, h.bandwidth, h.kernel);
  }
  const std::vector<double> cuts = fitted::cuts(values, h.bandwidth, limit);

  double lowest = 0;  // at -infinity nothing errs
  double highest = 0;
  double peak = 0;
  double worst_pdf = 0;
  std::vector<double> mass;
  for (double t : cuts) {
    mass.push_back(reference->mass(t));
    const double error = cdf(d, t) - mass.back();
    lowest = std::min(lowest, error);
    highest = std::max(highest, error);
    const double density = reference->density(t);
    peak = std::max(peak, density);
    worst_pdf = std::max(worst_pdf, std::fabs(pdf(d, t) - density));
  }
  EXPECT_LE(highest - lowest, 1e-5);
  if (h.kernel != Kernel::uniform) {
    EXPECT_LE(worst_pdf, 1e-3 * peak);
  }
  // What was found at other points than the builder's, against what it says of itself.
  EXPECT_LE(std::max(highest, -lowest), std::max(2 * h.error, 1e-5));

  Random random(21);
  const int ranges = std::clamp(static_cast<int>(1e6 / n), 12, 60);
  for (int i = 0; i < ranges; ++i) {
    std::size_t p = random.below(cuts.size());
    std::size_t q = random.below(cuts.size());
    // Half the ranges narrow.
    if (i % 2 == 0) q = std::min(p + 1 + random.below(5), cuts.size() - 1);
    if (p > q) std::swap(p, q);
    const double a = cuts[p];
    const double b = cuts[q];
    if (!(a < b)) continue;
    const Range r = fitted::range(a, b);
    const RangeMoments m = moments(d, r);
    EXPECT_EQ(m.count, count(d, r));
    EXPECT_NEAR(m.count, n * (mass[q] - mass[p]), 1e-5 * n) << a << " " << b;
    // Automatic answers the whole range from the totals, which are the data's.
    if (bounded && a <= h.min && b >= h.max) continue;
    // AVG may be asked of the outermost tail, where the whole stretch has no mass to speak of.
    const double first = reference->first(a, b);
    for (double c : {a, b, a + (b - a) / 2, 0.0, b + 3 * (b - a)}) {
      const double expected = n * (first - c * (mass[q] - mass[p]));
      // The reference's own rounding, in its x and mass.
      const double rounding =
          1e-14 * n * std::max({std::fabs(a), std::fabs(b), std::fabs(c), h.bandwidth});
      const double reach = std::max(std::fabs(a - c), std::fabs(b - c));
      const double sum_bound = h.kernel == Kernel::gaussian ? 1e-5 : 1.5e-5;
      EXPECT_NEAR(m.finite * (m.mean - c), expected, sum_bound * n * reach + rounding)
          << a << " " << b << " about " << c;
    }
  }
}

class Representation : public testing::TestWithParam<int> {};

TEST_P(Representation, KeepsWhatItPromises) {
  const int n = GetParam();
  for (const fitted::Column& column : fitted::columns(n)) {
    SCOPED_TRACE(testing::Message() << column.name << ", n = " << n);
    // One sum is 2 n exponentials.
    expect_represents(column.x, fitted::fit(column.x, Method::plugin),
                      std::clamp(4'000'000 / n, 50, 1200));
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, Representation, testing::Values(2, 20, 300, 5000, 100000));

class CompactRepresentation : public testing::TestWithParam<int> {};

TEST_P(CompactRepresentation, KeepsWhatItPromises) {
  const int n = GetParam();
  for (const fitted::Column& column : fitted::columns(n)) {
    for (Kernel kernel : {Kernel::epanechnikov, Kernel::biweight, Kernel::triangular,
                          Kernel::uniform, Kernel::cosine}) {
      for (Method method : {Method::plugin, Method::automatic}) {
        SCOPED_TRACE(testing::Message()
                     << column.name << ", n = " << n << ", " << kernel_name(kernel) << ", "
                     << (method == Method::plugin ? "plugin" : "automatic"));
        const Fitted f = fitted::fit(column.x, method, 0, kernel);
        ASSERT_EQ(f.view().header().kernel, kernel);
        if (f.report.atoms > 0) continue;
        expect_represents(column.x, f, std::clamp(300'000 / n, 30, 300));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, CompactRepresentation, testing::Values(2, 3, 10, 100, 1000, 20000));

TEST(Representation, SilvermanOversmoothsAndIsKeptAllTheSame) {
  for (const fitted::Column& column : fitted::columns(300)) {
    SCOPED_TRACE(column.name);
    expect_represents(column.x, fitted::fit(column.x, Method::silverman), 1500);
  }
}

// Over all of the smooth part nothing is lost at cell boundaries and what the cubics miss is added
// block by block, so that the moments are the kernel sum's but for the grid's Taylor series
// (kernel_grid_test.cpp: with l half the support, 2 (5.5e-8 l + 1.2e-7 h) and, of the second about
// the middle, 2 (5.5e-8 l^2 + 2.3e-7 l h + 4.5e-7 h^2)) and the masses' rounding, 2^-33 at 2 ends
// of a block.
TEST(Representation, WholeSmoothPartKeepsItsMoments) {
  for (const fitted::Column& column : fitted::columns(300)) {
    SCOPED_TRACE(column.name);
    const Fitted f = fitted::fit(column.x, Method::plugin);
    const double h = f.report.bandwidth;
    const auto [low, high] = std::minmax_element(column.x.begin(), column.x.end());
    const double l = (*high - *low) / 2 + 8 * h;
    const double middle = *low + (*high - *low) / 2;
    double mean = 0;
    double square = 0;  // about the middle
    for (double v : column.x) {
      mean += (v - middle) / 300;
      square += (v - middle) * (v - middle) / 300;
    }
    const RangeMoments m = moments(f.view(), fitted::range(middle - l, middle + l));
    const double blocks = f.view().blocks();
    const double first_bound = 2 * (5.5e-8 * l + 1.2e-7 * h) + blocks * 0x1p-32 * l;
    EXPECT_NEAR(m.mean - middle, mean, first_bound);
    const double second_bound =
        2 * (5.5e-8 * l * l + 2.3e-7 * l * h + 4.5e-7 * h * h) + blocks * 0x1p-32 * l * l;
    // The kernel's h^2 is taken out; the square of the mean errs by 2 |mean| first_bound.
    EXPECT_NEAR(m.variance, square - mean * mean, second_bound + 2 * std::fabs(mean) * first_bound);
  }
}

// What a block stores of its moments is what a range over all of it adds; of half of it, half the
// first and an eighth of the second about the middle of the half (see integrate.cpp).
TEST(Representation, StoredMomentsOfABlockAreAdded) {
  DensityParts p;
  p.header.method = Method::plugin;
  p.header.rows = p.header.smooth_rows = 1;
  p.header.slope_unit = 1;
  p.header.min = -0.5;
  p.header.max = 0.5;
  p.knot_u = {-0.5, 0.5};
  p.knot_mass = {0, kMassOne};
  p.knot_slope = {1, 1};
  p.block_moment = {1 / 64.0f, 1 / 128.0f};
  Fitted f;
  ASSERT_TRUE(encode(p, &f.words, &f.size).ok());
  RangeMoments m = moments(f.view(), fitted::range(-1, 1));
  EXPECT_NEAR(m.mean, 1 / 64.0, 1e-12);
  EXPECT_NEAR(m.variance, 1 / 12.0 + 1 / 128.0 - 1 / 4096.0, 1e-12);
  // The half [0, 0.5] of mass 1/2 has the mean 1/4 and the variance 1/48 but for these.
  m = moments(f.view(), fitted::range(0, 1));
  EXPECT_NEAR(m.mean, 1 / 4.0 + 1 / 64.0, 1e-12);
  EXPECT_NEAR(m.variance, 1 / 48.0 + 2 / (8 * 128.0) - 1 / 4096.0, 1e-12);
}

KernelGrid rough_grid(std::vector<WeightedValue>* values) {
  Random random(3);
  std::vector<double> x;
  for (int i = 0; i < 200; ++i) x.push_back(1.8 * random.uniform() - 0.9);
  *values = ascending(x);
  return KernelGrid::unbounded(*values, 0.001);
}

TEST(FitSmooth, FewKnotsAreFilledAndTheErrorSaysSo) {
  std::vector<WeightedValue> values;
  const KernelGrid grid = rough_grid(&values);
  double before = 0;
  for (std::size_t limit : {2000, 100, 20, 2}) {
    SCOPED_TRACE(limit);
    SmoothPart part;
    ASSERT_TRUE(fit_smooth(grid, limit, Control{}, &part).ok());
    ASSERT_LE(part.knot_u.size(), limit);
    ASSERT_GE(part.knot_u.size(), 2u);
    EXPECT_EQ(part.knot_mass.front(), 0u);
    EXPECT_EQ(part.knot_mass.back(), kMassOne);
    EXPECT_EQ(part.block_moment.size(),
              2 * ((part.knot_u.size() - 1 + kBlockCells - 1) / kBlockCells));
    EXPECT_GE(part.error, before);
    before = part.error;
    // Between the builder's test nodes (a sixth of a cell apart, a twelfth from the ends) a cubic's
    // error, which is 0 at both ends, cannot be twice what they see unless it oscillates faster.
    double worst = 0;
    std::size_t cell = 0;
    for (std::int64_t q = 0; q < grid.nodes(); q += 3) {
      const double u = grid.position(q);
      while (cell + 2 < part.knot_u.size() && part.knot_u[cell + 1] <= u) ++cell;
      const Cell c = Cell::hermite(part.knot_u[cell], part.knot_u[cell + 1],
                                   part.knot_mass[cell] / double{kMassOne},
                                   part.knot_mass[cell + 1] / double{kMassOne},
                                   unpack_slope(part.knot_slope[cell]) * part.slope_unit,
                                   unpack_slope(part.knot_slope[cell + 1]) * part.slope_unit);
      worst = std::max(worst, std::fabs(c.value(c.local(u)) - grid.value(q).mass));
    }
    EXPECT_LE(worst, 2 * part.error + 1e-9);
  }
  EXPECT_GT(before, 0.01);  // two knots cannot hold 200 spikes
}

struct StopAt {
  int at;
  int polls = 0;
};

bool stop_at(void* arg) {
  auto* s = static_cast<StopAt*>(arg);
  return ++s->polls >= s->at;
}

TEST(FitSmooth, StopsWhenAsked) {
  std::vector<WeightedValue> values;
  const KernelGrid grid = rough_grid(&values);
  StopAt never{1 << 30};
  SmoothPart part;
  ASSERT_TRUE(fit_smooth(grid, 300, {1, stop_at, &never}, &part).ok());
  ASSERT_GT(never.polls, 2);
  for (int k = 1; k <= std::min(never.polls, 20); ++k) {
    StopAt stop{k};
    EXPECT_EQ(fit_smooth(grid, 300, {1, stop_at, &stop}, &part).code, Code::cancelled) << k;
  }
}

// The cubic of a cell is exact for cubics, moments included.
TEST(Cell, HermiteReproducesACubic) {
  // G(u) = u^3 on [1, 2], shifted: G - 1.
  const Cell c = Cell::hermite(1, 2, 0, 7, 3, 12);
  for (double s : {0.0, 0.25, 0.5, 0.9, 1.0}) {
    const double u = 1 + s;
    EXPECT_NEAR(c.value(s), u * u * u - 1, 1e-14);
    EXPECT_NEAR(c.slope(s), 3 * u * u, 1e-13);
  }
  // dG = 3 u^2 du: integrals of (u - 1.5)^k dG over [1.25, 1.75].
  const StretchMoments m = c.moments(0.25, 0.75, 1.5);
  const auto p = [](double u, int k) { return 3 * std::pow(u, 3 + k) / (3 + k); };
  const double i0 = p(1.75, 0) - p(1.25, 0);
  const double i1 = p(1.75, 1) - p(1.25, 1);
  const double i2 = p(1.75, 2) - p(1.25, 2);
  EXPECT_NEAR(m.m0, i0, 1e-14);
  EXPECT_NEAR(m.m1, i1 - 1.5 * i0, 1e-14);
  EXPECT_NEAR(m.m2, i2 - 3 * i1 + 2.25 * i0, 1e-13);
  EXPECT_EQ(c.local(0), 0);
  EXPECT_EQ(c.local(3), 1);
}

}  // namespace
}  // namespace kde
