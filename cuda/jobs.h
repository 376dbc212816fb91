// How sums are cut: tiles of pairs, jobs of one block each, units of jobs whose results are added
// on the card. The cut is a function of the sample's size and of what is asked, never of the card,
// so that results have the same bits on any number of cards of one kind.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "core/status.h"

namespace kde::cuda {

inline constexpr int kUnitJobs = 1024;

// Tiles (i, j), i <= j, of the upper triangle of count x count; or all count x across of a
// rectangle.
struct TileJobs {
  std::int64_t tiles = 0;
  std::int64_t tiles_per_job = 1;
  std::int64_t jobs() const { return (tiles + tiles_per_job - 1) / tiles_per_job; }
  std::int64_t units() const { return (jobs() + kUnitJobs - 1) / kUnitJobs; }
};

// Tiles to a job: one where they are few, more where the jobs' results would be many, but never so
// many that a unit takes long.
inline TileJobs cut_tiles(std::int64_t tiles) {
  TileJobs cut;
  cut.tiles = tiles;
  cut.tiles_per_job = std::clamp<std::int64_t>(tiles / 65536, 1, 16);
  return cut;
}

// out[u * results + k] = the sum over the jobs of unit u of partial[job * results + k], job 0 being
// the first of unit 0, in an order that depends on nothing. Where `norm` is given, *norm_out
// becomes what it is by then, without a transfer of its own. Asynchronous.
Status launch_unit_sums(const double* partial, std::int64_t jobs, int results, double* out,
                        cudaStream_t stream, const float* norm = nullptr,
                        float* norm_out = nullptr);

}  // namespace kde::cuda
