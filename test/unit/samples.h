// Generated samples that several tests use; every one is fixed by its arguments.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

#include "core/random.h"

namespace kde::samples {

// The two-component mixture of the published reference values, row-major: u() is
// s = 16807 s mod (2^31 - 1) from s = 42; a normal z is sqrt(-2 ln u1) cos(2 pi u2). With
// probability 0.6 a row is of z, and otherwise of z/2 with 3 added to the first; then to each
// coordinate but the first half of the one before is added.
inline std::vector<double> mix(int n, int d = 1) {
  constexpr std::int64_t kModulus = 2147483647;
  std::int64_t s = 42;
  const auto u = [&] {
    s = 16807 * s % kModulus;
    return static_cast<double>(s) / static_cast<double>(kModulus);
  };
  std::vector<double> x;
  for (int i = 0; i < n; ++i) {
    const bool first = u() < 0.6;
    for (int k = 0; k < d; ++k) {
      const double u1 = u();
      const double u2 = u();
      const double z = std::sqrt(-2 * std::log(u1)) * std::cos(2 * std::numbers::pi * u2);
      x.push_back(first ? z : (k == 0 ? 3 : 0) + z / 2);
    }
    for (int k = 1; k < d; ++k) x[x.size() - d + k] += x[x.size() - d + k - 1] / 2;
  }
  return x;
}

// Points whose coordinates are the columns given, row-major.
inline std::vector<double> rows(const std::vector<std::vector<double>>& columns) {
  std::vector<double> x;
  for (std::size_t i = 0; i < columns[0].size(); ++i) {
    for (const std::vector<double>& column : columns) x.push_back(column[i]);
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

// How many of n values fall in each cell, of which each has its share.
inline std::vector<double> counts(const std::vector<double>& share, int n, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> below, out(share.size(), 0);
  double sum = 0;
  for (double s : share) below.push_back(sum += s);
  for (int i = 0; i < n; ++i) {
    const auto at = std::upper_bound(below.begin(), below.end() - 1, sum * random.uniform());
    ++out[static_cast<std::size_t>(at - below.begin())];
  }
  return out;
}

}  // namespace kde::samples
