// fit_column's automatic on columns of every kind: the fit succeeds, what is stored is what was
// there, and every answer keeps its promises whatever the column (a random search over mixtures).
#include "core/fit/described.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "answers.h"
#include "core/density/names.h"
#include "distinct.h"
#include "fitted.h"

namespace kde {
namespace {

using fitted::fit;
using fitted::Fitted;
using fitted::kInf;
using fitted::range;
using fitted::sample_of;

// Half-open, so that neighbours share nothing.
Range from_to(double a, double b) { return range(a, b, true, false); }

// A column by name, n values, all drawn with this generator.
struct Shape {
  const char* name;
  std::vector<double> (*draw)(int n, Random& random);
};

double normal(Random& random) {
  const double radius = std::sqrt(-2 * std::log(random.uniform()));
  return radius * std::cos(2 * M_PI * random.uniform());
}

template <typename Value>
std::vector<double> each(int n, Random& random, Value value) {
  std::vector<double> x;
  for (int i = 0; i < n; ++i) x.push_back(value(random));
  return x;
}

const Shape kShapes[] = {
    {"normal", [](int n, Random& r) { return each(n, r, [](Random& q) { return normal(q); }); }},
    {"lognormal",
     [](int n, Random& r) {
       return each(n, r, [](Random& q) { return std::exp(2 * normal(q)); });
     }},
    {"negative lognormal",
     [](int n, Random& r) { return each(n, r, [](Random& q) { return -std::exp(normal(q)); }); }},
    {"Cauchy",
     [](int n, Random& r) {
       return each(n, r, [](Random& q) { return std::tan(M_PI * (q.uniform() - 0.5)); });
     }},
    {"uniform", [](int n, Random& r) { return each(n, r, [](Random& q) { return q.uniform(); }); }},
    {"integers heaped at tens",
     [](int n, Random& r) {
       return each(n, r, [](Random& q) {
         const double v = std::round(200 + 60 * normal(q));
         return q.below(3) == 0 ? 10 * std::round(v / 10) : v;
       });
     }},
    {"many integers",
     [](int n, Random& r) {
       return each(n, r, [](Random& q) { return std::round(3000 * normal(q)); });
     }},
    {"huge integers",
     [](int n, Random& r) {
       return each(n, r, [](Random& q) { return 1e15 + std::round(400 * normal(q)); });
     }},
    {"cents with strays",
     [](int n, Random& r) {
       return each(n, r, [](Random& q) {
         const double v = std::round(500 + 100 * normal(q)) / 100;
         return q.below(200) == 0 ? v + 0.003 * q.uniform() : v;
       });
     }},
    {"degrees",
     [](int n, Random& r) {
       return each(n, r, [](Random& q) { return (3200 + 18 * std::round(80 * normal(q))) / 100; });
     }},
    {"days",
     [](int n, Random& r) {
       return each(n, r, [](Random& q) { return 86400 * (17000 + double(q.below(3000))); });
     }},
    {"zeros and more",
     [](int n, Random& r) {
       return each(n, r, [](Random& q) { return q.below(3) == 0 ? std::exp(normal(q)) : 0.0; });
     }},
    {"clumps",
     [](int n, Random& r) {
       return each(n, r, [](Random& q) { return std::sqrt(1.0 + double(q.below(700))); });
     }},
    {"two values",
     [](int n, Random& r) { return each(n, r, [](Random& q) { return double(q.below(2)); }); }},
    {"a constant", [](int n, Random& r) { return each(n, r, [](Random&) { return 0.3; }); }},
    {"an outlier",
     [](int n, Random& r) {
       std::vector<double> x = each(n, r, [](Random& q) { return normal(q); });
       x[0] = 1e9;
       return x;
     }},
    {"integers and an outlier beyond any lattice",
     [](int n, Random& r) {
       std::vector<double> x = each(n, r, [](Random& q) { return 3600.0 * double(q.below(90)); });
       x[0] = -1e300;
       return x;
     }},
    {"near the largest double",
     [](int n, Random& r) {
       return each(n, r, [](Random& q) { return 1.7e308 * (2 * q.uniform() - 1); });
     }},
    {"1e300",
     [](int n, Random& r) { return each(n, r, [](Random& q) { return 1e300 * normal(q); }); }},
    {"denormals",
     [](int n, Random& r) {
       return each(n, r, [](Random& q) { return 5e-324 * std::round(1000 * normal(q)); });
     }},
    {"neighbours",
     [](int n, Random& r) {
       return each(n, r, [](Random& q) { return 1 + 0x1p-52 * double(q.below(50)); });
     }},
};

// The properties that every density of automatic has, on ranges between values, points beside them
// and points between. null, or what is broken.
std::string broken(const Fitted& f, const std::vector<double>& x, Random& random, int ranges) {
  const DensityView d = f.view();
  const Header& h = d.header();
  const auto say = [](const char* what, double a, double b, double c = 0, double e = 0) {
    char text[300];
    std::snprintf(text, sizeof text, "%s: %.17g, %.17g; %.17g, %.17g", what, a, b, c, e);
    return std::string(text);
  };
  if (f.bytes.size() > kSampleBytes) return "too long";
  if (const Status s = validate(f.bytes.data(), f.bytes.size()); !s.ok()) return s.message;
  const double tolerance = 1e-9 * h.rows;
  const auto near = [tolerance](double a, double b) { return std::fabs(a - b) <= tolerance; };
  if (!near(count(d, Range{}), h.rows)) return "the whole line";
  if (!near(count(d, range(h.min, h.max)), h.finite_rows()))
    return say("all finite values", count(d, range(h.min, h.max)), h.finite_rows(), h.rows);
  if (count(d, from_to(-kInf, h.min)) > h.negative_infinities) return "rows below the least";
  if (const char* insane = fitted::insane_answer(d, 20)) return insane;
  const auto point = [&] {
    const double v = x[random.below(x.size())];
    switch (random.below(5)) {
      case 0:
        return std::nextafter(v, random.below(2) == 0 ? kInf : -kInf);
      case 1:
        return v + (x[random.below(x.size())] - v) * random.uniform();
      case 2:
        return h.min + (h.max / 2 - h.min / 2) * (2.2 * random.uniform() - 0.1);
      default:
        return v;
    }
  };
  for (int i = 0; i < ranges; ++i) {
    double p[3] = {point(), point(), point()};
    std::sort(p, p + 3);
    const auto [a, b, c] = p;
    if (std::isnan(a) || std::isnan(b) || std::isnan(c)) continue;
    // Additive over adjoining ranges, monotone.
    const double ab = count(d, from_to(a, b));
    const double bc = count(d, from_to(b, c));
    const double ac = count(d, from_to(a, c));
    if (!near(ab + bc, ac)) return say("not additive", a, b, c, ab + bc - ac);
    // Within one cell, but for the last digit.
    const double digit = 1e-15 * h.rows;
    if (!(ab >= 0 && ab <= ac + digit && bc <= ac + digit))
      return say("not monotone", a, c, ab - ac, bc - ac);
    if (count(d, range(a, b)) < ab || count(d, range(a, b, false, false)) > ab)
      return say("an end takes rows away", a, b);
    for (const Range& r : {from_to(a, c), range(b, c), range(a, b, false, true), range(b, b)}) {
      const RangeMoments m = moments(d, r);
      if (m.count != count(d, r)) return say("two counts", a, b, c);
      if (!(m.finite > 0)) continue;
      const double low = std::max(r.lower, h.min);
      const double high = std::min(r.upper, h.max);
      // A bound within the last digits of a lattice point, of the offset or of the step, is that
      // point.
      const double hair =
          h.lattice_step > 0
              ? 2e-15 * std::max({std::fabs(m.mean), std::fabs(h.lattice_offset), h.lattice_step})
              : 0;
      if (!(m.mean >= low - hair && m.mean <= high + hair))
        return say("mean", r.lower, r.upper, m.mean);
      if (!(m.variance >= 0)) return say("variance", r.lower, r.upper, m.variance);
    }
    // The two inverses, with the positions' and ranks' rounding.
    if (h.nans + h.positive_infinities + h.negative_infinities > 0) continue;
    const double q = cdf(d, b);
    if (!(q >= 0 && q <= 1)) return say("cdf", b, q);
    const double back = quantile(d, q);
    // (At 0 there is no value to be less than.)
    if (q > 0 && !(back <= b + 1e-9 * (std::fabs(b) + (h.max / 2 - h.min / 2))))
      return say("quantile(cdf(x)) > x", b, back, q);
    const double u = random.uniform();
    const double at = quantile(d, u);
    if (!(at >= h.min && at <= h.max)) return say("quantile", u, at);
    // Between two doubles, the one below may be a hair short.
    if (!(cdf(d, std::nextafter(at, kInf)) >= u - 1e-9))
      return say("cdf(quantile(q)) < q", u, at, cdf(d, at));
  }
  return "";
}

TEST(FitAutomatic, EveryShapeInEveryType) {
  for (const Shape& shape : kShapes) {
    for (int n : {3, 60, 2500}) {
      for (double rows_per_row : {1.0, 3.0}) {
        SCOPED_TRACE(testing::Message() << shape.name << ", " << n << " of " << rows_per_row * n);
        Random random(static_cast<std::uint64_t>(n));
        const std::vector<double> x = shape.draw(n, random);
        FitOptions options;
        options.rows_per_row_read = rows_per_row;
        options.every_row_read = rows_per_row == 1;
        options.value_type = static_cast<ValueType>(random.below(kValueTypes));
        Sampler::Options sampling = fitted::keep_all();
        sampling.chain = chain_of(options.value_type);
        const Fitted f = fit(sample_of(x, sampling), options);
        ASSERT_TRUE(f.status.ok());
        EXPECT_EQ(broken(f, x, random, 60), "");
        EXPECT_EQ(f.view().header().value_type, options.value_type);
      }
    }
  }
}

// Mixtures of two shapes, one scaled and moved, with NULL-like specials, from all rows, from a
// sample, from a sample smaller than what was read, and from blocks.
TEST(FitAutomatic, PropertiesHoldForAnyMixture) {
  constexpr int kColumns = 320;
  for (std::uint64_t seed = 1; seed <= kColumns; ++seed) {
    Random random(seed);
    const Shape& one = kShapes[random.below(std::size(kShapes))];
    const Shape& other = kShapes[random.below(std::size(kShapes))];
    const int n = 2 + static_cast<int>(std::exp(7 * random.uniform()));
    std::vector<double> x = one.draw(n, random);
    if (random.below(3) > 0) {
      const double scale = random.below(2) == 0 ? 1 : std::exp(4 * normal(random));
      const double shift = random.below(2) == 0 ? 0 : 10 * normal(random);
      const std::vector<double> y =
          other.draw(1 + n / (1 + static_cast<int>(random.below(20))), random);
      for (double v : y) {
        const double moved = v * scale + shift;
        if (std::isfinite(moved)) x.push_back(moved);
      }
    }
    std::vector<double> column = x;
    if (random.below(6) == 0) column.insert(column.end(), {kInf, -kInf, fitted::kNan});
    for (std::size_t i = column.size() - 1; i > 0; --i)
      std::swap(column[i], column[random.below(i + 1)]);
    Sampler::Options sampling = fitted::keep_all();
    const std::uint64_t kind = random.below(4);
    if (kind == 1) sampling.sample_rows = std::max<std::int64_t>(1, n / 3);
    FitOptions options;
    if (kind >= 2) {
      options.rows_per_row_read = 1 + 9 * random.uniform();
      options.share_of_blocks = 1 / options.rows_per_row_read;
    }
    const std::size_t rows_per_block = kind == 2 ? 1 + random.below(50) : 0;
    const auto whole = [](double v) { return v == std::round(v) && std::fabs(v) < 1e15; };
    if (random.below(2) == 0 && std::all_of(x.begin(), x.end(), whole)) options.lattice_step = 1;
    SCOPED_TRACE(testing::Message() << "seed " << seed << ": " << one.name << " and " << other.name
                                    << ", kind " << kind);
    Sampler sampler(sampling);
    for (std::size_t i = 0; i < column.size(); ++i) {
      if (rows_per_block > 0 && i % rows_per_block == 0) {
        ASSERT_TRUE(sampler.begin_block().ok());
      }
      ASSERT_TRUE(sampler.add(column[i]).ok());
    }
    Sample sample;
    ASSERT_TRUE(sampler.finish(&sample).ok());
    const Fitted f = fit(sample, options);
    ASSERT_TRUE(f.status.ok());
    ASSERT_EQ(broken(f, x, random, 50), "") << f.report.model;
  }
}

// A density of every row: each range's count is the column's, but for the error stated at both
// ends.
TEST(FitAutomatic, EveryRowIsCountedWithinTheErrorStated) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(shape.name);
    Random random(8);
    std::vector<double> x = shape.draw(3000, random);
    const Fitted f = fit(x);
    const DensityView d = f.view();
    std::sort(x.begin(), x.end());
    const double bound = 3000 * 2 * d.header().error + 1e-6;
    for (int i = 0; i < 200; ++i) {
      double a = x[random.below(x.size())];
      double b = x[random.below(x.size())];
      if (a > b) std::swap(a, b);
      const double exact = static_cast<double>(std::upper_bound(x.begin(), x.end(), b) -
                                               std::lower_bound(x.begin(), x.end(), a));
      ASSERT_NEAR(count(d, range(a, b)), exact, bound) << a << " " << b << " " << f.report.model;
    }
  }
}

// What is stored is off by little of a row that was read, so that intervals are hardly wider for it.
TEST(FitAutomatic, SamplesAreStoredWithinLittleOfARow) {
  for (const fitted::Column& column : fitted::columns(1000)) {
    SCOPED_TRACE(column.name);
    FitOptions options;
    options.rows_per_row_read = 10;
    options.share_of_blocks = 0.1;
    const Fitted f = fitted::fit(fitted::sample_of(column.x), options);
    EXPECT_LE(f.view().header().error * 1000, 1.0 / 32);
    EXPECT_LE(f.bytes.size(), 16384u);
  }
}

// The sample is on a lattice and the table's least value, which was not drawn, is not.
void expect_fits_with_strays(const std::vector<double>& strays, const std::vector<double>& steps) {
  for (double stray : strays) {
    for (double step : steps) {
      for (double spread : {50.0, 3000.0}) {
        SCOPED_TRACE(testing::Message() << stray << " " << step << " " << spread);
        Random random(5);
        Sampler::Options o = fitted::keep_all();
        o.sample_rows = 1500;
        std::vector<double> x =
            each(60000, random, [&](Random& q) { return 1e4 + std::round(spread * normal(q)); });
        x[30000] = stray;
        const auto s = sample_of(x, o);
        if (std::find(s.drawn.begin(), s.drawn.end(), stray) != s.drawn.end()) continue;
        FitOptions options;
        options.lattice_step = step;
        const Fitted f = fit(s, options);
        ASSERT_TRUE(f.status.ok());
        EXPECT_EQ(broken(f, x, random, 100), "");
        // Half the rows are on either side of the middle, to the sample's 4 standard errors.
        EXPECT_NEAR(count(f.view(), range(-kInf, 1e4, true, false)), 30000,
                    60000 * 4 * 0.5 / 38 + 600);
      }
    }
  }
}

TEST(FitAutomatic, TheTablesEndsMayBeOffTheSamplesLattice) {
  expect_fits_with_strays({1e300}, {0, 1});
}

TEST(FitAutomatic, KnownRowsMayBeOffTheSamplesLattice) {
  expect_fits_with_strays({-1234.56789, 0.25}, {0, 1});
}

// Cells whose widths span dozens of powers of ten.
TEST(FitAutomatic, CellsOfAnyWidthEnd) {
  Random random(3);
  std::vector<double> column;
  double at = 0;
  for (int i = 0; i < 6000; ++i) {
    at += std::exp(5 * normal(random));
    column.push_back(at);
    if (i % 100 == 0) column.insert(column.end(), 60, at);
  }
  for (double rows : {1.0, 1.2}) {
    FitOptions options;
    options.rows_per_row_read = rows;
    const Fitted f = fit(sample_of(column), options);
    ASSERT_TRUE(f.status.ok());
    EXPECT_LE(f.bytes.size(), kSampleBytes);
  }
}

// A normal column with one value in a thousand far to the left: the spread of a range in its body
// loses no digits to theirs. Uniform on [0, 1] but for the normal's slope, its variance is 0.080;
// the sample's own, 6,800 values, is within 4 %, four standard errors of 0.8 times 1/sqrt(6800).
TEST(FitAutomatic, MomentsBesideFarOutliers) {
  for (double far : {-1e6, -1e8, 1e8}) {
    Random random(4);
    std::vector<double> column;
    for (int i = 0; i < 20000; ++i) {
      const double z = normal(random);
      column.push_back(i % 1000 == 0 ? far * (1 + 0.01 * z) : z);
    }
    FitOptions options;
    options.rows_per_row_read = 10;
    const Fitted f = fit(sample_of(column), options);
    ASSERT_TRUE(f.status.ok());
    EXPECT_NEAR(moments(f.view(), range(0, 1)).variance, 0.080, 0.0032 + 0.0008) << far;
  }
}

// From a sample in the adaptive estimate's reach.
TEST(FitAutomatic, TheSameBytesForAnyNumberOfThreads) {
  for (const Shape& shape : kShapes) {
    Random random(3);
    const auto s = sample_of(shape.draw(400, random));
    FitOptions options;
    options.rows_per_row_read = 4;
    Fitted f[2];
    for (int i : {0, 1}) {
      Control control;
      control.threads = i == 0 ? 1 : 3;
      f[i].status = fit_column(s, options, control, &f[i].bytes, &f[i].report);
      ASSERT_TRUE(f[i].status.ok()) << shape.name;
    }
    EXPECT_EQ(f[0].bytes, f[1].bytes) << shape.name;
  }
}

// Where nothing is smooth each value keeps its own count, to the last row.
TEST(FitAutomatic, FewValuesAreCounted) {
  std::vector<double> x;
  for (int i = 0; i < 400; ++i)
    x.insert(x.end(), static_cast<std::size_t>(1 + i % 7), std::sqrt(i));
  const Fitted f = fit(x);
  for (int i = 0; i < 400; ++i)
    ASSERT_EQ(count(f.view(), range(std::sqrt(i), std::sqrt(i))), 1 + i % 7);
}

// Zeros in a sample are an atom of their share, the rest is smooth beside it.
TEST(FitAutomatic, ZerosAreAnAtom) {
  Random random(2);
  const std::vector<double> x =
      each(3000, random, [](Random& q) { return q.below(4) == 0 ? std::exp(normal(q)) : 0.0; });
  FitOptions options;
  options.rows_per_row_read = 10;
  const Fitted f = fit(sample_of(x), options);
  const double zeros = static_cast<double>(std::count(x.begin(), x.end(), 0.0));
  EXPECT_NEAR(count(f.view(), range(0, 0)), 10 * zeros, 1e-3 * 30000);
  EXPECT_NEAR(count(f.view(), range(0, 1e9, false, true)), 30000 - 10 * zeros, 1e-3 * 30000);
}

}  // namespace
}  // namespace kde
