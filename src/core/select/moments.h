// Two-pass mean and standard deviation (the one-pass formula cancels).
#pragma once

#include "core/room.h"

#include <span>

namespace kde {

struct Moments {
  double mean = 0;
  double sd = 0;  // divisor n - 1; 0 for n < 2
};

// x: finite values. Accurate at any scale and offset that double represents without overflow of
// (x - mean)^2; callers with extreme scales rescale by a power of two first.
Moments two_pass_moments(std::span<const double> x);

}  // namespace kde
