// The device service's client against services that hang up, say nothing or go on for ever, and
// where there is none at all.
#include <gtest/gtest.h>

#include <pthread.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/device/client.h"
#include "descriptors.h"
#include "device_steps.h"
#include "scripted_service.h"

namespace kde {
namespace {

using testing::Bytes;
using testing::done;
using testing::greeting;
using testing::kImpatient;
using testing::kPatient;
using testing::kPoints;
using testing::kSteps;
using testing::message;
using testing::Peer;
using testing::right_answer;
using testing::run_step;
using testing::ScriptedService;
using testing::Step;

class DeviceSilence : public testing::LeaksNoDescriptor {};

TEST_F(DeviceSilence, NoticesHangUps) {
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
TEST_F(DeviceSilence, NoticesHangUpsBetweenRequests) {
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

TEST_F(DeviceSilence, EndsASilence) {
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
TEST_F(DeviceSilence, HearsSignsOfLife) {
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
TEST_F(DeviceSilence, EndsAtItsDeadline) {
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

TEST_F(DeviceSilence, IsCancelled) {
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

TEST_F(DeviceSilence, FindsNobody) {
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
TEST_F(DeviceSilence, GivesUpOnOneThatNeverAccepts) {
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
TEST_F(DeviceSilence, RefusesAnotherUsersService) {
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

}  // namespace
}  // namespace kde
