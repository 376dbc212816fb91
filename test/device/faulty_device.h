// A Device that does what another does, but for faults at chosen moments: what clients of the
// service have to survive.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/sums/sums_device.h"

namespace kde::testing {

// Jobs are the calls of load, derivative, sweep, full, scatter and density of this process, counted
// from 1; 0: never.
struct Faults {
  bool start = false;                // the Device cannot be made
  bool version = false;              // answers have another protocol version
  bool oom = false;                  // every load is `unavailable`
  std::int64_t oom_until = 0;        // every load that is no later job
  bool busy = false;                 // every job is `unavailable`
  std::int64_t crash_at = 0;         // SIGKILL to itself in the middle of the job
  std::int64_t freeze_at = 0;        // SIGSTOP to itself
  std::int64_t hang_at = 0;          // the job goes on until it is told to stop
  std::int64_t deaf_at = 0;          // the job goes on for ever and hears nothing
  std::int64_t garbage_at = 0;       // random bytes instead of the answer
  std::int64_t wrong_size_at = 0;    // the answer's head announces a number more
  std::int64_t nan_at = 0;           // the answer's numbers are NaN
  std::int64_t device_error_at = 0;  // the job is `failed`
  bool boast = false;                // it says to be faster than any processor
  double slow_ms = 0;                // every job takes so much longer

  // "crash-at=3", "oom", "slow=20" ...; false if there is no such fault. May be called again.
  bool read(std::string_view mode);
};

class FaultyDevice : public Device {
 public:
  // faults outlives *this.
  FaultyDevice(std::unique_ptr<Device> device, const Faults& faults);

  Status load(std::span<const double> points, int d, const Control& control,
              std::unique_ptr<DeviceSample>* out) override;
  std::vector<DeviceInfo> devices() override;
  double pair_rate(Precision precision) const override;

  // ServerOptions::alter.
  static void alter(const Faults& faults, std::span<char> message);

 private:
  // The faults of a job before and after what it does.
  Status before(const Control& control, bool is_load, std::int64_t* job);
  void after(std::int64_t job, std::span<double> out) const;

  std::unique_ptr<Device> device_;
  const Faults& faults_;
  std::atomic<std::int64_t> jobs_{0};
};

}  // namespace kde::testing
