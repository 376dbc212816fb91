// The rule of device_retry.h.
#include "core/sums/device_retry.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "core/stopwatch.h"

namespace kde {

bool is_worth_return(const Engine& engine, const SumsWork& left, int threads) {
  if (engine.plan.sums <= 0) return false;
  const double there = predicted_device_ms(left, engine.device->pair_rate(left.precision));
  return predicted_processor_ms(left, threads) > kServiceReturnMs + there;
}

Status load_again(const Engine& engine, const SumsWork& left, Code trouble,
                  std::span<const double> points, const Control& control,
                  std::unique_ptr<DeviceSample>* out) {
  const double patience_ms = std::min(static_cast<double>(engine.plan.patience_ms),
                                      predicted_processor_ms(left, control.threads));
  const Stopwatch since;
  bool may_fail = trouble == Code::unavailable;
  for (;;) {
    Status s = engine.device->await_return(patience_ms - since.ms(), control);
    if (s.ok()) s = engine.device->load(points, left.d, control, out);
    // Full of the samples of others it may have room a moment later.
    const bool may_come =
        s.code == Code::unavailable || (s.code == Code::failed && std::exchange(may_fail, false));
    if (!may_come || since.ms() >= patience_ms) return s;
    if (s = pause_between_tries(control); !s.ok()) return s;
  }
}

Status pause_between_tries(const Control& control) {
  if (control.stop_requested()) return Status::error(Code::cancelled, "cancelled");
  static_cast<void>(::poll(nullptr, 0, kSliceMs));
  return Status::success();
}

}  // namespace kde
