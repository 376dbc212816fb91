// Whether sums over pairs are worth the way to a device: by predicted time.
//
//   processor  pairs(n) * cost(d) / (threads * rate of one thread)
//   device     way there and back + pairs(n) * cost(d) / Device::pair_rate
//              + the time to start the service, where it is not running
//
// cost(d): what a pair in d dimensions takes, over one in one dimension. The measurements behind
// the rates stand beside them in choose.cpp.
#pragma once

#include <cstdint>

#include "core/room.h"
#include "core/sums/pair_sums.h"

namespace kde {

struct SumsWork {
  std::int64_t n = 0;  // points
  int d = 1;
  int sums = 1;  // passes over the pairs, about
  Precision precision = Precision::full;
};

// One pass and all that goes with it, in milliseconds.
double predicted_processor_ms(const SumsWork& work, int threads);
// pair_rate: Device::pair_rate of the work's precision.
double predicted_device_ms(const SumsWork& work, double pair_rate);

// Milliseconds from asking for a service to its first answer: a context on each card.
inline constexpr double kServiceStartMs = 1500;

}  // namespace kde
