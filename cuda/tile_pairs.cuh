// Tiles of the upper triangle, numbered row by row: (0,0), (0,1) ... (0,t-1), (1,1) ... (t-1,t-1).
#pragma once

#include <cstdint>

namespace kde::cuda {

struct TilePair {
  std::int64_t row, column;
};

// tile: 0 .. t (t + 1)/2 - 1. Row r begins at r t - r (r - 1)/2; the root may be off by rounding,
// so the row is corrected. t < 2^26.
__host__ __device__ inline TilePair tile_pair(std::int64_t tile, std::int64_t t) {
  const double b = static_cast<double>(2 * t + 1);
  auto row =
      static_cast<std::int64_t>((b - sqrt(fmax(b * b - 8.0 * static_cast<double>(tile), 0.0))) / 2);
  const auto start = [t](std::int64_t r) { return r * t - r * (r - 1) / 2; };
  while (row > 0 && start(row) > tile) --row;
  while (row + 1 < t && start(row + 1) <= tile) ++row;
  return {row, row + (tile - start(row))};
}

}  // namespace kde::cuda
