// The bandwidth matrix by any method: that each is what its name says, in units of x, at any scale,
// and what bad points get. The values themselves are tested with their selectors.
#include "core/select/bandwidth_matrix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/select/line_bandwidth.h"
#include "reference_samples.h"
#include "samples.h"

namespace kde {
namespace {

constexpr const char* kNames[] = {"lscv_matrix",         "lscv_diagonal", "lscv",
                                  "lscv_matrix_simplex", "lscv_grid",     "plugin_product",
                                  "normal_reference",    "scott"};

MatrixMethod method_of(const char* name) {
  MatrixMethod method{};
  EXPECT_TRUE(parse_matrix_method(name, &method)) << name;
  return method;
}

MatrixRequest request(const char* name) {
  MatrixRequest r;
  r.method = method_of(name);
  r.engine.precision = Precision::full;
  return r;
}

BandwidthMatrix matrix(const char* name, const std::vector<double>& points, int d) {
  BandwidthMatrix out;
  const Status status = select_bandwidth_matrix(request(name), points, d, {}, &out);
  EXPECT_TRUE(status.ok()) << name << ": " << status.message;
  return out;
}

// The sample covariance, by its definition.
std::vector<double> covariance(const std::vector<double>& points, int d) {
  const std::size_t k = static_cast<std::size_t>(d);
  const std::size_t n = points.size() / k;
  std::vector<double> mean(k);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t a = 0; a < k; ++a) mean[a] += points[i * k + a] / static_cast<double>(n);
  std::vector<double> out(k * k);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t a = 0; a < k; ++a) {
      for (std::size_t b = 0; b < k; ++b) {
        out[a * k + b] += (points[i * k + a] - mean[a]) * (points[i * k + b] - mean[b]) /
                          static_cast<double>(n - 1);
      }
    }
  }
  return out;
}

void expect_multiple(const std::vector<double>& h, const std::vector<double>& sigma, double factor,
                     double bound) {
  ASSERT_EQ(h.size(), sigma.size());
  for (std::size_t i = 0; i < h.size(); ++i)
    EXPECT_NEAR(h[i], factor * sigma[i], bound * factor * std::fabs(sigma.front()));
}

TEST(BandwidthMatrix, MultiplesOfTheCovariance) {
  for (const int d : {1, 2, 3, 5}) {
    const int n = 300;
    const std::vector<double> x = samples::mix(n, d);
    const std::vector<double> sigma = covariance(x, d);
    expect_multiple(matrix("normal_reference", x, d).matrix, sigma,
                    std::pow(4.0 / ((d + 2) * n), 2.0 / (d + 4)), 1e-12);
    expect_multiple(matrix("scott", x, d).matrix, sigma, std::pow(n, -2.0 / (d + 4)), 1e-12);
    for (const char* name : {"lscv", "lscv_grid"}) {
      const BandwidthMatrix found = matrix(name, x, d);
      expect_multiple(found.matrix, sigma, found.matrix.front() / sigma.front(), 1e-12);
    }
  }
}

TEST(BandwidthMatrix, ProductOfPlugIns) {
  const std::vector<double> x = samples::mix(400, 3);
  const BandwidthMatrix product = matrix("plugin_product", x, 3);
  EXPECT_EQ(product.status, nullptr);
  for (std::size_t k = 0; k < 3; ++k) {
    std::vector<double> column;
    for (std::size_t i = k; i < x.size(); i += 3) column.push_back(x[i]);
    LineRequest line;
    line.engine.precision = Precision::full;
    LineBandwidth found;
    ASSERT_TRUE(select_bandwidth(line, column, false, {}, &found).ok());
    for (std::size_t j = 0; j < 3; ++j)
      EXPECT_NEAR(product.factor[3 * k + j], j == k ? found.h : 0, 1e-12);
  }
}

TEST(BandwidthMatrix, IsItsFactorTimesItself) {
  const std::vector<double> x = samples::mix(200, 3);
  for (const char* name : kNames) {
    const BandwidthMatrix found = matrix(name, x, 3);
    EXPECT_TRUE(found.in_range);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_GT(found.factor[4 * i], 0) << name;
      for (std::size_t j = 0; j < 3; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < 3; ++k)
          sum += found.factor[3 * i + k] * found.factor[3 * j + k];
        EXPECT_NEAR(found.matrix[3 * i + j], sum, 1e-14 * std::fabs(sum) + 1e-300) << name;
        if (j > i) {
          EXPECT_EQ(found.factor[3 * i + j], 0) << name;
        }
      }
    }
  }
}

// Columns 600 powers of ten apart: the factor has its range, H has not.
TEST(BandwidthMatrix, AtExtremeScales) {
  const std::vector<double> x = samples::mix(200, 2);
  std::vector<double> extreme = x;
  for (std::size_t i = 0; i < x.size(); i += 2) {
    extreme[i] = std::ldexp(x[i], 990);
    extreme[i + 1] = std::ldexp(x[i + 1], -990);
  }
  for (const char* name : kNames) {
    const BandwidthMatrix plain = matrix(name, x, 2);
    const BandwidthMatrix found = matrix(name, extreme, 2);
    EXPECT_FALSE(found.in_range) << name;
    EXPECT_EQ(found.factor[0], std::ldexp(plain.factor[0], 990)) << name;
    EXPECT_EQ(found.factor[2], std::ldexp(plain.factor[2], -990)) << name;
    EXPECT_EQ(found.factor[3], std::ldexp(plain.factor[3], -990)) << name;
  }
}

TEST(BandwidthMatrix, OfOneColumnIsTheSquare) {
  const std::vector<double> x = samples::mix(300);
  LineRequest line;
  line.method = Method::lscv;
  line.engine.precision = Precision::full;
  LineBandwidth found;
  ASSERT_TRUE(select_bandwidth(line, x, false, {}, &found).ok());
  EXPECT_NEAR(matrix("lscv", x, 1).matrix[0] / (found.h * found.h), 1, 1e-8);
  EXPECT_NEAR(matrix("lscv_matrix", x, 1).matrix[0] / (found.h * found.h), 1, 1e-6);
}

// Sums in single precision are right to about 1e-7; the last steps are in double.
TEST(BandwidthMatrix, InSinglePrecisionEndsInDouble) {
  const std::vector<double> x = samples::mix(300, 3);
  for (const char* name : {"lscv", "lscv_matrix", "lscv_diagonal"}) {
    MatrixRequest single = request(name);
    single.engine.precision = Precision::single;
    BandwidthMatrix found;
    ASSERT_TRUE(select_bandwidth_matrix(single, x, 3, {}, &found).ok());
    const BandwidthMatrix expected = matrix(name, x, 3);
    for (std::size_t i = 0; i < 9; ++i)
      EXPECT_NEAR(found.matrix[i], expected.matrix[i], 1e-6 * expected.matrix[0]) << name;
  }
}

TEST(BandwidthMatrix, SaysHowTheSearchEnded) {
  EXPECT_STREQ(matrix("lscv_matrix", samples::mix(512, 2), 2).status, "converged");
  EXPECT_STREQ(matrix("lscv_matrix", samples::mix(512, 2), 2).notice, "");
  EXPECT_EQ(matrix("scott", samples::mix(512, 2), 2).status, nullptr);
  // 150 points in four columns, rounded: more than enough are equal in some projection.
  const BandwidthMatrix iris = matrix("lscv_matrix", reference_samples::iris(), 4);
  EXPECT_STRNE(iris.status, "converged");
  EXPECT_NE(std::string(iris.notice), "");
  for (const double v : iris.matrix) EXPECT_TRUE(std::isfinite(v));
}

// The first column's 300 values are few, no two points are equal.
TEST(BandwidthMatrix, NamesTheTiesThatCount) {
  std::vector<double> x = samples::normal(600, 51);
  double pairs = 0;
  for (std::size_t i = 0; i < 300; ++i) {
    x[2 * i + 1] = std::round(2 * x[2 * i + 1]);
    for (std::size_t j = 0; j < i; ++j) pairs += x[2 * i + 1] == x[2 * j + 1] ? 1 : 0;
  }
  const BandwidthMatrix column = matrix("lscv_matrix", x, 2);
  EXPECT_STREQ(column.status, "tied values");
  const std::string count = std::to_string(static_cast<int>(pairs));
  EXPECT_EQ(std::string(column.notice).rfind(count + " pairs of equal values in column 2 make", 0),
            0U)
      << column.notice;
  // 80 of 300 points twice.
  std::vector<double> twice = samples::mix(300, 2);
  for (std::size_t i = 0; i < 160; ++i) twice.push_back(twice[i]);
  const BandwidthMatrix points = matrix("lscv", twice, 2);
  EXPECT_STREQ(points.status, "tied values");
  EXPECT_EQ(std::string(points.notice).rfind("80 pairs of equal points make", 0), 0U)
      << points.notice;
}

// Where the standard deviation says little of the values a column is searched as a line is.
TEST(BandwidthMatrix, OfHeavyTailsIsAnInteriorMinimum) {
  std::vector<double> skewed = samples::normal(1000, 53);
  for (double& v : skewed) v = std::exp(2 * v);
  std::vector<double> outlier = samples::normal(1000, 54);
  outlier[0] = 1e4;
  for (const std::vector<double>& x : {skewed, outlier}) {
    LineRequest line;
    line.method = Method::lscv;
    line.engine.precision = Precision::full;
    LineBandwidth found;
    ASSERT_TRUE(select_bandwidth(line, x, false, {}, &found).ok());
    for (const char* name : {"lscv", "lscv_matrix"}) {
      const BandwidthMatrix of_matrix = matrix(name, x, 1);
      EXPECT_STREQ(of_matrix.status, "converged") << name;
      EXPECT_NEAR(of_matrix.factor[0] / found.h, 1, 1e-6) << name;
    }
  }
  // Two columns of Cauchy values.
  std::vector<double> cauchy = samples::normal(3200, 55);
  for (std::size_t i = 0; i < 1600; ++i) cauchy[i] /= cauchy[1600 + i];
  cauchy.resize(1600);
  for (const char* name : {"lscv", "lscv_matrix"})
    EXPECT_STREQ(matrix(name, cauchy, 2).status, "converged") << name;
}

TEST(BandwidthMatrix, RefusesBadPoints) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const char* name : kNames) {
    const auto code = [&](const std::vector<double>& points, int d) {
      BandwidthMatrix out;
      return select_bandwidth_matrix(request(name), points, d, {}, &out).code;
    };
    EXPECT_EQ(code({}, 2), Code::invalid_argument);
    EXPECT_EQ(code({1, 2}, 2), Code::invalid_argument);
    EXPECT_EQ(code({1, 2, 3}, 2), Code::invalid_argument);
    EXPECT_EQ(code({1, 2, 3}, 0), Code::invalid_argument);
    EXPECT_EQ(code(std::vector<double>(170, 1), 17), Code::invalid_argument);
    EXPECT_EQ(code({1, 2, 3, nan, 4, 9}, 2), Code::invalid_argument);
    EXPECT_EQ(code({1, 5, 2, 5, 4, 5}, 2), Code::degenerate);
    EXPECT_EQ(code({1, 2, 2, 4, 4, 8, 5, 10}, 2), Code::degenerate);
    EXPECT_EQ(code({1, 2, 2, 4}, 2), Code::degenerate);
  }
  MatrixMethod method{};
  EXPECT_FALSE(parse_matrix_method("plugin", &method));
  EXPECT_FALSE(parse_matrix_method("", &method));
}

TEST(BandwidthMatrix, StopsWhenAsked) {
  const std::vector<double> x = samples::mix(20000, 4);
  for (const char* name : {"lscv_matrix", "lscv", "lscv_matrix_simplex", "lscv_diagonal"}) {
    Control control;
    int polls = 0;
    control.stop_arg = &polls;
    control.should_stop = [](void* arg) { return ++*static_cast<int*>(arg) > 5; };
    BandwidthMatrix out;
    EXPECT_EQ(select_bandwidth_matrix(request(name), x, 4, control, &out).code, Code::cancelled);
    EXPECT_LE(polls, 6 + 2);
  }
}

}  // namespace
}  // namespace kde
