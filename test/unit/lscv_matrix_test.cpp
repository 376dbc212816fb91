// LSCV_H: published values, the formula over all pairs, equivariance, bounds, what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numbers>
#include <vector>

#include "core/select/lscv.h"
#include "core/select/lscv_factors.h"
#include "core/sums/gaussian_sums.h"
#include "reference_samples.h"
#include "samples.h"

namespace kde {
namespace {

const Engine kFull{Engine::Kind::simd, 0, Precision::full};
const Engine kSingle{Engine::Kind::simd, 0, Precision::single};

WhiteSample whiten(const std::vector<double>& points, int d) {
  WhiteSample sample;
  const Status status = whiten_sample(points, d, {}, &sample);
  EXPECT_TRUE(status.ok()) << status.message;
  return sample;
}

LscvMatrix select(const WhiteSample& sample, const LscvMatrixOptions& options = {},
                  const Engine& engine = kFull, const Control& control = {}) {
  LscvMatrix out;
  const Status status = select_lscv_matrix(sample, engine, options, control, &out);
  EXPECT_TRUE(status.ok()) << status.message;
  return out;
}

// H in units of x, d x d.
std::vector<double> bandwidth(const LscvMatrix& m, const WhiteSample& sample) {
  const auto d = static_cast<std::size_t>(sample.d);
  std::vector<double> h(d * d);
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j < d; ++j) {
      for (std::size_t k = 0; k < d; ++k) h[i * d + j] += m.factor[i * d + k] * m.factor[j * d + k];
      h[i * d + j] = std::ldexp(h[i * d + j], sample.exponent[i] + sample.exponent[j]);
    }
  }
  return h;
}

// Each element against the standard deviations that go with it.
void expect_matrix(const std::vector<double>& actual, const std::vector<double>& expected,
                   double tolerance) {
  const auto d = static_cast<std::size_t>(std::lround(std::sqrt(expected.size())));
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j < d; ++j) {
      const double unit = std::sqrt(expected[i * d + i]) * std::sqrt(expected[j * d + j]);
      EXPECT_NEAR(actual[i * d + j], expected[i * d + j], tolerance * unit) << i << ' ' << j;
    }
  }
}

// The factor of scale^2 Sigma in units of x.
std::vector<double> sigma_factor(const WhiteSample& sample, double scale) {
  std::vector<double> factor = sample.factor;
  for (std::size_t i = 0; i < factor.size(); ++i)
    factor[i] =
        scale * std::ldexp(factor[i], sample.exponent[i / static_cast<std::size_t>(sample.d)]);
  return factor;
}

// g of the bandwidth matrix L L' in units of x, L lower triangular, by the sums over its inverse.
double objective(const WhiteSample& sample, LscvDivisor divisor, const std::vector<double>& l) {
  const int d = sample.d;
  std::vector<double> a = sample.factor;  // L^-1 times the factor of Sigma, by rows
  double log_det = 0;
  for (int i = 0; i < d; ++i) {
    for (int j = 0; j < d; ++j) {
      for (int k = 0; k < i; ++k)
        a[i * d + j] -= std::ldexp(l[i * d + k], -sample.exponent[i]) * a[k * d + j];
      a[i * d + j] /= std::ldexp(l[i * d + i], -sample.exponent[i]);
    }
    log_det += std::log(l[i * d + i]);
  }
  std::unique_ptr<GaussianPairSums> sums;
  EXPECT_TRUE(make_gaussian_sums(kFull, sample.w, d, {}, &sums).ok());
  GaussianSums at;
  EXPECT_TRUE(sums->full(a, &at).ok());
  return std::exp(-log_det) * LscvFactors(sample.n, d, divisor).bracket(at);
}

double normal_reference(const WhiteSample& sample) {
  return std::pow(4 / ((sample.d + 2.0) * static_cast<double>(sample.n)), 1 / (sample.d + 4.0));
}

struct Published {
  const char* name;
  std::vector<double> points;
  LscvShape shape;
  LscvDivisor divisor;
  std::vector<double> h;  // H
  double g;
};

std::vector<Published> published() {
  const auto full = LscvShape::full;
  const auto squared = LscvDivisor::n_squared;
  const auto loo = LscvDivisor::leave_one_out;
  return {{"faithful",
           reference_samples::faithful(),
           full,
           squared,
           {0.0136235123, 0.110830369, 0.110830369, 11.9918550},
           -0.02068015736393},
          {"faithful n(n-1)",
           reference_samples::faithful(),
           full,
           loo,
           {0.0135000064, 0.110990338, 0.110990338, 11.9217362},
           -0.02082438583979},
          {"faithful diagonal",
           reference_samples::faithful(),
           LscvShape::diagonal,
           loo,
           {0.0141441636, 0, 0, 11.5738210},
           -0.0207742282009},
          {"quakes",
           reference_samples::quakes(),
           full,
           squared,
           {0.0174705460, -0.0131758389, -0.0131758389, 0.0210637874},
           -0.034668517493},
          {"mix",
           samples::mix(512, 2),
           full,
           squared,
           {0.0751858771, 0.0132967458, 0.0132967458, 0.0541440593},
           -0.0826773797554}};
}

TEST(LscvMatrix, GivesTheReferenceValues) {
  for (const Published& p : published()) {
    SCOPED_TRACE(p.name);
    const WhiteSample sample = whiten(p.points, 2);
    for (const Engine& engine : {kFull, kSingle}) {
      LscvMatrixOptions options;
      options.shape = p.shape;
      options.divisor = p.divisor;
      const LscvMatrix found = select(sample, options, engine);
      expect_matrix(bandwidth(found, sample), p.h, 1e-6);
      EXPECT_NEAR(found.objective, p.g, 1e-10 * std::fabs(p.g));
      // Columns of rounded values have ties beyond what any H can bear.
      const bool tied = std::strcmp(p.name, "mix") != 0;
      EXPECT_EQ(found.end, tied ? LscvEnd::tied_values : LscvEnd::converged);
    }
  }
}

// Of a function that is flat at its minimum the simplex knows but the value, to 1e-15 or so: its
// root is what the parameters can be known to, 1e-7 of units in which the curvature is 1, and some
// times more where it is less.
TEST(LscvMatrix, TheSimplexGivesTheReferenceValues) {
  for (const Published& p : published()) {
    if (p.points.size() > 1024) continue;
    SCOPED_TRACE(p.name);
    const WhiteSample sample = whiten(p.points, 2);
    for (const Engine& engine : {kFull, kSingle}) {
      LscvMatrixOptions options;
      options.shape = p.shape;
      options.divisor = p.divisor;
      options.optimiser = LscvOptimiser::nelder_mead;
      const LscvMatrix found = select(sample, options, engine);
      expect_matrix(bandwidth(found, sample), p.h, 1e-5);
      EXPECT_NEAR(found.objective, p.g, 1e-10 * std::fabs(p.g));
    }
  }
}

TEST(LscvMatrix, ObjectiveAtTheNormalReference) {
  const auto at_start = [](const std::vector<double>& points, int d, LscvDivisor divisor) {
    const WhiteSample sample = whiten(points, d);
    return objective(sample, divisor, sigma_factor(sample, normal_reference(sample)));
  };
  const std::vector<double> faithful = reference_samples::faithful();
  const std::vector<double> iris = reference_samples::iris();
  EXPECT_NEAR(at_start(faithful, 2, LscvDivisor::n_squared), -0.0170720692028, 1e-12);
  EXPECT_NEAR(at_start(faithful, 2, LscvDivisor::leave_one_out), -0.0171793297465, 1e-12);
  EXPECT_NEAR(at_start(iris, 4, LscvDivisor::n_squared), -0.211921899984, 1e-11);
  EXPECT_NEAR(at_start(iris, 4, LscvDivisor::leave_one_out), -0.214165585091, 1e-11);
}

// By the printed formula, with the inverse of a 2 x 2 matrix written out.
TEST(LscvMatrix, ObjectiveIsTheFormula) {
  const std::size_t n = 120;
  const std::vector<double> x = samples::mix(120, 2);
  const WhiteSample sample = whiten(x, 2);
  const std::vector<double> l = {0.5, 0, -0.2, 0.3};
  const double a = l[0] * l[0];
  const double b = l[0] * l[2];
  const double c = l[2] * l[2] + l[3] * l[3];
  const double det = a * c - b * b;
  double once = 0;
  double twice = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      const double u = x[2 * i] - x[2 * j];
      const double v = x[2 * i + 1] - x[2 * j + 1];
      const double s = (c * u * u - 2 * b * u * v + a * v * v) / det;
      once += std::exp(-s / 4);
      twice += std::exp(-s / 2);
    }
  }
  const double c4 = 1 / (4 * std::numbers::pi);
  const double c2 = 1 / (2 * std::numbers::pi);
  for (const LscvDivisor divisor : {LscvDivisor::n_squared, LscvDivisor::leave_one_out}) {
    const double m = divisor == LscvDivisor::leave_one_out ? 119 : 120;
    const double g =
        (c4 / 120 + 2 * c4 * once / 14400 - 4 * c2 * twice / (120 * m)) / std::sqrt(det);
    EXPECT_NEAR(objective(sample, divisor, l), g, 1e-12 * std::fabs(g));
  }
}

TEST(LscvMatrix, IsTheScalarCriterionAtMultiplesOfSigma) {
  for (const int d : {1, 3, 7}) {
    const WhiteSample sample = whiten(samples::mix(200, d), d);
    std::unique_ptr<GaussianPairSums> sums;
    ASSERT_TRUE(make_gaussian_sums(kFull, sample.w, d, {}, &sums).ok());
    for (const double h : {0.1, 0.5, 1.5}) {
      double g = 0;
      double slope = 0;
      ASSERT_TRUE(
          lscv_h_objective(*sums, lscv_sample(sample), LscvDivisor::n_squared, h, &g, &slope).ok());
      const double matrix = objective(sample, LscvDivisor::n_squared, sigma_factor(sample, h));
      EXPECT_NEAR(matrix, g, 1e-11 * std::fabs(g)) << d << ' ' << h;
    }
  }
}

// What is found is a minimum: no small change of H, in any of its elements, lowers g by more than
// its rounding.
TEST(LscvMatrix, NoNeighbourIsLower) {
  for (const int d : {1, 2, 3, 4}) {
    const WhiteSample sample = whiten(samples::mix(300, d), d);
    const LscvMatrix found = select(sample);
    EXPECT_EQ(found.end, LscvEnd::converged) << d;
    std::vector<double> best = found.factor;
    const auto size = static_cast<std::size_t>(d);
    for (std::size_t i = 0; i < best.size(); ++i)
      best[i] = std::ldexp(best[i], sample.exponent[i / size]);
    const double g = objective(sample, LscvDivisor::n_squared, best);
    EXPECT_NEAR(g, found.objective, 1e-12 * std::fabs(g));
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        for (const double change : {-1e-3, 1e-3}) {
          std::vector<double> other = best;
          other[i * size + j] += change * best[i * size + i];
          EXPECT_GT(objective(sample, LscvDivisor::n_squared, other), g) << d << i << j;
        }
      }
    }
  }
}

TEST(LscvMatrix, FollowsAffineMapsAndForgetsOrder) {
  const std::vector<double> x = samples::mix(300, 2);
  const WhiteSample sample = whiten(x, 2);
  const std::vector<double> h = bandwidth(select(sample), sample);
  // m x + b, the columns 2^1990 apart; H becomes m H m'.
  const double p = 0x1p995;
  const double q = 0x1p-995;
  std::vector<double> mapped;
  for (std::size_t i = 300; i-- > 0;) {
    mapped.push_back((2 * x[2 * i] - x[2 * i + 1] + 7) * p);
    mapped.push_back((x[2 * i] + 3 * x[2 * i + 1] - 1) * q);
  }
  const WhiteSample other = whiten(mapped, 2);
  const LscvMatrix found = select(other);
  // In units of p and q, which the exponents hold.
  WhiteSample unscaled = other;
  unscaled.exponent[0] -= 995;
  unscaled.exponent[1] += 995;
  const double off = 2 * h[0] + 5 * h[1] - 3 * h[3];
  expect_matrix(bandwidth(found, unscaled),
                {4 * h[0] - 4 * h[1] + h[3], off, off, h[0] + 6 * h[1] + 9 * h[3]}, 2e-6);
  // The map's determinant is 7.
  EXPECT_NEAR(found.objective * 7, select(sample).objective, 1e-9);
}

TEST(LscvMatrix, HugeOffsets) {
  std::vector<double> x = samples::mix(300, 2);
  const WhiteSample sample = whiten(x, 2);
  for (double& v : x) v += 1e9;
  const WhiteSample moved = whiten(x, 2);
  // The values themselves lose up to 2^-24 of a standard deviation each.
  expect_matrix(bandwidth(select(moved), moved), bandwidth(select(sample), sample), 5e-6);
}

TEST(LscvMatrix, DoesNotDependOnThreads) {
  const WhiteSample sample = whiten(samples::mix(700, 3), 3);
  Control three;
  three.threads = 3;
  for (const Engine& engine : {kFull, kSingle}) {
    EXPECT_EQ(select(sample, {}, engine, three).factor, select(sample, {}, engine).factor);
  }
}

// A quasi-Newton search whose units fit takes some three steps to come near and as many to end; a
// search aside, two for each dimension, somewhat more to come near.
TEST(LscvMatrix, TakesFewEvaluations) {
  for (const Engine& engine : {kFull, kSingle}) {
    EXPECT_LE(select(whiten(samples::mix(1024, 2), 2), {}, engine).evaluations, 12 + 4 * 8);
    EXPECT_LE(select(whiten(samples::mix(1024, 3), 3), {}, engine).evaluations, 18 + 6 * 8);
  }
}

// From the narrower of the scalar minima the search falls to the bounds, where g is far lower: the
// distances of a lattice are few. What is wanted is the minimum near the wider.
TEST(LscvMatrix, PrefersAnInteriorMinimum) {
  const LscvMatrix found = select(whiten(reference_samples::stretched_lattice(), 2));
  EXPECT_EQ(found.end, LscvEnd::converged);
  EXPECT_LT(found.objective, -0.0262680219);
  EXPECT_NEAR(found.objective, -0.0262680219, 1e-5);
}

// Four and eight clusters a thousand standard deviations apart: their width is below the least h,
// so that g falls all the way down to it, where a search over matrices is to be no worse than one
// over multiples of Sigma (which ends there too), nor to call what it finds converged.
TEST(LscvMatrix, IsNoWorseThanTheScalarAtTheLeastWidth) {
  for (const int d : {2, 3}) {
    std::vector<double> x = samples::normal(600 * d, 65);
    const std::vector<double> sides = samples::normal(600 * d, 66);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += sides[i] > 0 ? 1000 : 0;
    const WhiteSample sample = whiten(x, d);
    std::unique_ptr<GaussianPairSums> sums;
    ASSERT_TRUE(make_gaussian_sums(kFull, sample.w, d, {}, &sums).ok());
    LscvScalar scalar;
    ASSERT_TRUE(select_lscv_h(*sums, lscv_sample(sample), LscvDivisor::n_squared,
                              LscvSearch::refined, &scalar)
                    .ok());
    for (const Engine& engine : {kFull, kSingle}) {
      const LscvMatrix found = select(sample, {}, engine);
      EXPECT_LE(found.objective, scalar.objective * (1 - 1e-9)) << d;
      EXPECT_EQ(found.end, LscvEnd::at_bound) << d;
    }
  }
}

// Columns that are nearly the same, and H without what joins them: near the normal reference g is
// some thousandth of what its units promise, falls slowly, and all the way. Such a step is not what
// a minimum leaves. Along the diagonals of multiples of the variances, which H includes, g is lower
// by more than half where they are less.
TEST(LscvMatrix, GoesOnWhereUnitsAreFarTooSmall) {
  for (const int d : {2, 3}) {
    for (const std::size_t n : {70, 400}) {
      std::vector<double> x = samples::normal(n * static_cast<std::size_t>(d), 67);
      for (std::size_t i = 0; i < n; ++i) {
        double* point = &x[i * static_cast<std::size_t>(d)];
        point[d - 1] = point[0] + 1e-4 * point[d - 1];
      }
      const WhiteSample sample = whiten(x, d);
      LscvMatrixOptions options;
      options.shape = LscvShape::diagonal;
      for (const Engine& engine : {kFull, kSingle}) {
        const LscvMatrix found = select(sample, options, engine);
        EXPECT_NE(found.end, LscvEnd::iteration_limit) << d << ' ' << n;
        for (const double scale : {0.5, 0.25, 0.125, 0.0625}) {
          std::vector<double> other = found.factor;
          for (std::size_t i = 0; i < other.size(); ++i)
            other[i] =
                scale * std::ldexp(other[i], sample.exponent[i / static_cast<std::size_t>(d)]);
          if (found.end == LscvEnd::at_bound) break;  // where those are beyond it
          EXPECT_GT(objective(sample, options.divisor, other), found.objective) << d << ' ' << n;
        }
      }
    }
  }
}

// A cross of points that is the same after a quarter turn: along multiples of Sigma g has a
// minimum that is a saddle over matrices, which a search from there does not leave. Lower, by more
// than rounding, are H with one axis shorter.
TEST(LscvMatrix, LeavesASaddle) {
  std::vector<double> x;
  const std::vector<double> z = samples::normal(50, 66);
  for (std::size_t i = 0; i < 50; i += 2) {
    const double a = 2 * std::fabs(z[i]);
    const double b = 0.05 * std::fabs(z[i + 1]);
    for (const double s : {1, -1}) {
      for (const double t : {1, -1}) {
        for (const auto& [u, v] : {std::pair{s * a, t * b}, {t * b, s * a}}) {
          x.push_back(std::cos(0.3) * u - std::sin(0.3) * v);
          x.push_back(std::sin(0.3) * u + std::cos(0.3) * v);
        }
      }
    }
  }
  const WhiteSample sample = whiten(x, 2);
  const LscvMatrix found = select(sample);
  EXPECT_LT(found.objective, -0.2245);  // -0.21807 from multiples of Sigma alone
  const double p = std::log(1.05);
  for (int k = 0; k < 24; ++k) {
    const double angle = k * std::numbers::pi / 12;
    std::vector<double> f = found.factor;
    f[0] *= std::exp(p * std::cos(angle));
    f[2] += 2 * p * std::sin(angle) * found.factor[0];
    f[3] *= std::exp(-p * std::cos(angle));
    for (std::size_t i = 0; i < 4; ++i) f[i] = std::ldexp(f[i], sample.exponent[i / 2]);
    EXPECT_GT(objective(sample, LscvDivisor::n_squared, f), found.objective) << k;
  }
}

// 150 points in four dimensions: g has no interior minimum to find. The result is a finite H whose
// eigenvalues against H_NS are within the bounds, one of them at the end.
TEST(LscvMatrix, EndsAtTheBoundWhereThereIsNoMinimum) {
  const WhiteSample sample = whiten(reference_samples::iris(), 4);
  const LscvMatrix found = select(sample);
  EXPECT_EQ(found.end, LscvEnd::at_bound);
  EXPECT_TRUE(std::isfinite(found.objective));
  EXPECT_LT(found.objective, -0.25723752234);  // better than the scalar's
  for (const double v : found.factor) EXPECT_TRUE(std::isfinite(v));
  // The least eigenvalue of (H, H_NS) is at most the ratio at any direction, and det H at least
  // lowest^4 of H_NS's.
  double log_det = 0;
  for (std::size_t i = 0; i < 4; ++i)
    log_det += std::log(found.factor[5 * i] / (sample.factor[5 * i] * normal_reference(sample)));
  EXPECT_GT(log_det,
            2 * std::log(LscvMatrixOptions().lowest * std::pow(sample.robust_scale, 2)) - 1e-3);
  EXPECT_LT(log_det, 2 * std::log(LscvMatrixOptions().highest) + 1e-3);
}

// A bound above the minimum holds the search there: diagonal, so that H_kk/H_NS_kk is the
// eigenvalue.
TEST(LscvMatrix, KeepsWithinItsBounds) {
  const WhiteSample sample = whiten(samples::mix(512, 2), 2);
  LscvMatrixOptions options;
  options.shape = LscvShape::diagonal;
  options.lowest = 0.5;
  for (const LscvOptimiser optimiser : {LscvOptimiser::quasi_newton, LscvOptimiser::nelder_mead}) {
    options.optimiser = optimiser;
    const LscvMatrix found = select(sample, options);
    EXPECT_EQ(found.end, LscvEnd::at_bound);
    const double h0 = normal_reference(sample);
    double least = HUGE_VAL;
    for (std::size_t k = 0; k < 2; ++k) {
      const double sd = std::hypot(sample.factor[2 * k], sample.factor[2 * k + 1]);
      least = std::min(least, std::pow(found.factor[3 * k] / (sd * h0), 2));
    }
    EXPECT_NEAR(least / (sample.robust_scale * sample.robust_scale), 0.5, 1e-3);
    EXPECT_EQ(found.factor[1], 0);
    EXPECT_EQ(found.factor[2], 0);
  }
}

TEST(LscvMatrix, StopsAtItsLimit) {
  const WhiteSample sample = whiten(samples::mix(200, 2), 2);
  for (const Engine& engine : {kFull, kSingle}) {
    for (int limit = 1; limit < 8; ++limit) {
      LscvMatrixOptions options;
      options.evaluations = limit;
      const LscvMatrix found = select(sample, options, engine);
      EXPECT_LE(found.evaluations, limit);
      if (limit < 5) {
        EXPECT_EQ(found.end, LscvEnd::iteration_limit);
      }
      EXPECT_GT(found.factor[0], 0);
      EXPECT_LT(found.objective, 0);
    }
    // The simplex gets twenty times as many, which is too few too.
    LscvMatrixOptions options;
    options.evaluations = 2;
    options.optimiser = LscvOptimiser::nelder_mead;
    const LscvMatrix found = select(sample, options, engine);
    EXPECT_EQ(found.end, LscvEnd::iteration_limit);
    EXPECT_LE(found.evaluations, 40);
    EXPECT_LT(found.objective, 0);
  }
}

TEST(LscvMatrix, HasNoMinimumWhereTiesOverwhelm) {
  std::vector<double> x(180, 0.0);
  for (const double v : samples::normal(20, 42)) x.push_back(v);
  const WhiteSample sample = whiten(x, 2);
  LscvMatrix out;
  const Status status = select_lscv_matrix(sample, kFull, {}, {}, &out);
  EXPECT_EQ(status.code, Code::degenerate);
  EXPECT_NE(std::strstr(status.message, "4005 pairs"), nullptr) << status.message;
  EXPECT_NE(std::strstr(status.message, "0.1667"), nullptr) << status.message;
}

// Values that nearly tie tell no bandwidth above the bound apart, and pull H to its corner.
TEST(LscvMatrix, FallsIntoTheCornerOfItsBounds) {
  std::vector<double> x;
  for (const double v : samples::normal(60, 43)) x.push_back(1e-9 * v);
  for (const double v : samples::normal(140, 42)) x.push_back(v);
  const WhiteSample sample = whiten(x, 2);
  const LscvMatrix found = select(sample);
  EXPECT_EQ(found.end, LscvEnd::at_bound);
  // det(H)/det(H_NS) is the product of two eigenvalues at the bound.
  const double det = found.factor[0] * found.factor[3] / (sample.factor[0] * sample.factor[3]);
  const double h0 = normal_reference(sample);
  const double lowest = LscvMatrixOptions().lowest * std::pow(sample.robust_scale, 2);
  EXPECT_NEAR(det / (h0 * h0) / lowest, 1, 1e-3);
}

TEST(LscvMatrix, SixteenDimensions) {
  const WhiteSample sample = whiten(samples::mix(100, 16), 16);
  LscvMatrixOptions options;
  options.shape = LscvShape::diagonal;
  options.evaluations = 60;
  const LscvMatrix found = select(sample, options);
  for (const double v : found.factor) EXPECT_TRUE(std::isfinite(v));
  options.shape = LscvShape::full;
  options.evaluations = 10;
  for (const double v : select(sample, options).factor) EXPECT_TRUE(std::isfinite(v));
}

TEST(LscvMatrix, OfTwoPoints) {
  const LscvMatrix found = select(whiten({3, 5}, 1));
  EXPECT_GT(found.factor[0], 0);
}

TEST(LscvMatrix, CanBeCancelled) {
  const WhiteSample sample = whiten(samples::mix(500, 2), 2);
  // After so many polls, once: before, during the sweep and during the searches.
  for (const int polls : {0, 1, 5, 20}) {
    for (const LscvOptimiser optimiser :
         {LscvOptimiser::quasi_newton, LscvOptimiser::nelder_mead}) {
      int left = polls;
      Control control;
      control.stop_arg = &left;
      control.should_stop = [](void* arg) { return (*static_cast<int*>(arg))-- == 0; };
      LscvMatrixOptions options;
      options.optimiser = optimiser;
      LscvMatrix out;
      EXPECT_EQ(select_lscv_matrix(sample, kFull, options, control, &out).code, Code::cancelled)
          << polls;
    }
  }
}

TEST(LscvMatrix, RefusesBoundsThatLeaveNothing) {
  const WhiteSample sample = whiten(samples::mix(50, 2), 2);
  LscvMatrix out;
  for (const auto& [lowest, highest] :
       {std::pair{0.0, 1.0}, {2.0, 1.0}, {std::nan(""), 1.0}, {0.1, HUGE_VAL}}) {
    LscvMatrixOptions options;
    options.lowest = lowest;
    options.highest = highest;
    EXPECT_EQ(select_lscv_matrix(sample, kFull, options, {}, &out).code, Code::invalid_argument);
  }
}

}  // namespace
}  // namespace kde
