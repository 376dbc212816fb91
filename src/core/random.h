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
  double uniform() { return (static_cast<double>(next() >> 12) + 0.5) * 0x1p-52; }

  // Uniform on 0 .. n-1, n >= 1.
  std::uint64_t below(std::uint64_t n) {
    const std::uint64_t limit = n * (UINT64_MAX / n);
    std::uint64_t v = next();
    while (v >= limit) v = next();
    return v % n;
  }

  // Numbers drawn from the engine so far. One of the same seed that skips as many goes on alike.
  std::uint64_t drawn() const { return drawn_; }
  void skip(std::uint64_t n) {
    engine_.discard(n);
    drawn_ += n;
  }

 private:
  std::uint64_t next() {
    ++drawn_;
    return engine_();
  }

  std::mt19937_64 engine_;
  std::uint64_t drawn_ = 0;
};

}  // namespace kde
