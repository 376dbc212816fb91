// The device service's client against services whose answers are wrong in every way a byte can be.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <utility>

#include "core/device/client.h"
#include "descriptors.h"
#include "device_steps.h"
#include "scripted_service.h"

namespace kde {
namespace {

using testing::append;
using testing::Bytes;
using testing::done;
using testing::done_body;
using testing::greeting;
using testing::kPatient;
using testing::kPoints;
using testing::kSteps;
using testing::message;
using testing::Peer;
using testing::right_answer;
using testing::run_step;
using testing::ScriptedService;
using testing::Step;
using testing::welcome_body;

class DeviceAnswers : public testing::LeaksNoDescriptor {};

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

TEST_F(DeviceAnswers, TakesTheRightAnswer) {
  for (const Step step : kSteps) expect_answer(step, right_answer(step), Code::ok, "right");
}

TEST_F(DeviceAnswers, RefusesWrongHeads) {
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

TEST_F(DeviceAnswers, RefusesWrongBodies) {
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

TEST_F(DeviceAnswers, HandsOnWhatTheServiceSays) {
  const std::pair<Code, Code> told[] = {{Code::invalid_argument, Code::invalid_argument},
                                        {Code::unavailable, Code::unavailable},
                                        {Code::failed, Code::failed},
                                        {Code::too_large, Code::too_large},
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
TEST_F(DeviceAnswers, GoesOnAfterABusyService) {
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

}  // namespace
}  // namespace kde
