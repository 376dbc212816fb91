// Whether sums over pairs are worth the way to a device: by predicted time.
//
//   processor  sums * pairs(n) * time of a pair / threads
//   device     handing over the sample
//              + sums * (a round trip + pairs(n) * cost(d) / Device::pair_rate)
//
// pairs(n) = n (n - 1)/2, or n m of an estimate at m points, which are handed over too. cost(d):
// what a pair in d dimensions takes, over one in one dimension. kServiceStartMs comes on top where
// the service is not running. The measurements behind the constants stand beside them in
// device_choice.cpp.
#pragma once

#include <cstdint>

#include "core/sums/engine.h"

namespace kde {

struct SumsWork {
  std::int64_t n = 0;  // points, at least 2
  int d = 1;           // 1 to 16
  // Passes over the pairs, about: in one dimension derivative sums, in more a matrix's or one
  // bandwidth's.
  int sums = 1;
  Precision precision = Precision::full;
  // Where the estimate is evaluated at so many points, each sum has a term for every point and
  // query instead of every pair. 0: not.
  std::int64_t queries = 0;
};

// All of the work, in milliseconds. threads >= 1, as many as there are cores for.
double predicted_processor_ms(const SumsWork& work, int threads);
// pair_rate: Device::pair_rate of the work's precision.
double predicted_device_ms(const SumsWork& work, double pair_rate);

// Milliseconds from asking for a service to its first answer: a context on each card.
inline constexpr double kServiceStartMs = 1500;
// Of a service that has failed: it is started again after a second.
inline constexpr double kServiceReturnMs = 1000 + kServiceStartMs;

}  // namespace kde
