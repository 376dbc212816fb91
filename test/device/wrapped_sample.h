// A DeviceSample that hands every sum to another one through a function that may let it be, keep it
// from happening or spoil what came out.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "core/sums/sums_device.h"

namespace kde::testing {

class WrappedSample : public DeviceSample {
 public:
  using Sum = std::function<Status()>;
  // sum: computes what was asked for into `out`. The result is the call's.
  using Wrap = std::function<Status(const Control&, std::span<double> out, const Sum& sum)>;

  WrappedSample(std::unique_ptr<DeviceSample> sample, Wrap wrap)
      : sample_(std::move(sample)), wrap_(std::move(wrap)) {}

  Status derivative(int r, double g, Precision precision, const Control& control,
                    double* sum) override {
    return wrap_(control, {sum, 1},
                 [&] { return sample_->derivative(r, g, precision, control, sum); });
  }
  Status sweep(std::span<const double> h, bool slopes, Precision precision, const Control& control,
               std::span<double> out) override {
    return wrap_(control, out, [&] { return sample_->sweep(h, slopes, precision, control, out); });
  }
  Status full(std::span<const double> a, Precision precision, const Control& control,
              std::span<double> out) override {
    return wrap_(control, out, [&] { return sample_->full(a, precision, control, out); });
  }
  Status scatter(std::span<const double> a, double once, double twice, Precision precision,
                 const Control& control, std::span<double> out) override {
    return wrap_(control, out,
                 [&] { return sample_->scatter(a, once, twice, precision, control, out); });
  }
  Status density(std::span<const double> a, std::span<const double> queries, Precision precision,
                 const Control& control, std::span<double> out) override {
    return wrap_(control, out,
                 [&] { return sample_->density(a, queries, precision, control, out); });
  }

 private:
  std::unique_ptr<DeviceSample> sample_;
  Wrap wrap_;
};

}  // namespace kde::testing
