// Times as straight lines in d, fitted to measurements; device_choice.h has the formula.
//
// What follows from it, for two threads and an H200, 5.9e11 pairs a second in double and 3.9e12 in
// single precision, the number of points from which the device is the faster one:
//
//                                        running   to be started
//   plug-in, double (2 sums)                 650          55,400
//   plug-in, single                        1,400         120,000
//   a search of 100 sums in d = 4, double    520           8,840
//   a search of 100 sums in d = 4, single    800          13,700
#include "core/sums/device_choice.h"

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

// cost(d) of a device in d > 1: `base` + `slope` d derivative sums. What a search asks for most is
// the gradient, and this is its line. Measured on an H200, whose 1-D sums come at 3.9e12 pairs a
// second in single precision and 5.9e11 in double, by
//
//   build/cuda/device_bench --cards=1 --units=none --benchmark_filter='LSCV_H-dg/n=16384'
//
//   d                2      4      16
//   single, ms   0.116  0.197   0.656
//   double, ms   0.384  0.519   1.624
//
// of which some 0.03 ms are the way. A value without its gradient costs half of that or less, and
// so does a gradient of many columns by matrix units: these serve larger samples than those of
// which the choice is in doubt.
struct DeviceCost {
  double base, slope;
};
constexpr DeviceCost kDeviceSingle{0.5, 1.1};
constexpr DeviceCost kDeviceDouble{0.8, 0.385};

// Of a point and a query, whose sums are a value's alone ("density" of device_bench, 131,072 of
// each, single: 5.1, 6.0, 8.3 ms for d = 1, 2, 4; double: 33 ms for d = 2).
constexpr DeviceCost kDeviceDensity{0.9, 0.25};

// The way: 0.012 ms a round trip to a service that answers at once, on the machine above, and some
// 0.03 ms from a sum's request to its result on the H200, whose two last lines are of sums that
// take less. To hand over a sample, the memory file and the copy to the card together: 0.03 to 0.06
// ms and 3.1e-7 ms a byte on the one, 0.05 ms and 1.6e-7 ms a byte on the other ("load" of
// device_bench).
constexpr double kRoundTripMs = 0.05;
constexpr double kHandOverMs = 0.1;
constexpr double kHandOverMsPerByte = 4.7e-7;

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
  const DeviceCost& costs = work.queries > 0                      ? kDeviceDensity
                            : work.precision == Precision::single ? kDeviceSingle
                                                                  : kDeviceDouble;
  const double cost = is_derivative(work) ? 1 : costs.base + costs.slope * work.d;
  const double bytes =
      static_cast<double>(sizeof(double)) * static_cast<double>(work.n + work.queries) * work.d;
  return kHandOverMs + kHandOverMsPerByte * bytes +
         work.sums * (kRoundTripMs + 1e3 * pairs(work) * cost / pair_rate);
}

}  // namespace kde
