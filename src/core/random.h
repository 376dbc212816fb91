// Seeded random numbers that are the same on every platform: the raw output of the 64-bit Mersenne
// Twister, std::mt19937_64 (M. Matsumoto & T. Nishimura, ACM TOMACS 8(1), 1998; T. Nishimura, ACM
// TOMACS 10(4), 2000). <random>, which takes long to compile, has distributions that are not.
#pragma once

#include "core/room.h"

#include <cstdint>

namespace kde {

class Random {
 public:
  explicit Random(std::uint64_t seed);

  // Uniform on the open interval (0, 1): an odd multiple of 2^-53.
  double uniform() { return (static_cast<double>(next() >> 12) + 0.5) * 0x1p-52; }

  // Uniform on 0 .. n-1, n >= 1.
  std::uint64_t below(std::uint64_t n) {
    const std::uint64_t limit = n * (UINT64_MAX / n);
    std::uint64_t v = next();
    while (v >= limit) v = next();
    return v % n;
  }

 private:
  static constexpr int kWords = 312;

  std::uint64_t next() {
    if (at_ == kWords) twist();
    std::uint64_t x = state_[at_++];
    x ^= x >> 29 & 0x5555555555555555;
    x ^= x << 17 & 0x71d67fffeda60000;
    x ^= x << 37 & 0xfff7eee000000000;
    return x ^ x >> 43;
  }
  void twist();

  std::uint64_t state_[kWords];
  int at_ = kWords;
};

}  // namespace kde
