// The optimisers on functions whose minima are known.
#include "core/select/optimise.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kde {
namespace {

// 50 (x - 1)^2 + (y + 2)^2/2 + (z + x - 1)^2: second derivatives by hand.
const Matrix kCurvature = (Matrix(3, 3) << 102, 0, 2, 0, 1, 0, 2, 0, 2).finished();

Status quadratic(const Vector& x, double* f, Vector* gradient) {
  const Vector from = x - (Vector(3) << 1, -2, 0).finished();
  *f = from.dot(kCurvature * from) / 2;
  *gradient = kCurvature * from;
  return Status::success();
}

void unconstrained(const Vector&, Vector*, Matrix*) {}

// The last step was the shorter the better its units were; in them the curvature is about 1, which
// saves the next search from learning it.
TEST(Optimise, FindsAMinimumAndItsCurvature) {
  const SmoothStart start{Vector::Zero(3), Matrix::Identity(3, 3)};
  Minimum minimum;
  SmoothStart next;
  ASSERT_TRUE(minimise_smooth(quadratic, unconstrained, 0, start, {}, &minimum, &next).ok());
  EXPECT_TRUE(minimum.stationary);
  EXPECT_NEAR(minimum.at(0), 1, 1e-6);
  EXPECT_NEAR(minimum.at(1), -2, 1e-6);
  EXPECT_NEAR(minimum.at(2), 0, 1e-6);
  const Matrix curvature = next.units.transpose() * kCurvature * next.units;
  EXPECT_NEAR(curvature.trace(), 3, 0.5);
  const int evaluations = minimum.evaluations;
  next.at += (Vector(3) << 0.1, -0.1, 0.1).finished();
  const SmoothStart moved = next;
  ASSERT_TRUE(minimise_smooth(quadratic, unconstrained, 0, moved, {}, &minimum, &next).ok());
  EXPECT_LT(minimum.evaluations, evaluations);
}

// On a line the secant is the curvature, whatever the steps.
TEST(Optimise, LearnsTheCurvatureOfALine) {
  const SmoothFunction line = [](const Vector& x, double* f, Vector* gradient) {
    *f = 8 * (x(0) - 3) * (x(0) - 3);
    (*gradient)(0) = 16 * (x(0) - 3);
    return Status::success();
  };
  const SmoothStart start{Vector::Zero(1), Matrix::Identity(1, 1)};
  Minimum minimum;
  SmoothStart next;
  ASSERT_TRUE(minimise_smooth(line, unconstrained, 0, start, {}, &minimum, &next).ok());
  EXPECT_NEAR(minimum.at(0), 3, 1e-9);
  EXPECT_NEAR(next.units(0, 0), 0.25, 1e-12);  // 16 u^2 = 1
}

// A ball that does not hold the minimum: at the best of its points the gradient is normal to it.
// Its bent surface is crossed on the way, to lower values.
TEST(Optimise, StaysWithinConstraints) {
  const Constraints ball = [](const Vector& x, Vector* c, Matrix* jacobian) {
    (*c)(0) = x.squaredNorm() - 1;
    if (jacobian != nullptr) *jacobian = 2 * x.transpose();
  };
  const SmoothStart start{Vector::Constant(3, 0.1), Matrix::Identity(3, 3)};
  Minimum minimum;
  SmoothStart next;
  ASSERT_TRUE(minimise_smooth(quadratic, ball, 1, start, {}, &minimum, &next).ok());
  EXPECT_TRUE(minimum.stationary);
  EXPECT_NEAR(minimum.at.norm(), 1, 1e-4);
  double f = 0;
  Vector gradient(3);
  ASSERT_TRUE(quadratic(minimum.at, &f, &gradient).ok());
  EXPECT_NEAR(-gradient.normalized().dot(minimum.at.normalized()), 1, 1e-3);
}

TEST(Optimise, ReportsWhatTheFunctionDoes) {
  int calls = 0;
  const SmoothFunction f = [&calls](const Vector& x, double* value, Vector* gradient) {
    if (++calls == 3) return Status::error(Code::cancelled, "cancelled");
    return quadratic(x, value, gradient);
  };
  const SmoothStart start{Vector::Zero(3), Matrix::Identity(3, 3)};
  Minimum minimum;
  SmoothStart next;
  EXPECT_EQ(minimise_smooth(f, unconstrained, 0, start, {}, &minimum, &next).code, Code::cancelled);
  EXPECT_EQ(calls, 3);
  const Function simplex = [&calls](const Vector&, double*) {
    return ++calls == 8 ? Status::error(Code::cancelled, "cancelled") : Status::success();
  };
  EXPECT_EQ(minimise_simplex(simplex, start.at, 0.1, 1e-6, 100, &minimum).code, Code::cancelled);
  EXPECT_EQ(calls, 8);
}

TEST(Optimise, TheSimplexFindsAMinimumBesideWhatHasNoValue) {
  const Function f = [](const Vector& x, double* value) {
    Vector gradient(3);
    Status s = quadratic(x, value, &gradient);
    if (x(1) < -2.5) *value = HUGE_VAL;
    return s;
  };
  Minimum minimum;
  ASSERT_TRUE(minimise_simplex(f, Vector::Zero(3), 0.5, 1e-8, 2000, &minimum).ok());
  EXPECT_TRUE(minimum.stationary);
  EXPECT_NEAR(minimum.at(0), 1, 1e-5);
  EXPECT_NEAR(minimum.at(1), -2, 1e-5);
  ASSERT_TRUE(minimise_simplex(f, Vector::Zero(3), 0.5, 1e-8, 10, &minimum).ok());
  EXPECT_FALSE(minimum.stationary);
  EXPECT_EQ(minimum.evaluations, 10);
}

}  // namespace
}  // namespace kde
