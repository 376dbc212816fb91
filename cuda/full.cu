// The kernel of full.h. A thread holds its points in registers and goes through strips of points in
// shared memory, each read by a whole warp at once.
//
//   -|y_i - y_j|^2/2 = y_i'y_j - |y_i|^2/2 - |y_j|^2/2
//
// costs d instructions a pair by the product on the right (the Gram form) and 2 d by differences.
// The product is rounded to some eps |y|^2, so it serves where no half norm exceeds kGramReach: in
// single precision an exponent is then wrong by (d + 2) 256 2^-24 = 3e-4 at the very worst, and
// typically by the root of that many roundings of half as much, 3e-5, either way and for the points
// far out alone. Half norms are added up as products are (whiten.h), so that equal points have an
// exponent of 0. Beyond, differences.
#include <cub/block/block_reduce.cuh>

#include "cuda/coordinates.h"
#include "cuda/exponential.cuh"
#include "cuda/full.h"
#include "cuda/runtime.cuh"
#include "cuda/whiten.h"

namespace kde::cuda {
namespace {

constexpr float kGramReach = 256;

template <typename T, int C>
struct Strip {
  alignas(16) T y[kFullStrip][C];
  T half_norms[kFullStrip];
};

template <typename T, int C>
struct Rows {
  static constexpr int kCount = full_rows<T>();
  T y[kCount][C];
  T half_norms[kCount];
};

// Adds the terms of a thread's rows with a strip. kDiagonal: of column j only those of rows before
// it, and none from `count` on; row number r is lane + 32 r of the strip.
template <typename T, int C, bool kGram, bool kDiagonal>
__device__ __forceinline__ void add_strip(const Rows<T, C>& rows, const Strip<T, C>& strip,
                                          int lane, int count, double* once, double* twice) {
  constexpr int kRows = Rows<T, C>::kCount;
  T sum[kRows] = {}, sum2[kRows] = {};
#pragma unroll 2
  for (int j = 0; j < kFullStrip; ++j) {
    T exponent[kRows] = {};
#pragma unroll
    for (int k = 0; k < C; ++k) {
      const T column = strip.y[j][k];
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        if constexpr (kGram) {
          exponent[r] += rows.y[r][k] * column;
        } else {
          const T difference = rows.y[r][k] - column;
          exponent[r] -= difference * difference;
        }
      }
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if constexpr (kGram) {
        exponent[r] -= rows.half_norms[r] + strip.half_norms[j];
      } else {
        exponent[r] *= T{0.5};
      }
      if constexpr (kDiagonal)
        exponent[r] = lane + 32 * r < j && j < count ? exponent[r] : static_cast<T>(-1e30);
      const T e = exp2_of(exponent[r]);
      sum[r] += e;
      sum2[r] += e * e;
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    *once += static_cast<double>(sum[r]);
    *twice += static_cast<double>(sum2[r]);
  }
}

template <typename T, int C>
__global__ void __launch_bounds__(kFullThreads)
    full_kernel(const T* __restrict__ y, const T* __restrict__ half_norms,
                const float* __restrict__ greatest_norm, std::int64_t n, FullCut cut,
                std::int64_t first, double* __restrict__ partial) {
  constexpr int kRows = Rows<T, C>::kCount;
  __shared__ Strip<T, C> strip;
  using Reduce = cub::BlockReduce<double, kFullThreads>;
  __shared__ typename Reduce::TempStorage reduce;

  const std::int64_t job = first + blockIdx.x;
  std::int64_t low = 0, high = cut.tiles;  // first_job(low) <= job < first_job(high)
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    if (cut.first_job(middle) <= job) {
      low = middle;
    } else {
      high = middle;
    }
  }
  // Jobs of a row of tiles begin at multiples of their width, the first at that before the tile.
  const std::int64_t own_strip = low * cut.strips_per_tile;
  const std::int64_t begin = (own_strip / cut.strips + job - cut.first_job(low)) * cut.strips;
  const std::int64_t end = min(begin + cut.strips, cut.all_strips);

  // A warp has kRows lanes' worth of points side by side, in one strip or a part of one.
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t row0 =
      low * full_tile<T>() + static_cast<std::int64_t>(threadIdx.x) / 32 * 32 * kRows;
  const std::int64_t row_strip = row0 / kFullStrip;
  Rows<T, C> rows;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const std::int64_t i = row0 + lane + 32 * r;
    const bool is_point = i < n;
#pragma unroll
    for (int k = 0; k < C; ++k) rows.y[r][k] = is_point ? y[i * C + k] : T{0};
    // A row that is no point has terms of 0 by either form.
    if (!is_point) rows.y[r][0] = static_cast<T>(-kAway);
    rows.half_norms[r] = is_point ? half_norms[i] : static_cast<T>(1e30);
  }

  const bool gram = *greatest_norm <= kGramReach;
  const int before = static_cast<int>(row0 % kFullStrip);
  double once = 0, twice = 0;
  for (std::int64_t s = max(begin, own_strip); s < end; ++s) {
    __syncthreads();
    // Points lie one after another, so a strip is a piece of the array.
    const T* from = y + s * kFullStrip * C;
    for (int k = static_cast<int>(threadIdx.x); k < kFullStrip * C; k += kFullThreads)
      strip.y[k / C][k % C] = from[k];
    strip.half_norms[threadIdx.x] = half_norms[s * kFullStrip + threadIdx.x];
    __syncthreads();
    if (s < row_strip) continue;
    if (s == row_strip) {
      const int count =
          static_cast<int>(min(static_cast<std::int64_t>(kFullStrip), n - s * kFullStrip));
      if (gram) {
        add_strip<T, C, true, true>(rows, strip, before + lane, count, &once, &twice);
      } else {
        add_strip<T, C, false, true>(rows, strip, before + lane, count, &once, &twice);
      }
    } else if (gram) {
      add_strip<T, C, true, false>(rows, strip, 0, 0, &once, &twice);
    } else {
      add_strip<T, C, false, false>(rows, strip, 0, 0, &once, &twice);
    }
  }
  const double total = Reduce(reduce).Sum(once);
  __syncthreads();
  const double total2 = Reduce(reduce).Sum(twice);
  if (threadIdx.x == 0) {
    partial[2 * static_cast<std::int64_t>(blockIdx.x)] = total;
    partial[2 * static_cast<std::int64_t>(blockIdx.x) + 1] = total2;
  }
}

}  // namespace

template <typename T>
Status launch_full(const T* y, const T* half_norms, const float* greatest_norm, std::int64_t n,
                   int c, std::int64_t first, std::int64_t last, double* partial,
                   cudaStream_t stream) {
  return with_coordinates(c, [&](auto coordinates) {
    constexpr int C = decltype(coordinates)::value;
    full_kernel<T, C><<<static_cast<unsigned>(last - first), kFullThreads, 0, stream>>>(
        y, half_norms, greatest_norm, n, cut_full<T>(n), first, partial);
    KDE_CUDA(cudaGetLastError());
    return Status::success();
  });
}

template Status launch_full<float>(const float*, const float*, const float*, std::int64_t, int,
                                   std::int64_t, std::int64_t, double*, cudaStream_t);
template Status launch_full<double>(const double*, const double*, const float*, std::int64_t, int,
                                    std::int64_t, std::int64_t, double*, cudaStream_t);

}  // namespace kde::cuda
