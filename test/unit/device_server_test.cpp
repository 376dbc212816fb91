// The device service's server in this process, over a scripted Device: what it answers, what it
// refuses, and that nothing a client does or leaves undone harms another.
#include <gtest/gtest.h>

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/sums/gaussian_sums.h"
#include "cuda/server/clock.h"
#include "cuda/server/server.h"
#include "cuda/server/stream.h"
#include "descriptors.h"
#include "raw_client.h"
#include "scripted_device.h"
#include "temporary_directory.h"

namespace kde::service {
namespace {

using testing::Bytes;
using testing::bytes_of;
using testing::count_descriptors;
using testing::memory_file;
using testing::Message;
using testing::message_of;
using testing::RawClient;
using testing::ScriptedDevice;
using wire::Type;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLongMs = 1e6;

// Asks again until the answer is as wanted, or until another condition would never come.
template <typename Condition>
bool eventually(const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(testing::kGuardMs);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

class DeviceServer : public ::testing::Test {
 protected:
  DeviceServer() {
    options_.socket_path = directory_.socket_path();
    options_.program = "test 1.0";
  }
  ~DeviceServer() override {
    device_.release();
    server_.reset();
  }

  void start() {
    const Status status = Server::start(options_, &device_, &server_);
    ASSERT_TRUE(status.ok()) << status.message;
  }
  std::unique_ptr<RawClient> connect() {
    auto client = std::make_unique<RawClient>(options_.socket_path);
    EXPECT_TRUE(client->connected());
    return client;
  }
  std::unique_ptr<RawClient> connect_with_sample(int d = 1) {
    auto client = connect();
    const Message loaded =
        client->load(std::vector<double>(static_cast<std::size_t>(2 * d), 1.0), d);
    EXPECT_EQ(loaded.code(), Code::ok) << loaded.text();
    return client;
  }

  testing::TemporaryDirectory directory_;
  ServerOptions options_;
  ScriptedDevice device_;
  std::unique_ptr<Server> server_;
};

wire::Derivative derivative_request(double g = 0.5, int r = 4, int precision = 1,
                                    double deadline_ms = kLongMs) {
  wire::Derivative request;
  request.g = g;
  request.r = r;
  request.precision = precision;
  request.deadline_ms = deadline_ms;
  return request;
}
wire::Sweep sweep_request(int count, int slopes = 0) {
  wire::Sweep request;
  request.deadline_ms = kLongMs;
  request.count = count;
  request.slopes = slopes;
  return request;
}
wire::Full full_request(int scatter = 0, double once = 2, double twice = 3) {
  wire::Full request;
  request.deadline_ms = kLongMs;
  request.scatter = scatter;
  request.once = once;
  request.twice = twice;
  request.precision = 1;
  return request;
}
wire::Density density_request(std::int64_t m) {
  wire::Density request;
  request.deadline_ms = kLongMs;
  request.m = m;
  request.precision = 1;
  return request;
}
wire::Load load_request(std::int64_t n, int d) {
  wire::Load request;
  request.n = n;
  request.d = d;
  return request;
}

// ---- what it answers ---------------------------------------------------------------------------

TEST_F(DeviceServer, WelcomesAndListsDevices) {
  start();
  const auto client = connect();
  const Message welcome = client->ask(Type::hello, {});
  ASSERT_EQ(welcome.head.type, Type::welcome);
  EXPECT_EQ(welcome.head.magic, wire::kMagic);
  EXPECT_EQ(welcome.head.version, wire::kVersion);
  ASSERT_EQ(welcome.body.size(), sizeof(wire::Welcome));
  const auto body = welcome.as<wire::Welcome>();
  EXPECT_STREQ(body.program, "test 1.0");
  EXPECT_EQ(body.pair_rate[0], 20);
  EXPECT_EQ(body.pair_rate[1], 10);
  EXPECT_EQ(body.devices, 2);

  const Message list = client->ask(Type::devices, {});
  ASSERT_EQ(list.head.type, Type::device_list);
  ASSERT_EQ(list.body.size(), 2 * sizeof(DeviceInfo));
  EXPECT_STREQ(list.as<DeviceInfo>().name, "A");
  EXPECT_EQ(list.as<DeviceInfo>().major, 9);
}

TEST_F(DeviceServer, PassesRequestsOnAndResultsBack) {
  start();
  const auto line = connect();
  EXPECT_EQ(line->load(std::vector<double>{1, 2, 4}, 1).code(), Code::ok);
  Message answer = line->ask(Type::derivative, bytes_of(derivative_request(0.5, 6, 1)));
  EXPECT_EQ(answer.code(), Code::ok);
  EXPECT_EQ(answer.numbers(), (std::vector<double>{7 + 6000 + 100 + 0.5}));
  EXPECT_GE(answer.as<wire::Done>().busy_ms, 0);
  EXPECT_EQ(answer.text(), "");

  const std::vector<double> h{0.25, 3};
  answer = line->ask(Type::sweep, bytes_of(sweep_request(2), h));
  EXPECT_EQ(answer.numbers(), (std::vector<double>{7.25, 7.26, 10, 10.01}));
  answer = line->ask(Type::sweep, bytes_of(sweep_request(1, 1), std::span(h).first(1)));
  EXPECT_EQ(answer.numbers().size(), 4U);

  const auto plane = connect();
  EXPECT_EQ(plane->load(std::vector<double>{1, 2, 4, 8}, 2).code(), Code::ok);
  const std::vector<double> a{1, 0, 5, 6};
  answer = plane->ask(Type::full, bytes_of(full_request(), a));
  EXPECT_EQ(answer.numbers(), (std::vector<double>{15 + 6, 100}));
  answer = plane->ask(Type::full, bytes_of(full_request(1), a));
  EXPECT_EQ(answer.numbers(), (std::vector<double>{2, 3, 101, 100, 105, 106}));
  const std::vector<double> queries{10, 0, 20, 0, 30, 0};
  const Descriptor file = memory_file(queries);
  answer = plane->ask(Type::density, bytes_of(density_request(3), a), {file.get()});
  EXPECT_EQ(answer.numbers(), (std::vector<double>{111, 121, 131}));
}

TEST_F(DeviceServer, HasRoomForTheLargestRequests) {
  start();
  const auto client = connect_with_sample(kMaxDimensions);
  const std::vector<double> h(kMaxSweep, 1.0);
  const int count = static_cast<int>(kMaxSweep);
  EXPECT_EQ(client->ask(Type::sweep, bytes_of(sweep_request(count, 1), h)).numbers().size(),
            4 * kMaxSweep);
  const std::vector<double> zeros(kMaxDimensions * kMaxDimensions, 0.0);
  EXPECT_EQ(client->ask(Type::full, bytes_of(full_request(1), zeros)).numbers().size(),
            2 + zeros.size());
}

TEST_F(DeviceServer, ErrorsOfTheDeviceAreAnswers) {
  start();
  const auto client = connect_with_sample();
  const Bytes request = bytes_of(derivative_request());
  const auto code_for = [&](const ScriptedDevice::Script& script) {
    device_.set_script(script);
    const Message answer = client->ask(Type::derivative, request);
    EXPECT_EQ(answer.body.size(), sizeof(wire::Done) + (answer.code() == Code::ok ? 8 : 0));
    return answer.code();
  };
  const auto error = [](Code code) {
    return [code](const Control&) { return Status::error(code, "why"); };
  };
  EXPECT_EQ(code_for(error(Code::unavailable)), Code::unavailable);
  EXPECT_EQ(code_for(error(Code::too_large)), Code::too_large);
  EXPECT_EQ(code_for(error(Code::failed)), Code::failed);
  EXPECT_EQ(code_for(error(Code::invalid_argument)), Code::invalid_argument);
  EXPECT_EQ(code_for(error(Code::out_of_memory)), Code::unavailable);
  EXPECT_EQ(code_for(error(Code::degenerate)), Code::failed);
  // Nobody asked it to.
  EXPECT_EQ(code_for(error(Code::cancelled)), Code::failed);
  EXPECT_EQ(code_for([](const Control&) -> Status { throw std::bad_alloc(); }), Code::unavailable);
  EXPECT_EQ(code_for([](const Control&) -> Status { throw std::runtime_error("x"); }),
            Code::failed);
  EXPECT_EQ(code_for(nullptr), Code::ok);
}

// ---- what it refuses, and goes on ---------------------------------------------------------------

TEST_F(DeviceServer, RefusesWhatHasNoMeaning) {
  start();
  const auto client = connect_with_sample(2);
  const auto line = connect_with_sample(1);
  const std::vector<double> identity{1, 0, 0, 1};
  const auto refused = [](RawClient& on, Type type, const Bytes& body, int file = -1) {
    const Message answer =
        on.ask(type, body, file >= 0 ? std::vector<int>{file} : std::vector<int>());
    return answer.code() == Code::invalid_argument && answer.body.size() == sizeof(wire::Done) &&
           !answer.text().empty();
  };

  const int before = device_.counts().entered;
  EXPECT_TRUE(refused(*client, Type::derivative, bytes_of(derivative_request())));  // d is 2
  for (const int r : {-2, -1, 1, 3, 11, 12}) {
    EXPECT_TRUE(refused(*line, Type::derivative, bytes_of(derivative_request(1, r)))) << r;
  }
  for (const double g : {0.0, -1.0, kNaN, kInfinity}) {
    EXPECT_TRUE(refused(*line, Type::derivative, bytes_of(derivative_request(g)))) << g;
    const std::vector<double> h{1, g};
    EXPECT_TRUE(refused(*line, Type::sweep, bytes_of(sweep_request(2), h))) << g;
  }
  for (const int precision : {-1, 2}) {
    EXPECT_TRUE(refused(*line, Type::derivative, bytes_of(derivative_request(1, 4, precision))));
  }
  for (const double deadline : {kNaN, kInfinity}) {
    EXPECT_TRUE(refused(*line, Type::derivative, bytes_of(derivative_request(1, 4, 1, deadline))));
  }

  const std::vector<double> h(kMaxSweep, 1.0);
  EXPECT_TRUE(refused(*line, Type::sweep, bytes_of(sweep_request(0))));
  EXPECT_TRUE(refused(*line, Type::sweep, bytes_of(sweep_request(-1))));
  EXPECT_TRUE(refused(*line, Type::sweep, bytes_of(sweep_request(1 << 30))));
  EXPECT_TRUE(refused(*line, Type::sweep, bytes_of(sweep_request(3), std::span(h).first(2))));
  EXPECT_TRUE(refused(*line, Type::sweep, bytes_of(sweep_request(1), std::span(h).first(2))));
  EXPECT_TRUE(refused(*line, Type::sweep, bytes_of(sweep_request(1, 2), std::span(h).first(1))));

  for (const double above : {1e-300, -1.0, kNaN}) {
    const std::vector<double> a{1, above, 0, 1};
    EXPECT_TRUE(refused(*client, Type::full, bytes_of(full_request(), a))) << above;
  }
  for (const double below : {kNaN, kInfinity}) {
    const std::vector<double> a{1, 0, below, 1};
    EXPECT_TRUE(refused(*client, Type::full, bytes_of(full_request(), a))) << below;
  }
  EXPECT_TRUE(refused(*client, Type::full, bytes_of(full_request(), std::span(identity).first(3))));
  EXPECT_TRUE(refused(*client, Type::full, bytes_of(full_request(2), identity)));
  EXPECT_TRUE(refused(*client, Type::full, bytes_of(full_request(-1), identity)));
  EXPECT_TRUE(refused(*client, Type::full, bytes_of(full_request(1, kNaN), identity)));
  EXPECT_TRUE(refused(*client, Type::full, bytes_of(full_request(1, 1, kInfinity), identity)));

  const Descriptor two = memory_file(identity);
  for (const std::int64_t m : {std::int64_t{0}, std::int64_t{-1}, kMaxQueries + 1}) {
    EXPECT_TRUE(refused(*client, Type::density, bytes_of(density_request(m), identity), two.get()));
  }
  // As many numbers as the matrix has, but not as the file.
  EXPECT_TRUE(refused(*client, Type::density, bytes_of(density_request(3), identity), two.get()));

  // The file is right, and there is nothing in it yet: it takes no memory.
  const Descriptor long_file(::memfd_create("long", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(long_file.get(), (kMaxQueries + 1) * sizeof(double)), 0);
  ASSERT_EQ(::fcntl(long_file.get(), F_ADD_SEALS, testing::kAllSeals), 0);
  const std::vector<double> one{1};
  EXPECT_TRUE(refused(*line, Type::density, bytes_of(density_request(kMaxQueries + 1), one),
                      long_file.get()));

  // A second sample, and a sum before the first.
  EXPECT_TRUE(refused(*line, Type::load, bytes_of(load_request(4, 1)), two.get()));
  const auto fresh = connect();
  EXPECT_TRUE(refused(*fresh, Type::derivative, bytes_of(derivative_request())));
  EXPECT_TRUE(refused(*fresh, Type::density, bytes_of(density_request(2), identity), two.get()));

  EXPECT_EQ(device_.counts().entered, before);
  // All of them can still be served.
  EXPECT_EQ(line->ask(Type::derivative, bytes_of(derivative_request())).code(), Code::ok);
  EXPECT_EQ(client->ask(Type::full, bytes_of(full_request(), identity)).code(), Code::ok);
  EXPECT_EQ(fresh->load(identity, 2).code(), Code::ok);
}

TEST_F(DeviceServer, RefusesFilesThatItCannotTrust) {
  start();
  const auto client = connect();
  const std::vector<double> four{1, 2, 3, 4};
  const auto code_for = [&](const Descriptor& file, std::int64_t n = 4, int d = 1) {
    return client->ask(Type::load, bytes_of(load_request(n, d)), {file.get()}).code();
  };
  for (const int seal : {F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_WRITE}) {
    const int others = (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) & ~seal;
    EXPECT_EQ(code_for(memory_file(four, others)), Code::invalid_argument) << seal;
  }
  EXPECT_EQ(code_for(Descriptor(::open("/dev/zero", O_RDONLY | O_CLOEXEC))),
            Code::invalid_argument);
  EXPECT_EQ(code_for(Descriptor(::eventfd(0, EFD_CLOEXEC))), Code::invalid_argument);
  EXPECT_EQ(code_for(memory_file(four), 3), Code::invalid_argument);
  EXPECT_EQ(code_for(memory_file(four), 5), Code::invalid_argument);
  EXPECT_EQ(code_for(memory_file(four), 4, 2), Code::invalid_argument);
  EXPECT_EQ(code_for(memory_file(std::span<const char>("a byte too many, which is 33......", 33))),
            Code::invalid_argument);
  EXPECT_EQ(code_for(memory_file(four), 1), Code::invalid_argument);
  EXPECT_EQ(code_for(memory_file(four), -4), Code::invalid_argument);
  EXPECT_EQ(code_for(memory_file(four), 4, 0), Code::invalid_argument);
  EXPECT_EQ(code_for(memory_file(four), 4, -1), Code::invalid_argument);
  EXPECT_EQ(code_for(memory_file(four), 4, 17), Code::invalid_argument);
  // 8 n d would overflow.
  EXPECT_EQ(code_for(memory_file(four), std::int64_t{1} << 61), Code::too_large);
  EXPECT_EQ(code_for(memory_file(four), (std::int64_t{1} << 60) + 1, 2), Code::too_large);
  for (const double bad : {kNaN, kInfinity, -kInfinity}) {
    EXPECT_EQ(code_for(memory_file(std::vector<double>{1, 2, 3, bad})), Code::invalid_argument);
  }
  EXPECT_EQ(device_.counts().entered, 0);
  EXPECT_EQ(code_for(memory_file(four)), Code::ok);

  const std::vector<double> bad{1, kNaN};
  const Descriptor queries = memory_file(bad);
  const std::vector<double> a{1};
  EXPECT_EQ(client->ask(Type::density, bytes_of(density_request(2), a), {queries.get()}).code(),
            Code::invalid_argument);
}

// A sample longer than the pieces in which points are looked through, wrong at its end.
TEST_F(DeviceServer, LooksAtAllPoints) {
  start();
  const auto client = connect();
  std::vector<double> points(600000, 1.0);
  points.back() = kNaN;
  EXPECT_EQ(client->load(points, 1).code(), Code::invalid_argument);
  points.back() = 2;
  EXPECT_EQ(client->load(points, 1).code(), Code::ok);
}

// ---- what it hangs up on ------------------------------------------------------------------------

TEST_F(DeviceServer, HangsUpOnWhatIsNotTheProtocol) {
  start();
  const auto answer_to = [&](const Bytes& bytes, const std::vector<int>& files = {}) {
    const auto client = connect();
    EXPECT_TRUE(client->send(bytes, files));
    const std::optional<Message> answer = client->receive();
    EXPECT_TRUE(client->at_end());
    return answer ? answer->code() : Code::internal;
  };
  const auto with_head = [](const std::function<void(wire::Head&)>& change) {
    wire::Head head;
    change(head);
    return bytes_of(head);
  };

  EXPECT_EQ(answer_to(with_head([](auto& head) { head.magic ^= 1; })), Code::invalid_argument);
  EXPECT_EQ(answer_to(with_head([](auto& head) { ++head.version; })), Code::unavailable);
  for (const int type : {0, 8, 100, 103, 104, 65535}) {
    EXPECT_EQ(answer_to(with_head([&](auto& head) { head.type = static_cast<Type>(type); })),
              Code::invalid_argument)
        << type;
  }
  const auto sized = [&](Type type, std::uint64_t bytes) {
    return answer_to(with_head([&](auto& head) {
      head.type = type;
      head.bytes = bytes;
    }));
  };
  const std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();
  for (const std::uint64_t bytes : {std::uint64_t{1}, huge}) {
    EXPECT_EQ(sized(Type::hello, bytes), Code::invalid_argument) << bytes;
    EXPECT_EQ(sized(Type::devices, bytes), Code::invalid_argument) << bytes;
  }
  for (const Type type : {Type::load, Type::derivative, Type::sweep, Type::full, Type::density}) {
    for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{15}, wire::kMaxBody, huge}) {
      EXPECT_EQ(sized(type, bytes), Code::invalid_argument)
          << static_cast<int>(type) << " " << bytes;
    }
  }

  const std::vector<double> points{1, 2};
  const Descriptor file = memory_file(points);
  const Bytes load = message_of(Type::load, bytes_of(load_request(2, 1)));
  EXPECT_EQ(answer_to(load), Code::invalid_argument);
  EXPECT_EQ(answer_to(load, {file.get(), file.get()}), Code::invalid_argument);
  EXPECT_EQ(answer_to(load, std::vector<int>(100, file.get())), Code::invalid_argument);
  EXPECT_EQ(answer_to(message_of(Type::hello, {}), {file.get()}), Code::invalid_argument);
  EXPECT_EQ(device_.counts().entered, 0);
}

TEST_F(DeviceServer, DoesNotWaitForTheRestOfAMessage) {
  options_.silence_ms = 30;
  start();
  const Bytes load = message_of(Type::derivative, bytes_of(derivative_request()));
  for (const std::size_t length : {std::size_t{1}, sizeof(wire::Head), load.size() - 1}) {
    const auto client = connect();
    EXPECT_TRUE(client->send(std::span(load).first(length)));
    EXPECT_TRUE(client->at_end()) << length;
  }
}

TEST_F(DeviceServer, ServesItsOwnUserOnly) {
  options_.peer_uid = ::geteuid() + 1;
  start();
  const auto client = connect();
  EXPECT_TRUE(client->at_end());
  struct stat found {};
  ASSERT_EQ(::stat(options_.socket_path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0600U);
}

// ---- jobs ---------------------------------------------------------------------------------------

TEST_F(DeviceServer, BeatsWhileAJobRuns) {
  options_.beat_ms = 10;
  start();
  const auto client = connect_with_sample();
  device_.hold();
  client->send(message_of(Type::derivative, bytes_of(derivative_request())));
  for (int beat = 0; beat < 5; ++beat) {
    const std::optional<Message> message = client->receive_any();
    ASSERT_TRUE(message);
    EXPECT_EQ(message->head.type, Type::working);
    EXPECT_EQ(message->head.bytes, 0U);
  }
  device_.release();
  const std::optional<Message> done = client->receive();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->code(), Code::ok);
}

// Beats that find the peer's queue full are left out, whole: what comes after them is understood.
TEST(DeviceStream, LeavesOutBeatsThatNobodyReads) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  const Descriptor ours(ends[0]);
  Descriptor peers(ends[1]);
  Stream stream(ours.get(), 1000);
  constexpr int kBeats = 20000;  // 320 kB, where a queue holds 208 kB
  for (int i = 0; i < kBeats; ++i) ASSERT_TRUE(stream.send_working());
  int read = 0;
  wire::Head head;
  while (::recv(peers.get(), &head, sizeof head, 0) == static_cast<ssize_t>(sizeof head)) {
    ASSERT_EQ(head.magic, wire::kMagic);
    ASSERT_EQ(head.type, Type::working);
    ++read;
  }
  EXPECT_GT(read, 0);
  EXPECT_LT(read, kBeats);
  EXPECT_FALSE(stream.peer_gone());
  peers.reset();
  EXPECT_TRUE(stream.peer_gone());
  EXPECT_FALSE(stream.send_working());
}

TEST_F(DeviceServer, ClientsDoNotWaitForEachOther) {
  start();
  const auto slow = connect_with_sample();
  const auto fast = connect_with_sample();
  device_.hold();
  slow->send(message_of(Type::derivative, bytes_of(derivative_request())));
  EXPECT_TRUE(device_.wait_until([](const auto& c) { return c.entered == 3; }));
  EXPECT_EQ(fast->ask(Type::hello, {}).head.type, Type::welcome);
  fast->send(message_of(Type::derivative, bytes_of(derivative_request())));
  // Both are in the Device at the same time.
  EXPECT_TRUE(device_.wait_until([](const auto& c) { return c.entered == 4; }));
  EXPECT_EQ(device_.counts().left, 2);
  device_.release();
  EXPECT_EQ(fast->receive()->code(), Code::ok);
  EXPECT_EQ(slow->receive()->code(), Code::ok);
}

TEST_F(DeviceServer, HangingUpCancels) {
  start();
  for (const bool half : {false, true}) {
    const auto client = connect_with_sample();
    const int cancelled = device_.counts().cancelled;
    const int entered = device_.counts().entered;
    device_.hold();
    client->send(message_of(Type::derivative, bytes_of(derivative_request())));
    EXPECT_TRUE(device_.wait_until([&](const auto& c) { return c.entered > entered; }));
    if (half) {
      ::shutdown(client->fd(), SHUT_WR);
    } else {
      client->hang_up();
    }
    EXPECT_TRUE(device_.wait_until(
        [&](const auto& c) { return c.cancelled == cancelled + 1 && c.samples == 0; }));
    device_.release();
  }
  // Also a load.
  const auto client = connect();
  device_.hold();
  const int cancelled = device_.counts().cancelled;
  const std::vector<double> points{1, 2};
  const Descriptor file = memory_file(points);
  client->send(message_of(Type::load, bytes_of(load_request(2, 1))), {file.get()});
  client->hang_up();
  EXPECT_TRUE(device_.wait_until([&](const auto& c) { return c.cancelled == cancelled + 1; }));
}

TEST_F(DeviceServer, JobsEndAtTheirDeadline) {
  start();
  const auto client = connect_with_sample();
  device_.hold();
  Message answer = client->ask(Type::derivative, bytes_of(derivative_request(1, 4, 1, 20)));
  EXPECT_EQ(answer.code(), Code::unavailable);
  EXPECT_EQ(answer.text(), "the deadline has passed");
  EXPECT_EQ(device_.counts().cancelled, 1);
  device_.release();
  const int entered = device_.counts().entered;
  for (const double past : {0.0, -5.0}) {
    answer = client->ask(Type::derivative, bytes_of(derivative_request(1, 4, 1, past)));
    EXPECT_EQ(answer.code(), Code::unavailable);
  }
  EXPECT_EQ(device_.counts().entered, entered);
  EXPECT_EQ(client->ask(Type::derivative, bytes_of(derivative_request())).code(), Code::ok);
}

TEST_F(DeviceServer, RefusesTooManyJobs) {
  options_.max_jobs = 2;
  start();
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(connect_with_sample());
  device_.hold();
  const Bytes request = bytes_of(derivative_request());
  for (int i = 0; i < 2; ++i) clients[i]->send(message_of(Type::derivative, request));
  EXPECT_TRUE(device_.wait_until([](const auto& c) { return c.entered == 5; }));
  const Message answer = clients[2]->ask(Type::derivative, request);
  EXPECT_EQ(answer.code(), Code::unavailable);
  EXPECT_EQ(answer.text(), "too many jobs");
  device_.release();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(clients[i]->receive()->code(), Code::ok);
  EXPECT_EQ(clients[2]->ask(Type::derivative, request).code(), Code::ok);
}

TEST_F(DeviceServer, RefusesTooManyConnections) {
  options_.max_connections = 2;
  start();
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 2; ++i) {
    clients.push_back(connect());
    EXPECT_EQ(clients.back()->ask(Type::hello, {}).head.type, Type::welcome);
  }
  const auto refused = connect();
  const std::optional<Message> answer = refused->receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->code(), Code::unavailable);
  EXPECT_EQ(answer->text(), "too many connections");
  EXPECT_TRUE(refused->at_end());
  clients.pop_back();
  EXPECT_TRUE(eventually([&] {
    const auto client = connect();
    client->send(message_of(Type::hello, {}));
    const std::optional<Message> said = client->receive();
    return said && said->head.type == Type::welcome;
  }));
}

TEST_F(DeviceServer, SamplesCountAgainstTheMemoryLimit) {
  options_.memory_limit = 32 * 100;
  start();
  const std::vector<double> sixty(60, 1.0), forty(40, 1.0), fortyone(41, 1.0);
  auto first = connect();
  EXPECT_EQ(first->load(sixty, 2).code(), Code::ok);
  const auto second = connect();
  EXPECT_EQ(second->load(fortyone, 1).code(), Code::unavailable);
  EXPECT_EQ(second->load(std::vector<double>(101, 1.0), 1).code(), Code::too_large);
  // What fails to load counts no longer.
  std::vector<double> bad = forty;
  bad[0] = kNaN;
  EXPECT_EQ(second->load(bad, 1).code(), Code::invalid_argument);
  device_.set_script([](const Control&) { return Status::error(Code::unavailable, "full"); });
  EXPECT_EQ(second->load(forty, 1).code(), Code::unavailable);
  device_.set_script(nullptr);
  EXPECT_EQ(second->load(forty, 1).code(), Code::ok);
  const auto third = connect();
  EXPECT_EQ(third->load(std::vector<double>(2, 1.0), 1).code(), Code::unavailable);
  first->hang_up();
  EXPECT_TRUE(eventually([&] { return third->load(sixty, 1).code() == Code::ok; }));
}

// ---- clients that do not listen -----------------------------------------------------------------

// More numbers than a socket's queue holds.
constexpr std::size_t kManyQueries = 300000;

TEST_F(DeviceServer, AnUnreadAnswerHoldsUpNobody) {
  options_.max_jobs = 1;
  start();
  const auto stuck = connect_with_sample();
  const auto other = connect_with_sample();
  const std::vector<double> queries(kManyQueries, 5.0);
  const Descriptor file = memory_file(queries);
  const std::vector<double> a{1};
  stuck->send(message_of(Type::density, bytes_of(density_request(kManyQueries), a)), {file.get()});
  EXPECT_TRUE(device_.wait_until([](const auto& c) { return c.left == 3; }));
  EXPECT_TRUE(eventually([&] {
    return other->ask(Type::derivative, bytes_of(derivative_request())).code() == Code::ok;
  }));
  // Late, but whole.
  const std::optional<Message> answer = stuck->receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->numbers(), std::vector<double>(kManyQueries, 106.0));
}

TEST_F(DeviceServer, HangsUpOnAClientThatStopsReading) {
  options_.silence_ms = 30;
  start();
  const auto stuck = connect_with_sample();
  const std::vector<double> queries(kManyQueries, 5.0);
  const Descriptor file = memory_file(queries);
  const std::vector<double> a{1};
  stuck->send(message_of(Type::density, bytes_of(density_request(kManyQueries), a)), {file.get()});
  EXPECT_TRUE(stuck->wait_for_hang_up());
  EXPECT_TRUE(device_.wait_until([](const auto& c) { return c.samples == 0; }));
  EXPECT_EQ(connect()->ask(Type::hello, {}).head.type, Type::welcome);
}

// ---- the watch
// ------------------------------------------------------------------------------------

TEST_F(DeviceServer, KnowsWhoIsSilentInTheDevice) {
  start();
  const auto client = connect_with_sample();
  EXPECT_EQ(server_->visits().longest_silence().what, nullptr);
  device_.hold(/*deaf=*/true);
  client->send(message_of(Type::derivative, bytes_of(derivative_request())));
  EXPECT_TRUE(eventually([&] {
    const Visits::Silence silence = server_->visits().longest_silence();
    return silence.what != nullptr && std::string(silence.what) == "derivative" && silence.ms > 50;
  }));
  const double forgiven_ms = now_ms();
  server_->visits().forgive();
  const double silence_ms = server_->visits().longest_silence().ms;
  EXPECT_LE(silence_ms, now_ms() - forgiven_ms);
  device_.release();
  EXPECT_EQ(client->receive()->code(), Code::ok);
  EXPECT_EQ(server_->visits().longest_silence().what, nullptr);

  // One that polls is heard of again and again.
  device_.hold();
  client->send(message_of(Type::derivative, bytes_of(derivative_request())));
  EXPECT_TRUE(eventually([&] { return server_->visits().longest_silence().ms > 1; }));
  double last_ms = 0;
  EXPECT_TRUE(eventually([&] {
    const double now_ms = server_->visits().longest_silence().ms;
    return now_ms < std::exchange(last_ms, now_ms);
  }));
}

TEST_F(DeviceServer, EndsWithJobsInTheDevice) {
  start();
  const auto client = connect_with_sample();
  device_.hold();
  client->send(message_of(Type::derivative, bytes_of(derivative_request())));
  EXPECT_TRUE(device_.wait_until([](const auto& c) { return c.entered == 2; }));
  server_.reset();
  EXPECT_EQ(device_.counts().cancelled, 1);
  EXPECT_EQ(device_.counts().samples, 0);
  EXPECT_TRUE(client->at_end());
  EXPECT_FALSE(std::filesystem::exists(options_.socket_path));
}

TEST_F(DeviceServer, AnswersCanBeAltered) {
  options_.alter = [](std::span<char> message) { message[0] ^= 1; };
  start();
  const auto client = connect();
  EXPECT_EQ(client->ask(Type::hello, {}).head.magic, wire::kMagic ^ 1);
}

// ---- the socket
// -----------------------------------------------------------------------------------

TEST_F(DeviceServer, TakesAPathThatNobodyServes) {
  {
    const Descriptor stale(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, options_.socket_path.c_str(), sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(stale.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  start();
  EXPECT_EQ(connect()->ask(Type::hello, {}).head.type, Type::welcome);

  std::unique_ptr<Server> other;
  EXPECT_EQ(Server::start(options_, &device_, &other).code, Code::invalid_argument);
  EXPECT_EQ(connect()->ask(Type::hello, {}).head.type, Type::welcome);

  // One that is served by somebody too busy to accept.
  ServerOptions wrong = options_;
  wrong.socket_path = directory_.path() + "/busy";
  const Descriptor busy(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, wrong.socket_path.c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(busy.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(busy.get(), 0), 0);
  const RawClient waiting(wrong.socket_path);  // fills its queue
  EXPECT_EQ(Server::start(wrong, &device_, &other).code, Code::invalid_argument);
  EXPECT_TRUE(std::filesystem::exists(wrong.socket_path));

  wrong.socket_path = directory_.path() + "/file";
  const Descriptor file(::open(wrong.socket_path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  EXPECT_EQ(Server::start(wrong, &device_, &other).code, Code::invalid_argument);
  EXPECT_TRUE(std::filesystem::exists(wrong.socket_path));
  wrong.socket_path = directory_.path() + "/" + std::string(200, 'x');
  EXPECT_EQ(Server::start(wrong, &device_, &other).code, Code::invalid_argument);
  wrong.socket_path = directory_.path() + "/absent/socket";
  EXPECT_EQ(Server::start(wrong, &device_, &other).code, Code::failed);
  wrong.socket_path = "";
  EXPECT_EQ(Server::start(wrong, &device_, &other).code, Code::invalid_argument);
}

// ---- nothing is left behind
// -----------------------------------------------------------------------

TEST_F(DeviceServer, LeaksNoDescriptors) {
  const std::vector<double> points{1, 2};
  const Descriptor file = memory_file(points);
  const int before = count_descriptors();
  start();
  {
    const auto client = connect_with_sample();
    const std::vector<double> a{1};
    const Bytes density = bytes_of(density_request(2), a);
    const auto ask = [&] { return client->ask(Type::density, density, {file.get()}).code(); };
    EXPECT_EQ(ask(), Code::ok);
    const int serving = count_descriptors();
    for (int i = 0; i < 20; ++i) EXPECT_EQ(ask(), Code::ok);
    EXPECT_EQ(count_descriptors(), serving);
    const Bytes wrong = bytes_of(density_request(3), a);
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(client->ask(Type::density, wrong, {file.get()}).code(), Code::invalid_argument);
    }
    // The last file is closed after the answer.
    EXPECT_TRUE(eventually([&] { return count_descriptors() == serving; }));
  }
  for (int i = 0; i < 20; ++i) {
    const auto client = connect();
    client->send(message_of(Type::load, bytes_of(load_request(2, 1))),
                 std::vector<int>(static_cast<std::size_t>(i), file.get()));
    client->receive();
  }
  server_.reset();
  EXPECT_EQ(count_descriptors(), before);
}

// A descriptor that this process has no number for is nobody's fault but its own.
TEST_F(DeviceServer, RunsOutOfDescriptors) {
  start();
  // The undefined-behaviour sanitizer opens a pipe when it first sees a thread of a kind end: one
  // ends before there are no descriptors, and the next connection joins it.
  const int listening = count_descriptors();
  EXPECT_EQ(connect()->ask(Type::hello, {}).head.type, Type::welcome);
  EXPECT_TRUE(eventually([&] { return count_descriptors() == listening; }));
  const auto client = connect();
  EXPECT_EQ(client->ask(Type::hello, {}).head.type, Type::welcome);
  const std::vector<double> points{1, 2};
  const Descriptor file = memory_file(points);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 3;  // stdin, stdout and stderr have those, and others stay open
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const Message answer = client->ask(Type::load, bytes_of(load_request(2, 1)), {file.get()});
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(answer.code(), Code::unavailable) << answer.text();
  EXPECT_EQ(connect_with_sample()->ask(Type::derivative, bytes_of(derivative_request())).code(),
            Code::ok);
}

// Every request, right; the fuzzers change them.
struct Sent {
  Bytes bytes;
  int file = -1;
};
std::vector<Sent> valid_requests(int file) {
  const std::vector<double> h{1, 2}, a{1};
  return {{message_of(Type::hello, {})},
          {message_of(Type::devices, {})},
          {message_of(Type::load, bytes_of(load_request(2, 1))), file},
          {message_of(Type::derivative, bytes_of(derivative_request()))},
          {message_of(Type::sweep, bytes_of(sweep_request(2, 1), h))},
          {message_of(Type::full, bytes_of(full_request(1), a))},
          {message_of(Type::density, bytes_of(density_request(2), a)), file}};
}

// Sends, ends the stream, and reads whatever comes: there must be an end.
bool survives(RawClient& client, const Sent& sent) {
  if (!sent.bytes.empty()) {
    client.send(sent.bytes, sent.file >= 0 ? std::vector<int>{sent.file} : std::vector<int>());
  }
  ::shutdown(client.fd(), SHUT_WR);
  return client.at_end();
}

TEST_F(DeviceServer, SurvivesRandomBytes) {
  start();
  std::mt19937 random(7);
  for (int i = 0; i < 1500; ++i) {
    Sent sent;
    sent.bytes.resize(1 + random() % 200);
    for (char& byte : sent.bytes) byte = static_cast<char>(random());
    // Half of them get past the magic, half of those past the version.
    const wire::Head right;
    if (i % 2 == 0)
      std::memcpy(sent.bytes.data(), &right,
                  std::min<std::size_t>(sent.bytes.size(), i % 4 == 0 ? 6 : 4));
    const auto client = connect();
    ASSERT_TRUE(survives(*client, sent)) << i;
  }
  EXPECT_EQ(connect()->ask(Type::hello, {}).head.type, Type::welcome);
}

TEST_F(DeviceServer, SurvivesChangedRequests) {
  start();
  const std::vector<double> points{1, 2};
  const Descriptor file = memory_file(points);
  const std::vector<Sent> requests = valid_requests(file.get());
  std::mt19937 random(8);
  for (int i = 0; i < 2500; ++i) {
    const auto client = i % 3 == 0 ? connect() : connect_with_sample();
    Sent sent = requests[random() % requests.size()];
    for (std::uint32_t changes = 1 + random() % 3; changes > 0; --changes) {
      // Most of them in the body, where there is one.
      const std::size_t first =
          random() % 4 != 0 && sent.bytes.size() > sizeof(wire::Head) ? sizeof(wire::Head) : 0;
      char& byte = sent.bytes[first + random() % (sent.bytes.size() - first)];
      byte = random() % 2 == 0 ? static_cast<char>(random())
                               : static_cast<char>(byte ^ (1 << random() % 8));
    }
    if (random() % 8 == 0) sent.bytes.resize(random() % sent.bytes.size());
    if (random() % 8 == 0) sent.file = sent.file < 0 ? file.get() : -1;
    ASSERT_TRUE(survives(*client, sent)) << i;
  }
  EXPECT_EQ(connect_with_sample()->ask(Type::derivative, bytes_of(derivative_request())).code(),
            Code::ok);
}

}  // namespace
}  // namespace kde::service
