// Boxes on joint densities with correlated kernels: blocks against the reference, against draws
// from the density, and against product kernels where the correlations are 0.
#include "core/joint/correlated.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "core/joint/joint_moments.h"
#include "joint_reference.h"
#include "core/random.h"
#include "core/sums/engine_parts.h"
#include "joint_fixture.h"

namespace kde {
namespace {

Range between(double lower, double upper) {
  Range r;
  r.lower = lower;
  r.upper = upper;
  r.lower_unbounded = std::isinf(lower);
  r.upper_unbounded = std::isinf(upper);
  return r;
}

// A side of the column k of the fixture's: coordinates, uniform on (-4, 4), from a to b.
BoxSide side_of(const JointView& d, int k, double a, double b) {
  const JointColumn& c = d.column(k);
  return {k, between(c.center + c.bandwidth * a, c.center + c.bandwidth * b)};
}

// P_jk = load_j load_k: positive definite.
joints::Bytes density_of(int columns, std::size_t n, const std::vector<double>& load,
                         double own_rows = 0) {
  JointParts p = joints::parts(columns, n, joints::Axes::correlated);
  p.correlation.clear();
  for (int j = 1; j < columns; ++j) {
    for (int k = 0; k < j; ++k) p.correlation.push_back(load[j] * load[k]);
  }
  p.header.own_rows = own_rows;
  return joints::encode(p);
}

std::vector<double> loads(int columns, double size) {
  std::vector<double> load;
  for (int k = 0; k < columns; ++k) load.push_back(k % 2 == 0 ? size : -size);
  return load;
}

// A box of one or two sides, some of them open, around anything.
std::vector<BoxSide> random_box(const JointView& d, int sides, Random* random) {
  std::vector<BoxSide> box;
  const int first = static_cast<int>(random->below(static_cast<std::uint64_t>(d.columns())));
  for (int s = 0; s < sides; ++s) {
    double a = random->uniform() * 10 - 6;
    double b = a + random->uniform() * 6;
    if (random->uniform() < 0.2) a = -HUGE_VAL;
    if (a > -HUGE_VAL && random->uniform() < 0.2) b = HUGE_VAL;
    box.push_back(side_of(d, (first + s) % d.columns(), a, b));
  }
  return box;
}

TEST(JointCorrelated, AgreesWithTheReference) {
  Random random(11);
  for (const double size : {0.3, 0.8, 0.96, 0.999}) {
    for (const double own_rows : {0.0, 2.0}) {
      for (const int columns : {2, 3}) {
        const joints::Bytes bytes = density_of(columns, 150, loads(columns, size), own_rows);
        const JointView d = bytes.view();
        for (int n = 0; n < 30; ++n) {
          const std::vector<BoxSide> box = random_box(d, 1 + n % 2, &random);
          for (int target = -1; target < columns; ++target) {
            SCOPED_TRACE(testing::Message()
                         << size << " " << own_rows << " " << n << " target " << target);
            const JointMoments got = joint_moments(d, box, target);
            const JointMoments want = joint_moments_reference(d, box, target);
            const double rows = d.header().rows;
            EXPECT_NEAR(got.count, want.count, 1e-6 * rows);
            EXPECT_EQ(got.quadrature_error, 0);
            if (target < 0) continue;
            EXPECT_NEAR(got.finite, want.finite, 1e-6 * rows);
            // A mean of coordinates within 10 of another: errors of the sums over the rows in the
            // box.
            if (want.count < 1e-3 * rows) continue;
            const double unit = d.column(target).bandwidth;
            const double share = want.count / rows;
            EXPECT_NEAR(got.mean, want.mean, 2e-5 * unit / share);
            EXPECT_NEAR(got.variance, want.variance, 2e-4 * unit * unit / share);
          }
        }
      }
    }
  }
}

// Rows of the density: a point, each as likely as the other, and a kernel's draw.
class Draws {
 public:
  Draws(const JointView& d, std::vector<double> load, std::uint64_t seed)
      : d_(d), load_(std::move(load)), random_(seed) {}

  void next(double* t) {
    const std::size_t i = random_.below(d_.header().points);
    const double w = normal();
    for (int k = 0; k < d_.columns(); ++k) {
      const auto l = load_[static_cast<std::size_t>(k)];
      const double at = d_.coordinate(i / kJointBlock, k, i % kJointBlock);
      t[k] = at + l * w + std::sqrt(1 - l * l) * normal();
    }
  }

 private:
  double normal() {
    if (spare_) {
      spare_ = false;
      return second_;
    }
    const double r = std::sqrt(-2 * std::log(random_.uniform()));
    const double angle = 2 * std::numbers::pi * random_.uniform();
    spare_ = true;
    second_ = r * std::sin(angle);
    return r * std::cos(angle);
  }

  const JointView d_;
  std::vector<double> load_;
  Random random_;
  bool spare_ = false;
  double second_ = 0;
};

TEST(JointCorrelated, AgreesWithDrawsFromTheDensity) {
  constexpr int kColumns = 5;
  constexpr int kDraws = 1000000;
  const std::vector<double> load = {0.9, -0.7, 0.6, -0.8, 0.5};
  const joints::Bytes bytes = density_of(kColumns, 2000, load);
  const JointView d = bytes.view();
  // From narrower than a kernel to most of the points; one with an open side.
  const double boxes[4][kColumns][2] = {
      {{-3, 2}, {-2, 3}, {-3, 3}, {-1, 4}, {-3.5, 3}},
      {{-1, 1.5}, {-4, 0}, {-3, 3}, {-2, 4}, {-4, 2}},
      {{-3, -2.5}, {-5, 5}, {-5, 5}, {-2, 3}, {0, 3}},
      {{-HUGE_VAL, 0}, {-3, 2}, {0, 4}, {-3, HUGE_VAL}, {-4, 4}},
  };
  double count[4] = {};
  double sum[4][kColumns] = {};
  double square[4][kColumns] = {};
  Draws draws(d, load, 12);
  for (int n = 0; n < kDraws; ++n) {
    double t[kColumns];
    draws.next(t);
    for (int i = 0; i < 4; ++i) {
      bool inside = true;
      // The last column bounds nothing: as a target it is by regression on the others.
      for (int k = 0; k + 1 < kColumns; ++k)
        inside = inside && t[k] > boxes[i][k][0] && t[k] < boxes[i][k][1];
      if (!inside) continue;
      count[i] += 1;
      for (int k = 0; k < kColumns; ++k) {
        sum[i][k] += t[k];
        square[i][k] += t[k] * t[k];
      }
    }
  }
  for (int i = 0; i < 4; ++i) {
    std::vector<BoxSide> sides;
    for (int k = 0; k + 1 < kColumns; ++k)
      sides.push_back(side_of(d, k, boxes[i][k][0], boxes[i][k][1]));
    for (int target = 0; target < kColumns; ++target) {
      SCOPED_TRACE(testing::Message() << "box " << i << " target " << target);
      const JointMoments m = joint_moments(d, sides, target);
      const double p = count[i] / kDraws;
      const double error = std::sqrt(p * (1 - p) / kDraws) * d.header().rows;
      EXPECT_NEAR(m.count, p * d.header().rows, 4 * std::hypot(error, m.quadrature_error));
      // Below a tenth of the sampling error of the count by as many points.
      EXPECT_LT(m.quadrature_error, 0.1 * error * std::sqrt(kDraws / 2000.0));
      const double mean = sum[i][target] / count[i];
      const double sd = std::sqrt(square[i][target] / count[i] - mean * mean);
      const JointColumn& c = d.column(target);
      // Quadrature errs by the same share of the sampling error.
      const double mean_error =
          4 * sd * std::hypot(1 / std::sqrt(count[i]), 0.1 / std::sqrt(p * 2000));
      EXPECT_NEAR((m.mean - c.center) / c.bandwidth, mean, mean_error);
    }
  }
}

TEST(JointCorrelated, WithoutCorrelationsIsTheProduct) {
  Random random(13);
  for (const int columns : {2, 4}) {
    const joints::Bytes bytes = density_of(columns, 300, loads(columns, 0));
    joints::Bytes product = joints::encode(joints::parts(columns, 300, joints::Axes::linear));
    const JointView a = bytes.view();
    const JointView b = product.view();
    for (int n = 0; n < 40; ++n) {
      const std::vector<BoxSide> box = random_box(a, columns, &random);
      const JointMoments got = joint_moments(a, box, 0);
      const JointMoments want = joint_moments(b, box, 0);
      EXPECT_NEAR(got.count, want.count, 2e-6 * a.header().rows);
      if (want.count < 1e-3 * a.header().rows) continue;
      const double share = want.count / a.header().rows;
      const double unit = a.column(0).bandwidth;
      // Of more than two sides draws make the means: within a tenth of their sampling error, four
      // times over.
      const double sampling = std::sqrt(want.variance / want.effective_points);
      const double drawn = columns > 2 ? 0.4 * sampling : 0;
      EXPECT_NEAR(got.mean, want.mean, 2e-5 * unit / share + drawn);
      if (columns > 2) continue;
      EXPECT_NEAR(got.variance, want.variance, 2e-4 * unit * unit / share);
    }
  }
}

// Adjacent boxes add up: exactly for two columns, to the quadrature's errors for more.
TEST(JointCorrelated, AdjacentBoxesAddUp) {
  for (const int columns : {2, 3, 5}) {
    const joints::Bytes bytes = density_of(columns, 1000, loads(columns, 0.8));
    const JointView d = bytes.view();
    std::vector<BoxSide> box;
    for (int k = 0; k < columns; ++k) box.push_back(side_of(d, k, -2.5, 3));
    const JointMoments whole = joint_moments(d, box, -1);
    box[0] = side_of(d, 0, -2.5, 0.5);
    const JointMoments left = joint_moments(d, box, -1);
    box[0] = side_of(d, 0, 0.5, 3);
    const JointMoments right = joint_moments(d, box, -1);
    const double error =
        std::hypot(whole.quadrature_error, left.quadrature_error, right.quadrature_error);
    EXPECT_NEAR(left.count + right.count, whole.count, 4 * error + 3e-6 * d.header().rows);
    EXPECT_EQ(error > 0, columns > 2);
  }
}

TEST(JointCorrelated, TheSameBoxTheSameAnswer) {
  const joints::Bytes bytes = density_of(4, 777, loads(4, 0.7));
  const JointView d = bytes.view();
  std::vector<BoxSide> box;
  for (int k = 0; k < 4; ++k) box.push_back(side_of(d, k, -1.0 - k, 2));
  const JointMoments first = joint_moments(d, box, 1);
  const JointMoments again = joint_moments(d, box, 1);
  EXPECT_EQ(first.count, again.count);
  EXPECT_EQ(first.mean, again.mean);
  EXPECT_EQ(first.quadrature_error, again.quadrature_error);
  EXPECT_GT(first.points_visited, 0);
  // Every point stands for three rows: half of them its own, the kernel's error is half.
  const joints::Bytes halved = density_of(4, 777, loads(4, 0.7), 1.5);
  EXPECT_DOUBLE_EQ(joint_moments(halved.view(), box, 1).quadrature_error,
                   first.quadrature_error / 2);
}

}  // namespace
}  // namespace kde
