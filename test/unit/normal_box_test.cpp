// Boxes of correlated normal vectors: the reference against Owen's T and quadrature, the vector
// kernels of every instruction set against the reference, draws against integrals in one dimension.
#include "core/joint/normal_box.h"
#include "normal_box_reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/special_functions/owens_t.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/kernel/normal.h"
#include "core/random.h"
#include "core/sums/engine_parts.h"

namespace kde {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kRhos[] = {0.0,  1e-6,  0.1,   -0.3,    0.5,     -0.6,     0.74,
                            0.76, -0.85, 0.89,  0.899,   -0.901,  0.9249,   -0.9251,
                            0.97, -0.99, 0.999, -0.9999, 0.99999, 0.999999, -0.999999};

// Of k columns, kJointBlock boxes.
struct Boxes {
  explicit Boxes(int k) : columns(k) {
    for (std::uint32_t i = 0; i < kJointBlock; ++i) number[i] = i;
  }
  int columns;
  float lower[kMaxColumns][kJointBlock] = {};
  float upper[kMaxColumns][kJointBlock] = {};
  std::uint32_t number[kJointBlock];
  float probability[kJointBlock], moment[kJointBlock];
  float difference[kJointBlock] = {};

  void evaluate(const NormalBox& box, int boxes = kJointBlock) {
    box.evaluate(lower, upper, boxes, number, probability, moment, difference);
  }
  double variance(int i) const {
    return static_cast<double>(difference[i]) * static_cast<double>(difference[i]);
  }
  void read(int i, double* a, double* b) const {
    for (int j = 0; j < columns; ++j) {
      a[j] = static_cast<double>(lower[j][i]);
      b[j] = static_cast<double>(upper[j][i]);
    }
  }
};

// An end where a kernel may have one: mostly near, at times far or infinite.
float random_end(Random* random) {
  switch (random->below(8)) {
    case 0:
      return random->uniform() < 0.5 ? -std::numeric_limits<float>::infinity()
                                     : std::numeric_limits<float>::infinity();
    case 1:
      return static_cast<float>((random->uniform() - 0.5) * 8e6);
    case 2:
      return static_cast<float>((random->uniform() - 0.5) * 24);
    default:
      return static_cast<float>((random->uniform() - 0.5) * 7);
  }
}

// Half of the boxes of two columns have a corner near the ridge e_1 = +-e_2.
void fill(Random* random, double rho, Boxes* boxes) {
  for (int i = 0; i < kJointBlock; ++i) {
    for (int j = 0; j < boxes->columns; ++j) {
      float a = random_end(random);
      float b = random_end(random);
      if (j == 1 && random->uniform() < 0.5) {
        const float near = random->uniform() < 0.5 ? boxes->lower[0][i] : boxes->upper[0][i];
        const double s = std::sqrt(1 - rho * rho);
        const double shift = 6 * s * (random->uniform() - 0.5);
        a = static_cast<float>(std::copysign(1.0, rho) * static_cast<double>(near) + shift);
      }
      boxes->lower[j][i] = std::min(a, b);
      boxes->upper[j][i] = std::max(a, b);
    }
  }
}

// Pr(e_1 < h, e_2 < k) by D. B. Owen, Ann. Math. Statist. 27 (1956), h and k finite and not 0.
double below_by_owen(double h, double k, double rho) {
  const double s = std::sqrt((1 - rho) * (1 + rho));
  const double t = boost::math::owens_t(h, (k - rho * h) / (h * s)) +
                   boost::math::owens_t(k, (h - rho * k) / (k * s));
  return (normal_cdf(h) + normal_cdf(k)) / 2 - t - (h * k < 0 ? 0.5 : 0.0);
}

TEST(NormalBox, ReferenceAgreesWithOwensT) {
  Random random(1);
  for (const double rho : kRhos) {
    const double R[4] = {1, rho, rho, 1};
    for (int n = 0; n < 300; ++n) {
      const double x = (random.uniform() - 0.5) * 12;
      const double ridge =
          std::copysign(x, rho * x) + (random.uniform() - 0.5) * 6 * std::sqrt(1 - rho * rho);
      const double y = n % 2 == 0 ? ridge : (random.uniform() - 0.5) * 12;
      const double lower[2] = {-kInf, -kInf};
      const double upper[2] = {x, y};
      double p = 0;
      normal_box_reference(R, 2, lower, upper, nullptr, &p, nullptr);
      // x - rho y is rounded to 2^-53 of x, and sqrt(1 - rho^2) = 0.0014 divides it: a probability
      // may move by 0.4 * 6 * 1.1e-16/0.0014 = 2e-13.
      EXPECT_NEAR(p, below_by_owen(x, y, rho), 1e-12) << rho << " " << x << " " << y;
    }
  }
}

// M by Simpson's rule along e_1: of e_1 itself z, of e_2 given e_1 = z by the truncated normal.
void moments_by_quadrature(double rho, const double* a, const double* b, double* m1, double* m2) {
  const double s = std::sqrt(1 - rho * rho);
  const int steps = 8000;
  const double width = (b[0] - a[0]) / steps;
  *m1 = *m2 = 0;
  for (int i = 0; i <= steps; ++i) {
    const double z = a[0] + i * width;
    const double weight =
        (i == 0 || i == steps ? 1 : (i % 2 == 1 ? 4 : 2)) * width / 3 * normal_pdf(z);
    const double from = (a[1] - rho * z) / s;
    const double to = (b[1] - rho * z) / s;
    const double mass = normal_cdf(to) - normal_cdf(from);
    *m1 += weight * z * mass;
    *m2 += weight * (rho * z * mass + s * (normal_pdf(from) - normal_pdf(to)));
  }
}

TEST(NormalBox, ReferenceMomentsAgreeWithQuadrature) {
  Random random(2);
  for (const double rho : {0.0, 0.3, -0.7, 0.95, -0.99}) {
    const double R[4] = {1, rho, rho, 1};
    for (int n = 0; n < 20; ++n) {
      double a[2];
      double b[2];
      for (int j = 0; j < 2; ++j) {
        a[j] = -4 + 5 * random.uniform();
        b[j] = a[j] + 4 * random.uniform();
      }
      double m1 = 0;
      double m2 = 0;
      moments_by_quadrature(rho, a, b, &m1, &m2);
      const double c[2] = {0.4, -0.3};
      double p = 0;
      double m = 0;
      normal_box_reference(R, 2, a, b, R, &p, &m);
      // Simpson with steps of at most 4/8000, fourth derivatives of at most 20/s^4 = 5e4:
      // 4 (5e-4)^4/180 5e4 = 7e-11.
      EXPECT_NEAR(m, m1, 1e-10);
      normal_box_reference(R, 2, a, b, R + 2, &p, &m);
      EXPECT_NEAR(m, m2, 1e-10);
      // A third variable with the correlations c: E[e_y | e_1, e_2] = c' R^-1 e.
      normal_box_reference(R, 2, a, b, c, &p, &m);
      const double det = 1 - rho * rho;
      const double by_regression = ((c[0] - rho * c[1]) * m1 + (c[1] - rho * c[0]) * m2) / det;
      EXPECT_NEAR(m, by_regression, 2e-10 / det);
    }
  }
}

class NormalBoxTargets : public testing::TestWithParam<SimdTarget> {};

TEST_P(NormalBoxTargets, AgreesWithTheReference) {
  Random random(3);
  for (const double rho : kRhos) {
    const double R[4] = {1, rho, rho, 1};
    for (int k = 1; k <= 2; ++k) {
      for (const auto& c : {std::vector{1.0, rho}, {rho, 1.0}, {0.6, -0.2}}) {
        const NormalBox box(R, k, c.data(), GetParam().target);
        const NormalBox alone(R, k, nullptr, GetParam().target);
        for (int n = 0; n < 4; ++n) {
          Boxes boxes(k);
          fill(&random, rho, &boxes);
          boxes.evaluate(box);
          float again[kJointBlock];
          alone.evaluate(boxes.lower, boxes.upper, kJointBlock, nullptr, again, nullptr, nullptr);
          for (int i = 0; i < kJointBlock; ++i) {
            double a[2];
            double b[2];
            double p = 0;
            double m = 0;
            boxes.read(i, a, b);
            normal_box_reference(R, k, a, b, c.data(), &p, &m);
            ASSERT_NEAR(static_cast<double>(boxes.probability[i]), p, 3e-7)
                << "rho " << rho << " k " << k << " [" << a[0] << ", " << b[0] << "] x [" << a[1]
                << ", " << b[1] << "]";
            ASSERT_NEAR(static_cast<double>(boxes.moment[i]), m, 1e-6)
                << "rho " << rho << " k " << k << " [" << a[0] << ", " << b[0] << "] x [" << a[1]
                << ", " << b[1] << "]";
            ASSERT_EQ(boxes.probability[i], again[i]);
          }
        }
      }
    }
  }
}

// e_j = load_j w + sqrt(1 - load_j^2) x_j of independent w, x_j: correlations load_i load_j, and
// integrals over w alone. The target is a further such variable.
struct OneFactor {
  OneFactor(int columns, double least, double most, Random* random) : k(columns) {
    for (int j = 0; j <= k; ++j) {
      const double size = least + (most - least) * random->uniform();
      load[j] = random->uniform() < 0.3 ? -size : size;
    }
    for (int i = 0; i < k; ++i) {
      for (int j = 0; j < k; ++j) R[i * k + j] = i == j ? 1 : load[i] * load[j];
      c[i] = load[k] * load[i];
    }
  }
  // By the trapezoidal rule over |w| < 9, whose error for an integrand as smooth as normal
  // distribution functions of width 0.33 (loads up to 0.95) and steps of 0.15 is of the order of
  // exp(-2 (pi 0.33/0.15)^2).
  void exact(const double* a, const double* b, double* probability, double* moment) const {
    const int steps = 120;
    *probability = *moment = 0;
    for (int i = 0; i <= steps; ++i) {
      const double w = -9 + 18.0 * i / steps;
      double p = 18.0 / steps * normal_pdf(w);
      for (int j = 0; j < k; ++j) {
        const double s = std::sqrt(1 - load[j] * load[j]);
        p *= normal_cdf((b[j] - load[j] * w) / s) - normal_cdf((a[j] - load[j] * w) / s);
      }
      *probability += p;
      *moment += load[k] * w * p;
    }
  }
  int k;
  double load[kMaxColumns + 1];
  double R[kMaxColumns * kMaxColumns];
  double c[kMaxColumns];
};

// Boxes as points near the border of one have them: some sides cut, most wide.
void fill_near(Random* random, Boxes* boxes) {
  for (int i = 0; i < kJointBlock; ++i) {
    for (int j = 0; j < boxes->columns; ++j) {
      const double width = 1 + 7 * random->uniform();
      const double t = (width + 2) * random->uniform() - 1;
      boxes->lower[j][i] = static_cast<float>(-t);
      boxes->upper[j][i] = static_cast<float>(width - t);
    }
  }
}

// Over 4,096 boxes as the kernels of 4,096 points: the error of their sum below a tenth of the
// standard deviation sqrt(sum P (1 - P)) of the count of as many points, and within four standard
// errors as the draws estimate them. The squared errors themselves are below that estimate, as a
// lattice's draws err apart more often than together; 1.3 of it leaves room for chance, which moves
// a sum of 4,096 squares with a standard deviation of up to four times their mean by 6 %.
TEST(NormalBox, DrawsAgreeWithIntegrals) {
  Random random(4);
  for (const int k : {3, 4, 5, 8, 16}) {
    for (const double most : {0.6, 0.95}) {
      const OneFactor factor(k, 0.3, most, &random);
      const NormalBox box(factor.R, k, factor.c, best_simd_target());
      double error = 0;
      double error_square = 0;
      double moment_error = 0;
      double variance = 0;
      double spread = 0;
      for (std::uint32_t n = 0; n < 64; ++n) {
        Boxes boxes(k);
        for (std::uint32_t& number : boxes.number) number += n * kJointBlock;
        fill_near(&random, &boxes);
        boxes.evaluate(box);
        for (int i = 0; i < kJointBlock; ++i) {
          double a[kMaxColumns];
          double b[kMaxColumns];
          double p = 0;
          double m = 0;
          boxes.read(i, a, b);
          factor.exact(a, b, &p, &m);
          const double e = static_cast<double>(boxes.probability[i]) - p;
          error += e;
          error_square += e * e;
          moment_error += static_cast<double>(boxes.moment[i]) - m;
          variance += boxes.variance(i);
          spread += p * (1 - p);
        }
      }
      SCOPED_TRACE(testing::Message() << "k " << k << " most " << most);
      EXPECT_LT(std::fabs(error), 0.1 * std::sqrt(spread));
      EXPECT_LT(std::fabs(moment_error), 0.1 * std::sqrt(spread));
      EXPECT_LT(std::fabs(error), 4 * std::sqrt(variance));
      EXPECT_LT(error_square, 1.3 * variance);
      EXPECT_GT(error_square, 0);
    }
  }
}

TEST_P(NormalBoxTargets, IndependentColumnsAreProducts) {
  Random random(5);
  for (int k = 2; k <= kMaxColumns; ++k) {
    std::vector<double> R(static_cast<std::size_t>(k) * static_cast<std::size_t>(k));
    for (int j = 0; j < k; ++j)
      R[static_cast<std::size_t>(j) * static_cast<std::size_t>(k + 1)] = 1;
    std::vector<double> c(static_cast<std::size_t>(k));
    c.back() = 1;
    const NormalBox box(R.data(), k, c.data(), GetParam().target);
    Boxes boxes(k);
    fill_near(&random, &boxes);
    boxes.evaluate(box);
    for (int i = 0; i < kJointBlock; ++i) {
      double a[kMaxColumns];
      double b[kMaxColumns];
      boxes.read(i, a, b);
      double others = 1;
      for (int j = 0; j + 1 < k; ++j) others *= normal_cdf(b[j]) - normal_cdf(a[j]);
      const double p = others * (normal_cdf(b[k - 1]) - normal_cdf(a[k - 1]));
      const double m = others * (normal_pdf(a[k - 1]) - normal_pdf(b[k - 1]));
      // Each side's probability, which is at most 1, is off by twice what Phi is, 3e-7, and by
      // roundings of numbers below 1.
      EXPECT_NEAR(static_cast<double>(boxes.probability[i]), p, 8e-7 * k);
      EXPECT_NEAR(static_cast<double>(boxes.moment[i]), m, 8e-7 * k);
      // Draws differ by rounding alone.
      EXPECT_LT(boxes.variance(i), 1e-12);
    }
  }
}

TEST_P(NormalBoxTargets, ABoxsAnswerIsItsOwn) {
  Random random(6);
  for (const int k : {1, 2, 3, 5}) {
    const OneFactor factor(k, 0.3, 0.9, &random);
    const NormalBox box(factor.R, k, factor.c, GetParam().target);
    Boxes boxes(k);
    fill_near(&random, &boxes);
    boxes.evaluate(box);
    Boxes turned(k);
    for (int i = 0; i < kJointBlock; ++i) {
      const int from = (i + 13) % kJointBlock;
      turned.number[i] = boxes.number[from];
      for (int j = 0; j < k; ++j) {
        turned.lower[j][i] = boxes.lower[j][from];
        turned.upper[j][i] = boxes.upper[j][from];
      }
    }
    turned.evaluate(box, 21);
    for (int i = 0; i < 21; ++i) {
      const int from = (i + 13) % kJointBlock;
      EXPECT_EQ(turned.probability[i], boxes.probability[from]);
      EXPECT_EQ(turned.moment[i], boxes.moment[from]);
      EXPECT_EQ(turned.variance(i), boxes.variance(from));
    }
    Boxes elsewhere = boxes;
    for (std::uint32_t& number : elsewhere.number) number += 1000;
    elsewhere.evaluate(box);
    int same = 0;
    for (int i = 0; i < kJointBlock; ++i) same += elsewhere.probability[i] == boxes.probability[i];
    if (k <= 2) {
      EXPECT_EQ(same, kJointBlock);
    } else {
      EXPECT_LT(same, 8);
    }
  }
}

// Ends that are as good as infinite, which save work where all boxes of a vector have them, among
// others and alone.
TEST_P(NormalBoxTargets, ABoxsAnswerIsItsOwnAtFarEnds) {
  Random random(8);
  const double c[] = {0.6, -0.2};
  for (const double rho : kRhos) {
    const double R[4] = {1, rho, rho, 1};
    for (int k = 1; k <= 2; ++k) {
      const NormalBox box(R, k, c, GetParam().target);
      Boxes boxes(k);
      fill(&random, rho, &boxes);
      for (int i = 0; i < kJointBlock; ++i) {
        for (int j = 0; j < k; ++j) {
          if (i % 3 != 0) boxes.upper[j][i] = 4.5F + static_cast<float>((7 * i + 3 * j) % 29) / 8;
          if (i % 5 == 0) boxes.lower[j][i] = -4.5F - static_cast<float>((5 * i + j) % 23) / 8;
          boxes.lower[j][i] = std::min(boxes.lower[j][i], boxes.upper[j][i]);
        }
      }
      boxes.evaluate(box);
      for (int i = 0; i < kJointBlock; ++i) {
        Boxes same(k);
        for (int j = 0; j < k; ++j) {
          std::fill_n(same.lower[j], kJointBlock, boxes.lower[j][i]);
          std::fill_n(same.upper[j], kJointBlock, boxes.upper[j][i]);
        }
        same.evaluate(box);
        ASSERT_EQ(same.probability[i], boxes.probability[i]) << "rho " << rho << " k " << k;
        ASSERT_EQ(same.moment[i], boxes.moment[i]) << "rho " << rho << " k " << k;
      }
    }
  }
}

// Below and above any end of one column, the other in any range a to b, are together
//   Phi(b) - Phi(a),  and of moments  c_2 (phi(a) - phi(b))  (Tallis: what the end adds cancels),
// within both answers' errors.
TEST_P(NormalBoxTargets, OneSidedBoxesAddUp) {
  Random random(12);
  const double c[] = {0.6, -0.2};
  const float inf = std::numeric_limits<float>::infinity();
  for (const double rho : kRhos) {
    const double R[4] = {1, rho, rho, 1};
    const NormalBox box(R, 2, c, GetParam().target);
    Boxes below(2);
    fill(&random, rho, &below);
    Boxes above = below;
    for (int i = 0; i < kJointBlock; ++i) {
      below.lower[0][i] = -inf;
      above.lower[0][i] = below.upper[0][i];
      above.upper[0][i] = inf;
    }
    below.evaluate(box);
    above.evaluate(box);
    for (int i = 0; i < kJointBlock; ++i) {
      const auto from = static_cast<double>(below.lower[1][i]);
      const auto to = static_cast<double>(below.upper[1][i]);
      EXPECT_NEAR(below.probability[i] + above.probability[i], normal_cdf(to) - normal_cdf(from),
                  2 * 3e-7)
          << "rho " << rho << " at " << above.lower[0][i] << " from " << from << " to " << to;
      EXPECT_NEAR(below.moment[i] + above.moment[i], c[1] * (normal_pdf(from) - normal_pdf(to)),
                  2 * 1e-6)
          << "rho " << rho << " at " << above.lower[0][i] << " from " << from << " to " << to;
    }
  }
}

// Draws follow rounding continuously, but for a point of the lattice that falls on an end of [0, 1)
// on one processor only, where the tent is continuous too.
TEST_P(NormalBoxTargets, ProcessorsAgree) {
  Random random(7);
  for (const int k : {2, 3, 5, 16}) {
    const OneFactor factor(k, 0.3, 0.9, &random);
    Boxes boxes(k);
    fill_near(&random, &boxes);
    boxes.evaluate(NormalBox(factor.R, k, factor.c, GetParam().target));
    Boxes best = boxes;
    best.evaluate(NormalBox(factor.R, k, factor.c, best_simd_target()));
    for (int i = 0; i < kJointBlock; ++i) {
      EXPECT_NEAR(boxes.probability[i], best.probability[i], 1e-5F);
      EXPECT_NEAR(boxes.moment[i], best.moment[i], 1e-5F);
    }
  }
}

// Columns that say nearly the same, matrices that are none, ends that are no numbers.
TEST_P(NormalBoxTargets, NothingIsNoNumber) {
  Random random(8);
  for (int k = 1; k <= kMaxColumns; ++k) {
    for (const double rho : {1.0, 1 - 1e-9, -1.0, -0.9, 0.5}) {
      std::vector<double> R(static_cast<std::size_t>(k) * static_cast<std::size_t>(k), rho);
      for (int j = 0; j < k; ++j)
        R[static_cast<std::size_t>(j) * static_cast<std::size_t>(k + 1)] = 1;
      const NormalBox box(R.data(), k, R.data(), GetParam().target);
      Boxes boxes(k);
      fill(&random, 0.5, &boxes);
      boxes.evaluate(box);
      for (int i = 0; i < kJointBlock; ++i) {
        EXPECT_TRUE(boxes.probability[i] >= 0 && boxes.probability[i] <= 1);
        EXPECT_TRUE(std::isfinite(boxes.moment[i]));
        EXPECT_TRUE(boxes.variance(i) >= 0 && boxes.variance(i) <= 1);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, NormalBoxTargets, testing::ValuesIn(simd_targets()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace kde
