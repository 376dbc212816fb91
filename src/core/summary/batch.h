// A batch of values, worked at with the processor's vectors before they are counted one by one. What
// comes out is the same, bit for bit, whatever its instruction set. The code is beside that which
// tells what a processor has (sums/batch_simd.cpp).
#pragma once

#include "core/room.h"

#include <cstddef>
#include <cstdint>
#include <limits>

namespace kde {

// Sums that do not wait for each other, of pairs of doubles.
inline constexpr std::size_t kLanes = 8;
struct Lanes {
  double high[kLanes] = {}, low[kLanes] = {};

  void add(std::size_t lane, double x, double x_low) {
    const double sum = high[lane] + x;
    const double part = sum - high[lane];
    low[lane] += ((high[lane] - (sum - part)) + (x - part)) + x_low;
    high[lane] = sum;
  }
};

// A key that takes longer than a batch has.
inline constexpr std::int64_t kSlowKey = std::numeric_limits<std::int64_t>::min();
// Values are put between ends of their level where they are so many steps from 0, at most, and not as
// near to an end as such a share of a step.
inline constexpr double kMostSteps = 0x1p30, kNearEnd = 0x1p-20;

// 1.5 2^52: what is added to it, below 2^51, is rounded to a whole number, as by nearbyint().
inline constexpr double kOnes = 0x1.8p52;
[[gnu::always_inline]] inline double nearest_whole(double x) { return (x + kOnes) - kOnes; }
// Beyond it numbers are no whole multiples that are known.
inline constexpr double kMostUnits = 0x1p51;

struct BatchWork {
  // Adds to lane i % kLanes the i-th of n values, a multiple of kLanes, as x = values scale - origin,
  // and its square (totals.h).
  void (*add)(const double* values, std::size_t n, double scale, double origin, Lanes* sum,
              Lanes* squares);
  // Whether each of n values is the double nearest to a whole number of 1/scale, below kMostUnits.
  bool (*are_decimal)(const double* values, std::size_t n, double scale);
  // Makes values whole numbers of 1/scale less origin; NaN stays.
  void (*make_units)(double* values, std::size_t n, double scale, double origin);
  // 2 k + 1 for values between the k-th and the next end of a level, or kSlowKey.
  void (*find_keys)(const double* values, std::size_t n, double steps_of_one, std::int64_t* keys);
};

// By this processor's best instructions.
const BatchWork& batch_work();

}  // namespace kde
