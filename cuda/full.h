// sum_{i<j} e and sum_{i<j} e^2 for one bandwidth matrix, e = exp(-|y_i - y_j|^2/4), over whitened
// points: the objective of LSCV_H. Tiles of the upper triangle, each as a product of matrices is
// computed: 8 x 8 pairs to a thread (4 x 4 in double), coordinates from shared memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "core/status.h"
#include "cuda/jobs.h"

namespace kde::cuda {

// Points of a tile's side.
template <typename T>
constexpr int full_tile() {
  return sizeof(T) == 4 ? 128 : 64;
}

// A job has several tiles where there are many, for what a block does beside them takes as long as
// one.
template <typename T>
TileJobs cut_full(std::int64_t n) {
  const std::int64_t t = (n + full_tile<T>() - 1) / full_tile<T>();
  TileJobs jobs = cut_tiles(t * (t + 1) / 2, 2);
  jobs.tiles_per_job =
      std::max(jobs.tiles_per_job, std::clamp<std::int64_t>(jobs.tiles / 2048, 1, 16));
  return jobs;
}

// y, half_norms, greatest_norm: of launch_whiten, d coordinates, for the exponent in powers of two:
// whitened by sqrt(log2(e)/2) A, so that e = 2^-|y_i - y_j|^2/2. partial[2 (k - first)], and the
// next: the sums of job k. Asynchronous.
template <typename T>
Status launch_full(const T* y, const T* half_norms, const float* greatest_norm, std::int64_t n,
                   int d, std::int64_t first, std::int64_t last, double* partial,
                   cudaStream_t stream);

}  // namespace kde::cuda
