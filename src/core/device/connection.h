// The client's end of one connection to the device service: a request, then what it answers.
#pragma once

#include <span>
#include <string>

#include "core/control.h"
#include "core/device/client.h"
#include "core/device/descriptor.h"
#include "core/device/message.h"
#include "core/status.h"
#include "core/stopwatch.h"

namespace kde {

// Ends a wait with `cancelled` once control.should_stop says so, with `unavailable` at its
// deadline, with `failed` where nothing has moved for too long.
class Watch : public Waiter {
 public:
  // deadline_ms: from now.
  Watch(const Control& control, int silence_ms, double deadline_ms)
      : control_(control), silence_ms_(silence_ms), deadline_ms_(deadline_ms) {}

  Status go_on() override;
  void moved() override { moved_ms_ = clock_.ms(); }

 private:
  const Control& control_;
  int silence_ms_;
  double deadline_ms_;
  Stopwatch clock_;
  double moved_ms_ = 0;
};

// Errors of all its functions but the verdict: unavailable, failed, cancelled. They end the
// connection, and every later call fails as they did; after `cancelled` as unavailable.
class Connection {
 public:
  // path: as greet_service. The peer runs as our own effective user, or it is refused (failed).
  Status open(const std::string& path, Watch& watch);

  // Sends the request and waits until it is answered by `expected`, whose head is *head and whose
  // body the caller receives; or by an error of the service's, which is *verdict: invalid_argument,
  // unavailable or failed. Of `done` the struct Done has been received.
  Status ask(wire::Type request, const Payload& payload, wire::Type expected, Watch& watch,
             wire::Head* head, Status* verdict);
  Status receive(std::span<std::byte> out, Watch& watch);

  // ask() for `done` and so many finite numbers. Errors: the verdict too.
  Status compute(wire::Type request, const Payload& payload, Watch& watch, std::span<double> out);

  // Hangs up because of `reason`, which is returned.
  Status give_up(const Status& reason);

 private:
  Status exchange(wire::Type request, const Payload& payload, wire::Type expected, Watch& watch,
                  wire::Head* head, Status* verdict);
  Status receive_verdict(const wire::Head& head, Watch& watch, Status* verdict);

  Descriptor socket_;
  Status lost_ = Status::error(Code::unavailable, "there is no connection to the device service");
};

}  // namespace kde
