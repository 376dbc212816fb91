// Times as straight lines in d, fitted to measurements; choose.h has the formula.
#include "core/device/choose.h"

#include <cstddef>

namespace kde {
namespace {

// Nanoseconds a pair takes one thread: in one dimension `line`, in d > 1 `base` + `slope` d. A
// derivative sum in double takes more than a Gaussian one, of any sign as its terms are.
//
// Measured on a two-core AVX-512 machine by
//
//   build/bench/bench
//   --benchmark_filter='(PLUGIN/n=32768/d=1|LSCV_H-g/n=16384/.*)/simd/avx3/.*threads=1'
//
// as milliseconds over pairs, for PLUGIN over twice as many:
//
//   d             1      2      4      8      16
//   single     0.212  0.234  0.343  0.477  0.708
//   double     0.983  0.631  0.829  1.075  1.573
//
// Other instruction sets take up to four times as long, which favours the device; two threads halve
// it where two cores are free.
struct PairTimes {
  double line, base, slope;
};
constexpr PairTimes kSingle{0.21, 0.19, 0.033};
constexpr PairTimes kDouble{0.98, 0.51, 0.067};

// cost(d) of a device, not measured yet: a pair's exponential and additions weigh as four
// coordinates do.
constexpr double kDeviceCostPerDimension = 0.25;

// A request and its answer, and what a device needs to begin and to end.
constexpr double kRoundTripMs = 0.1;
// A connection, a memory file, memory on the device.
constexpr double kHandOverMs = 0.5;
constexpr double kHandOverMsPerByte = 1e-6;

double pairs(const SumsWork& work) {
  const auto n = static_cast<double>(work.n);
  return n * (n - 1) / 2;
}

}  // namespace

double predicted_processor_ms(const SumsWork& work, int threads) {
  const PairTimes& times = work.precision == Precision::single ? kSingle : kDouble;
  const double pair_ns = work.d == 1 ? times.line : times.base + times.slope * work.d;
  return 1e-6 * work.sums * pairs(work) * pair_ns / threads;
}

double predicted_device_ms(const SumsWork& work, double pair_rate) {
  const double cost = work.d == 1 ? 1 : 1 + kDeviceCostPerDimension * work.d;
  const double bytes = static_cast<double>(sizeof(double)) * static_cast<double>(work.n) * work.d;
  return kHandOverMs + kHandOverMsPerByte * bytes +
         work.sums * (kRoundTripMs + 1e3 * pairs(work) * cost / pair_rate);
}

}  // namespace kde
