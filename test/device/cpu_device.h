// A Device without a card: the sums are those of this library's own engines. What tests and the
// service's test program put in a card's place.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/sums/sums_device.h"

namespace kde::testing {

class CpuDevice : public Device {
 public:
  // kind: reference or simd; the reference engine knows no single precision. pair_rate: what it
  // says of itself, for both precisions.
  explicit CpuDevice(Engine::Kind kind = Engine::Kind::simd, double pair_rate = 1e9)
      : kind_(kind), pair_rate_(pair_rate) {}

  // The sample uses the device, which must outlive it.
  Status load(std::span<const double> points, int d, const Control& control,
              std::unique_ptr<DeviceSample>* out) override;
  std::vector<DeviceInfo> devices() override;  // one, named "processor"
  double pair_rate(Precision) const override { return pair_rate_; }

 private:
  Engine::Kind kind_;
  double pair_rate_;
  std::atomic<std::int64_t> jobs_{0};
  std::atomic<std::uint64_t> bytes_{0};  // of samples
};

}  // namespace kde::testing
