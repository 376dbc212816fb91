// The Device may poll as often as it likes: the system is asked once a millisecond. One that goes
// on although it was told to stop is no longer heard of, and so is taken for hung in the end.
#include "cuda/server/job_control.h"

#include "cuda/server/clock.h"

namespace kde::service {
namespace {

constexpr double kPollMs = 1;

}  // namespace

JobControl::JobControl(Stream& stream, Visits::Visit& visit, int beat_ms, double deadline_ms)
    : stream_(stream),
      visit_(visit),
      beat_ms_(beat_ms),
      deadline_ms_(deadline_ms),
      polled_ms_(now_ms()),
      // Beats are for jobs that take longer than one poll after the other: half a beat early.
      beat_at_ms_(polled_ms_ + beat_ms / 2.0) {}

Control JobControl::control() {
  Control control;
  control.should_stop = should_stop;
  control.stop_arg = this;
  return control;
}

bool JobControl::should_stop(void* self) {
  auto* job = static_cast<JobControl*>(self);
  job->poll();
  return job->stop_ != Stop::none;
}

void JobControl::poll() {
  if (stop_ != Stop::none) return;
  const double now = now_ms();
  if (now < polled_ms_ + kPollMs) return;
  polled_ms_ = now;
  visit_.heard();
  if (now >= deadline_ms_) {
    stop_ = Stop::deadline;
  } else if (stream_.peer_gone()) {
    stop_ = Stop::client_gone;
  } else if (now >= beat_at_ms_) {
    beat_at_ms_ = now + beat_ms_ / 2.0;
    if (!stream_.send_working()) stop_ = Stop::client_gone;
  }
}

}  // namespace kde::service
