// For many bandwidths h in one pass over the pairs: sum e and sum e^2, e = exp(-S/(4 h^2)), and
// where asked sum S e and sum S e^2, S = |x_i - x_j|^2.
//
// A block computes S for a tile of pairs once, into shared memory; then each thread takes one h and
// goes through the tile with it. So a term costs one exponential and four instructions (six with
// the slopes), nothing is reduced between threads until the end, and the exponential bounds the
// whole.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "core/status.h"
#include "cuda/jobs.h"

namespace kde::cuda {

inline constexpr int kSweepBandwidths = 256;  // of one launch, at most

// Points of a tile's side: few where there are few tiles.
inline int sweep_tile(std::int64_t n) { return n <= 4096 ? 32 : 64; }

inline TileJobs cut_sweep(std::int64_t n) {
  const std::int64_t t = (n + sweep_tile(n) - 1) / sweep_tile(n);
  return cut_tiles(t * (t + 1) / 2);
}

// y[k * padded(n) + i]: coordinate k of point i of n in d dimensions, less the mean of it as
// launch_centre has it, rounded; beyond the n-th point kAway for k = 0, otherwise 0. padded(n) d
// numbers. *extent, not above it before, becomes the greatest square of a coordinate times d/2,
// which no half norm exceeds. Asynchronous.
template <typename T>
Status launch_sweep_points(const double* points, std::int64_t n, int d, T* y, float* extent,
                           cudaStream_t stream);

// points: of launch_sweep_points. scales: count numbers of the host, log2(e)/(4 h^2).
// `slopes`: four results a bandwidth instead of two. partial[(k - first) * count * 2 (or 4)
// + ...]: the results of job k in the order of `scales`. Asynchronous.
template <typename T>
Status launch_sweep(const T* points, std::int64_t n, int d, const double* scales, int count,
                    bool slopes, std::int64_t first, std::int64_t last, double* partial,
                    cudaStream_t stream);

}  // namespace kde::cuda
