// Generated samples that several tests use; every one is fixed by its arguments.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "core/random.h"

namespace kde::samples {

// The two-component mixture of the published reference values, in one dimension: u() is
// s = 16807 s mod (2^31 - 1) from s = 42; a normal is sqrt(-2 ln u1) cos(2 pi u2); a row is
// normal with probability 0.6 and 3 + normal/2 otherwise.
inline std::vector<double> mix(int n) {
  constexpr std::int64_t kModulus = 2147483647;
  std::int64_t s = 42;
  const auto u = [&] {
    s = 16807 * s % kModulus;
    return static_cast<double>(s) / static_cast<double>(kModulus);
  };
  std::vector<double> x;
  for (int i = 0; i < n; ++i) {
    const bool first = u() < 0.6;
    const double u1 = u();
    const double u2 = u();
    const double z = std::sqrt(-2 * std::log(u1)) * std::cos(2 * std::numbers::pi * u2);
    x.push_back(first ? z : 3 + z / 2);
  }
  return x;
}

inline std::vector<double> normal(int n, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> x;
  for (int i = 0; i < n; ++i) {
    const double radius = std::sqrt(-2 * std::log(random.uniform()));
    x.push_back(radius * std::cos(2 * std::numbers::pi * random.uniform()));
  }
  return x;
}

inline std::vector<double> lognormal(int n, std::uint64_t seed) {
  std::vector<double> x = normal(n, seed);
  for (double& v : x) v = std::exp(v);
  return x;
}

inline std::vector<double> cauchy(int n, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> x;
  for (int i = 0; i < n; ++i) x.push_back(std::tan(std::numbers::pi * (random.uniform() - 0.5)));
  return x;
}

}  // namespace kde::samples
