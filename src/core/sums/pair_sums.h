// Sums over all unordered pairs of a sample: everything a bandwidth selector needs that
// costs O(n^2). A selector is written once against this interface; the engines supply it.
//
//   reference   double, scalar, one plain double loop: the truth for every test
//   simd        Google Highway, chosen at run time from what the processor has; OpenMP threads
//   spectral    O(n + M log M) by a Fourier transform, nearly exact: spectral.h states its error
//   device      what a Device computes (device/device.h), the simd engine where it cannot
#pragma once

#include "core/control.h"
#include "core/room.h"
#include "core/status.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace kde {

class PairSums {
 public:
  virtual ~PairSums() = default;

  // *sum = sum_{i<j} K^(r)((x_i - x_j)/g), with K^(r) the r-th derivative of the standard
  // normal density, He_r(z) phi(z) for even r: K^(4)(z) = (z^4 - 6 z^2 + 3) phi(z),
  // K^(6)(z) = (z^6 - 15 z^4 + 45 z^2 - 15) phi(z).
  // r is 0, 2, 4, 6, 8 or 10; g > 0 and finite, in units of x. Errors: invalid_argument, cancelled,
  // out_of_memory; of the spectral engine also too_large.
  virtual Status derivative(int r, double g, double* sum) = 0;
};

// The word length in which an engine evaluates its terms; sums are always accumulated in double.
enum class Precision { single, full };

class Device;

// What became of the sums that were a device's to compute; added to by each that is made or asked.
struct DeviceUse {
  std::int64_t device_sums = 0;     // computed by it
  std::int64_t processor_sums = 0;  // computed by the processor instead
  Status trouble;  // what first went wrong, if it came back or not; ok if nothing did
};

// Who goes on where a device fails: device/retry.h has the rule.
struct DevicePlan {
  // Passes over the pairs that the work takes, about (SumsWork::sums of choose.h): what is left of
  // them tells how long the processor would take. 0: the processor goes on, however long.
  int sums = 0;
  int patience_ms = 10000;  // a device that is away is waited for so long at most
};

// Which implementation computes the sums. `target` is a Highway target bit of simd_targets(),
// or 0 for the best the processor has.
struct Engine {
  enum class Kind { reference, simd, spectral, device } kind = Kind::simd;
  std::int64_t target = 0;
  Precision precision = Precision::single;
  // Of kind device: not null, and outlives the sums; `use` may be null.
  Device* device = nullptr;
  DeviceUse* use = nullptr;
  DevicePlan plan{};
};

// Whether terms are in single precision, so that last digits are for another engine to find.
inline bool is_single(const Engine& engine) {
  return (engine.kind == Engine::Kind::simd || engine.kind == Engine::Kind::device) &&
         engine.precision == Precision::single;
}

struct SimdTarget {
  std::int64_t target;  // Highway's bit
  std::string name;     // Highway's name in lower case: "avx3_dl", "avx3", "avx2", "sse4", ...
};

// Targets compiled in and supported by this processor, best first. Never empty.
std::vector<SimdTarget> simd_targets();

// x: n >= 2 finite values (1-D), copied. Threads and cancellation as `control` says; the result
// has the same bits whatever the number of threads. Errors: invalid_argument, out_of_memory.
Status make_pair_sums(const Engine& engine, std::span<const double> x, const Control& control,
                      std::unique_ptr<PairSums>* out);

// Starts the threads of parallel regions of `threads` threads, so that a caller who must control
// the signal mask of new threads can create them at a moment of its choosing. Returns the number to
// use: fewer where the system refuses threads, which OpenMP itself would answer by ending the
// process. For one thread to call; again with the same number, it only answers.
int start_threads(int threads);

}  // namespace kde
