// sum_{i<j} e and sum_{i<j} e^2 for one bandwidth matrix, e = exp(-|y_i - y_j|^2/4), over whitened
// points: the objective of LSCV_H. Tiles of kTileRows points by strips of kStrip, the upper
// triangle alone, as in derivative.h.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "core/status.h"
#include "cuda/jobs.h"

namespace kde::cuda {

inline constexpr int kFullThreads = 128;
inline constexpr int kFullStrip = 128;  // points

// Points that a thread holds: what registers allow.
template <typename T>
constexpr int full_rows() {
  return sizeof(T) == 4 ? 4 : 2;
}
template <typename T>
constexpr int full_tile() {
  return full_rows<T>() * kFullThreads;
}

// Job 0 is the first of the first tile of rows. Tile t has pairs with strips from t * (tile/strip)
// on; a job of it goes through `strips` of them.
struct FullCut {
  std::int64_t tiles = 0;
  std::int64_t all_strips = 0;
  std::int64_t strips_per_tile = 0;
  std::int64_t strips = 1;
  // Of tiles before t.
  __host__ __device__ std::int64_t first_job(std::int64_t t) const;
  std::int64_t jobs() const { return first_job(tiles); }
  std::int64_t units() const { return (jobs() + kUnitJobs - 1) / kUnitJobs; }
};

// The jobs of a row of tiles are as many as whole multiples of `strips` cover it, from a strip that
// is one of them: so their number before a tile has a closed form.
__host__ __device__ inline std::int64_t FullCut::first_job(std::int64_t t) const {
  const std::int64_t across = (all_strips + strips - 1) / strips;
  // Tiles per job's width, a power of two either way.
  if (strips_per_tile >= strips) {
    const std::int64_t step = strips_per_tile / strips;
    return t * across - step * (t * (t - 1) / 2);
  }
  const std::int64_t group = strips / strips_per_tile;
  const std::int64_t whole = t / group;
  return t * across - (group * (whole * (whole - 1) / 2) + (t % group) * whole);
}

template <typename T>
FullCut cut_full(std::int64_t n) {
  FullCut cut;
  cut.tiles = (n + full_tile<T>() - 1) / full_tile<T>();
  cut.all_strips = (n + kFullStrip - 1) / kFullStrip;
  cut.strips_per_tile = full_tile<T>() / kFullStrip;
  // Few strips a job where jobs are few, so that every multiprocessor has some.
  while (cut.strips < 16 && cut.all_strips * cut.tiles / 2 / cut.strips > 4096) cut.strips *= 2;
  return cut;
}

// y, half_norms, greatest_norm: of launch_whiten by points, c = kernel_coordinates(d) coordinates,
// for the exponent in powers of two: whitened by sqrt(log2(e)/2) A, so that
// e = 2^-|y_i - y_j|^2/2. partial[2 (k - first)], and the next: the sums of job k. Asynchronous.
template <typename T>
Status launch_full(const T* y, const T* half_norms, const float* greatest_norm, std::int64_t n,
                   int c, std::int64_t first, std::int64_t last, double* partial,
                   cudaStream_t stream);

}  // namespace kde::cuda
