// The device service's client against services that do right, that do wrong in every way a byte
// can, and that do nothing.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/device/client.h"
#include "core/device/message.h"
#include "device/cpu_device.h"
#include "samples.h"
#include "scripted_service.h"

namespace kde {
namespace {

using testing::append;
using testing::Bytes;
using testing::CpuDevice;
using testing::done;
using testing::done_body;
using testing::message;
using testing::Peer;
using testing::ScriptedService;

// Nothing here is meant to take a second; what should end by itself does so far below these.
const ServiceTimes kPatient{60000, 60000};
const ServiceTimes kImpatient{100, 60000};

const std::vector<double> kPoints{-1, 2};

ServiceGreeting greeting() { return {"test 1", {1e9, 5e8}, 1}; }

Bytes welcome_body() {
  wire::Welcome welcome;
  std::strcpy(welcome.program, "test 1");
  welcome.pair_rate[0] = 1e9;
  welcome.pair_rate[1] = 5e8;
  welcome.devices = 1;
  Bytes out;
  append(&out, welcome);
  return out;
}

Bytes device_list_body() {
  Bytes out;
  for (const char* name : {"first", "second"}) {
    DeviceInfo info;
    std::strcpy(info.name, name);
    info.major = 9;
    info.memory = 1234;
    info.jobs = 5;
    info.busy_ms = 6.5;
    append(&out, info);
  }
  return out;
}

class DeviceClient : public ::testing::Test {
 protected:
  void SetUp() override { descriptors_ = testing::count_descriptors(); }
  void TearDown() override { EXPECT_EQ(testing::count_descriptors(), descriptors_); }

 private:
  int descriptors_ = 0;
};

// ---- right answers -----------------------------------------------------------------------------

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
  EXPECT_EQ(::fcntl(file.get(), F_GET_SEALS), kSeals);
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
  ignore.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGUSR1, &ignore, &old), 0);
  const pthread_t client = ::pthread_self();
  {
    ScriptedService service([client](Peer& peer) {
      ASSERT_TRUE(peer.receive());
      const Bytes answer = message(wire::Type::welcome, welcome_body());
      for (const std::byte b : answer) {
        ::pthread_kill(client, SIGUSR1);
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

// ---- wrong arguments, which no service ever sees -----------------------------------------------

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

// ---- wrong answers -----------------------------------------------------------------------------

// What a client may be waiting for.
enum class Step { greeting, device_list, load, derivative };
constexpr Step kSteps[] = {Step::greeting, Step::device_list, Step::load, Step::derivative};

Bytes right_answer(Step step) {
  switch (step) {
    case Step::greeting:
      return message(wire::Type::welcome, welcome_body());
    case Step::device_list:
      return message(wire::Type::device_list, device_list_body());
    case Step::load:
      return done(Code::ok, "");
    default:
      return done(Code::ok, "", {0.25});
  }
}

// The step with a service that then does `act`, having done right up to it. What ends a sample must
// end all that is asked of it later in the same words.
Status run_step(Step step, const ScriptedService::Script& act, const Control& control = {},
                const ServiceTimes& times = kPatient) {
  ScriptedService service([&](Peer& peer) {
    if (!peer.receive()) return;
    if (step == Step::derivative) {
      peer.send(right_answer(Step::load));
      if (!peer.receive()) return;
    }
    act(peer);
  });
  ServiceGreeting greeted;
  std::vector<DeviceInfo> devices;
  if (step == Step::greeting) return greet_service(service.path(), times, control, &greeted);
  if (step == Step::device_list)
    return list_service_devices(service.path(), times, control, &devices);
  ServiceDevice device(service.path(), greeting(), times);
  std::unique_ptr<DeviceSample> sample;
  const Status loaded = device.load(kPoints, 1, step == Step::load ? control : Control{}, &sample);
  if (step == Step::load) {
    EXPECT_EQ(loaded.ok(), sample != nullptr);
    return loaded;
  }
  EXPECT_TRUE(loaded.ok()) << loaded.message;
  double sum = 0;
  const Status first = sample->derivative(4, 1, Precision::full, control, &sum);
  if (first.ok()) {
    EXPECT_EQ(sum, 0.25);
  } else {
    double out[2] = {};
    const Status second = sample->full(std::vector<double>{1}, Precision::full, {}, out);
    if (first.code == Code::cancelled) {
      EXPECT_EQ(second.code, Code::unavailable);
    } else {
      EXPECT_EQ(second.code, first.code);
      EXPECT_STREQ(second.message, first.message);
    }
  }
  return first;
}

void expect_answer(Step step, const Bytes& answer, Code expected, const char* what) {
  const Status s = run_step(step, [&](Peer& peer) {
    peer.send(answer);
    peer.await_hang_up();
  });
  EXPECT_EQ(s.code, expected) << what << ", step " << static_cast<int>(step) << ": " << s.message;
  EXPECT_EQ(s.message[0] == '\0', s.ok());
}

Bytes with_head(Bytes answer, const std::function<void(wire::Head&)>& change) {
  wire::Head head;
  std::memcpy(&head, answer.data(), sizeof head);
  change(head);
  std::memcpy(answer.data(), &head, sizeof head);
  return answer;
}

TEST_F(DeviceClient, TakesTheRightAnswer) {
  for (const Step step : kSteps) expect_answer(step, right_answer(step), Code::ok, "right");
}

TEST_F(DeviceClient, RefusesWrongHeads) {
  for (const Step step : kSteps) {
    const Bytes right = right_answer(step);
    const auto expect_changed = [&](Code code, const char* what, const auto& change) {
      expect_answer(step, with_head(right, change), code, what);
    };
    expect_changed(Code::failed, "magic", [](wire::Head& h) { h.magic ^= 1; });
    expect_changed(Code::unavailable, "newer", [](wire::Head& h) { h.version += 1; });
    expect_changed(Code::unavailable, "older", [](wire::Head& h) { h.version -= 1; });
    expect_changed(Code::failed, "type", [](wire::Head& h) { h.type = wire::Type{999}; });
    expect_changed(Code::failed, "request", [](wire::Head& h) { h.type = wire::Type::load; });
    expect_changed(Code::failed, "short", [](wire::Head& h) { h.bytes -= 8; });
    expect_changed(Code::failed, "empty", [step](wire::Head& h) {
      // An empty list is a list.
      h.bytes = step == Step::device_list ? 8 : 0;
    });
    expect_changed(Code::failed, "huge", [](wire::Head& h) { h.bytes = std::uint64_t{1} << 63; });
    expect_changed(Code::failed, "most", [](wire::Head& h) { h.bytes = wire::kMaxBody; });
    expect_changed(Code::failed, "living body",
                   [](wire::Head& h) { h.type = wire::Type::working; });
    Bytes longer = with_head(right, [](wire::Head& h) { h.bytes += 8; });
    longer.resize(longer.size() + 8);
    expect_answer(step, longer, Code::failed, "long");
    const Step other = step == Step::greeting ? Step::derivative : Step::greeting;
    expect_answer(step, right_answer(other), Code::failed, "another answer");
  }
}

TEST_F(DeviceClient, RefusesWrongBodies) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double v : {kNan, kInfinity, -kInfinity})
    expect_answer(Step::derivative, done(Code::ok, "", {v}), Code::failed, "not finite");
  expect_answer(Step::derivative, done(Code::unavailable, "busy", {1}), Code::failed,
                "an error with results");

  for (const Step step : kSteps) {
    for (const std::int32_t code : {-1, static_cast<int>(Code::internal) + 1, 1 << 30}) {
      expect_answer(step, done(static_cast<Code>(code), "x"), Code::failed, "unknown code");
    }
    Bytes endless = done_body(Code::unavailable, "");
    std::fill(endless.end() - sizeof wire::Done::message, endless.end(), std::byte{'x'});
    expect_answer(step, message(wire::Type::done, endless), Code::failed, "endless text");
  }

  const auto expect_welcome = [](const char* what, const auto& change) {
    wire::Welcome welcome;
    std::memcpy(static_cast<void*>(&welcome), welcome_body().data(), sizeof welcome);
    change(welcome);
    Bytes body;
    append(&body, welcome);
    expect_answer(Step::greeting, message(wire::Type::welcome, body), Code::failed, what);
  };
  expect_welcome("zero rate", [](wire::Welcome& w) { w.pair_rate[0] = 0; });
  expect_welcome("NaN rate", [](wire::Welcome& w) { w.pair_rate[1] = kNan; });
  expect_welcome("infinite rate", [](wire::Welcome& w) { w.pair_rate[0] = kInfinity; });
  expect_welcome("negative devices", [](wire::Welcome& w) { w.devices = -1; });
  expect_welcome("endless name",
                 [](wire::Welcome& w) { std::memset(w.program, 'x', sizeof w.program); });

  const auto expect_device = [](const char* what, const auto& change) {
    DeviceInfo info;
    change(info);
    Bytes body;
    append(&body, info);
    expect_answer(Step::device_list, message(wire::Type::device_list, body), Code::failed, what);
  };
  expect_device("jobs", [](DeviceInfo& i) { i.jobs = -1; });
  expect_device("time", [](DeviceInfo& i) { i.busy_ms = kNan; });
  expect_device("name", [](DeviceInfo& i) { std::memset(i.name, 'x', sizeof i.name); });
  expect_device("error",
                [](DeviceInfo& i) { std::memset(i.last_error, 'x', sizeof i.last_error); });
}

TEST_F(DeviceClient, HandsOnWhatTheServiceSays) {
  const std::pair<Code, Code> told[] = {{Code::invalid_argument, Code::invalid_argument},
                                        {Code::unavailable, Code::unavailable},
                                        {Code::failed, Code::failed},
                                        {Code::too_large, Code::unavailable},
                                        {Code::out_of_memory, Code::unavailable},
                                        {Code::invalid_format, Code::failed},
                                        {Code::cancelled, Code::failed},
                                        {Code::degenerate, Code::failed},
                                        {Code::internal, Code::failed}};
  for (const Step step : {Step::greeting, Step::device_list, Step::load}) {
    for (const auto& [said, heard] : told) {
      const Status s =
          run_step(step, [said = said](Peer& peer) { peer.send(done(said, "a\xff\nb")); });
      EXPECT_EQ(s.code, heard);
      EXPECT_STREQ(s.message, "a??b");
    }
  }
  const Status s = run_step(Step::load, [](Peer& peer) { peer.send(done(Code::failed, "")); });
  EXPECT_STREQ(s.message, "the device service gives no reason");
}

// Of a sample, `unavailable` and `invalid_argument` are about one sum; `failed` is about all.
TEST_F(DeviceClient, GoesOnAfterABusyService) {
  ScriptedService service([](Peer& peer) {
    const Bytes answers[] = {done(Code::ok, ""), done(Code::unavailable, "too many jobs"),
                             done(Code::invalid_argument, "no"), done(Code::ok, "", {1.5}),
                             done(Code::failed, "lost")};
    for (const Bytes& answer : answers) {
      ASSERT_TRUE(peer.receive());
      peer.send(answer);
    }
    EXPECT_FALSE(peer.receive());
  });
  ServiceDevice device(service.path(), greeting(), kPatient);
  std::unique_ptr<DeviceSample> sample;
  ASSERT_TRUE(device.load(kPoints, 1, {}, &sample).ok());
  double sum = 0;
  const auto ask = [&] { return sample->derivative(4, 1, Precision::full, {}, &sum); };
  const Status busy = ask();
  EXPECT_EQ(busy.code, Code::unavailable);
  EXPECT_STREQ(busy.message, "too many jobs");
  EXPECT_EQ(ask().code, Code::invalid_argument);
  EXPECT_TRUE(ask().ok());
  EXPECT_EQ(sum, 1.5);
  for (int k = 0; k < 2; ++k) {
    const Status lost = ask();
    EXPECT_EQ(lost.code, Code::failed);
    EXPECT_STREQ(lost.message, "lost");
  }
}

// ---- no answer ---------------------------------------------------------------------------------

TEST_F(DeviceClient, NoticesHangUps) {
  for (const Step step : kSteps) {
    const Bytes right = right_answer(step);
    for (const std::size_t sent : {std::size_t{0}, std::size_t{1}, sizeof(wire::Head) - 1,
                                   sizeof(wire::Head), sizeof(wire::Head) + 1, right.size() - 1}) {
      const Status s = run_step(step, [&](Peer& peer) {
        peer.send(message(wire::Type::working));
        if (sent > 0) peer.send({right.begin(), right.begin() + static_cast<std::ptrdiff_t>(sent)});
      });
      EXPECT_EQ(s.code, Code::failed) << "step " << static_cast<int>(step) << ", " << sent;
      EXPECT_STREQ(s.message, "the device service hung up");
    }
  }
  // Before the request was read: the client may be told by a reset, or by its own send.
  ScriptedService deaf([](Peer&) {});
  ServiceGreeting found;
  EXPECT_EQ(greet_service(deaf.path(), kPatient, {}, &found).code, Code::failed);
  // The same, but it has said why.
  ScriptedService full([](Peer& peer) { peer.send(done(Code::unavailable, "no place")); });
  for (int k = 0; k < 20; ++k) {
    const Status s = greet_service(full.path(), kPatient, {}, &found);
    EXPECT_EQ(s.code, Code::unavailable);
    EXPECT_STREQ(s.message, "no place");
  }
}

// Between two requests, where the client does not look.
TEST_F(DeviceClient, NoticesHangUpsBetweenRequests) {
  std::unique_ptr<DeviceSample> sample;
  {
    ScriptedService service([&](Peer& peer) {
      ASSERT_TRUE(peer.receive());
      peer.send(done(Code::ok, ""));
    });
    ServiceDevice device(service.path(), greeting(), kPatient);
    ASSERT_TRUE(device.load(kPoints, 1, {}, &sample).ok());
  }
  double sum = 0;
  EXPECT_EQ(sample->derivative(4, 1, Precision::full, {}, &sum).code, Code::failed);
}

TEST_F(DeviceClient, EndsASilence) {
  for (const Step step : kSteps) {
    const Status s = run_step(
        step, [](Peer& peer) { peer.await_hang_up(); }, {}, kImpatient);
    EXPECT_EQ(s.code, Code::failed);
    EXPECT_STREQ(s.message, "the device service has been silent for 100 ms");
    // In the middle of an answer, too.
    const Bytes right = right_answer(step);
    const Status half = run_step(
        step,
        [&](Peer& peer) {
          peer.send({right.begin(), right.end() - 1});
          peer.await_hang_up();
        },
        {}, kImpatient);
    EXPECT_EQ(half.code, Code::failed);
  }
}

// Signs of life keep a client waiting: here for three times as long as it bears silence.
TEST_F(DeviceClient, HearsSignsOfLife) {
  const ServiceTimes times{200, 60000};
  const Status s = run_step(
      Step::derivative,
      [](Peer& peer) {
        for (int k = 0; k < 30; ++k) {
          EXPECT_FALSE(peer.has_hung_up(20));
          peer.send(message(wire::Type::working));
        }
        peer.send(right_answer(Step::derivative));
        peer.await_hang_up();
      },
      {}, times);
  EXPECT_TRUE(s.ok()) << s.message;
}

// But not for ever, however fast they come.
TEST_F(DeviceClient, EndsAtItsDeadline) {
  for (const int pause_ms : {0, 20}) {
    for (const Step step : kSteps) {
      const Status s = run_step(
          step,
          [&](Peer& peer) {
            while (!peer.has_hung_up(pause_ms) && peer.send(message(wire::Type::working))) {
            }
          },
          {}, {60000, 50});
      EXPECT_EQ(s.code, Code::unavailable) << s.message;
      EXPECT_NE(std::string(s.message).find("took longer than"), std::string::npos) << s.message;
    }
  }
}

struct Stop {
  std::atomic<bool> now{false};
  pthread_t caller = ::pthread_self();
  std::atomic<int> polls{0};

  Control control() {
    Control c;
    c.should_stop = [](void* arg) {
      auto* stop = static_cast<Stop*>(arg);
      EXPECT_TRUE(::pthread_equal(stop->caller, ::pthread_self()));
      ++stop->polls;
      return stop->now.load();
    };
    c.stop_arg = this;
    return c;
  }
};

TEST_F(DeviceClient, IsCancelled) {
  for (const Step step : kSteps) {
    Stop stop;
    const Status s = run_step(
        step,
        [&](Peer& peer) {
          stop.now = true;
          peer.await_hang_up();  // or this ends after kPatient
        },
        stop.control());
    EXPECT_EQ(s.code, Code::cancelled) << s.message;
    // While signs of life come faster than any wait lasts.
    Stop busy;
    const Status b = run_step(
        step,
        [&](Peer& peer) {
          busy.now = true;
          while (peer.send(message(wire::Type::working))) {
          }
        },
        busy.control());
    EXPECT_EQ(b.code, Code::cancelled) << b.message;
    // Before anything was sent.
    Stop at_once;
    at_once.now = true;
    EXPECT_EQ(run_step(
                  step, [](Peer& peer) { peer.await_hang_up(); }, at_once.control())
                  .code,
              Code::cancelled);
  }
}

// ---- nobody there ------------------------------------------------------------------------------

TEST_F(DeviceClient, FindsNobody) {
  testing::TemporaryDirectory directory;
  ServiceGreeting found;
  std::vector<DeviceInfo> devices;
  std::unique_ptr<DeviceSample> sample;
  const auto expect_nobody = [&](const std::string& path) {
    EXPECT_EQ(greet_service(path, kPatient, {}, &found).code, Code::unavailable) << path;
    EXPECT_EQ(list_service_devices(path, kPatient, {}, &devices).code, Code::unavailable) << path;
    ServiceDevice device(path, greeting(), kPatient);
    EXPECT_EQ(device.load(kPoints, 1, {}, &sample).code, Code::unavailable) << path;
    EXPECT_EQ(sample, nullptr);
    EXPECT_TRUE(device.devices().empty());
  };
  expect_nobody("");
  expect_nobody(directory.socket_path());
  expect_nobody(directory.path() + "/no/such/directory");
  expect_nobody(directory.path() + "/" + std::string(200, 'x'));
  testing::listen_at(directory.socket_path(), 1).reset();
  expect_nobody(directory.socket_path());  // a socket that nobody listens at any more
}

// The first connections wait in the listener's queue, the next are not even let in there.
TEST_F(DeviceClient, GivesUpOnOneThatNeverAccepts) {
  testing::TemporaryDirectory directory;
  const Descriptor listener = testing::listen_at(directory.socket_path(), 0);
  ServiceGreeting found;
  const Status queued = greet_service(directory.socket_path(), kImpatient, {}, &found);
  EXPECT_EQ(queued.code, Code::failed);

  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  directory.socket_path().copy(address.sun_path, sizeof address.sun_path - 1);
  std::vector<Descriptor> waiting;
  for (bool full = false; !full;) {
    waiting.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    full = ::connect(waiting.back().get(), reinterpret_cast<const sockaddr*>(&address),
                     sizeof address) != 0;
    const int error = errno;
    ASSERT_TRUE(!full || error == EAGAIN);
  }
  EXPECT_EQ(greet_service(directory.socket_path(), kImpatient, {}, &found).code, Code::failed);
  EXPECT_EQ(greet_service(directory.socket_path(), {60000, 50}, {}, &found).code,
            Code::unavailable);
  struct Third {
    int polls = 0;
  } third;
  Control control;
  control.should_stop = [](void* arg) { return ++static_cast<Third*>(arg)->polls >= 3; };
  control.stop_arg = &third;
  EXPECT_EQ(greet_service(directory.socket_path(), kPatient, control, &found).code,
            Code::cancelled);
}

// Only root can become somebody else; for others, this tells that their own service is let pass.
TEST_F(DeviceClient, RefusesAnotherUsersService) {
  testing::TemporaryDirectory directory;
  const Descriptor listener = testing::listen_at(directory.socket_path(), 4);
  const bool root = ::geteuid() == 0;
  // Whose a listener is, is settled by listen(). The call of the system itself changes but this
  // thread's user.
  std::thread([&] {
    ASSERT_TRUE(!root || ::syscall(SYS_setresuid, -1, 65534, -1) == 0);
    ASSERT_EQ(::listen(listener.get(), 4), 0);
  }).join();
  ServiceGreeting found;
  const Status s = greet_service(directory.socket_path(), kImpatient, {}, &found);
  EXPECT_EQ(s.code, Code::failed);
  EXPECT_STREQ(s.message, root ? "the device service runs as another user"
                               : "the device service has been silent for 100 ms");
}

// ---- messages ----------------------------------------------------------------------------------

// Goes on until `end` says not to.
class TestWaiter : public Waiter {
 public:
  Status go_on() override {
    ++asked;
    return asked < limit ? Status::success() : Status::error(Code::cancelled, "enough");
  }
  int asked = 0;
  int limit = std::numeric_limits<int>::max();
};

// A message many times as long as what the socket holds arrives whole, with its descriptor.
TEST_F(DeviceClient, SendsInPieces) {
  int ends[2] = {};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const Descriptor sender(ends[0]);
  const int size = 4096;
  ASSERT_EQ(::setsockopt(sender.get(), SOL_SOCKET, SO_SNDBUF, &size, sizeof size), 0);
  wire::Full body;
  body.once = 3;
  std::vector<double> numbers(100'000);
  for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = static_cast<double>(k);
  const Descriptor file(::memfd_create("test", MFD_CLOEXEC));
  std::thread receiver([&] {
    Peer peer(ends[1]);
    ASSERT_TRUE(peer.receive());
    EXPECT_EQ(peer.type, wire::Type::full);
    EXPECT_TRUE(peer.descriptor.is_open());
    std::vector<double> received;
    EXPECT_EQ(peer.request<wire::Full>(&received).once, 3);
    EXPECT_EQ(received, numbers);
    EXPECT_FALSE(peer.receive());
  });
  TestWaiter waiter;
  const Status s =
      send_message(sender.get(), wire::Type::full, {bytes_of(body), numbers, file.get()}, waiter);
  EXPECT_TRUE(s.ok()) << s.message;
  ::shutdown(sender.get(), SHUT_WR);
  receiver.join();
}

TEST_F(DeviceClient, StopsSending) {
  int ends[2] = {};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const Descriptor sender(ends[0]);
  Descriptor deaf(ends[1]);
  const std::vector<double> numbers(1'000'000);
  TestWaiter waiter;
  waiter.limit = 3;
  EXPECT_EQ(send_message(sender.get(), wire::Type::full, {{}, numbers}, waiter).code,
            Code::cancelled);
  EXPECT_EQ(waiter.asked, 3);
  // Hung up: its last words are for receive_bytes to look for.
  deaf.reset();
  EXPECT_TRUE(send_message(sender.get(), wire::Type::full, {{}, numbers}, waiter).ok());
  std::byte b{};
  EXPECT_EQ(receive_bytes(sender.get(), {&b, 1}, waiter).code, Code::failed);
}

}  // namespace
}  // namespace kde
