// A Device over this library's reference engines.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/device/device.h"

namespace kde::testing {

class PlainDevice : public Device {
 public:
  Status load(std::span<const double> points, int d, const Control& control,
              std::unique_ptr<DeviceSample>* out) override;
  std::vector<DeviceInfo> devices() override;
  double pair_rate(Precision precision) const override;
};

}  // namespace kde::testing
