// What a job's Control::should_stop does while the Device works: tells the client that it is alive,
// notices that it has gone, looks at the deadline, and says to the watch that the thread is alive.
#pragma once

#include "core/control.h"
#include "core/room.h"
#include "core/status.h"
#include "cuda/server/jobs.h"
#include "cuda/server/stream.h"

namespace kde::service {

class JobControl {
 public:
  enum class Stop { none, client_gone, deadline };

  // deadline_ms: on the clock of now_ms(). What it refers to outlives it.
  JobControl(Stream& stream, Visits::Visit& visit, int beat_ms, double deadline_ms);

  // For the Device, on this thread.
  Control control();
  Stop stop() const { return stop_; }

 private:
  static bool should_stop(void* self);
  void poll();

  Stream& stream_;
  Visits::Visit& visit_;
  const double beat_ms_;
  const double deadline_ms_;
  double polled_ms_;
  double beat_at_ms_;
  Stop stop_ = Stop::none;
};

}  // namespace kde::service
