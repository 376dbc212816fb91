// The device service's client against services that do right.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

#include <atomic>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "core/device/client.h"
#include "descriptors.h"
#include "device/cpu_device.h"
#include "device_steps.h"
#include "samples.h"
#include "scripted_service.h"

namespace kde {
namespace {

using testing::Bytes;
using testing::CpuDevice;
using testing::device_list_body;
using testing::done;
using testing::greeting;
using testing::kPatient;
using testing::kPoints;
using testing::message;
using testing::Peer;
using testing::ScriptedService;
using testing::welcome_body;

class DeviceClient : public testing::LeaksNoDescriptor {};

TEST_F(DeviceClient, Greets) {
  ScriptedService service([](Peer& peer) {
    ASSERT_TRUE(peer.receive());
    EXPECT_EQ(peer.type, wire::Type::hello);
    EXPECT_TRUE(peer.body.empty());
    peer.send(message(wire::Type::welcome, welcome_body()));
  });
  ServiceGreeting found;
  const Status s = greet_service(service.path(), kPatient, {}, &found);
  ASSERT_TRUE(s.ok()) << s.message;
  EXPECT_EQ(found.program, "test 1");
  EXPECT_EQ(found.pair_rate[0], 1e9);
  EXPECT_EQ(found.pair_rate[1], 5e8);
  EXPECT_EQ(found.devices, 1);
  const ServiceDevice device(service.path(), found);
  EXPECT_EQ(device.pair_rate(Precision::single), 1e9);
  EXPECT_EQ(device.pair_rate(Precision::full), 5e8);
}

TEST_F(DeviceClient, ListsDevices) {
  ScriptedService service([](Peer& peer) {
    ASSERT_TRUE(peer.receive());
    EXPECT_EQ(peer.type, wire::Type::devices);
    peer.send(message(wire::Type::device_list, device_list_body()));
  });
  std::vector<DeviceInfo> found = ServiceDevice(service.path(), greeting(), kPatient).devices();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_STREQ(found[0].name, "first");
  EXPECT_STREQ(found[1].name, "second");
  EXPECT_EQ(found[1].major, 9);
  EXPECT_EQ(found[1].memory, 1234u);
  EXPECT_EQ(found[1].jobs, 5);
  EXPECT_EQ(found[1].busy_ms, 6.5);
}

std::vector<double> read_sealed(const Descriptor& file, std::size_t size) {
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
  // A kernel since 6.3 adds that it is never run.
  EXPECT_EQ(::fcntl(file.get(), F_GET_SEALS) & kSeals, kSeals);
  struct stat status = {};
  EXPECT_EQ(::fstat(file.get(), &status), 0);
  EXPECT_EQ(status.st_size, static_cast<off_t>(size * sizeof(double)));
  std::vector<double> out(size);
  EXPECT_EQ(::pread(file.get(), out.data(), size * sizeof(double), 0), status.st_size);
  return out;
}

// As a service should, over the processor; two signs of life before each answer.
void serve(Peer& peer) {
  CpuDevice device;
  std::unique_ptr<DeviceSample> sample;
  std::size_t d = 0;
  while (peer.receive()) {
    Status s;
    std::vector<double> numbers;
    std::vector<double> out;
    if (peer.type == wire::Type::load) {
      const auto request = peer.request<wire::Load>();
      d = static_cast<std::size_t>(request.d);
      const std::vector<double> points =
          read_sealed(peer.descriptor, static_cast<std::size_t>(request.n) * d);
      s = device.load(points, request.d, {}, &sample);
    } else if (peer.type == wire::Type::derivative) {
      const auto request = peer.request<wire::Derivative>();
      EXPECT_GE(request.deadline_ms, kPatient.patience_ms);
      out.resize(1);
      s = sample->derivative(request.r, request.g, static_cast<Precision>(request.precision), {},
                             out.data());
    } else if (peer.type == wire::Type::sweep) {
      const auto request = peer.request<wire::Sweep>(&numbers);
      EXPECT_GE(request.deadline_ms, kPatient.patience_ms);
      EXPECT_EQ(request.count, static_cast<int>(numbers.size()));
      out.resize((request.slopes != 0 ? 4 : 2) * numbers.size());
      s = sample->sweep(numbers, request.slopes != 0, static_cast<Precision>(request.precision), {},
                        out);
    } else if (peer.type == wire::Type::full) {
      const auto request = peer.request<wire::Full>(&numbers);
      EXPECT_GE(request.deadline_ms, kPatient.patience_ms);
      out.resize(request.scatter != 0 ? 2 + d * d : 2);
      const auto precision = static_cast<Precision>(request.precision);
      s = request.scatter != 0
              ? sample->scatter(numbers, request.once, request.twice, precision, {}, out)
              : sample->full(numbers, precision, {}, out);
    } else {
      ASSERT_EQ(peer.type, wire::Type::density);
      const auto request = peer.request<wire::Density>(&numbers);
      EXPECT_GE(request.deadline_ms, kPatient.patience_ms);
      out.resize(static_cast<std::size_t>(request.m));
      const std::vector<double> queries = read_sealed(peer.descriptor, out.size() * d);
      s = sample->density(numbers, queries, static_cast<Precision>(request.precision), {}, out);
    }
    peer.send(message(wire::Type::working));
    peer.send(message(wire::Type::working));
    peer.send(done(s.code, s.message, out));
  }
}

// Every function, in both precisions: what comes back is what the service's device says, bit by
// bit, and each sample keeps its own connection.
TEST_F(DeviceClient, ComputesWhatTheServiceDoes) {
  ScriptedService service(serve);
  CpuDevice local;
  ServiceDevice remote(service.path(), greeting(), kPatient);
  const auto expect_ok = [](const Status& s) { ASSERT_TRUE(s.ok()) << s.message; };
  for (const Precision precision : {Precision::single, Precision::full}) {
    const std::vector<double> line = samples::normal(700, 3);
    std::unique_ptr<DeviceSample> far;
    std::unique_ptr<DeviceSample> near;
    expect_ok(remote.load(line, 1, {}, &far));
    expect_ok(local.load(line, 1, {}, &near));
    for (const int r : {0, 4, 10}) {
      double expected = 0;
      double actual = 0;
      expect_ok(near->derivative(r, 0.3, precision, {}, &expected));
      expect_ok(far->derivative(r, 0.3, precision, {}, &actual));
      EXPECT_EQ(actual, expected);
    }
  }
  for (const Precision precision : {Precision::single, Precision::full}) {
    const std::vector<double> points = samples::mix(300, 3);
    const std::vector<double> a{2, 0, 0, -0.5, 1.5, 0, 0.25, 0, 3};
    const std::vector<double> h{0.5, 0.2, 1.5};
    const std::vector<double> queries = samples::normal(3 * 5, 4);
    std::unique_ptr<DeviceSample> far;
    std::unique_ptr<DeviceSample> near;
    expect_ok(remote.load(points, 3, {}, &far));
    expect_ok(local.load(points, 3, {}, &near));
    const auto expect_same = [&](std::size_t results, const auto& call) {
      std::vector<double> expected(results, -1);
      std::vector<double> actual(results, -2);
      expect_ok(call(*near, expected));
      expect_ok(call(*far, actual));
      EXPECT_EQ(actual, expected);
    };
    using Out = std::vector<double>;
    expect_same(6,
                [&](DeviceSample& s, Out& out) { return s.sweep(h, false, precision, {}, out); });
    expect_same(12,
                [&](DeviceSample& s, Out& out) { return s.sweep(h, true, precision, {}, out); });
    expect_same(2, [&](DeviceSample& s, Out& out) { return s.full(a, precision, {}, out); });
    expect_same(11, [&](DeviceSample& s, Out& out) {
      return s.scatter(a, 0.75, -1.25, precision, {}, out);
    });
    expect_same(
        5, [&](DeviceSample& s, Out& out) { return s.density(a, queries, precision, {}, out); });
  }
}

TEST_F(DeviceClient, FollowsRelativePaths) {
  ScriptedService service([](Peer& peer) {
    ASSERT_TRUE(peer.receive());
    peer.send(message(wire::Type::welcome, welcome_body()));
  });
  const Descriptor before(::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(::chdir(service.directory().c_str()), 0);
  ServiceGreeting found;
  const Status s = greet_service("socket", kPatient, {}, &found);
  ASSERT_EQ(::fchdir(before.get()), 0);
  EXPECT_TRUE(s.ok()) << s.message;
}

TEST_F(DeviceClient, SurvivesSignals) {
  struct sigaction ignore = {};
  struct sigaction old = {};
  static std::atomic<int> handled{0};
  ignore.sa_handler = [](int) { ++handled; };
  ASSERT_EQ(::sigaction(SIGUSR1, &ignore, &old), 0);
  const pthread_t client = ::pthread_self();
  {
    ScriptedService service([client](Peer& peer) {
      ASSERT_TRUE(peer.receive());
      const Bytes answer = message(wire::Type::welcome, welcome_body());
      // The client has nothing to do but wait, and is asked to handle each signal meanwhile.
      for (const std::byte b : answer) {
        const int before = handled;
        ::pthread_kill(client, SIGUSR1);
        while (handled == before) std::this_thread::yield();
        peer.send({b});
      }
    });
    ServiceGreeting found;
    const Status s = greet_service(service.path(), kPatient, {}, &found);
    EXPECT_TRUE(s.ok()) << s.message;
    EXPECT_EQ(found.program, "test 1");
  }
  ASSERT_EQ(::sigaction(SIGUSR1, &old, nullptr), 0);
}

// No service ever sees these.
TEST_F(DeviceClient, RefusesWhatHasNoMeaning) {
  std::atomic<int> requests{0};
  {
    ScriptedService service([&](Peer& peer) {
      while (peer.receive()) {
        ++requests;
        peer.send(done(Code::ok, ""));
      }
    });
    ServiceDevice device(service.path(), greeting(), kPatient);
    std::unique_ptr<DeviceSample> sample;
    const auto expect_refused = [](const Status& s) {
      EXPECT_EQ(s.code, Code::invalid_argument) << s.message;
    };
    const std::vector<double> three{1, 2, 3};
    expect_refused(device.load(three, 0, {}, &sample));
    expect_refused(device.load(three, 17, {}, &sample));
    expect_refused(device.load(three, 2, {}, &sample));
    expect_refused(device.load(three, 3, {}, &sample));
    ASSERT_TRUE(device.load(kPoints, 1, {}, &sample).ok());
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    double out[4] = {};
    const Precision p = Precision::full;
    expect_refused(sample->derivative(3, 1, p, {}, out));
    expect_refused(sample->derivative(12, 1, p, {}, out));
    expect_refused(sample->derivative(4, 0, p, {}, out));
    expect_refused(sample->derivative(4, kInfinity, p, {}, out));
    const double h[] = {1, -1};
    expect_refused(sample->sweep(h, false, p, {}, out));
    expect_refused(sample->sweep({h, 1}, true, p, {}, {out, 2}));
    expect_refused(sample->sweep({h, 1}, false, p, {}, {out, 3}));
    expect_refused(sample->sweep({}, false, p, {}, {}));
    const std::vector<double> many(kMaxSweep + 1, 1.0);
    std::vector<double> results(2 * many.size());
    expect_refused(sample->sweep(many, false, p, {}, results));
    expect_refused(sample->full(h, p, {}, {out, 2}));
    expect_refused(sample->full({h, 1}, p, {}, {out, 3}));
    expect_refused(sample->scatter({h, 1}, kInfinity, 0, p, {}, {out, 3}));
    expect_refused(sample->scatter({h, 1}, 1, 0, p, {}, {out, 2}));
    expect_refused(sample->density({h, 1}, {h, 1}, p, {}, {out, 2}));
    expect_refused(sample->density({h, 1}, {}, p, {}, {}));
    sample.reset();  // the service above has one connection at a time
    ASSERT_TRUE(device.load(std::vector<double>(4), 2, {}, &sample).ok());
    expect_refused(sample->derivative(4, 1, p, {}, out));
    expect_refused(sample->full(std::vector<double>{1, 1, 0, 1}, p, {}, {out, 2}));
  }
  EXPECT_EQ(requests, 2);  // the loads
}

}  // namespace
}  // namespace kde
