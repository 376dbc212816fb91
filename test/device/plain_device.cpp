// An engine is made for each sum, as it takes its Control when it is made.
#include "device/plain_device.h"

#include <cmath>
#include <cstring>

#include "core/sums/gaussian_sums.h"
#include "core/sums/pair_sums.h"

namespace kde::testing {
namespace {

Engine engine_of(Precision precision) { return {Engine::Kind::simd, 0, precision}; }

class PlainSample : public DeviceSample {
 public:
  PlainSample(std::span<const double> points, int d)
      : points_(points.begin(), points.end()), d_(d) {}

  Status derivative(int r, double g, Precision precision, const Control& control,
                    double* sum) override {
    std::unique_ptr<PairSums> sums;
    const Status made = make_pair_sums(engine_of(precision), points_, control, &sums);
    return made.ok() ? sums->derivative(r, g, sum) : made;
  }

  Status sweep(std::span<const double> h, bool slopes, Precision precision, const Control& control,
               std::span<double> out) override {
    std::unique_ptr<GaussianPairSums> sums;
    Status status = make_gaussian_sums(engine_of(precision), points_, d_, control, &sums);
    if (!status.ok()) return status;
    if (!slopes) {
      std::vector<GaussianSums> found(h.size());
      status = sums->sweep(h, found);
      for (std::size_t k = 0; k < h.size(); ++k) {
        out[2 * k] = found[k].once;
        out[2 * k + 1] = found[k].twice;
      }
      return status;
    }
    std::vector<GaussianSlopes> found(h.size());
    status = sums->sweep_slopes(h, found);
    for (std::size_t k = 0; k < h.size(); ++k) {
      out[4 * k] = found[k].sums.once;
      out[4 * k + 1] = found[k].sums.twice;
      out[4 * k + 2] = found[k].once_s;
      out[4 * k + 3] = found[k].twice_s;
    }
    return status;
  }

  Status full(std::span<const double> a, Precision precision, const Control& control,
              std::span<double> out) override {
    std::unique_ptr<GaussianPairSums> sums;
    Status status = make_gaussian_sums(engine_of(precision), points_, d_, control, &sums);
    GaussianSums found;
    if (status.ok()) status = sums->full(a, &found);
    out[0] = found.once;
    out[1] = found.twice;
    return status;
  }

  Status scatter(std::span<const double> a, double once, double twice, Precision precision,
                 const Control& control, std::span<double> out) override {
    std::unique_ptr<GaussianPairSums> sums;
    Status status = make_gaussian_sums(engine_of(precision), points_, d_, control, &sums);
    GaussianSums found;
    if (status.ok()) status = sums->full_scatter(a, once, twice, &found, out.subspan(2));
    out[0] = found.once;
    out[1] = found.twice;
    return status;
  }

  Status density(std::span<const double> a, std::span<const double> queries, Precision,
                 const Control& control, std::span<double> out) override {
    const std::size_t d = static_cast<std::size_t>(d_);
    for (std::size_t k = 0; k < out.size(); ++k) {
      if (control.stop_requested()) return Status::error(Code::cancelled, "cancelled");
      out[k] = 0;
      for (std::size_t i = 0; i < points_.size() / d; ++i) {
        double square = 0;
        for (std::size_t row = 0; row < d; ++row) {
          double y = 0;
          for (std::size_t c = 0; c <= row; ++c) {
            y += a[row * d + c] * (queries[k * d + c] - points_[i * d + c]);
          }
          square += y * y;
        }
        out[k] += std::exp(-square / 2);
      }
    }
    return Status::success();
  }

 private:
  std::vector<double> points_;
  int d_;
};

}  // namespace

Status PlainDevice::load(std::span<const double> points, int d, const Control&,
                         std::unique_ptr<DeviceSample>* out) {
  *out = std::make_unique<PlainSample>(points, d);
  return Status::success();
}

std::vector<DeviceInfo> PlainDevice::devices() {
  DeviceInfo info;
  std::strncpy(info.name, "processor", sizeof info.name - 1);
  return {info};
}

double PlainDevice::pair_rate(Precision precision) const {
  return precision == Precision::single ? 2e9 : 1e9;
}

}  // namespace kde::testing
