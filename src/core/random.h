// Seeded random numbers that are the same on every platform: the raw output of the standard's
// std::mt19937_64 is fixed by the standard, its distributions are not and are not used.
#pragma once

#include "core/room.h"

#include <cstdint>
#include <random>

namespace kde {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  // Uniform on the open interval (0, 1): an odd multiple of 2^-53.
  double uniform() { return (static_cast<double>(engine_() >> 12) + 0.5) * 0x1p-52; }

  // Uniform on 0 .. n-1, n >= 1.
  std::uint64_t below(std::uint64_t n) {
    const std::uint64_t limit = n * (UINT64_MAX / n);
    std::uint64_t v = engine_();
    while (v >= limit) v = engine_();
    return v % n;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace kde
