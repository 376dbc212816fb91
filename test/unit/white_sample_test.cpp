// Whitening: the identities that hold for any sample, extreme scales and offsets, and what is
// refused.
#include "core/select/white_sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "samples.h"

namespace kde {
namespace {

WhiteSample whiten(const std::vector<double>& points, int d) {
  WhiteSample out;
  const Status status = whiten_sample(points, d, {}, &out);
  EXPECT_TRUE(status.ok()) << status.message;
  return out;
}

Status refusal(const std::vector<double>& points, int d) {
  WhiteSample out;
  return whiten_sample(points, d, {}, &out);
}

double squared_distance(const WhiteSample& s, std::size_t i, std::size_t j) {
  const auto d = static_cast<std::size_t>(s.d);
  double sum = 0;
  for (std::size_t k = 0; k < d; ++k) {
    const double u = s.w[i * d + k] - s.w[j * d + k];
    sum += u * u;
  }
  return sum;
}

// Columns of very different scales and correlations, well conditioned.
std::vector<double> sample(int n, int d, std::uint64_t seed) {
  std::vector<double> x = samples::normal(n * d, seed);
  for (int i = 0; i < n; ++i) {
    for (int k = 1; k < d; ++k)
      x[static_cast<std::size_t>(i * d + k)] += 0.5 * x[static_cast<std::size_t>(i * d + k - 1)];
  }
  return x;
}

// sum over pairs of S = tr(Sigma^-1 sum (x_i - x_j)(x_i - x_j)') = n (n - 1) d. The whitened
// covariance is the unit matrix to some n eps times the condition of Sigma, here below 100.
TEST(WhiteSample, DistancesAddUpToTheIdentity) {
  for (const int d : {1, 2, 5, 16}) {
    const int n = 200;
    const WhiteSample s = whiten(sample(n, d, 31), d);
    double sum = 0;
    for (std::size_t i = 0; i < 200; ++i) {
      for (std::size_t j = i + 1; j < 200; ++j) sum += squared_distance(s, i, j);
    }
    EXPECT_NEAR(sum / (n * (n - 1.0) * d), 1, 1e-11) << d;
  }
}

// scale C (w_i - w_j) = x_i - x_j.
TEST(WhiteSample, FactorAndScaleGiveThePointsBack) {
  const std::size_t d = 4;
  const std::vector<double> x = sample(100, 4, 32);
  const WhiteSample s = whiten(x, 4);
  EXPECT_EQ(s.n, 100);
  EXPECT_EQ(s.d, 4);
  double log_det = 0;
  for (std::size_t k = 0; k < d; ++k) {
    log_det += std::log(std::ldexp(s.factor[k * d + k], s.exponent[k]));
    for (std::size_t i = 1; i < 100; ++i) {
      double sum = 0;
      for (std::size_t l = 0; l <= k; ++l) sum += s.factor[k * d + l] * (s.w[i * d + l] - s.w[l]);
      EXPECT_NEAR(std::ldexp(sum, s.exponent[k]), x[i * d + k] - x[k], 1e-13);
    }
    for (std::size_t l = k + 1; l < d; ++l) EXPECT_EQ(s.factor[k * d + l], 0);
  }
  EXPECT_NEAR(s.log_det, log_det, 1e-13);
}

// Multiplication by a power of two changes nothing but the scale, whatever its size; where squares
// would overflow or vanish, too.
TEST(WhiteSample, ScalesOfAnyMagnitudeGiveTheSameBits) {
  const std::vector<double> x = sample(300, 3, 33);
  std::vector<double> scaled = x;
  for (std::size_t i = 0; i < 300; ++i) {
    scaled[3 * i] = std::ldexp(x[3 * i], 1000);
    scaled[3 * i + 2] = std::ldexp(x[3 * i + 2], -960);
  }
  const WhiteSample a = whiten(x, 3);
  const WhiteSample b = whiten(scaled, 3);
  EXPECT_EQ(a.w, b.w);
  EXPECT_EQ(a.factor, b.factor);
  EXPECT_EQ(b.exponent[0], a.exponent[0] + 1000);
  EXPECT_EQ(b.exponent[2], a.exponent[2] - 960);
  EXPECT_NEAR(b.log_det, a.log_det + 40 * std::numbers::ln2, 1e-12);
}

// An offset of 10^9 standard deviations rounds values by up to 2^-24 (half a unit of 2^30), which
// is all that distances may lose, some 1e-7.
TEST(WhiteSample, HugeOffsetsCostNoMoreThanTheValuesLost) {
  const std::vector<double> x = sample(300, 2, 34);
  std::vector<double> moved = x;
  for (double& v : moved) v += 1e9;
  const WhiteSample a = whiten(x, 2);
  const WhiteSample b = whiten(moved, 2);
  for (std::size_t i = 0; i < a.w.size(); ++i) EXPECT_NEAR(a.w[i], b.w[i], 1e-6);
}

TEST(WhiteSample, EndsOfDoublePrecision) {
  const double huge = std::numeric_limits<double>::max();
  const double tiny = std::numeric_limits<double>::denorm_min();
  const WhiteSample s = whiten({huge, tiny, -huge, 0, huge, 0, 0, 2 * tiny}, 2);
  for (const double w : s.w) EXPECT_TRUE(std::isfinite(w));
  EXPECT_TRUE(std::isfinite(s.log_det));
}

TEST(WhiteSample, CountsTies) {
  // (1,1) three times, (2,5) twice: 4 pairs. First column: 1 four times, 2 twice: 7 pairs.
  const WhiteSample s = whiten({1, 1, 2, 5, 1, 1, 1, 7, 3, 3, 2, 5, 1, 1}, 2);
  EXPECT_EQ(s.tied_pairs, 4);
  EXPECT_EQ(s.tied_in_column, 7);
  EXPECT_EQ(s.tied_column, 1);
  const WhiteSample none = whiten({1, 4, 2, 3, 3, 8}, 2);
  EXPECT_EQ(none.tied_pairs, 0);
  EXPECT_EQ(none.tied_in_column, 0);
  EXPECT_EQ(none.tied_column, 0);
  EXPECT_EQ(whiten({1, 4, 2, 4, 3, 8}, 2).tied_column, 2);
  // Zeros of both signs are equal.
  EXPECT_EQ(whiten({0.0, -0.0, 1}, 1).tied_pairs, 1);
}

// x2 = x1 + f u: what is left of the second column's variance is f^2 of it, with an error of some
// eps; whitened once, the covariance of w would be off by eps/f^2, 2e-6 at f = 1e-5. Twice it is
// the unit matrix to some n eps. u as it is stored is (x2 - x1)/f, exact but for the division, and
// its own whitening gives the same w to eps/f.
TEST(WhiteSample, NearlyCollinearColumnsAreWhitenedToRounding) {
  const std::size_t n = 500;
  const std::vector<double> x = samples::mix(500, 2);
  for (const double f : {1.0, 1e-3, 1e-5, 1e-6}) {
    std::vector<double> near = x;
    std::vector<double> apart = x;
    for (std::size_t i = 0; i < n; ++i) {
      near[2 * i + 1] = x[2 * i] + f * x[2 * i + 1];
      apart[2 * i + 1] = (near[2 * i + 1] - x[2 * i]) / f;
    }
    const WhiteSample a = whiten(near, 2);
    const WhiteSample b = whiten(apart, 2);
    double squares[2] = {};
    double product = 0;
    for (std::size_t i = 0; i < n; ++i) {
      squares[0] += a.w[2 * i] * a.w[2 * i];
      squares[1] += a.w[2 * i + 1] * a.w[2 * i + 1];
      product += a.w[2 * i] * a.w[2 * i + 1];
    }
    EXPECT_NEAR(squares[0] / (n - 1), 1, 1e-12) << f;
    EXPECT_NEAR(squares[1] / (n - 1), 1, 1e-12) << f;
    EXPECT_NEAR(product / (n - 1), 0, 1e-12) << f;
    // Values and means below 8 in units of sigma, rounded twice, in both coordinates.
    const double rounding = 32 * std::numeric_limits<double>::epsilon() / f;
    for (std::size_t i = 0; i < n; ++i) {
      const double distance = squared_distance(b, i, 0);
      EXPECT_NEAR(squared_distance(a, i, 0), distance, rounding * (1 + distance)) << f;
    }
    EXPECT_NEAR(a.log_det, b.log_det + std::log(f), 1e-12 + 1e-14 / f) << f;
  }
}

// Quartiles of -2, -1, 0, 1, 2: -1 and 1; the variance is 5/2. With one of them at 1000 the IQR is
// still 2. With three equal of five it is 0.
TEST(WhiteSample, RobustScaleIsOfTheMiddleHalf) {
  EXPECT_NEAR(whiten({-2, -1, 0, 1, 2}, 1).robust_scale, 2 / 1.34 / std::sqrt(2.5), 1e-14);
  const WhiteSample far = whiten({-2, -1, 0, 1, 1000}, 1);
  EXPECT_NEAR(far.robust_scale, 2 / 1.34 / far.factor[0] / std::exp2(far.exponent[0]), 1e-14);
  EXPECT_LT(far.robust_scale, 0.01);
  EXPECT_EQ(whiten({0, 1, 1, 1, 3}, 1).robust_scale, 1);
  EXPECT_EQ(whiten({0, 0, 0, 1, 1, 1}, 1).robust_scale, 1);
  // The narrowest column counts; the other's IQR is more than its standard deviation's worth.
  std::vector<double> x = samples::mix(300, 2);
  x[41] = 1e4;
  EXPECT_LT(whiten(x, 2).robust_scale, 0.02);
}

TEST(WhiteSample, RefusesWhatIsNoSample) {
  const double nan = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(refusal({1, 2, nan}, 1).code, Code::invalid_argument);
  EXPECT_EQ(refusal({1, 2, -infinity}, 1).code, Code::invalid_argument);
  EXPECT_EQ(refusal({1, 2, 3}, 2).code, Code::invalid_argument);
  EXPECT_EQ(refusal({}, 1).code, Code::invalid_argument);
  EXPECT_EQ(refusal({1}, 1).code, Code::invalid_argument);
  EXPECT_EQ(refusal({1, 2}, 0).code, Code::invalid_argument);
  EXPECT_EQ(refusal(samples::normal(17 * 40, 35), 17).code, Code::invalid_argument);
  EXPECT_EQ(refusal({1, 2, 3, 5}, 2).code, Code::degenerate);  // as many points as dimensions
  EXPECT_TRUE(refusal({0, 1}, 1).ok());
  EXPECT_TRUE(refusal(sample(17, 16, 36), 16).ok());
}

TEST(WhiteSample, NamesTheColumnThatIsConstantOrCollinear) {
  std::vector<double> x = sample(50, 3, 37);
  for (std::size_t i = 0; i < 50; ++i) x[3 * i + 1] = -4;
  const Status constant = refusal(x, 3);
  EXPECT_EQ(constant.code, Code::degenerate);
  EXPECT_NE(std::strstr(constant.message, "column 2 "), nullptr) << constant.message;

  // Combinations of the columns before, also far from zero, with rounding of their own.
  for (const double offset : {0.0, 1e6, 1e10}) {
    x = sample(50, 4, 38);
    for (std::size_t i = 0; i < 50; ++i) {
      x[4 * i] += offset;
      x[4 * i + 1] += offset;
      x[4 * i + 2] = 0.3 * x[4 * i] - 0.7 * x[4 * i + 1];
    }
    const Status collinear = refusal(x, 4);
    EXPECT_EQ(collinear.code, Code::degenerate);
    EXPECT_NE(std::strstr(collinear.message, "column 3 "), nullptr) << collinear.message;
  }

  // A thousandth of its own is enough.
  x = sample(50, 4, 38);
  for (std::size_t i = 0; i < 50; ++i)
    x[4 * i + 2] = 0.3 * x[4 * i] - 0.7 * x[4 * i + 1] + 1e-3 * x[4 * i + 2];
  EXPECT_TRUE(refusal(x, 4).ok());
}

// A control that has been asked to stop is seen in every phase: the n-th poll ends the work.
TEST(WhiteSample, StopsWhenAsked) {
  const std::vector<double> x = samples::mix(20'000, 3);
  struct Stop {
    int polls = 0, at = 0;
  } stop;
  Control control;
  control.stop_arg = &stop;
  control.should_stop = [](void* arg) {
    Stop* s = static_cast<Stop*>(arg);
    return ++s->polls >= s->at;
  };
  WhiteSample out;
  stop.at = 1 << 30;
  ASSERT_TRUE(whiten_sample(x, 3, control, &out).ok());
  const int all = stop.polls;
  EXPECT_GT(all, 40);  // three sorts of 20,000 take some 280,000 comparisons each
  for (int at = 1; at <= all; at += 7) {
    stop = {0, at};
    EXPECT_EQ(whiten_sample(x, 3, control, &out).code, Code::cancelled);
    EXPECT_EQ(stop.polls, at);
  }
}

}  // namespace
}  // namespace kde
