// Times as straight lines in d, fitted to measurements; choose.h has the formula.
//
// What follows from it, for two threads and a device of 1e11 pairs a second in double, 1e12 in
// single precision, the number of points from which it is the faster one:
//
//                                        running   to be started
//   plug-in, double (2 sums)               1,210          55,900
//   plug-in, single                        2,630         120,000
//   a search of 100 sums in d = 4, single  1,150          13,800
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

// The way: the client's part as measured on the same machine against a service that answers at
// once, 0.01 to 0.05 ms a round trip, 0.03 to 0.06 ms and 4e-7 ms a byte to hand over a sample. The
// device's part is not measured yet: taken for as much again, and 0.4 ms for its memory.
constexpr double kRoundTripMs = 0.1;
constexpr double kHandOverMs = 0.5;
constexpr double kHandOverMsPerByte = 8e-7;

double pairs(const SumsWork& work) {
  const auto n = static_cast<double>(work.n);
  return work.queries > 0 ? n * static_cast<double>(work.queries) : n * (n - 1) / 2;
}

bool is_derivative(const SumsWork& work) { return work.d == 1 && work.queries == 0; }

}  // namespace

double predicted_processor_ms(const SumsWork& work, int threads) {
  const PairTimes& times = work.precision == Precision::single ? kSingle : kDouble;
  const double pair_ns = is_derivative(work) ? times.line : times.base + times.slope * work.d;
  return 1e-6 * work.sums * pairs(work) * pair_ns / threads;
}

double predicted_device_ms(const SumsWork& work, double pair_rate) {
  const double cost = is_derivative(work) ? 1 : 1 + kDeviceCostPerDimension * work.d;
  const double bytes =
      static_cast<double>(sizeof(double)) * static_cast<double>(work.n + work.queries) * work.d;
  return kHandOverMs + kHandOverMsPerByte * bytes +
         work.sums * (kRoundTripMs + 1e3 * pairs(work) * cost / pair_rate);
}

}  // namespace kde
