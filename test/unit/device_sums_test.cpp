// Sums over a device that may fail at any moment: what is selected is what the processor selects,
// and DeviceUse tells who computed it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "core/select/bandwidth_matrix.h"
#include "core/select/line_bandwidth.h"
#include "core/sums/gaussian_sums.h"
#include "core/sums/pair_sums.h"
#include "device/cpu_device.h"
#include "device/wrapped_sample.h"
#include "samples.h"

namespace kde {
namespace {

using testing::CpuDevice;
using testing::WrappedSample;

// Counts calls, loads among them, from 0, and fails at one of them.
class FailingDevice : public Device {
 public:
  FailingDevice(Device& device, int at, Code code) : device_(device), at_(at), code_(code) {}

  Status load(std::span<const double> points, int d, const Control& control,
              std::unique_ptr<DeviceSample>* out) override {
    if (Status s = next(); !s.ok()) return s;
    ++loads;
    std::unique_ptr<DeviceSample> sample;
    Status s = device_.load(points, d, control, &sample);
    if (!s.ok()) return s;
    *out = std::make_unique<WrappedSample>(
        std::move(sample),
        // Fills results with what nobody may believe before it fails.
        [this, place = take_place()](const Control&, std::span<double> results,
                                     const WrappedSample::Sum& sum) {
          if (Status failure = next(); !failure.ok()) {
            for (double& v : results) v = std::numeric_limits<double>::quiet_NaN();
            return failure;
          }
          return sum();
        });
    return s;
  }
  std::vector<DeviceInfo> devices() override { return {}; }
  double pair_rate(Precision) const override { return 1e9; }

  int calls = 0;
  int loads = 0;
  int most_at_once = 0;  // samples

 private:
  // For as long as it has an owner.
  std::shared_ptr<void> take_place() {
    most_at_once = std::max(most_at_once, ++samples_);
    return {nullptr, [this](void*) { --samples_; }};
  }

  Status next() {
    return calls++ == at_ ? Status::error(code_, "call %d", at_) : Status::success();
  }

  Device& device_;
  int at_;
  Code code_;
  int samples_ = 0;
};

Engine on_device(Device* device, DeviceUse* use, Precision precision) {
  return {Engine::Kind::device, 0, precision, device, use};
}

constexpr int kNever = -1;

// select(engine) -> the numbers selected. They have the processor's bits, as CpuDevice computes
// what the processor would, whichever call fails; one failure turns one object's sums to the
// processor for good.
template <class Select>
void expect_processors_numbers(const Select& select, Precision precision) {
  const std::vector<double> expected = select(Engine{Engine::Kind::simd, 0, precision});
  CpuDevice cpu;
  DeviceUse all;
  FailingDevice sound(cpu, kNever, Code::failed);
  ASSERT_EQ(select(on_device(&sound, &all, precision)), expected);
  EXPECT_TRUE(all.trouble.ok());
  EXPECT_EQ(all.processor_sums, 0);
  EXPECT_EQ(all.device_sums, sound.calls - sound.loads);
  ASSERT_GT(all.device_sums, 0);
  for (int k = 0; k < sound.calls; ++k) {
    const Code code = k % 2 == 0 ? Code::failed : Code::unavailable;
    FailingDevice device(cpu, k, code);
    DeviceUse use;
    ASSERT_EQ(select(on_device(&device, &use, precision)), expected) << "call " << k;
    EXPECT_EQ(use.trouble.code, code);
    EXPECT_EQ(use.trouble.message, "call " + std::to_string(k));
    // A load that fails may have nothing to do after all.
    EXPECT_EQ(use.device_sums + use.processor_sums, all.device_sums);
    EXPECT_EQ(use.device_sums, device.calls - device.loads - 1);
    EXPECT_LE(device.loads, sound.loads);
    // Nobody asks for what became of it.
    FailingDevice again(cpu, k, code);
    ASSERT_EQ(select(on_device(&again, nullptr, precision)), expected);
  }
}

std::vector<double> select_line(Method method, int n, const Engine& engine) {
  LineRequest request;
  request.method = method;
  request.engine = engine;
  LineBandwidth found;
  const Status s = select_bandwidth(request, samples::mix(n), true, {}, &found);
  EXPECT_TRUE(s.ok()) << s.message;
  return {found.h};
}

std::vector<double> select_matrix(MatrixMethod method, int n, const Engine& engine) {
  MatrixRequest request;
  request.method = method;
  request.engine = engine;
  BandwidthMatrix found;
  const Status s = select_bandwidth_matrix(request, samples::mix(n, 2), 2, {}, &found);
  EXPECT_TRUE(s.ok()) << s.message;
  return found.matrix;
}

TEST(DeviceSums, SelectLines) {
  for (const Precision precision : {Precision::single, Precision::full}) {
    for (const Method method : {Method::plugin, Method::lscv}) {
      expect_processors_numbers(
          [&](const Engine& engine) { return select_line(method, 200, engine); }, precision);
    }
  }
}

TEST(DeviceSums, SelectMatrices) {
  for (const Precision precision : {Precision::single, Precision::full}) {
    for (const MatrixMethod method :
         {MatrixMethod::lscv, MatrixMethod::lscv_grid, MatrixMethod::lscv_matrix}) {
      expect_processors_numbers(
          [&](const Engine& engine) { return select_matrix(method, 60, engine); }, precision);
    }
  }
}

// A device may have room for one sample, which the search in double is not to wait for in vain.
TEST(DeviceSums, GiveTheirPlaceBackBeforeTheNext) {
  CpuDevice cpu;
  FailingDevice line(cpu, kNever, Code::failed), matrix(cpu, kNever, Code::failed);
  DeviceUse use;
  select_line(Method::lscv, 200, on_device(&line, &use, Precision::single));
  select_matrix(MatrixMethod::lscv, 60, on_device(&matrix, &use, Precision::single));
  for (const FailingDevice* device : {&line, &matrix}) {
    EXPECT_EQ(device->loads, 2);
    EXPECT_EQ(device->most_at_once, 1);
  }
}

// A failure says more than that there was no room.
TEST(DeviceSums, KeepTheFirstOfTheGravestReasons) {
  CpuDevice cpu;
  DeviceUse use;
  FailingDevice first(cpu, 0, Code::unavailable);
  FailingDevice second(cpu, 1, Code::failed);
  FailingDevice third(cpu, 0, Code::failed);
  FailingDevice fourth(cpu, 0, Code::unavailable);
  const std::vector<double> x{0, 1, 3};
  for (FailingDevice* device : {&first, &second, &third, &fourth}) {
    std::unique_ptr<PairSums> sums;
    ASSERT_TRUE(make_pair_sums(on_device(device, &use, Precision::full), x, {}, &sums).ok());
    double sum = 0;
    for (int k = 0; k < 3; ++k) ASSERT_TRUE(sums->derivative(4, 1, &sum).ok());
  }
  EXPECT_STREQ(use.trouble.message, "call 1");
  EXPECT_EQ(use.trouble.code, Code::failed);
  EXPECT_EQ(use.device_sums, 0);
  EXPECT_EQ(use.processor_sums, 12);
  EXPECT_EQ(first.calls, 1);
  EXPECT_EQ(second.calls, 2);
}

// Longer than one sweep of a device may be.
TEST(DeviceSums, SweepInParts) {
  const std::vector<double> points = samples::mix(4, 2);
  std::vector<double> h(kMaxSweep + 3);
  for (std::size_t k = 0; k < h.size(); ++k) h[k] = 0.1 + 1e-3 * static_cast<double>(k);
  CpuDevice cpu;
  FailingDevice device(cpu, kNever, Code::failed);
  DeviceUse use;
  const Engine reference{Engine::Kind::reference, 0, Precision::full};
  std::unique_ptr<GaussianPairSums> expected;
  std::unique_ptr<GaussianPairSums> actual;
  ASSERT_TRUE(make_gaussian_sums(reference, points, 2, {}, &expected).ok());
  ASSERT_TRUE(
      make_gaussian_sums(on_device(&device, &use, Precision::full), points, 2, {}, &actual).ok());
  std::vector<GaussianSums> sums[2] = {std::vector<GaussianSums>(h.size()),
                                       std::vector<GaussianSums>(h.size())};
  std::vector<GaussianSlopes> slopes[2] = {std::vector<GaussianSlopes>(h.size()),
                                           std::vector<GaussianSlopes>(h.size())};
  ASSERT_TRUE(expected->sweep(h, sums[0]).ok());
  ASSERT_TRUE(actual->sweep(h, sums[1]).ok());
  ASSERT_TRUE(expected->sweep_slopes(h, slopes[0]).ok());
  ASSERT_TRUE(actual->sweep_slopes(h, slopes[1]).ok());
  EXPECT_EQ(device.calls, 1 + 2 + 2);
  EXPECT_EQ(use.device_sums, 2);
  // Six pairs, each to rounding: 1e-12 is some thousand times what double leaves.
  for (std::size_t k = 0; k < h.size(); ++k) {
    EXPECT_NEAR(sums[1][k].once, sums[0][k].once, 1e-12);
    EXPECT_NEAR(sums[1][k].twice, sums[0][k].twice, 1e-12);
    EXPECT_NEAR(slopes[1][k].sums.once, slopes[0][k].sums.once, 1e-12);
    EXPECT_NEAR(slopes[1][k].sums.twice, slopes[0][k].sums.twice, 1e-12);
    EXPECT_NEAR(slopes[1][k].once_s, slopes[0][k].once_s, 1e-11);
    EXPECT_NEAR(slopes[1][k].twice_s, slopes[0][k].twice_s, 1e-11);
  }
}

TEST(DeviceSums, RefuseWhatOtherEnginesRefuse) {
  CpuDevice cpu;
  FailingDevice device(cpu, kNever, Code::failed);
  DeviceUse use;
  const Engine engine = on_device(&device, &use, Precision::full);
  const Engine processor{Engine::Kind::simd, 0, Precision::full};
  const auto expect_same = [](const Status& actual, const Status& expected) {
    EXPECT_EQ(actual.code, Code::invalid_argument);
    EXPECT_EQ(actual.code, expected.code);
    EXPECT_STREQ(actual.message, expected.message);
  };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  std::unique_ptr<PairSums> line[2];
  for (const std::vector<double>& x : {std::vector<double>{1}, std::vector<double>{1, kNan}})
    expect_same(make_pair_sums(engine, x, {}, &line[0]),
                make_pair_sums(processor, x, {}, &line[1]));
  Engine no_such_target = engine;
  no_such_target.target = 1;
  const std::vector<double> x{0, 1, 3, 4};
  EXPECT_EQ(make_pair_sums(no_such_target, x, {}, &line[0]).code, Code::invalid_argument);
  EXPECT_EQ(device.calls, 0);
  ASSERT_TRUE(make_pair_sums(engine, x, {}, &line[0]).ok());
  ASSERT_TRUE(make_pair_sums(processor, x, {}, &line[1]).ok());
  double sum = 0;
  for (const auto& [r, g] : std::vector<std::pair<int, double>>{
           {3, 1}, {12, 1}, {-2, 1}, {4, 0}, {4, kNan}, {4, -1}, {4, 1 / 0.0}})
    expect_same(line[0]->derivative(r, g, &sum), line[1]->derivative(r, g, &sum));

  std::unique_ptr<GaussianPairSums> sums[2];
  expect_same(make_gaussian_sums(engine, x, 3, {}, &sums[0]),
              make_gaussian_sums(processor, x, 3, {}, &sums[1]));
  ASSERT_TRUE(make_gaussian_sums(engine, x, 2, {}, &sums[0]).ok());
  ASSERT_TRUE(make_gaussian_sums(processor, x, 2, {}, &sums[1]).ok());
  const int calls = device.calls;
  const auto expect_refused = [&](const auto& call) {
    expect_same(call(*sums[0]), call(*sums[1]));
  };
  GaussianSums g;
  GaussianSlopes slopes;
  double out[4] = {};
  const double bad[] = {-1};
  const double two[] = {1, 2};
  expect_refused([&](GaussianPairSums& s) { return s.sweep(bad, {&g, 1}); });
  expect_refused([&](GaussianPairSums& s) { return s.sweep(two, {&g, 1}); });
  expect_refused([&](GaussianPairSums& s) { return s.sweep({}, {}); });
  expect_refused([&](GaussianPairSums& s) { return s.sweep_slopes(bad, {&slopes, 1}); });
  const double upper[] = {1, 1, 0, 1};
  const double unit[] = {1, 0, 0, 1};
  expect_refused([&](GaussianPairSums& s) { return s.full(upper, &g); });
  expect_refused([&](GaussianPairSums& s) { return s.full(two, &g); });
  expect_refused([&](GaussianPairSums& s) { return s.full_scatter(upper, 1, 1, &g, out); });
  expect_refused([&](GaussianPairSums& s) { return s.full_scatter(unit, 1, 1, &g, {out, 3}); });
  expect_refused([&](GaussianPairSums& s) { return s.full_scatter(unit, kNan, 1, &g, out); });
  EXPECT_EQ(device.calls, calls);
  EXPECT_EQ(use.device_sums + use.processor_sums, 0);
  EXPECT_TRUE(use.trouble.ok());
}

// A device may find an argument impossible where the processor does: that is no trouble of its own.
TEST(DeviceSums, AgreeOnWhatIsImpossible) {
  CpuDevice cpu;
  DeviceUse use;
  std::unique_ptr<GaussianPairSums> sums;
  const std::vector<double> x{0, 1e200, 3, 4};
  ASSERT_TRUE(make_gaussian_sums(on_device(&cpu, &use, Precision::full), x, 2, {}, &sums).ok());
  GaussianSums g;
  const double huge[] = {1e200, 0, 0, 1};
  EXPECT_EQ(sums->full(huge, &g).code, Code::invalid_argument);
  const double unit[] = {1e-200, 0, 0, 1};
  EXPECT_TRUE(sums->full(unit, &g).ok());
  EXPECT_EQ(use.device_sums, 1);
  EXPECT_EQ(use.processor_sums, 0);
  EXPECT_TRUE(use.trouble.ok());
  // But one that refuses what has a meaning is in trouble.
  FailingDevice strict(cpu, 1, Code::invalid_argument);
  ASSERT_TRUE(make_gaussian_sums(on_device(&strict, &use, Precision::full), x, 2, {}, &sums).ok());
  EXPECT_TRUE(sums->full(unit, &g).ok());
  EXPECT_EQ(use.processor_sums, 1);
  EXPECT_EQ(use.trouble.code, Code::invalid_argument);
}

TEST(DeviceSums, AreCancelled) {
  CpuDevice cpu;
  DeviceUse use;
  bool stop = false;
  Control control;
  control.should_stop = [](void* arg) { return *static_cast<bool*>(arg); };
  control.stop_arg = &stop;
  const Engine engine = on_device(&cpu, &use, Precision::full);
  const std::vector<double> x = samples::mix(20, 2);
  std::unique_ptr<PairSums> line;
  std::unique_ptr<GaussianPairSums> sums;
  ASSERT_TRUE(make_pair_sums(engine, x, control, &line).ok());
  ASSERT_TRUE(make_gaussian_sums(engine, x, 2, control, &sums).ok());
  stop = true;
  double sum = 0;
  GaussianSums g;
  const double h[] = {1};
  EXPECT_EQ(line->derivative(4, 1, &sum).code, Code::cancelled);
  EXPECT_EQ(sums->sweep(h, {&g, 1}).code, Code::cancelled);
  std::unique_ptr<GaussianPairSums> none;
  EXPECT_EQ(make_gaussian_sums(engine, x, 2, control, &none).code, Code::cancelled);
  EXPECT_EQ(make_gaussian_sums(engine, x, 1, control, &none).code, Code::cancelled);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(use.device_sums + use.processor_sums, 0);
  EXPECT_TRUE(use.trouble.ok());
}

}  // namespace
}  // namespace kde
