// The optimisers on functions whose minima are known.
#include "core/select/optimise.h"

#include <gtest/gtest.h>

#include <algorithm>
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

// Units in which its curvature is about 1.
const Matrix kUnits = (Vector(3) << 0.1, 1, 0.7).finished().asDiagonal();

// A wall that the way to the minimum leads through, and another that is nowhere near: where steps
// without constraints meet one they are taken back, and what is found is what it is with them.
TEST(Optimise, TakesBackFreeStepsThatMeetAConstraint) {
  const SmoothStart start{Vector::Constant(3, 0.1), kUnits};
  for (const double at : {0.5, 50.0}) {
    const Constraints wall = [at](const Vector& x, Vector* c, Matrix* jacobian) {
      (*c)(0) = x(0) - at;
      if (jacobian != nullptr) *jacobian = Vector::Unit(3, 0).transpose();
    };
    Minimum minimum[2];
    for (const bool freely : {true, false}) {
      SmoothStop stop;
      stop.freely = freely;
      SmoothStart next;
      ASSERT_TRUE(minimise_smooth(quadratic, wall, 1, start, stop, &minimum[freely], &next).ok());
    }
    EXPECT_TRUE(minimum[1].stationary) << at;
    EXPECT_LT((minimum[1].at - minimum[0].at).norm(), 1e-6) << at;
    EXPECT_NEAR(minimum[1].at(0), std::min(at, 1.0), 1e-6);
  }
}

// 20 variables whose curvatures are from 0.03 to 3. What is left once the steps shrink is told from
// how they do; the last one is taken, but not looked at.
TEST(Optimise, EndsWithinItsTolerance) {
  const int n = 20;
  Vector curvature(n);
  for (int i = 0; i < n; ++i) curvature(i) = std::pow(10, 2.0 * i / (n - 1) - 1.5);
  Vector last;
  double last_value = 0;
  const SmoothFunction f = [&](const Vector& x, double* value, Vector* gradient) {
    const Vector square = x.cwiseProduct(x);
    // Not quadratic, so that the curvature changes on the way.
    *value = (curvature.array() * square.array() * (0.5 + square.array() / 4)).sum();
    *gradient = (curvature.array() * x.array() * (1 + square.array())).matrix();
    last = x;
    last_value = *value;
    return Status::success();
  };
  const SmoothStart start{Vector::Constant(n, 1), Matrix::Identity(n, n)};
  for (const double tolerance : {1e-3, 1e-6, 1e-9}) {
    const SmoothStop stop{.tolerance = tolerance, .least_step = 1e-12};
    Minimum minimum;
    SmoothStart next;
    ASSERT_TRUE(minimise_smooth(f, unconstrained, 0, start, stop, &minimum, &next).ok());
    EXPECT_TRUE(minimum.stationary);
    // In units whose curvatures are 1 they would be within the tolerance.
    EXPECT_LT(minimum.at.norm(), tolerance / std::sqrt(0.03));
    EXPECT_LT(minimum.at.norm(), last.norm());
    EXPECT_LT(std::fabs(minimum.value), last_value);
  }
}

// Less curvature than errors of the gradients could make of the shortest steps is learnt from
// longer ones; else this would be approached by a hundredth of the way at a time, and given up for
// lost.
TEST(Optimise, LearnsALittleCurvature) {
  const SmoothFunction f = [](const Vector& x, double* value, Vector* gradient) {
    *gradient = (Vector(2) << 0.008 * x(0), x(1)).finished();
    *value = x.dot(*gradient) / 2 - 1;
    return Status::success();
  };
  const SmoothStart start{Vector::Constant(2, 0.1), Matrix::Identity(2, 2)};
  Minimum minimum;
  SmoothStart next;
  ASSERT_TRUE(minimise_smooth(f, unconstrained, 0, start, {}, &minimum, &next).ok());
  EXPECT_TRUE(minimum.stationary);
  EXPECT_LT(minimum.at.norm(), 1e-6);
  EXPECT_LT(minimum.evaluations, 20);
}

// In units that are far too small steps do not get shorter on the way to a minimum; those that
// would tell of one that is lost in rounding are as short.
TEST(Optimise, GoesOnWhereUnitsAreFarTooSmall) {
  for (const double unit : {1e-3, 1e-2}) {
    const SmoothFunction f = [unit](const Vector& x, double* value, Vector* gradient) {
      // Falls evenly to a minimum at 3.
      const Vector from = x - Vector::Constant(x.size(), 3);
      const double root = std::sqrt(0.1 + from.squaredNorm());
      *value = unit * root;
      *gradient = unit / root * from;
      return Status::success();
    };
    for (const int patience : {4, 50}) {
      const SmoothStart start{Vector::Zero(2), Matrix::Identity(2, 2)};
      const SmoothStop stop{.tolerance = 1e-9, .least_step = 1e-9, .patience = patience};
      Minimum minimum;
      SmoothStart next;
      ASSERT_TRUE(minimise_smooth(f, unconstrained, 0, start, stop, &minimum, &next).ok());
      EXPECT_TRUE(minimum.stationary) << unit << ' ' << patience;
      EXPECT_LT((minimum.at - Vector::Constant(2, 3)).norm(), 1e-2) << unit << ' ' << patience;
      EXPECT_LT(minimum.evaluations, 100) << unit << ' ' << patience;
    }
  }
}

// A function with errors as of single precision: the search ends where the minimum is lost in them,
// long before its evaluations do.
TEST(Optimise, EndsWhereRoundingDoes) {
  constexpr double kError = 4e-6;
  const SmoothFunction f = [](const Vector& x, double* value, Vector* gradient) {
    Status s = quadratic(x, value, gradient);
    const auto error = [&x](double at) { return kError * std::sin(1e9 * (x.sum() + at)); };
    *value += 1000 + error(0);
    for (Eigen::Index i = 0; i < 3; ++i) (*gradient)(i) += error(static_cast<double>(i));
    return s;
  };
  const SmoothStart start{(Vector(3) << 0.5, -1, 0.5).finished(), kUnits};
  const SmoothStop stop{.tolerance = 1e-9, .least_step = 1e-4, .patience = 20};
  Minimum minimum;
  SmoothStart next;
  ASSERT_TRUE(minimise_smooth(f, unconstrained, 0, start, stop, &minimum, &next).ok());
  EXPECT_TRUE(minimum.stationary);
  EXPECT_LT(minimum.evaluations, 100);
  // The least curvature is 1.
  EXPECT_LT((minimum.at - (Vector(3) << 1, -2, 0).finished()).norm(), 5 * kError);
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
