// sum_{i<j} e and sum_{i<j} e^2 for one bandwidth matrix, e = exp(-|y_i - y_j|^2/4), over whitened
// points: the objective of LSCV_H; and its gradient in few dimensions,
// sum_{i<j} (once e + twice e^2) y y' with y = y_i - y_j. Tiles of points by strips of kFullStrip,
// the upper triangle alone, as in derivative.h.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "core/status.h"
#include "cuda/jobs.h"

namespace kde::cuda {

inline constexpr int kFullThreads = 128;
inline constexpr int kFullStrip = 128;  // points

// Points that a thread holds, so that a column once loaded serves as many pairs: what registers
// allow.
template <typename T>
constexpr int full_rows() {
  return sizeof(T) == 4 ? 4 : 2;
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

// rows: points to a thread.
inline FullCut cut_full(std::int64_t n, int rows) {
  static_assert(kFullThreads == kFullStrip);
  FullCut cut;
  cut.strips_per_tile = rows;
  cut.all_strips = (n + kFullStrip - 1) / kFullStrip;
  cut.tiles = (cut.all_strips - 1) / rows + 1;
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

// One point to a thread where tiles are few.
template <typename T>
FullCut cut_products(std::int64_t n) {
  return cut_full(n, n < 8192 ? 1 : full_rows<T>());
}
// The two sums, and the upper triangle of the c x c row by row.
constexpr int products_results(int c) { return 2 + c * (c + 1) / 2; }

// The two sums with the gradient, c <= kMostProducts; y of launch_whiten by sqrt(log2(e))/2 A, so
// that e = 2^-|y_i - y_j|^2. partial[products_results(c) (k - first)] and on: job k of
// cut_products. Asynchronous.
template <typename T>
Status launch_products(const T* y, const T* half_norms, std::int64_t n, int c, double once,
                       double twice, std::int64_t first, std::int64_t last, double* partial,
                       cudaStream_t stream);

}  // namespace kde::cuda
