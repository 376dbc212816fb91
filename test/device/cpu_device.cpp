// The engines take their Control when they are made, a device's sample with every sum: so engines
// are given one that asks the Control of the sum that runs.
#include "device/cpu_device.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <new>

#include "core/sums/sums_device.h"
#include "core/sums/gaussian_sums.h"
#include "core/sums/pair_sums.h"

namespace kde::testing {
namespace {

constexpr std::size_t kTermsBetweenPolls = 100'000;

class CpuSample : public DeviceSample {
 public:
  CpuSample(std::span<const double> points, int d, Engine::Kind kind,
            std::atomic<std::int64_t>* jobs, std::atomic<std::uint64_t>* bytes)
      : points_(points.begin(), points.end()), d_(d), kind_(kind), jobs_(jobs), bytes_(bytes) {
    *bytes_ += points.size_bytes();
  }
  CpuSample(const CpuSample&) = delete;
  CpuSample& operator=(const CpuSample&) = delete;
  ~CpuSample() override { *bytes_ -= points_.size() * sizeof(double); }

  Status derivative(int r, double g, Precision precision, const Control& control,
                    double* sum) override {
    if (Status s = check_device_derivative(d_, r, g); !s.ok()) return s;
    return with(line_, precision, control,
                [&](PairSums& sums) { return sums.derivative(r, g, sum); });
  }

  Status sweep(std::span<const double> h, bool slopes, Precision precision, const Control& control,
               std::span<double> out) override {
    if (Status s = check_device_sweep(h, slopes, out.size()); !s.ok()) return s;
    return with(gaussian_, precision, control, [&](GaussianPairSums& sums) {
      std::vector<GaussianSlopes> found(h.size());
      if (slopes) {
        if (Status s = sums.sweep_slopes(h, found); !s.ok()) return s;
      } else {
        std::vector<GaussianSums> plain(h.size());
        if (Status s = sums.sweep(h, plain); !s.ok()) return s;
        for (std::size_t k = 0; k < h.size(); ++k) found[k].sums = plain[k];
      }
      double* next = out.data();
      for (const GaussianSlopes& f : found) {
        *next++ = f.sums.once;
        *next++ = f.sums.twice;
        if (!slopes) continue;
        *next++ = f.once_s;
        *next++ = f.twice_s;
      }
      return Status::success();
    });
  }

  Status full(std::span<const double> a, Precision precision, const Control& control,
              std::span<double> out) override {
    if (Status s = check_device_full(d_, a, out.size()); !s.ok()) return s;
    return with(gaussian_, precision, control, [&](GaussianPairSums& sums) {
      GaussianSums found;
      Status s = sums.full(a, &found);
      out[0] = found.once;
      out[1] = found.twice;
      return s;
    });
  }

  Status scatter(std::span<const double> a, double once, double twice, Precision precision,
                 const Control& control, std::span<double> out) override {
    if (Status s = check_device_scatter(d_, a, once, twice, out.size()); !s.ok()) return s;
    return with(gaussian_, precision, control, [&](GaussianPairSums& sums) {
      GaussianSums found;
      Status s = sums.full_scatter(a, once, twice, &found, out.subspan(2));
      out[0] = found.once;
      out[1] = found.twice;
      return s;
    });
  }

  Status density(std::span<const double> a, std::span<const double> queries, Precision,
                 const Control& control, std::span<double> out) override {
    if (Status s = check_device_density(d_, a, queries.size(), out.size()); !s.ok()) return s;
    ++*jobs_;
    const auto d = static_cast<std::size_t>(d_);
    std::size_t terms = kTermsBetweenPolls;  // so that the first query polls
    for (std::size_t k = 0; k < out.size(); ++k) {
      out[k] = 0;
      for (std::size_t i = 0; i < points_.size(); i += d) {
        if (++terms > kTermsBetweenPolls) {
          if (control.stop_requested()) return Status::error(Code::cancelled, "cancelled");
          terms = 0;
        }
        double s = 0;
        for (std::size_t row = 0; row < d; ++row) {
          double y = 0;
          for (std::size_t l = 0; l <= row; ++l)
            y += a[row * d + l] * (queries[k * d + l] - points_[i + l]);
          s += y * y;
        }
        out[k] += std::exp(-s / 2);
      }
    }
    return Status::success();
  }

 private:
  // Engines of both precisions, made when first asked for.
  template <class Sums>
  using Pair = std::unique_ptr<Sums>[2];

  Status make(const Engine& engine, std::unique_ptr<PairSums>* out) {
    return make_pair_sums(engine, points_, relay_, out);
  }
  Status make(const Engine& engine, std::unique_ptr<GaussianPairSums>* out) {
    return make_gaussian_sums(engine, points_, d_, relay_, out);
  }

  template <class Sums, class Work>
  Status with(Pair<Sums>& engines, Precision precision, const Control& control, const Work& work) {
    ++*jobs_;
    current_ = &control;
    std::unique_ptr<Sums>& sums = engines[precision == Precision::single ? 0 : 1];
    try {
      if (sums == nullptr) {
        if (Status s = make({kind_, 0, precision, nullptr, nullptr}, &sums); !s.ok()) return s;
      }
      return work(*sums);
    } catch (const std::bad_alloc&) {
      return Status::error(Code::unavailable, "no memory");
    }
  }

  static bool ask_current(void* sample) {
    return static_cast<CpuSample*>(sample)->current_->stop_requested();
  }

  std::vector<double> points_;
  int d_;
  Engine::Kind kind_;
  std::atomic<std::int64_t>* jobs_;
  std::atomic<std::uint64_t>* bytes_;
  const Control* current_ = nullptr;  // of the sum that runs
  Control relay_{1, &ask_current, this};
  Pair<PairSums> line_;
  Pair<GaussianPairSums> gaussian_;
};

}  // namespace

Status CpuDevice::load(std::span<const double> points, int d, const Control& control,
                       std::unique_ptr<DeviceSample>* out) {
  if (Status s = check_device_points(points.size(), d); !s.ok()) return s;
  if (!std::all_of(points.begin(), points.end(), [](double v) { return std::isfinite(v); }))
    return Status::error(Code::invalid_argument, "values must be finite");
  if (control.stop_requested()) return Status::error(Code::cancelled, "cancelled");
  try {
    *out = std::make_unique<CpuSample>(points, d, kind_, &jobs_, &bytes_);
    return Status::success();
  } catch (const std::bad_alloc&) {
    return Status::error(Code::unavailable, "no memory");
  }
}

std::vector<DeviceInfo> CpuDevice::devices() {
  DeviceInfo info;
  std::snprintf(info.name, sizeof info.name, "processor");
  info.memory_used = bytes_;
  info.jobs = jobs_;
  return {info};
}

}  // namespace kde::testing
