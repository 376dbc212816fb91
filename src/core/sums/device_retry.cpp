// The rule of device_retry.h.
#include "core/sums/device_retry.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "core/stopwatch.h"

namespace kde {

namespace {

// load() that is given up, as unavailable, after most_ms.
Status load_within(Device& device, double most_ms, std::span<const double> points, int d,
                   const Control& control, std::unique_ptr<DeviceSample>* out) {
  struct Limit {
    const Control& control;
    Stopwatch since;
    double most_ms;
  } limit{control, {}, most_ms};
  Control limited = control;
  limited.stop_arg = &limit;
  limited.should_stop = [](void* arg) {
    const auto& its = *static_cast<const Limit*>(arg);
    return its.control.stop_requested() || its.since.ms() >= its.most_ms;
  };
  Status s = device.load(points, d, limited, out);
  if (s.code != Code::cancelled || control.stop_requested()) return s;
  return Status::error(Code::unavailable, "the device took longer than %.0f ms to take a sample",
                       most_ms);
}

int gravity(const Status& trouble) {
  switch (trouble.code) {
    case Code::ok:
      return 0;
    case Code::failed:
      return 3;
    case Code::too_large:
      return 2;
    default:
      return 1;
  }
}

}  // namespace

bool is_worth_return(const Engine& engine, const SumsWork& left, int threads) {
  if (engine.plan.sums <= 0 || engine.use == nullptr) return false;
  const double there = predicted_device_ms(left, engine.device->pair_rate(left.precision));
  return predicted_processor_ms(left, threads) > kServiceReturnMs + there;
}

void note_trouble(const Engine& engine, const Status& trouble) {
  if (engine.use == nullptr) return;
  Status& noted = engine.use->trouble;
  if (gravity(trouble) > gravity(noted)) noted = trouble;
}

Status load_again(const Engine& engine, const SumsWork& left, const Status& trouble, double lost_ms,
                  std::span<const double> points, const Control& control,
                  std::unique_ptr<DeviceSample>* out) {
  out->reset();
  DeviceUse& use = *engine.use;
  if (trouble.code == Code::unavailable) use.waited_ms += lost_ms;
  const double before_ms = use.waited_ms;
  const double patience_ms = std::min(static_cast<double>(engine.plan.patience_ms),
                                      predicted_processor_ms(left, control.threads)) -
                             before_ms;
  const Stopwatch since;
  Status s = trouble;
  while (s.code == Code::unavailable || s.code == Code::failed) {
    note_trouble(engine, s);
    // Whoever asks it a third time ends it a third time.
    if (s.code == Code::failed && std::exchange(use.has_failed, true)) break;
    if (since.ms() >= patience_ms) break;
    if (s = pause_between_tries(control); !s.ok()) break;
    s = engine.device->await_return(patience_ms - since.ms(), control);
    if (s.ok())
      s = load_within(*engine.device, patience_ms - since.ms(), points, left.d, control, out);
    use.waited_ms = before_ms + since.ms();
  }
  if (s.code != Code::too_large) return s;
  note_trouble(engine, s);
  return Status::error(Code::unavailable, "%s", s.message);
}

Status pause_between_tries(const Control& control) {
  if (control.stop_requested()) return cancelled();
  static_cast<void>(::poll(nullptr, 0, kSliceMs));
  return Status::success();
}

}  // namespace kde
