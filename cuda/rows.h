// Sums that a row of pairs shares: the gradient of LSCV_H in more than a few dimensions, and the
// density at other points. A thread holds one point in registers and goes through a strip of
// columns in shared memory, so that here the whole square of pairs is visited, each pair from both
// of its sides.
//
//   scatter  M = sum_{i<j} w y y' with y = y_i - y_j, w = once e + twice e^2, e = exp(-|y|^2/4)
//              = sum_i [sum_j w_ij (y_i - y_j)] y_i'
//            because w y y' summed over both sides of a pair is twice itself. A pair costs 3 d from
//            either side; its own products cost d (d + 1)/2 + 3 d, once (full.h).
//   density  f_k = sum_i exp(-|q_k - y_i|^2/2)
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "core/status.h"
#include "cuda/coordinates.h"
#include "cuda/jobs.h"

namespace kde::cuda {

inline constexpr int kRowThreads = 128;

// Strips of columns of one job, each of kRowThreads points: few where rows are few.
inline int strips_per_job(std::int64_t rows, std::int64_t columns) {
  const std::int64_t across = (columns + kRowThreads - 1) / kRowThreads;
  const std::int64_t down = (rows + kRowThreads - 1) / kRowThreads;
  return static_cast<int>(std::clamp<std::int64_t>(across * down / 4096, 1, 16));
}
inline TileJobs cut_rows(std::int64_t rows, std::int64_t columns) {
  const std::int64_t strips = strips_per_job(rows, columns);
  const std::int64_t across = (columns + kRowThreads - 1) / kRowThreads;
  TileJobs jobs;
  jobs.tiles = (rows + kRowThreads - 1) / kRowThreads * ((across + strips - 1) / strips);
  return jobs;
}

// Results of a job of scatter, of which d <= c = kernel_coordinates(d): sum e and sum e^2 over all
// its ordered pairs, that of each point with itself among them, then c x c.
constexpr int scatter_results(int c) { return 2 + c * c; }

// y: of launch_whiten by points, c > kMostProducts coordinates, so that e = 2^-|y_i - y_j|^2.
// Asynchronous.
template <typename T>
Status launch_scatter(const T* y, std::int64_t n, int c, double once, double twice,
                      std::int64_t first, std::int64_t last, double* partial, cudaStream_t stream);

// queries, y: of launch_whiten by points, c coordinates, so that terms are 2^-|q_k - y_i|^2.
// partial[(k - first) * kRowThreads + r]: job k's part of its r-th query. Asynchronous.
template <typename T>
Status launch_density(const T* queries, std::int64_t m, const T* y, std::int64_t n, int c,
                      std::int64_t first, std::int64_t last, double* partial, cudaStream_t stream);

// out[r * kRowThreads + q]: the density at query q of row r, of so many rows of `across` jobs each.
// Queries that are none, at the end of the last row, get some finite number. Asynchronous.
Status launch_density_sums(const double* partial, std::int64_t rows, std::int64_t across,
                           double* out, cudaStream_t stream);

// Jobs of one row of them.
inline std::int64_t jobs_across(std::int64_t rows, std::int64_t columns) {
  const std::int64_t strips = strips_per_job(rows, columns);
  const std::int64_t across = (columns + kRowThreads - 1) / kRowThreads;
  return (across + strips - 1) / strips;
}

}  // namespace kde::cuda
