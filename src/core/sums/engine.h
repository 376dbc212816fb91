// Who computes sums over pairs (pair_sums.h, gaussian_sums.h), and in what precision:
//
//   reference   double, scalar, one plain double loop: the truth for every test
//   simd        Google Highway, chosen at run time from what the processor has; OpenMP threads
//   spectral    O(n + M log M) by a Fourier transform, nearly exact: spectral.h states its error
//   device      what a Device computes (sums/sums_device.h), the simd engine where it cannot
#pragma once

#include "core/status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace kde {

// Of points.
inline constexpr int kMaxDimensions = 16;

// The word length in which an engine evaluates its terms; sums are always accumulated in double.
enum class Precision { single, full };

class Device;

// What became of the sums of one piece of work that were a device's to compute; added to by each
// that is made or asked.
struct DeviceUse {
  std::int64_t device_sums = 0;     // computed by it
  std::int64_t processor_sums = 0;  // computed by the processor instead
  // The first of the gravest, if it came back or not: that it failed, that it will never take the
  // sample, that it was not available. ok: nothing was.
  Status trouble;
  bool has_failed = false;
  double waited_ms = 0;  // for its return or for room, time lost for want of room with it
};

// Who goes on where a device fails: device_retry.h has the rule, for work with a DeviceUse.
struct DevicePlan {
  // Passes over the pairs that the work takes, about (SumsWork::sums of device_choice.h): what is
  // left of them tells how long the processor would take. 0: the processor goes on, however long.
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

// The target that Engine::target == 0 stands for.
std::int64_t best_simd_target();
bool is_simd_target(std::int64_t target);

// Starts the threads of parallel regions of `threads` threads, so that a caller who must control
// the signal mask of new threads can create them at a moment of its choosing. Returns the number to
// use: fewer where the system refuses threads, which OpenMP itself would answer by ending the
// process. For one thread to call; again with the same number, it only answers.
int start_threads(int threads);

}  // namespace kde
