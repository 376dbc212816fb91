// What becomes of sums whose device fails (sums/device_retry.h): by the processor where that takes
// no longer than the device's return, by the device once it is back, and else by nobody.
#include "core/sums/device_retry.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <vector>

#include "core/estimate/kernel_estimate.h"
#include "core/fit/fit.h"
#include "core/stopwatch.h"
#include "core/sums/pair_sums.h"
#include "device_steps.h"
#include "fitted.h"
#include "samples.h"

namespace kde {
namespace {

using testing::Peer;
using testing::ScriptedService;

// At 1e12 pairs a second, as a card has them.
constexpr double kPairRate = 1e12;

// Numbers that no processor would find, at once, so that samples can be large; fails, or has no
// room, at some of its calls, loads among them, counted from 0.
class HollowDevice : public Device {
 public:
  Status load(std::span<const double>, int, const Control& control,
              std::unique_ptr<DeviceSample>* out) override {
    while (calls == load_is_endless_at) {
      if (control.stop_requested()) {
        ++calls;
        return Status::error(Code::cancelled, "cancelled");
      }
    }
    if (has_one_place && samples_ > 0) is_full_at.insert(calls);
    Status s = next();
    if (s.ok()) *out = std::make_unique<Sample>(*this);
    return s;
  }
  Status await_return(double, const Control& control) override {
    ++awaited;
    if (control.stop_requested()) return Status::error(Code::cancelled, "cancelled");
    return is_gone ? Status::error(Code::unavailable, "gone") : Status::success();
  }
  std::vector<DeviceInfo> devices() override { return {}; }
  double pair_rate(Precision) const override { return kPairRate; }

  std::set<int> fails_at, is_full_at;
  Code code = Code::failed;
  bool is_gone = false;
  bool has_one_place = false;  // a sample is refused while there is another
  double refusal_ms = 0;       // that want of room takes to be told
  int load_is_endless_at = -1;
  int calls = 0;
  int awaited = 0;

 private:
  class Sample : public DeviceSample {
   public:
    explicit Sample(HollowDevice& device) : device_(device) { ++device_.samples_; }
    ~Sample() override { --device_.samples_; }
    Status derivative(int r, double g, Precision, const Control&, double* sum) override {
      *sum = 1000 * r + g;
      return device_.next();
    }
    Status sweep(std::span<const double>, bool, Precision, const Control&,
                 std::span<double>) override {
      return device_.next();
    }
    Status full(std::span<const double>, Precision, const Control&, std::span<double>) override {
      return device_.next();
    }
    Status scatter(std::span<const double>, double, double, Precision, const Control&,
                   std::span<double>) override {
      return device_.next();
    }
    Status density(std::span<const double>, std::span<const double>, Precision, const Control&,
                   std::span<double> out) override {
      std::fill(out.begin(), out.end(), 7);
      return device_.next();
    }

   private:
    HollowDevice& device_;
  };

  int samples_ = 0;

  Status next() {
    const int call = calls++;
    if (is_full_at.contains(call)) {
      for (const Stopwatch since; since.ms() < refusal_ms;) {
      }
      return Status::error(Code::unavailable, "call %d", call);
    }
    return fails_at.contains(call) ? Status::error(code, "call %d", call) : Status::success();
  }
};

// By default it is waited for as long as it takes; kSoon is for one that does not come.
constexpr int kSoon = 50;
Engine on_device(Device* device, DeviceUse* use, int sums, int patience_ms = 600'000) {
  return {Engine::Kind::device, 0, Precision::full, device, use, {sums, patience_ms}};
}

// Ties, which the processor is done with in a moment, though it is expected to take as long as over
// any others: two seconds a sum of 64,000, 49 of 316,000 (device_choice.cpp).
std::vector<double> values(std::size_t n) {
  std::vector<double> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<double>(i % 7);
  return x;
}
constexpr std::size_t kTwoSeconds = 64'000;
constexpr std::size_t kLong = 316'000;

// Two sums, of r = 4 and 6.
Status two_sums(const Engine& engine, std::size_t n, double (&sum)[2],
                const Control& control = {}) {
  std::unique_ptr<PairSums> sums;
  if (Status s = make_pair_sums(engine, values(n), control, &sums); !s.ok()) return s;
  if (Status s = sums->derivative(4, 0.5, &sum[0]); !s.ok()) return s;
  return sums->derivative(6, 0.5, &sum[1]);
}

TEST(DeviceRetry, IsWorthWhereTheProcessorIsSlower) {
  HollowDevice device;
  DeviceUse use;
  const auto is_worth = [&](std::int64_t n, int sums, int threads, int plan) {
    return is_worth_return(on_device(&device, &use, plan), {n, 1, sums, Precision::full}, threads);
  };
  EXPECT_TRUE(is_worth(2'097'152, 2, 2, 2));
  EXPECT_FALSE(is_worth(2'097'152, 2, 2, 0));  // nobody has said what is to be done
  EXPECT_FALSE(is_worth(3000, 2, 2, 2));
  EXPECT_FALSE(is_worth(kTwoSeconds, 1, 1, 2));
  EXPECT_TRUE(is_worth(kTwoSeconds, 2, 1, 2));
  EXPECT_FALSE(is_worth(kTwoSeconds, 2, 2, 2));
}

TEST(DeviceRetry, GoesOnOnTheDeviceThatIsBack) {
  double expected[2];
  HollowDevice sound;
  ASSERT_TRUE(two_sums(on_device(&sound, nullptr, 2), kLong, expected).ok());
  for (const Code code : {Code::failed, Code::unavailable}) {
    for (int at = 0; at < sound.calls; ++at) {
      HollowDevice device;
      device.fails_at = {at};
      device.code = code;
      DeviceUse use;
      double sum[2] = {};
      const Status s = two_sums(on_device(&device, &use, 2), kLong, sum);
      ASSERT_TRUE(s.ok()) << s.message;
      EXPECT_EQ(sum[0], expected[0]);
      EXPECT_EQ(sum[1], expected[1]);
      EXPECT_EQ(use.device_sums, 2);
      EXPECT_EQ(use.processor_sums, 0);
      EXPECT_EQ(use.trouble.code, code);
      EXPECT_EQ(device.awaited, 1);
    }
  }
}

TEST(DeviceRetry, IsNotWaitedForWhereLittleIsLeft) {
  double expected[2];
  ASSERT_TRUE(two_sums({Engine::Kind::simd, 0, Precision::full}, kTwoSeconds, expected).ok());
  HollowDevice device;
  device.fails_at = {2};
  DeviceUse use;
  double sum[2] = {};
  ASSERT_TRUE(two_sums(on_device(&device, &use, 2), kTwoSeconds, sum).ok());
  EXPECT_EQ(sum[1], expected[1]);
  EXPECT_EQ(use.device_sums, 1);
  EXPECT_EQ(use.processor_sums, 1);
  EXPECT_EQ(device.awaited, 0);
}

TEST(DeviceRetry, EndsWithItsErrorWhereItStaysAway) {
  for (int at = 0; at < 3; ++at) {
    HollowDevice device;
    device.fails_at = {at};
    device.is_gone = true;
    DeviceUse use;
    double sum[2] = {};
    const Status s = two_sums(on_device(&device, &use, 2, kSoon), kLong, sum);
    EXPECT_EQ(s.code, Code::unavailable);
    EXPECT_EQ(use.processor_sums, 0);
    EXPECT_EQ(use.trouble.message, "call " + std::to_string(at));
  }
}

TEST(DeviceRetry, EndsWithItsErrorWhereItFailsAgain) {
  // The sum, then once more: loaded again or asked again.
  for (const std::set<int>& at : {std::set<int>{1, 2}, std::set<int>{1, 3}, std::set<int>{1, 4}}) {
    HollowDevice device;
    device.fails_at = at;
    DeviceUse use;
    double sum[2] = {};
    const Status s = two_sums(on_device(&device, &use, 2), kLong, sum);
    EXPECT_EQ(s.code, Code::failed);
    EXPECT_EQ(device.awaited, 1);
    EXPECT_EQ(use.processor_sums, 0);
  }
}

TEST(DeviceRetry, WaitsForRoom) {
  HollowDevice device;
  device.is_full_at = {0, 1, 2};
  DeviceUse use;
  const Engine engine = on_device(&device, &use, 2);
  double sum[2] = {};
  ASSERT_TRUE(two_sums(engine, kLong, sum).ok());
  EXPECT_EQ(use.device_sums, 2);
}

// Want of room is no failure: one is waited for beside it, as often as it comes, and two are not.
TEST(DeviceRetry, WantOfRoomIsNoFailure) {
  struct Case {
    std::set<int> is_full_at, fails_at;
    Code code;
  };
  const Case cases[] = {
      {{0, 2}, {}, Code::ok},      {{0, 1}, {2}, Code::ok},        {{0, 2, 3}, {1}, Code::ok},
      {{0}, {2}, Code::ok},        {{1}, {2}, Code::ok},           {{1}, {3}, Code::ok},
      {{2, 4, 6}, {1}, Code::ok},  {{0, 1}, {2, 3}, Code::failed}, {{0, 2}, {1, 3}, Code::failed},
      {{0}, {1, 3}, Code::failed}, {{0}, {2, 4}, Code::failed}};
  for (const Case& c : cases) {
    HollowDevice device;
    device.is_full_at = c.is_full_at;
    device.fails_at = c.fails_at;
    DeviceUse use;
    const Engine engine = on_device(&device, &use, 2);
    double sum[2] = {};
    EXPECT_EQ(two_sums(engine, kLong, sum).code, c.code);
    if (c.code == Code::ok) {
      EXPECT_EQ(use.device_sums, 2);
    }
    EXPECT_EQ(use.processor_sums, 0);
    // The graver trouble, whichever was first.
    EXPECT_EQ(use.trouble.code, c.fails_at.empty() ? Code::unavailable : Code::failed);
  }
}

// One patience is for all waits together, and what time a refusal took is lost to it.
TEST(DeviceRetry, WaitsNoLongerForManyRefusals) {
  HollowDevice device;
  for (int call = 1; call < 10'000; call += 2) device.is_full_at.insert(call);
  DeviceUse use;
  const Engine engine = on_device(&device, &use, 2, 500);
  double sum[2] = {};
  EXPECT_EQ(two_sums(engine, kLong, sum).code, Code::unavailable);
  EXPECT_GT(device.awaited, 1);
  EXPECT_LE(device.awaited, 500 / kSliceMs);
  device.calls = device.awaited = 0;
  device.refusal_ms = 500;
  use = {};
  EXPECT_EQ(two_sums(engine, kLong, sum).code, Code::unavailable);
  EXPECT_EQ(device.awaited, 0);
}

TEST(DeviceRetry, GivesUpALoadThatTakesTooLong) {
  HollowDevice device;
  device.fails_at = {1};
  device.load_is_endless_at = 2;
  DeviceUse use;
  double sum[2] = {};
  EXPECT_EQ(two_sums(on_device(&device, &use, 2, 500), kLong, sum).code, Code::unavailable);
  EXPECT_EQ(device.calls, 3);
  EXPECT_EQ(use.trouble.code, Code::failed);
}

// The second sample of one piece of work fails it for the second time.
TEST(DeviceRetry, CountsOverTheSamplesOfOneWork) {
  HollowDevice device;
  DeviceUse use;
  const Engine engine = on_device(&device, &use, 2);
  double sum[2] = {};
  device.fails_at = {1, 6};
  ASSERT_TRUE(two_sums(engine, kLong, sum).ok());
  EXPECT_EQ(device.calls, 5);
  use.device_sums = 0;
  EXPECT_EQ(two_sums(engine, kLong, sum).code, Code::failed);
  EXPECT_EQ(device.calls, 7);
}

TEST(DeviceRetry, DoesNotWaitForWhatItWillNeverTake) {
  for (const int at : {0, 1}) {
    HollowDevice device;
    device.fails_at = {at};
    device.code = Code::too_large;
    DeviceUse use;
    const Engine engine = on_device(&device, &use, 2);
    double sum[2] = {};
    const Status s = two_sums(engine, kLong, sum);
    EXPECT_EQ(s.code, Code::unavailable);
    EXPECT_EQ(s.message, "call " + std::to_string(at));
    EXPECT_EQ(device.awaited, 0);
    EXPECT_EQ(use.waited_ms, 0);
  }
}

TEST(DeviceRetry, IsCancelledWhileItWaits) {
  HollowDevice device;
  device.fails_at = {1};
  device.is_gone = true;
  DeviceUse use;
  const Engine engine = on_device(&device, &use, 2);
  Control control;
  control.should_stop = [](void* arg) { return static_cast<HollowDevice*>(arg)->awaited >= 3; };
  control.stop_arg = &device;
  double sum[2] = {};
  EXPECT_EQ(two_sums(engine, kLong, sum, control).code, Code::cancelled);
  EXPECT_EQ(device.awaited, 3);
}

// 70,000 points at as many places: 2.8 s by one thread.
TEST(DeviceRetry, OfAnEstimate) {
  const std::vector<double> x = values(70'000);
  const double factor[] = {1};
  std::vector<double> sound(x.size()), found(x.size());
  HollowDevice device;
  ASSERT_TRUE(kernel_estimate(on_device(&device, nullptr, 1), x, 1, factor, x, {}, sound).ok());
  device.calls = 0;
  device.fails_at = {1};
  DeviceUse use;
  ASSERT_TRUE(kernel_estimate(on_device(&device, &use, 1), x, 1, factor, x, {}, found).ok());
  EXPECT_EQ(found, sound);
  EXPECT_EQ(use.device_sums, 1);
  EXPECT_EQ(use.processor_sums, 0);
  EXPECT_EQ(use.trouble.code, Code::failed);

  // Of one place it does not keep the next out by its own sample.
  device.calls = 0;
  device.fails_at = {};
  device.is_full_at = {1};
  device.has_one_place = true;
  use = {};
  ASSERT_TRUE(kernel_estimate(on_device(&device, &use, 1), x, 1, factor, x, {}, found).ok());
  EXPECT_EQ(device.calls, 4);
  EXPECT_EQ(use.trouble.code, Code::unavailable);

  // What has no meaning to it is the processor's to judge.
  device.calls = 0;
  device.is_full_at = {};
  device.has_one_place = false;
  device.fails_at = {1};
  device.code = Code::invalid_argument;
  use = {};
  ASSERT_TRUE(kernel_estimate(on_device(&device, &use, 1), x, 1, factor, x, {}, found).ok());
  EXPECT_EQ(device.calls, 2);
  EXPECT_GT(use.processor_sums, 0);

  device.calls = 0;
  device.code = Code::failed;
  device.is_gone = true;
  use = {};
  const Engine engine = on_device(&device, &use, 1, kSoon);
  EXPECT_EQ(kernel_estimate(engine, x, 1, factor, x, {}, found).code, Code::unavailable);
  EXPECT_EQ(use.processor_sums, 0);
}

// By a method that would otherwise do with any bandwidth there is.
TEST(DeviceRetry, OfAnAutomaticFit) {
  const auto sample = fitted::sample_of(samples::normal(65'000, 1));
  HollowDevice device;
  device.fails_at = {1};
  device.is_gone = true;
  DeviceUse use;
  FitOptions fit;
  fit.exact = true;
  fit.bandwidth_rows = 65'000;  // twice 2.1 s
  fit.engine = on_device(&device, &use, 2, kSoon);
  DensityBytes bytes;
  FitReport report;
  EXPECT_EQ(fit_column(sample, fit, {}, &bytes, &report).code, Code::unavailable);
  EXPECT_EQ(use.trouble.code, Code::failed);
}

// ---- a service
// ------------------------------------------------------------------------------------

// Of its first connection the service makes what `first` does once the sum is asked for; later ones
// it serves.
class FallingService {
 public:
  explicit FallingService(ScriptedService::Script first)
      : first_(std::move(first)), service_([this](Peer& peer) { serve(peer); }) {}

  // A sum of 316,000 values.
  Status sum(const Control& control, int patience_ms, DeviceUse* use, double* sum) {
    ServiceGreeting greeting = testing::greeting();
    greeting.pair_rate[1] = kPairRate;
    ServiceDevice device(service_.path(), greeting, testing::kPatient);
    const Engine engine = on_device(&device, use, 1, patience_ms);
    std::unique_ptr<PairSums> sums;
    if (Status s = make_pair_sums(engine, values(kLong), control, &sums); !s.ok()) return s;
    return sums->derivative(4, 1, sum);
  }
  std::string path() const { return service_.path(); }

  std::atomic<int> greeted{0};

 private:
  void serve(Peer& peer) {
    while (peer.receive()) {
      if (peer.type == wire::Type::hello) {
        ++greeted;
        peer.send(testing::right_answer(testing::Step::greeting));
      } else if (peer.type == wire::Type::load) {
        peer.send(testing::right_answer(testing::Step::load));
      } else if (!std::exchange(has_fallen_, true)) {
        first_(peer);
        return;
      } else {
        peer.send(testing::right_answer(testing::Step::derivative));
      }
    }
  }

  ScriptedService::Script first_;
  bool has_fallen_ = false;
  ScriptedService service_;
};

TEST(DeviceRetry, OfAServiceThatIsBack) {
  FallingService service([](Peer&) {});
  DeviceUse use;
  double sum = 0;
  const Status s = service.sum({}, 60'000, &use, &sum);
  ASSERT_TRUE(s.ok()) << s.message;
  EXPECT_EQ(sum, 0.25);
  EXPECT_EQ(service.greeted, 1);
  EXPECT_EQ(use.device_sums, 1);
  EXPECT_EQ(use.trouble.code, Code::failed);
}

TEST(DeviceRetry, OfAServiceThatStaysAway) {
  FallingService service([&](Peer&) { ::unlink(service.path().c_str()); });
  DeviceUse use;
  double sum = 0;
  EXPECT_EQ(service.sum({}, 50, &use, &sum).code, Code::unavailable);
  EXPECT_EQ(service.greeted, 0);
  EXPECT_EQ(use.processor_sums, 0);
  EXPECT_EQ(use.trouble.code, Code::failed);
}

TEST(DeviceRetry, OfAServiceIsCancelled) {
  static std::atomic<bool> is_gone;
  static int polls;
  is_gone = false;
  polls = 0;
  FallingService service([&](Peer&) {
    ::unlink(service.path().c_str());
    is_gone = true;
  });
  Control control;
  // A while after it fell: in the middle of the wait.
  control.should_stop = [](void*) { return is_gone && ++polls > 20; };
  double sum = 0;
  DeviceUse use;
  EXPECT_EQ(service.sum(control, 600'000, &use, &sum).code, Code::cancelled);
  EXPECT_EQ(use.trouble.code, Code::failed);
}

}  // namespace
}  // namespace kde
