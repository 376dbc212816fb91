// All cards as one Device: which there are, how fast they are, what they hold (cuda_device.h).
#include "cuda/cuda_device.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>
#include <vector>

#include "cuda/sample.h"

namespace kde::cuda {
namespace {

class CudaDevice : public Device {
 public:
  explicit CudaDevice(Cards cards) : cards_(std::move(cards)) {
    for (const auto& card : cards_) card->arm();
  }

  Status load(std::span<const double> points, int d, const Control& control,
              std::unique_ptr<DeviceSample>* out) override {
    if (d < 1 || d > kMaxDimensions || points.size() % static_cast<std::size_t>(d) != 0 ||
        points.size() / static_cast<std::size_t>(d) < 2)
      return Status::error(Code::invalid_argument,
                           "a sample has two or more points in 1 to %d "
                           "dimensions",
                           kMaxDimensions);
    return CudaSample::make(cards_, points, d, control, out);
  }

  std::vector<DeviceInfo> devices() override {
    std::vector<DeviceInfo> out;
    for (const auto& card : cards_) {
      (void)card->use();
      out.push_back(card->info());
    }
    return out;
  }

  double pair_rate(Precision precision) const override {
    double rate = 0;
    for (const auto& card : cards_) rate += card->pair_rate(precision);
    return rate;
  }

 private:
  Cards cards_;
};

// The derivative sums of some thousands of values, all within reach of each other; the second run
// counts, for the first loads the kernels. In single precision they are so near that all of them
// are merged (derivative.h): as many pairs as of half the values.
Status measure(Cards* one) {
  constexpr std::int64_t kValues = 65536;
  for (const Precision precision : {Precision::single, Precision::full}) {
    const std::size_t count = precision == Precision::single ? kMergeStrips * kValues : kValues;
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i)
      values[i] = static_cast<double>(i) / static_cast<double>(count);
    std::unique_ptr<DeviceSample> sample;
    if (Status s = CudaSample::make(*one, values, 1, {}, &sample); !s.ok()) return s;
    double sum = 0, ms = 0;
    for (int run = 0; run < 2; ++run) {
      const auto start = std::chrono::steady_clock::now();
      if (Status s = sample->derivative(6, 1, precision, {}, &sum); !s.ok()) return s;
      ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
               .count();
    }
    one->front()->set_pair_rate(precision, kValues * (kValues / 2.0) / ms * 1000);
  }
  return Status::success();
}

}  // namespace

Status make_cuda_device(const CudaOptions& options, std::unique_ptr<Device>* out) {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess || count == 0)
    return Status::error(Code::unavailable, "no CUDA device: %s",
                         error != cudaSuccess ? cudaGetErrorString(error) : "there is none");
  if (options.most_cards > 0) count = std::min(count, options.most_cards);
  try {
    Cards cards;
    Status trouble;
    for (int ordinal = 0; ordinal < count; ++ordinal) {
      Cards one(1);
      Status status = Card::open(ordinal, options, &one.front());
      if (status.ok()) status = measure(&one);
      if (status.ok()) {
        cards.push_back(std::move(one.front()));
      } else if (trouble.ok()) {
        trouble = status;
      }
    }
    if (cards.empty())
      return Status::error(Code::unavailable, "no CUDA device is usable: %.150s", trouble.message);
    *out = std::make_unique<CudaDevice>(std::move(cards));
    return Status::success();
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "no memory for the devices");
  }
}

}  // namespace kde::cuda
