// What a client of the device service may be waiting for, and services that behave until then.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "core/device/client.h"
#include "scripted_service.h"

namespace kde::testing {

// Nothing here is meant to take a second; what should end by itself does so far below these.
inline const ServiceTimes kPatient{60000, 60000};
inline const ServiceTimes kImpatient{100, 60000};

inline const std::vector<double> kPoints{-1, 2};

inline ServiceGreeting greeting() { return {"test 1", {1e9, 5e8}, 1}; }

inline Bytes welcome_body() {
  wire::Welcome welcome;
  std::strcpy(welcome.program, "test 1");
  welcome.pair_rate[0] = 1e9;
  welcome.pair_rate[1] = 5e8;
  welcome.devices = 1;
  Bytes out;
  append(&out, welcome);
  return out;
}

inline Bytes device_list_body() {
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

// What a client may be waiting for.
enum class Step { greeting, device_list, load, derivative };
inline constexpr Step kSteps[] = {Step::greeting, Step::device_list, Step::load, Step::derivative};

inline Bytes right_answer(Step step) {
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
inline Status run_step(Step step, const ScriptedService::Script& act, const Control& control = {},
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
  // A deadline may pass here already.
  if (!loaded.ok()) return loaded;
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

}  // namespace kde::testing
