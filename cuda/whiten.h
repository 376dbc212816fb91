// Points as the kernels take them: y = A (x - centre), rounded to the word length of
// the terms, with room at the end for whole strips.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "core/status.h"
#include "core/sums/gaussian_sums.h"

namespace kde::cuda {

inline constexpr int kPointsPadding = 128;  // strips and square tiles have no more
__host__ __device__ inline std::int64_t padded(std::int64_t n) {
  return (n + kPointsPadding - 1) / kPointsPadding * kPointsPadding;
}

// Lower triangular, row-major, in the first d x d; by value to the kernels.
struct Whitening {
  double a[kMaxDimensions * kMaxDimensions];
};

// y[i * coordinates + k] is (A (x_i - centre))_k, which is all that distances know, for k < d and 0
// for d <= k < coordinates; beyond the n-th point, padded(n) in all, coordinate 0 is kAway and the
// others 0, so that a true point is too far from it for any term. half_norms: |y_i|^2/2, added up
// coordinate by coordinate by fused multiply-adds in T, beyond the n-th point a number too large
// for any term; and *greatest_norm, to be 0 before, becomes the largest of them. centre: d numbers
// on the card.
inline constexpr double kAway = 1e15;
template <typename T>
Status launch_whiten(const double* points, std::int64_t n, int d, int coordinates,
                     const Whitening& a, const double* centre, T* y, T* half_norms,
                     float* greatest_norm, cudaStream_t stream);

// centre[k] = the mean of coordinate k over kCentrePoints of n points in d dimensions, evenly
// spaced among them, or over all of fewer. Asynchronous.
inline constexpr std::int64_t kCentrePoints = 1024;
Status launch_centre(const double* points, std::int64_t n, int d, double* centre,
                     cudaStream_t stream);

}  // namespace kde::cuda
