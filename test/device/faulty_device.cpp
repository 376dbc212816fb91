// The thread that calls the Device also sends its answer, so a thread's own variable tells what to
// do to it.
#include "device/faulty_device.h"

#include <unistd.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <limits>
#include <random>
#include <thread>

#include "core/device/wire.h"
#include "core/stopwatch.h"
#include "device/wrapped_sample.h"

namespace kde::testing {
namespace {

enum class Spoil { nothing, garbage, wrong_size };
thread_local Spoil spoil_answer = Spoil::nothing;

// Until told to stop, or for `ms`; false if it was told.
bool idle(const Control& control, double ms) {
  const Stopwatch since;
  while (since.ms() < ms) {
    if (control.stop_requested()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

template <typename Number>
bool read_number(std::string_view text, Number least, Number* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size() && *out >= least;
}

}  // namespace

bool Faults::read(std::string_view mode) {
  const std::size_t equals = mode.find('=');
  const std::string_view name = mode.substr(0, equals);
  if (equals == std::string_view::npos) {
    bool* const flag = name == "start"     ? &start
                       : name == "version" ? &version
                       : name == "oom"     ? &oom
                       : name == "busy"    ? &busy
                       : name == "boast"   ? &boast
                                           : nullptr;
    if (flag != nullptr) *flag = true;
    return flag != nullptr;
  }
  const std::string_view value = mode.substr(equals + 1);
  if (name == "slow") return read_number(value, 0.0, &slow_ms);
  std::int64_t* const at = name == "oom-until"         ? &oom_until
                           : name == "crash-at"        ? &crash_at
                           : name == "freeze-at"       ? &freeze_at
                           : name == "hang-at"         ? &hang_at
                           : name == "deaf-at"         ? &deaf_at
                           : name == "garbage-at"      ? &garbage_at
                           : name == "wrong-size-at"   ? &wrong_size_at
                           : name == "nan-at"          ? &nan_at
                           : name == "device-error-at" ? &device_error_at
                                                       : nullptr;
  return at != nullptr && read_number(value, std::int64_t{1}, at);
}

FaultyDevice::FaultyDevice(std::unique_ptr<Device> device, const Faults& faults)
    : device_(std::move(device)), faults_(faults) {}

Status FaultyDevice::load(std::span<const double> points, int d, const Control& control,
                          std::unique_ptr<DeviceSample>* out) {
  std::int64_t job = 0;
  Status status = before(control, true, &job);
  std::unique_ptr<DeviceSample> sample;
  if (status.ok()) status = device_->load(points, d, control, &sample);
  if (!status.ok()) return status;
  *out = std::make_unique<WrappedSample>(
      std::move(sample),
      [this](const Control& asked, std::span<double> results, const WrappedSample::Sum& sum) {
        std::int64_t number = 0;
        Status done = before(asked, false, &number);
        if (done.ok()) done = sum();
        if (done.ok()) after(number, results);
        return done;
      });
  after(job, {});
  return status;
}

std::vector<DeviceInfo> FaultyDevice::devices() {
  std::vector<DeviceInfo> devices = device_->devices();
  if (!devices.empty()) devices.front().jobs = jobs_;
  return devices;
}

double FaultyDevice::pair_rate(Precision precision) const {
  return faults_.boast ? 1e15 : device_->pair_rate(precision);
}

Status FaultyDevice::before(const Control& control, bool is_load, std::int64_t* job) {
  *job = ++jobs_;
  const auto cancelled = [] { return Status::error(Code::cancelled, "cancelled"); };
  if (!idle(control, faults_.slow_ms)) return cancelled();
  if (*job == faults_.crash_at) ::raise(SIGKILL);
  if (*job == faults_.freeze_at) ::raise(SIGSTOP);
  if (*job == faults_.deaf_at) {
    for (;;) ::pause();
  }
  if (*job == faults_.hang_at && !idle(control, std::numeric_limits<double>::infinity())) {
    return cancelled();
  }
  if (*job == faults_.device_error_at) {
    return Status::error(Code::failed, "the device failed as it was asked to");
  }
  if (faults_.busy) return Status::error(Code::unavailable, "too many jobs");
  if (is_load && (faults_.oom || *job <= faults_.oom_until))
    return Status::error(Code::unavailable, "no memory on the device");
  return Status::success();
}

void FaultyDevice::after(std::int64_t job, std::span<double> out) const {
  if (job == faults_.nan_at) {
    for (double& v : out) v = std::numeric_limits<double>::quiet_NaN();
  }
  if (job == faults_.garbage_at) spoil_answer = Spoil::garbage;
  if (job == faults_.wrong_size_at) spoil_answer = Spoil::wrong_size;
}

void FaultyDevice::alter(const Faults& faults, std::span<char> message) {
  wire::Head head;
  std::memcpy(&head, message.data(), sizeof head);
  if (faults.version) head.version = wire::kVersion + 1;
  if (spoil_answer == Spoil::wrong_size) head.bytes += sizeof(double);
  std::memcpy(message.data(), &head, sizeof head);
  if (spoil_answer == Spoil::garbage) {
    std::mt19937 random(1);
    for (char& byte : message) byte = static_cast<char>(random());
  }
  spoil_answer = Spoil::nothing;
}

}  // namespace kde::testing
