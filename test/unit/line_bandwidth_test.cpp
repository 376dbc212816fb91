// One column's bandwidth by any method: each against its own selector or reference value, exact and
// near-exact sums against each other, and what scale, kernel, ties and bad input do.
#include "core/select/line_bandwidth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/density/names.h"
#include "reference_data.h"
#include "samples.h"

namespace kde {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

constexpr Method kEvery[] = {Method::plugin,           Method::silverman,      Method::scott,
                             Method::normal_reference, Method::sheather_jones, Method::lscv,
                             Method::smoothed_cv};

LineRequest request(Method method) {
  LineRequest r;
  r.method = method;
  r.engine.precision = Precision::full;
  return r;
}

LineBandwidth bandwidth(const LineRequest& r, const std::vector<double>& x, bool exact = false,
                        const Control& control = {}) {
  LineBandwidth out;
  const Status status = select_bandwidth(r, x, exact, control, &out);
  EXPECT_TRUE(status.ok()) << method_name(r.method) << ": " << status.message;
  return out;
}

void expect_relative(double actual, double expected, double bound) {
  EXPECT_NEAR(actual / expected, 1, bound) << actual << " for " << expected;
}

TEST(LineBandwidth, ReferenceValues) {
  namespace data = reference_data;
  expect_relative(bandwidth(request(Method::plugin), data::eruptions).h, 0.165534133327, 1e-11);
  expect_relative(bandwidth(request(Method::silverman), data::eruptions).h, data::nrd0_eruptions,
                  1e-13);
  const std::vector<double> x = samples::mix(1024);
  LineSummary line;
  std::vector<double> sorted = x;
  std::sort(sorted.begin(), sorted.end());
  ASSERT_TRUE(summarize_line(sorted, {}, &line).ok());
  expect_relative(bandwidth(request(Method::lscv), x).h, 0.12832246903 * line.sigma, 1e-10);
}

// Where both are computed: the spectral sums are right to 1e-13 or so of the functionals; LSCV's
// and smoothed cross-validation's own searches end within 1e-10 of a root, and g's curvature there
// turns an error of 1e-13 of its terms into one of 1e-9 of h at worst.
TEST(LineBandwidth, NearExactIsAsGoodAsExact) {
  std::vector<double> integers = samples::normal(1500, 4);
  for (double& v : integers) v = std::round(20 * v);
  std::vector<double> zeros = samples::lognormal(1500, 5);
  for (std::size_t i = 0; i < zeros.size(); ++i) zeros[i] = i % 10 == 0 ? zeros[i] : 0;
  std::vector<double> outlier = samples::normal(1500, 6);
  outlier.front() = 1e4;
  const std::vector<double> columns[] = {samples::normal(1500, 1),
                                         samples::lognormal(1500, 2),
                                         samples::cauchy(1500, 3),
                                         integers,
                                         zeros,
                                         outlier};
  for (Method method : kEvery) {
    for (std::vector<double> x : columns) {
      std::sort(x.begin(), x.end());
      LineRequest spectral = request(method);
      spectral.engine.kind = Engine::Kind::spectral;
      LineBandwidth near;
      LineBandwidth exact;
      const Status a = select_line_bandwidth(spectral, {x, {}, 1500}, {}, &near);
      const Status b = select_line_bandwidth(request(method), {x, {}, 1500}, {}, &exact);
      EXPECT_EQ(a.code, b.code) << method_name(method) << ": " << a.message << "; " << b.message;
      if (!a.ok() || !b.ok()) continue;
      expect_relative(near.h, exact.h, 1e-8);
      EXPECT_EQ(exact.engine, nullptr);
      if (!needs_pair_sums(method)) continue;
      EXPECT_STREQ(near.engine, "spectral");
      EXPECT_EQ(near.rows_used, 1500);
    }
  }
}

TEST(LineBandwidth, IsNearExactForManyValuesUnlessAskedOtherwise) {
  const std::vector<double> x = samples::normal(513, 1);
  EXPECT_STREQ(bandwidth(request(Method::plugin), x).engine, "spectral");
  EXPECT_EQ(bandwidth(request(Method::plugin), x, true).engine, nullptr);
  LineRequest reference = request(Method::plugin);
  reference.engine.kind = Engine::Kind::reference;
  EXPECT_EQ(bandwidth(reference, x).engine, nullptr);
  EXPECT_EQ(bandwidth(request(Method::plugin), samples::normal(512, 1)).engine, nullptr);
  EXPECT_EQ(bandwidth(request(Method::scott), x).engine, nullptr);
}

// A power of two changes no bit of the scaled values.
TEST(LineBandwidth, MovesWithTheUnit) {
  const std::vector<double> x = samples::lognormal(500, 7);
  for (Method method : kEvery) {
    const double h = bandwidth(request(method), x).h;
    for (const int exponent : {-1000, -30, 30, 1000}) {
      std::vector<double> scaled = x;
      for (double& v : scaled) v = std::ldexp(v, exponent);
      EXPECT_EQ(bandwidth(request(method), scaled).h, std::ldexp(h, exponent))
          << method_name(method);
    }
    std::vector<double> mirrored = x;
    for (double& v : mirrored) v = -v;
    expect_relative(bandwidth(request(method), mirrored).h, h, 1e-9);
  }
}

TEST(LineBandwidth, OfValuesWhoseRangeOverflows) {
  const double big = std::numeric_limits<double>::max();
  for (Method method : kEvery) {
    LineBandwidth out;
    const Status status =
        select_bandwidth(request(method), std::vector<double>{-big, 0, big}, false, {}, &out);
    if (status.ok()) {
      EXPECT_TRUE(std::isfinite(out.h) && out.h > 0) << method_name(method);
    } else {
      EXPECT_EQ(status.code, Code::degenerate) << status.message;
    }
  }
}

// mean/sigma = 1e9: differences of such values still have 23 bits, and the mean rounds to 1e-7 of
// sigma.
TEST(LineBandwidth, SurvivesAHugeOffset) {
  const std::vector<double> x = samples::mix(1000);
  for (Method method : kEvery) {
    std::vector<double> shifted = x;
    for (double& v : shifted) v += 1e9;
    expect_relative(bandwidth(request(method), shifted).h, bandwidth(request(method), x).h, 1e-5);
  }
}

TEST(LineBandwidth, DependsNeitherOnOrderNorOnThreads) {
  std::vector<double> x = samples::cauchy(5000, 8);
  Control two;
  two.threads = 2;
  std::vector<double> reversed(x.rbegin(), x.rend());
  for (Method method : kEvery) {
    const double h = bandwidth(request(method), x).h;
    EXPECT_EQ(bandwidth(request(method), reversed).h, h) << method_name(method);
    EXPECT_EQ(bandwidth(request(method), x, false, two).h, h) << method_name(method);
    const std::vector<double> few(x.begin(), x.begin() + 500);
    EXPECT_EQ(bandwidth(request(method), few, true, two).h, bandwidth(request(method), few).h);
  }
}

TEST(LineBandwidth, OfAPartIsTakenToTheWhole) {
  std::vector<double> x = samples::normal(1000, 9);
  std::sort(x.begin(), x.end());
  for (Method method : kEvery) {
    LineBandwidth part;
    LineBandwidth whole;
    ASSERT_TRUE(select_line_bandwidth(request(method), {x, {}, 1000}, {}, &part).ok());
    ASSERT_TRUE(select_line_bandwidth(request(method), {x, {}, 32000}, {}, &whole).ok());
    expect_relative(part.h / whole.h, 2, 1e-12);
  }
}

// round(1000 z): pairs of equal values are more than 0.27 a row in the whole of 20,000 rows, but
// not in a twentieth of them.
TEST(LineBandwidth, JudgesTheTiesOfTheWhole) {
  std::vector<double> x = samples::normal(1000, 12);
  for (double& v : x) v = std::round(1000 * v);
  std::sort(x.begin(), x.end());
  LineBandwidth part;
  LineBandwidth whole;
  ASSERT_TRUE(select_line_bandwidth(request(Method::lscv), {x, {}, 1000}, {}, &part).ok());
  ASSERT_TRUE(select_line_bandwidth(request(Method::lscv), {x, {}, 20000}, {}, &whole).ok());
  EXPECT_STREQ(part.status, "converged");
  EXPECT_STREQ(whole.status, "tied values");
  EXPECT_NE(std::string(whole.notice).find("among 20000 rows"), std::string::npos);
}

// The terms are in single precision, the last digits of h are not.
TEST(LineBandwidth, LscvInSinglePrecisionEndsInDouble) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    std::vector<double> x = samples::normal(310, seed);
    for (std::size_t i = 0; i < x.size(); i += 2) x[i] += 60;
    LineRequest single = request(Method::lscv);
    single.engine.precision = Precision::single;
    expect_relative(bandwidth(single, x, true).h, bandwidth(request(Method::lscv), x, true).h,
                    1e-9);
  }
}

TEST(LineBandwidth, SaysWhatTiesDid) {
  // 313 pairs of equal values among 272.
  const LineBandwidth tied = bandwidth(request(Method::lscv), reference_data::eruptions);
  EXPECT_STREQ(tied.status, "tied values");
  EXPECT_NE(std::string(tied.notice).find("313 pairs of equal values among 272 rows"),
            std::string::npos)
      << tied.notice;
  EXPECT_EQ(bandwidth(request(Method::plugin), reference_data::eruptions).status, nullptr);
  const LineBandwidth good = bandwidth(request(Method::lscv), samples::mix(300));
  EXPECT_STREQ(good.status, "converged");
  EXPECT_STREQ(good.notice, "");

  std::vector<double> few;
  for (int i = 0; i < 900; ++i) few.push_back(i % 9);
  LineBandwidth out;
  const Status status = select_bandwidth(request(Method::lscv), few, false, {}, &out);
  EXPECT_EQ(status.code, Code::degenerate);
  EXPECT_NE(std::string(status.message).find("44550 pairs"), std::string::npos) << status.message;
}

TEST(LineBandwidth, OfTwoValues) {
  for (Method method : kEvery) {
    LineBandwidth out;
    const Status status =
        select_bandwidth(request(method), std::vector<double>{1, 2}, false, {}, &out);
    if (status.ok()) {
      EXPECT_TRUE(std::isfinite(out.h) && out.h > 0) << method_name(method);
    } else {
      EXPECT_EQ(status.code, Code::degenerate) << method_name(method) << ": " << status.message;
    }
  }
}

// The quartiles are as near to each other, beside the outliers, as double precision has it.
TEST(LineBandwidth, OfQuartilesBesideWhichOutliersAreEndless) {
  const std::vector<double> x{-1, 0, 1e-320, 2e-320, 1};
  for (const Method method : {Method::lscv, Method::smoothed_cv}) {
    LineRequest request;
    request.method = method;
    LineBandwidth found;
    const Status s = select_bandwidth(request, x, true, {}, &found);
    ASSERT_TRUE(s.ok()) << s.message;
    EXPECT_GT(found.h, 0);
    EXPECT_LE(found.h, 2);
  }
}

TEST(LineBandwidth, RefusesWhatHasNoBandwidth) {
  for (Method method : kEvery) {
    const auto code = [&](const std::vector<double>& x) {
      LineBandwidth out;
      return select_bandwidth(request(method), x, false, {}, &out).code;
    };
    EXPECT_EQ(code({}), Code::invalid_argument);
    EXPECT_EQ(code({1}), Code::invalid_argument);
    EXPECT_EQ(code({1, kNan, 2}), Code::invalid_argument);
    EXPECT_EQ(code({1, kInf}), Code::invalid_argument);
    EXPECT_EQ(code({3, 3, 3}), Code::degenerate);
  }
}

TEST(LineBandwidth, StopsWhenAsked) {
  const std::vector<double> x = samples::cauchy(50000, 10);
  for (Method method : {Method::plugin, Method::lscv, Method::sheather_jones}) {
    Control control;
    int polls = 0;
    control.stop_arg = &polls;
    control.should_stop = [](void* arg) { return ++*static_cast<int*>(arg) > 2; };
    LineBandwidth out;
    EXPECT_EQ(select_bandwidth(request(method), x, true, control, &out).code, Code::cancelled);
    EXPECT_LE(polls, 3 + 1);
  }
}

}  // namespace
}  // namespace kde
