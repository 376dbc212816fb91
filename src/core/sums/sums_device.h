// Sums over pairs that something other than this process's own threads computes: a graphics card,
// in this process or behind the device service (client.h).
//
// One interface for every side of it: the service's client, the cards themselves (cuda/), and what
// the service's tests put in their place. The engines of pair_sums.h and gaussian_sums.h are made
// over it by Engine::Kind::device, and go on without it when it fails (device_sums.h,
// device_retry.h).
//
// Sums are those of pair_sums.h and gaussian_sums.h, over the points as they were loaded:
//   e_ij = exp(-|y_ij|^2/4),  y_ij = (x_i - x_j)/h  or  A (x_i - x_j)
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/control.h"
#include "core/status.h"
#include "core/sums/engine.h"

namespace kde {

// One card, or whatever else computes.
struct DeviceInfo {
  char name[64] = {};                 // the maker's
  std::int32_t major = 0, minor = 0;  // compute capability
  std::uint64_t memory = 0;           // bytes
  std::uint64_t memory_used = 0;      // bytes that samples and their sums take now
  std::int64_t jobs = 0;              // sums computed, whole or in part
  double busy_ms = 0;                 // time that they took it
  char last_error[160] = {};          // or empty
};

// A sample on a device. Its functions are for one thread at a time; samples are independent.
//
// Errors of all: invalid_argument, cancelled, and where another engine should do the work
//   unavailable  not now, and nobody's fault: too many jobs waiting, no memory, no device
//   too_large    never: more points than it has memory for, or so far apart beside this bandwidth
//                that its terms cannot tell
//   failed       a defect of the device or of its service; the sample is of no further use
// Results are unspecified after an error, and otherwise the same bits whatever else the device does
// and however many cards of one kind share the work.
//
// control.should_stop is polled by the calling thread every few milliseconds; threads are not used.
class DeviceSample {
 public:
  virtual ~DeviceSample() = default;

  // In one dimension: *sum = sum_{i<j} K^(r)((x_i - x_j)/g), r = 0, 2, 4, ..., 10, g > 0 and
  // finite.
  virtual Status derivative(int r, double g, Precision precision, const Control& control,
                            double* sum) = 0;

  // For each h > 0, finite: sum e, sum e^2; with `slopes` also sum S e, sum S e^2, S = |x_i -
  // x_j|^2. out: 2 or 4 numbers for each h, in that order.
  virtual Status sweep(std::span<const double> h, bool slopes, Precision precision,
                       const Control& control, std::span<double> out) = 0;

  // a: A, d x d lower triangular, row-major, finite. out: sum e, sum e^2.
  virtual Status full(std::span<const double> a, Precision precision, const Control& control,
                      std::span<double> out) = 0;

  // full()'s two sums, then d x d: sum_{i<j} (once e + twice e^2) y y', both triangles.
  virtual Status scatter(std::span<const double> a, double once, double twice, Precision precision,
                         const Control& control, std::span<double> out) = 0;

  // The Gaussian kernel sum at other points: out[k] = sum_i exp(-|A (q_k - x_i)|^2/2).
  // queries: m x d, row-major, finite; 1 <= m <= kMaxQueries.
  virtual Status density(std::span<const double> a, std::span<const double> queries,
                         Precision precision, const Control& control, std::span<double> out) = 0;
};

inline constexpr std::int64_t kMaxQueries = std::int64_t{1} << 22;
inline constexpr std::size_t kMaxSweep = 4096;  // bandwidths of one sweep

class Device {
 public:
  virtual ~Device() = default;

  // points: n x d finite values, row-major, n >= 2, 1 <= d <= 16; copied. In one dimension in any
  // order, best ascending. Errors as of DeviceSample. Safe from any thread.
  virtual Status load(std::span<const double> points, int d, const Control& control,
                      std::unique_ptr<DeviceSample>* out) = 0;

  // Waits after an error until the device can be asked again, at most patience_ms. Errors:
  // cancelled; unavailable, failed: it cannot. One of this very process is never away.
  virtual Status await_return(double patience_ms, const Control& control);

  // Safe from any thread.
  virtual std::vector<DeviceInfo> devices() = 0;

  // Pairs a second at which derivative sums come in that precision, all cards together, measured or
  // estimated; what predicts whether the way there is worth it (device_choice.h). > 0.
  virtual double pair_rate(Precision precision) const = 0;
};

inline Status Device::await_return(double, const Control&) { return Status::success(); }

// What the functions of DeviceSample refuse, whoever computes them: arguments without meaning, and
// spans whose sizes do not fit each other. Errors of all: invalid_argument.

// Of points and queries the shape alone; that they are finite is for others to see.
Status check_device_points(std::size_t values, int d);

// For a sample in d dimensions.
Status check_device_derivative(int d, int r, double g);
Status check_device_sweep(std::span<const double> h, bool slopes, std::size_t results);
Status check_device_full(int d, std::span<const double> a, std::size_t results);
Status check_device_scatter(int d, std::span<const double> a, double once, double twice,
                            std::size_t results);
Status check_device_density(int d, std::span<const double> a, std::size_t queries,
                            std::size_t results);

}  // namespace kde
