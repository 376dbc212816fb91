// Boxes of correlated normal vectors: the reference against Owen's T and quadrature, the vector
// kernels of every instruction set against the reference, draws against integrals in one dimension.
#include "core/joint/normal_box.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/special_functions/owens_t.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/estimate/normal.h"
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
  float probability[kJointBlock], moment[kJointBlock], variance[kJointBlock];

  void evaluate(const NormalBox& box, int boxes = kJointBlock) {
    box.evaluate(lower, upper, boxes, number, probability, moment, variance);
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
            ASSERT_EQ(boxes.variance[i], 0);
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, NormalBoxTargets, testing::ValuesIn(simd_targets()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace kde
