// The estimate at given points: the reference against closed forms and against the formula in long
// double, the vector engine against the formula, a device that fails against the processor.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <span>
#include <vector>

#include "core/estimate/kernel_estimate.h"
#include "core/random.h"
#include "device/cpu_device.h"
#include "samples.h"

namespace kde {
namespace {

using testing::CpuDevice;
using Numbers = std::vector<double>;

const Engine kReference{Engine::Kind::reference, 0, Precision::full};
const Engine kFull{Engine::Kind::simd, 0, Precision::full};
const Engine kSingle{Engine::Kind::simd, 0, Precision::single};
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<Engine> every_engine() {
  std::vector<Engine> engines{kReference};
  for (const SimdTarget& t : simd_targets()) {
    engines.push_back({Engine::Kind::simd, t.target, Precision::full});
    engines.push_back({Engine::Kind::simd, t.target, Precision::single});
  }
  return engines;
}

Status try_estimate(const Engine& engine, const Numbers& points, int d, const Numbers& factor,
                    const Numbers& at, Numbers* out, const Control& control = {}) {
  out->assign(at.size() / static_cast<std::size_t>(d), -1);
  return kernel_estimate(engine, points, d, factor, at, control, *out);
}

Numbers estimate(const Engine& engine, const Numbers& points, int d, const Numbers& factor,
                 const Numbers& at, const Control& control = {}) {
  Numbers out;
  const Status s = try_estimate(engine, points, d, factor, at, &out, control);
  EXPECT_TRUE(s.ok()) << s.message;
  return out;
}

// A factor with rows of length h or so that correlates every coordinate with the first.
Numbers some_factor(int d, double h) {
  const auto size = static_cast<std::size_t>(d);
  Numbers factor(size * size, 0.0);
  for (std::size_t k = 0; k < size; ++k) {
    factor[k * size] = h / 3;
    factor[k * size + k] = h * (1 + 0.1 * static_cast<double>(k % 4));
  }
  return factor;
}

double distance(const Numbers& a, const Numbers& b) {
  double most = 0;
  for (std::size_t k = 0; k < a.size(); ++k) most = std::max(most, std::fabs(a[k] - b[k]));
  return most;
}

// ---- the formula in long double, and what an engine may differ from it by

using Long = long double;

struct Truth {
  Numbers value, bound;
};

// z = L^-1 u
std::vector<Long> solve(const Numbers& factor, std::vector<Long> u) {
  const std::size_t d = u.size();
  for (std::size_t k = 0; k < d; ++k) {
    for (std::size_t j = 0; j < k; ++j) u[k] -= factor[k * d + j] * u[j];
    u[k] /= factor[k * d + k];
  }
  return u;
}

Long norm(const std::vector<Long>& z) {
  Long square = 0;
  for (const Long v : z) square += v * v;
  return std::sqrt(square);
}

// cond(L) in the Frobenius norm, which is no less than that of theorem 8.5's.
double condition(const Numbers& factor, std::size_t d) {
  Long square = 0;
  std::vector<std::vector<Long>> inverse;  // columns
  for (std::size_t k = 0; k < d; ++k) {
    std::vector<Long> unit(d, 0);
    unit[k] = 1;
    inverse.push_back(solve(factor, unit));
  }
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j < d; ++j) {
      Long sum = 0;
      for (std::size_t k = 0; k < d; ++k)
        sum += std::fabs(inverse[k][i]) * std::fabs(static_cast<Long>(factor[k * d + j]));
      square += sum * sum;
    }
  }
  return static_cast<double>(std::sqrt(square));
}

// Relative errors as in kernel_estimate.h and kernel_sums.h, a fifth more for what is of second
// order; absolute ones of terms that count as 0. Points are centred about their medians, `centre`.
Truth truth(const Engine& engine, const Numbers& points, int d, const Numbers& factor,
            const Numbers& at) {
  const auto size = static_cast<std::size_t>(d);
  const std::size_t n = points.size() / size;
  const bool vectors = engine.kind != Engine::Kind::reference;
  const bool single = vectors && engine.precision == Precision::single;
  const double u = 0x1p-53;
  const Long beyond = single ? 0x1p-120L : vectors ? 0x1p-1020L : 0;
  const double cond = condition(factor, size);
  Numbers centre;
  for (std::size_t k = 0; k < size; ++k) {
    Numbers column;
    for (std::size_t i = 0; i < n; ++i) column.push_back(points[i * size + k]);
    std::sort(column.begin(), column.end());
    centre.push_back(column[n / 2]);
  }
  const auto between = [&](const double* a, const double* b) {
    std::vector<Long> difference;
    for (std::size_t k = 0; k < size; ++k)
      difference.push_back(static_cast<Long>(a[k]) - static_cast<Long>(b[k]));
    return solve(factor, difference);
  };
  Long volume = std::pow(2 * std::numbers::pi_v<Long>, 0.5L * d);
  for (std::size_t k = 0; k < size; ++k) volume *= factor[k * size + k];
  std::vector<double> radius;
  for (std::size_t i = 0; i < n; ++i)
    radius.push_back(static_cast<double>(norm(between(&points[i * size], centre.data()))));
  Truth out;
  for (std::size_t q = 0; q < at.size() / size; ++q) {
    const double own = static_cast<double>(norm(between(&at[q * size], centre.data())));
    Long sum = 0;
    Long bound = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const Long z = norm(between(&at[q * size], &points[i * size]));
      const Long term = std::exp(-z * z / 2);
      Long error = ((3 * d + 4) * cond * z * z + static_cast<double>(n) + 20) * u;
      if (vectors) {
        const double r = std::max(own, radius[i]);
        error += u * (z * z + (d + 3) * z * z / 2 + 40 + 2 * (d + 2) * cond * z * r);
      }
      if (single) error += 0x1p-24 * (z * (2 * 64 + z) + (d + 3) * z * z / 2 + 40);
      sum += term;
      bound += std::min<Long>(1.2L * error, 1) * term + beyond;
    }
    out.value.push_back(static_cast<double>(sum / volume / static_cast<Long>(n)));
    out.bound.push_back(static_cast<double>(bound / volume / static_cast<Long>(n)));
  }
  return out;
}

void expect_truth(const Engine& engine, const Numbers& points, int d, const Numbers& factor,
                  const Numbers& at) {
  const Truth expected = truth(engine, points, d, factor, at);
  const Numbers found = estimate(engine, points, d, factor, at);
  ASSERT_EQ(found.size(), expected.value.size());
  for (std::size_t k = 0; k < found.size(); ++k)
    ASSERT_NEAR(found[k], expected.value[k], expected.bound[k]) << "d " << d << ", query " << k;
}

// ---- closed forms -------------------------------------------------------------------------------

TEST(KernelEstimate, OnePointIsTheNormalDensity) {
  for (const Engine& engine : every_engine()) {
    const double tolerance = is_single(engine) ? 1e-5 : 1e-14;
    // N(5, 2^2): at its mean, a deviation off, far off.
    const Numbers line = estimate(engine, {5}, 1, {2}, {5, 7, 1e200});
    const double peak = 1 / (2 * std::sqrt(2 * std::numbers::pi));
    EXPECT_NEAR(line[0] / peak, 1, tolerance);
    EXPECT_NEAR(line[1] / (peak * std::exp(-0.5)), 1, tolerance);
    EXPECT_EQ(line[2], 0);
    // H = {{4, 2}, {2, 10}}, det 36, H^-1 = {{10, -2}, {-2, 4}}/36; u = (1, -1): 18/36.
    const Numbers plane = estimate(engine, {0, 0}, 2, {2, 0, 1, 3}, {1, -1});
    EXPECT_NEAR(plane[0] / (std::exp(-0.25) / (12 * std::numbers::pi)), 1, tolerance);
  }
}

TEST(KernelEstimate, TailsToTheEndOfTheRange) {
  // A reach of 1020 and of 120 powers of two: 37.6 and 12.9 bandwidths.
  const double peak = 1 / std::sqrt(2 * std::numbers::pi);
  for (const Engine& engine : every_engine()) {
    const double end = is_single(engine) ? 12.5 : 37;
    for (const double z : {3.0, 9.0, 12.0, end}) {
      const double expected = peak * std::exp(-z * z / 2);
      const double found = estimate(engine, {0}, 1, {1}, {z})[0];
      // z^2 eps of the exponent's own rounding, and 5 more.
      EXPECT_NEAR(found / expected, 1, (is_single(engine) ? 0x1p-24 : 0x1p-53) * 5 * (z * z + 8));
    }
    EXPECT_EQ(estimate(engine, {0}, 1, {1}, {39})[0], 0);
  }
}

// ---- engines ------------------------------------------------------------------------------------

TEST(KernelEstimate, EveryDimension) {
  for (int d = 1; d <= 16; ++d) {
    const Numbers points = samples::normal(300 * d, 1);
    const Numbers at = samples::normal(70 * d, 2);
    const Numbers factor = some_factor(d, 0.7);
    for (const Engine& engine : {kReference, kFull, kSingle})
      expect_truth(engine, points, d, factor, at);
  }
}

TEST(KernelEstimate, EveryInstructionSet) {
  for (const int d : {1, 3}) {
    const Numbers points = samples::mix(517, d);
    const Numbers at = samples::mix(131, d);
    for (const Engine& engine : every_engine())
      expect_truth(engine, points, d, some_factor(d, 0.3), at);
  }
}

// Sizes about those of tiles, blocks and lanes.
TEST(KernelEstimate, EverySize) {
  const Numbers points = samples::normal(3 * 600, 3);
  const Numbers at = samples::normal(3 * 600, 4);
  for (const int n : {1, 2, 3, 7, 8, 9, 255, 256, 257, 600}) {
    for (const int m : {1, 2, 4, 5, 63, 64, 65, 130, 512}) {
      expect_truth(kFull, {points.begin(), points.begin() + 3 * n}, 3, some_factor(3, 0.5),
                   {at.begin(), at.begin() + 3 * m});
    }
  }
}

// Bandwidths so narrow that most tiles are not visited, and parts that are summed apart.
TEST(KernelEstimate, ManyPointsAndNarrowBandwidths) {
  const Numbers points = samples::normal(9000, 5);
  const Numbers at = samples::normal(2 * 600, 6);
  for (const Engine& engine : {kFull, kSingle}) {
    const Numbers few(at.begin(), at.begin() + 100);
    expect_truth(engine, points, 1, {0.01}, few);
    expect_truth(engine, points, 1, {1e-4}, few);
    const Numbers plane(points.begin(), points.begin() + 2000);
    expect_truth(engine, plane, 2, some_factor(2, 0.02), at);
  }
}

// Outliers spoil nobody's digits, and have their own peaks.
TEST(KernelEstimate, Outliers) {
  for (const double far : {1e3, 1e7, 1e12, 1e300}) {
    Numbers points = samples::normal(400, 7);
    points.insert(points.end(), {far, -far, 2 * far});
    Numbers at = samples::normal(100, 8);
    at.insert(at.end(), {far, -far, 3 * far, far / 2, 0.9 * far});
    for (const Engine& engine : {kReference, kFull, kSingle}) {
      const Numbers found = estimate(engine, points, 1, {0.3}, at);
      const double peak = 1 / (0.3 * 403 * std::sqrt(2 * std::numbers::pi));
      for (std::size_t k = 100; k < 105; ++k)
        EXPECT_NEAR(found[k], k < 102 ? peak : 0, is_single(engine) ? 1e-6 : 1e-14) << far;
      const Numbers bulk(points.begin(), points.begin() + 400);
      const Numbers expected = estimate(kReference, bulk, 1, {0.3}, {at.begin(), at.begin() + 100});
      for (std::size_t k = 0; k < 100; ++k)
        EXPECT_NEAR(found[k] * 403 / 400, expected[k], is_single(engine) ? 1e-5 : 1e-14) << far;
    }
  }
}

TEST(KernelEstimate, SameBitsForAnyNumberOfThreads) {
  const Numbers points = samples::normal(2 * 20000, 9);
  const Numbers at = samples::normal(2 * 700, 10);
  for (const Engine& engine : {kFull, kSingle}) {
    const Numbers one = estimate(engine, points, 2, some_factor(2, 0.2), at);
    for (const int threads : {2, 3, 8}) {
      Control control;
      control.threads = threads;
      EXPECT_EQ(estimate(engine, points, 2, some_factor(2, 0.2), at, control), one);
    }
  }
}

// ---- invariances --------------------------------------------------------------------------------

TEST(KernelEstimate, UnitsAndOrigin) {
  const Numbers points = samples::mix(200, 2);
  const Numbers at = samples::mix(40, 2);
  const Numbers factor = some_factor(2, 0.4);
  for (const Engine& engine : {kReference, kFull, kSingle}) {
    const Numbers expected = estimate(engine, points, 2, factor, at);
    // Powers of two round nothing: 2^e and 2^-e leave the volume as it is.
    for (const int e : {-990, -30, 30, 990}) {
      const auto scaled = [&](Numbers x) {
        for (std::size_t k = 0; k < x.size(); ++k) x[k] = std::ldexp(x[k], k % 2 == 0 ? e : -e);
        return x;
      };
      Numbers l = factor;
      for (std::size_t k = 0; k < 4; ++k) l[k] = std::ldexp(l[k], k < 2 ? e : -e);
      EXPECT_EQ(estimate(engine, scaled(points), 2, l, scaled(at)), expected) << e;
    }
    // A shift rounds coordinates by 2^-53 2^20, 2^-33 of a unit, 3e-10 of a bandwidth.
    Numbers there = points;
    Numbers shifted = at;
    for (double& v : there) v += 0x1p20;
    for (double& v : shifted) v += 0x1p20;
    EXPECT_LT(distance(estimate(engine, there, 2, factor, shifted), expected),
              is_single(engine) ? 1e-5 : 1e-8);
  }
}

TEST(KernelEstimate, IntegratesToOne) {
  // The trapezoidal rule with steps of half a bandwidth is exact to exp(-2 (2 pi)^2) = 5e-35.
  const Numbers points = samples::mix(50);
  Numbers at;
  for (double x = -10; x <= 14; x += 0.15) at.push_back(x);
  for (const Engine& engine : every_engine()) {
    double sum = 0;
    for (const double f : estimate(engine, points, 1, {0.3}, at)) sum += f * 0.15;
    EXPECT_NEAR(sum, 1, is_single(engine) ? 1e-6 : 1e-13);
  }
}

TEST(KernelEstimate, EndsOfTheRangeOfDouble) {
  const double peak = 1 / std::sqrt(2 * std::numbers::pi);
  for (const Engine& engine : every_engine()) {
    const double tolerance = is_single(engine) ? 1e-6 : 1e-14;
    // The difference of two numbers overflows, in bandwidths it is 3.
    const Numbers wide = estimate(engine, {-1.5e308}, 1, {1e308}, {1.5e308, 1.7e308});
    EXPECT_NEAR(wide[0] * 1e308 / (peak * std::exp(-4.5)), 1, 100 * tolerance);
    EXPECT_GT(wide[1], 0);
    // The peak of a bandwidth of 1e-300, seen from anywhere.
    const Numbers narrow = estimate(engine, {1e300, 1e-300, 0}, 1, {1e-300}, {1e300, -1e300, 0});
    EXPECT_NEAR(narrow[0] / 1e300, peak / 3, tolerance);
    EXPECT_EQ(narrow[1], 0);
    EXPECT_NEAR(narrow[2] / 1e300, peak * (1 + std::exp(-0.5)) / 3, tolerance);
    // Beyond double's range.
    EXPECT_EQ(estimate(engine, {0, 0}, 2, {1e-200, 0, 0, 1e-200}, {0, 0})[0], kInfinity);
    EXPECT_EQ(estimate(engine, {0, 0}, 2, {1e200, 0, 0, 1e200}, {0, 0})[0], 0);
    // Its square root is within.
    EXPECT_NEAR(estimate(engine, {0, 0}, 2, {1e200, 0, 0, 1e-200}, {0, 0})[0], peak * peak,
                tolerance);
  }
}

// ---- what is refused ----------------------------------------------------------------------------

TEST(KernelEstimate, RefusesWhatHasNoMeaning) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Numbers out;
  const auto code = [&](const Engine& engine, const Numbers& points, int d, const Numbers& factor,
                        const Numbers& at, std::size_t results) {
    out.assign(results, 0);
    return kernel_estimate(engine, points, d, factor, at, {}, out).code;
  };
  for (const Engine& engine : {kReference, kFull}) {
    EXPECT_EQ(code(engine, {1, 2}, 1, {1}, {1}, 1), Code::ok);
    EXPECT_EQ(code(engine, {1, 2}, 1, {1}, {}, 0), Code::ok);
    for (const int d : {0, -1, 17})
      EXPECT_EQ(code(engine, {1, 2}, d, {1}, {1}, 1), Code::invalid_argument);
    EXPECT_EQ(code(engine, {}, 1, {1}, {1}, 1), Code::invalid_argument);
    EXPECT_EQ(code(engine, {1, 2, 3}, 2, {1, 0, 0, 1}, {1, 2}, 1), Code::invalid_argument);
    EXPECT_EQ(code(engine, {1, 2}, 2, {1, 0, 0, 1}, {1, 2, 3}, 1), Code::invalid_argument);
    EXPECT_EQ(code(engine, {1, 2}, 1, {1}, {1}, 2), Code::invalid_argument);
    for (const double bad : {nan, kInfinity, -kInfinity}) {
      EXPECT_EQ(code(engine, {1, bad}, 1, {1}, {1}, 1), Code::invalid_argument);
      EXPECT_EQ(code(engine, {1, 2}, 1, {1}, {bad}, 1), Code::invalid_argument);
      EXPECT_EQ(code(engine, {1, 2}, 1, {bad}, {1}, 1), Code::invalid_argument);
    }
    for (const double bad : {0.0, -1.0})
      EXPECT_EQ(code(engine, {1, 2}, 1, {bad}, {1}, 1), Code::invalid_argument);
    EXPECT_EQ(code(engine, {1, 2}, 2, {1, 0, 0}, {1, 2}, 1), Code::invalid_argument);
    EXPECT_EQ(code(engine, {1, 2}, 2, {1, 0.5, 0, 1}, {1, 2}, 1), Code::invalid_argument);
    // A diagonal that vanishes beside its row.
    EXPECT_EQ(code(engine, {1, 2}, 2, {1, 0, 1, 1e-305}, {1, 2}, 1), Code::invalid_argument);
  }
  EXPECT_EQ(code({Engine::Kind::spectral}, {1, 2}, 1, {1}, {1}, 1), Code::invalid_argument);
  EXPECT_EQ(code({Engine::Kind::simd, 12345}, {1, 2}, 1, {1}, {1}, 1), Code::invalid_argument);
}

TEST(KernelEstimate, StopsWhenTold) {
  const Numbers points = samples::normal(20000, 11);
  const Numbers at = samples::normal(1000, 12);
  CpuDevice device;
  const Engine on_device{Engine::Kind::device, 0, Precision::full, &device, nullptr};
  for (const Engine& engine : {kReference, kFull, on_device}) {
    // Stopped at the k-th poll, of more than ten.
    for (int k : {1, 2, 3, 5, 10}) {
      Control control;
      control.should_stop = [](void* left) { return --*static_cast<int*>(left) <= 0; };
      control.stop_arg = &k;
      Numbers out;
      EXPECT_EQ(try_estimate(engine, points, 1, {0.1}, at, &out, control).code, Code::cancelled);
    }
  }
}

// ---- devices ------------------------------------------------------------------------------------

// Fails at call number `at`, loads among them, having spoilt the results.
class FailingDevice : public Device {
 public:
  FailingDevice(int at, Code code) : at_(at), code_(code) {}

  Status load(std::span<const double> points, int d, const Control& control,
              std::unique_ptr<DeviceSample>* out) override {
    if (fails()) return Status::error(code_, "load");
    std::unique_ptr<DeviceSample> sample;
    Status s = cpu_.load(points, d, control, &sample);
    if (s.ok()) *out = std::make_unique<Sample>(*this, std::move(sample));
    return s;
  }
  std::vector<DeviceInfo> devices() override { return {}; }
  double pair_rate(Precision) const override { return 1e9; }

  std::vector<Precision> asked;

 private:
  class Sample : public DeviceSample {
   public:
    Sample(FailingDevice& device, std::unique_ptr<DeviceSample> sample)
        : device_(device), sample_(std::move(sample)) {}
    Status derivative(int, double, Precision, const Control&, double*) override { return no(); }
    Status sweep(std::span<const double>, bool, Precision, const Control&,
                 std::span<double>) override {
      return no();
    }
    Status full(std::span<const double>, Precision, const Control&, std::span<double>) override {
      return no();
    }
    Status scatter(std::span<const double>, double, double, Precision, const Control&,
                   std::span<double>) override {
      return no();
    }
    Status density(std::span<const double> a, std::span<const double> queries, Precision precision,
                   const Control& control, std::span<double> out) override {
      device_.asked.push_back(precision);
      if (!device_.fails()) return sample_->density(a, queries, precision, control, out);
      std::fill(out.begin(), out.end(), std::numeric_limits<double>::quiet_NaN());
      return Status::error(device_.code_, "density");
    }

   private:
    static Status no() { return Status::error(Code::internal, "nobody asks for it"); }
    FailingDevice& device_;
    std::unique_ptr<DeviceSample> sample_;
  };

  bool fails() { return calls_++ == at_; }

  CpuDevice cpu_;
  int at_;
  int calls_ = 0;
  Code code_;
};

TEST(KernelEstimate, DeviceOrProcessor) {
  const Numbers points = samples::mix(300, 3);
  const Numbers at = samples::mix(80, 3);
  const Numbers factor = some_factor(3, 0.5);
  for (const Precision precision : {Precision::single, Precision::full}) {
    const Engine processor{Engine::Kind::simd, 0, precision};
    const Numbers by_processor = estimate(processor, points, 3, factor, at);
    for (const int fails_at : {-1, 0, 1}) {
      const Code code = fails_at == 0 ? Code::unavailable : Code::failed;
      FailingDevice device(fails_at, code);
      DeviceUse use;
      const Engine engine{Engine::Kind::device, 0, precision, &device, &use};
      expect_truth(engine, points, 3, factor, at);
      EXPECT_EQ(use.device_sums, fails_at < 0 ? 1 : 0);
      EXPECT_EQ(use.processor_sums, fails_at < 0 ? 0 : 1);
      EXPECT_EQ(use.trouble.code, fails_at < 0 ? Code::ok : code);
      if (fails_at == 0) continue;
      EXPECT_EQ(device.asked, std::vector<Precision>{precision});
    }
    FailingDevice broken(1, Code::failed);
    EXPECT_EQ(
        estimate({Engine::Kind::device, 0, precision, &broken, nullptr}, points, 3, factor, at),
        by_processor);
  }
}

TEST(KernelEstimate, DeviceIsSparedWhatItCannotDo) {
  DeviceUse use;
  FailingDevice device(-1, Code::failed);
  const Engine engine{Engine::Kind::device, 0, Precision::single, &device, &use};
  // One point is no sample; points far apart are none for single precision.
  EXPECT_NEAR(estimate(engine, {1}, 1, {1}, {1})[0], 1 / std::sqrt(2 * std::numbers::pi), 1e-6);
  EXPECT_EQ(use.device_sums, 0);
  EXPECT_TRUE(use.trouble.ok());
  Numbers wide = samples::normal(100, 13);
  wide.push_back(1e6);
  expect_truth(engine, wide, 1, {0.1}, {0, 0.5, 1e6});
  EXPECT_EQ(device.asked, std::vector<Precision>{Precision::full});
}

// ---- factors ------------------------------------------------------------------------------------

TEST(FactoriseBandwidth, IsTheFactor) {
  Numbers l(4, 7.0);  // what lies above the diagonal is to be overwritten
  ASSERT_TRUE(factorise_bandwidth(Numbers{4, 2, 2, 10}, 2, l).ok());
  EXPECT_EQ(l, (Numbers{2, 0, 1, 3}));
  // Units of any magnitude.
  ASSERT_TRUE(factorise_bandwidth(Numbers{0x1p1000, 0.5, 0.5, 0x1p-1000}, 2, l).ok());
  EXPECT_EQ(l[0], 0x1p500);
  EXPECT_EQ(l[2], 0x1p-501);
  EXPECT_NEAR(l[3] * 0x1p500, std::sqrt(0.75), 1e-15);
  // H = L L' with elements up to 2, sums of 16 products: 16 2^-52 2^2 at most.
  for (int d = 1; d <= 16; ++d) {
    const auto size = static_cast<std::size_t>(d);
    const Numbers factor = some_factor(d, 1);
    Numbers h(size * size, 0.0);
    for (std::size_t i = 0; i < h.size(); ++i) {
      for (std::size_t k = 0; k < size; ++k)
        h[i] += factor[i / size * size + k] * factor[i % size * size + k];
    }
    Numbers found(h.size());
    ASSERT_TRUE(factorise_bandwidth(h, d, found).ok());
    EXPECT_LT(distance(found, factor), 1e-13);
  }
}

TEST(FactoriseBandwidth, RefusesWhatHasNone) {
  Numbers l(4);
  const auto code = [&](const Numbers& h, int d) { return factorise_bandwidth(h, d, l).code; };
  EXPECT_EQ(code({1, 0, 0, 1}, 2), Code::ok);
  EXPECT_EQ(code({1, 0, 0, 1}, 0), Code::invalid_argument);
  EXPECT_EQ(code({1, 0, 0, 1}, 17), Code::invalid_argument);
  EXPECT_EQ(code({1, 0, 0, 1}, 1), Code::invalid_argument);
  EXPECT_EQ(code({1, 0, 0}, 2), Code::invalid_argument);
  // Symmetric to 1e-9 of the deviations' product, here 2.
  EXPECT_EQ(code({1, 0.5, 0.5 + 1.9e-9, 4}, 2), Code::ok);
  EXPECT_EQ(code({1, 0.5, 0.5 + 2.1e-9, 4}, 2), Code::invalid_argument);
  // Positive definite.
  EXPECT_EQ(code({1, 2, 2, 4}, 2), Code::invalid_argument);
  EXPECT_EQ(code({1, 2, 2, 4 + 1e-12}, 2), Code::ok);
  EXPECT_EQ(code({1, 2, 2, 3}, 2), Code::invalid_argument);
  EXPECT_EQ(code({0, 0, 0, 1}, 2), Code::invalid_argument);
  EXPECT_EQ(code({-1, 0, 0, 1}, 2), Code::invalid_argument);
  EXPECT_EQ(code({1, 0, 0, kInfinity}, 2), Code::invalid_argument);
  EXPECT_EQ(code({1, std::nan(""), std::nan(""), 1}, 2), Code::invalid_argument);
}

}  // namespace
}  // namespace kde
