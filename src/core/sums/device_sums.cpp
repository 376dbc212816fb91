// The engines over a device. What is asked of them is checked first, by the checks of the other
// engines, so that what a device refuses or fails at is the device's own matter.
#include "core/sums/device_sums.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/sums/sums_device.h"
#include "core/sums/device_retry.h"
#include "core/sums/gaussian_parts.h"
#include "core/stopwatch.h"
#include "core/guarded.h"

namespace kde {
namespace {

Engine processor_engine(const Engine& engine) {
  Engine processor = engine;
  processor.kind = Engine::Kind::simd;
  processor.device = nullptr;
  processor.use = nullptr;
  return processor;
}

Status make_processor_sums(const Engine& engine, std::span<const double> x, int,
                           const Control& control, std::unique_ptr<PairSums>* out) {
  return make_pair_sums(engine, x, control, out);
}

Status make_processor_sums(const Engine& engine, std::span<const double> points, int d,
                           const Control& control, std::unique_ptr<GaussianPairSums>* out) {
  return make_gaussian_sums(engine, points, d, control, out);
}

// A sample on a device, until that fails for good; then with the processor's engine, if at all.
template <class Sums>
class DeviceFirst {
 public:
  DeviceFirst(const Engine& engine, int d, const Control& control)
      : engine_(engine), d_(d), control_(control) {}

  // To be called first. Errors: cancelled; the device's, where nobody should go on. May throw
  // std::bad_alloc.
  Status load(std::span<const double> points) {
    n_ = std::ssize(points) / d_;
    const Stopwatch since;
    const Status s = engine_.device->load(points, d_, control_, &sample_);
    const double lost_ms = since.ms();
    points_.assign(points.begin(), points.end());
    if (s.ok()) return s;
    sample_.reset();
    if (s.code == Code::cancelled) return s;
    if (is_worth_return(engine_, work_left(), control_.threads)) return come_back(s, lost_ms);
    note_trouble(engine_, s);
    return Status::success();
  }

  int d() const { return d_; }

  // on_device(DeviceSample&, Precision, const Control&) or on_processor(Sums&), whichever is due.
  template <class OnDevice, class OnProcessor>
  Status compute(const OnDevice& on_device, const OnProcessor& on_processor,
                 std::int64_t bandwidths = 1) {
    while (sample_ != nullptr) {
      // A device tells nothing while it computes.
      const WorkAmount pairs = pairs_of(n_, bandwidths);
      control_.tell(pairs, 0);
      const Stopwatch since;
      const Status s = on_device(*sample_, engine_.precision, control_);
      if (s.ok()) {
        control_.tell(pairs, pairs.total);
        ++sums_;
        if (engine_.use != nullptr) ++engine_.use->device_sums;
      }
      if (s.ok() || s.code == Code::cancelled) return s;
      if (s.code != Code::invalid_argument &&
          is_worth_return(engine_, work_left(), control_.threads)) {
        if (Status r = come_back(s, since.ms()); !r.ok()) return r;
        continue;
      }
      const Status p = compute_on_processor(on_processor);
      // What has no meaning to the processor either says nothing against the device.
      if (p.code == Code::invalid_argument) return p;
      sample_.reset();
      points_ = {};
      note_trouble(engine_, s);
      return p;
    }
    return compute_on_processor(on_processor);
  }

 private:
  // What the plan says is still to come, this sum at least.
  SumsWork work_left() const {
    const std::int64_t done =
        engine_.use != nullptr ? engine_.use->device_sums + engine_.use->processor_sums : sums_;
    SumsWork left{n_, d_, 1, engine_.precision};
    left.sums = static_cast<int>(std::max<std::int64_t>(engine_.plan.sums - done, 1));
    return left;
  }

  Status come_back(const Status& trouble, double lost_ms) {
    return load_again(engine_, work_left(), trouble, lost_ms, points_, control_, &sample_);
  }

  template <class OnProcessor>
  Status compute_on_processor(const OnProcessor& on_processor) {
    if (processor_ == nullptr) {
      Status s = make_processor_sums(processor_engine(engine_), points_, d_, control_, &processor_);
      if (!s.ok()) return s;
      if (sample_ == nullptr) points_ = {};  // nobody needs them again
    }
    Status s = on_processor(*processor_);
    if (s.ok() && engine_.use != nullptr) ++engine_.use->processor_sums;
    return s;
  }

  Engine engine_;
  int d_;
  Control control_;
  std::vector<double> points_;
  std::int64_t n_ = 0;
  std::unique_ptr<DeviceSample> sample_;  // null once it has failed
  std::int64_t sums_ = 0;                 // by the device
  std::unique_ptr<Sums> processor_;       // null until it is needed
};

class DevicePairSums : public PairSums {
 public:
  DevicePairSums(const Engine& engine, const Control& control) : first_(engine, 1, control) {}

  Status load(std::span<const double> x) { return first_.load(x); }

  Status derivative(int r, double g, double* sum) override {
    if (Status s = check_device_derivative(1, r, g); !s.ok()) return s;
    return first_.compute(
        [&](DeviceSample& sample, Precision precision, const Control& control) {
          return sample.derivative(r, g, precision, control, sum);
        },
        [&](PairSums& sums) { return sums.derivative(r, g, sum); });
  }

 private:
  DeviceFirst<PairSums> first_;
};

class DeviceGaussianSums : public GaussianPairSums {
 public:
  DeviceGaussianSums(const Engine& engine, int d, const Control& control)
      : first_(engine, d, control) {}

  Status load(std::span<const double> points) { return first_.load(points); }

  Status sweep(std::span<const double> h, std::span<GaussianSums> out) override {
    const auto store = [&](std::size_t k, const double* sums) { out[k] = {sums[0], sums[1]}; };
    return sweep_with(h, out.size(), false, store,
                      [&](GaussianPairSums& sums) { return sums.sweep(h, out); });
  }

  Status sweep_slopes(std::span<const double> h, std::span<GaussianSlopes> out) override {
    const auto store = [&](std::size_t k, const double* sums) {
      out[k] = {{sums[0], sums[1]}, sums[2], sums[3]};
    };
    return sweep_with(h, out.size(), true, store,
                      [&](GaussianPairSums& sums) { return sums.sweep_slopes(h, out); });
  }

  Status full(std::span<const double> a, GaussianSums* out) override {
    if (Status s = check_full(first_.d(), a); !s.ok()) return s;
    return first_.compute(
        [&](DeviceSample& sample, Precision precision, const Control& control) {
          double sums[2] = {};
          Status s = sample.full(a, precision, control, sums);
          if (s.ok()) *out = {sums[0], sums[1]};
          return s;
        },
        [&](GaussianPairSums& sums) { return sums.full(a, out); });
  }

  Status full_scatter(std::span<const double> a, double once, double twice, GaussianSums* out,
                      std::span<double> scatter) override {
    const int d = first_.d();
    if (Status s = check_full(d, a); !s.ok()) return s;
    if (Status s = check_scatter(d, once, twice, scatter.size()); !s.ok()) return s;
    return first_.compute(
        [&](DeviceSample& sample, Precision precision, const Control& control) {
          double sums[2 + kMaxDimensions * kMaxDimensions] = {};
          const std::span<double> used(sums, 2 + scatter.size());
          Status s = sample.scatter(a, once, twice, precision, control, used);
          if (!s.ok()) return s;
          *out = {sums[0], sums[1]};
          std::copy(used.begin() + 2, used.end(), scatter.begin());
          return s;
        },
        [&](GaussianPairSums& sums) { return sums.full_scatter(a, once, twice, out, scatter); });
  }

 private:
  // store(k, numbers): keeps those that came for h[k].
  template <class Store, class OnProcessor>
  Status sweep_with(std::span<const double> h, std::size_t results, bool slopes, const Store& store,
                    const OnProcessor& on_processor) {
    if (Status s = check_sweep(h, results); !s.ok()) return s;
    const std::size_t width = slopes ? 4 : 2;
    const auto on_device = [&](DeviceSample& sample, Precision precision, const Control& control) {
      for (std::size_t begin = 0; begin < h.size(); begin += kMaxSweep) {
        const auto part = h.subspan(begin, std::min(kMaxSweep, h.size() - begin));
        numbers_.resize(width * part.size());
        if (Status s = sample.sweep(part, slopes, precision, control, numbers_); !s.ok()) return s;
        for (std::size_t k = 0; k < part.size(); ++k) store(begin + k, &numbers_[width * k]);
      }
      return Status::success();
    };
    return guarded([&] { return first_.compute(on_device, on_processor, std::ssize(h)); });
  }

  DeviceFirst<GaussianPairSums> first_;
  std::vector<double> numbers_;  // kept, so that a search allocates once
};

}  // namespace

Status make_device_sums(const Engine& engine, std::span<const double> x, const Control& control,
                        std::unique_ptr<PairSums>* out) {
  // In the order they come: a device sorts sooner what is not sorted already.
  auto sums = std::make_unique<DevicePairSums>(engine, control);
  if (Status s = sums->load(x); !s.ok()) return s;
  *out = std::move(sums);
  return Status::success();
}

Status make_device_gaussian_sums(const Engine& engine, std::span<const double> points, int d,
                                 const Control& control, std::unique_ptr<GaussianPairSums>* out) {
  if (d == 1) {
    std::unique_ptr<PairSums> line;
    if (Status s = make_device_sums(engine, points, control, &line); !s.ok()) return s;
    *out = make_owning_line_sums(std::move(line));
    return Status::success();
  }
  auto sums = std::make_unique<DeviceGaussianSums>(engine, d, control);
  if (Status s = sums->load(points); !s.ok()) return s;
  *out = std::move(sums);
  return Status::success();
}

}  // namespace kde
