// The kernels of full.h. A thread holds its points in registers and goes through strips of points
// in shared memory, each read by a whole warp at once.
//
//   -|y_i - y_j|^2/2 = y_i'y_j - |y_i|^2/2 - |y_j|^2/2
//
// costs d instructions a pair by the product on the right (the Gram form) and 2 d by differences.
// The product is rounded to some eps |y|^2, so it serves where no half norm exceeds kGramReach: in
// single precision an exponent is then wrong by (d + 2) 256 2^-24 = 3e-4 at the very worst, and
// typically by the root of that many roundings of half as much, 3e-5, either way and for the points
// far out alone. Half norms are added up as products are (whiten.h), so that equal points have an
// exponent of 0. Beyond, differences.
#include <type_traits>

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

template <typename T, int C, int kRows>
struct Rows {
  static constexpr int kCount = kRows;
  T y[kCount][C];
  T half_norms[kCount];
};

// What a thread has added up. A point's terms with one strip are kept apart, in the word length of
// the terms: so that roundings of equal terms, which all have one sign, stay few.
template <typename T, int C>
struct Sums {
  using OwnRows = Rows<T, C, full_rows<T>()>;
  static constexpr int kCount = 2;
  double total[kCount] = {};

  // kDiagonal: of column j only terms of rows before it, and none from `count` on; row number r is
  // lane + 32 r of the strip.
  template <bool kGram, bool kDiagonal>
  __device__ __forceinline__ void add_strip(const OwnRows& rows, const Strip<T, C>& strip, int lane,
                                            int count) {
    constexpr int kRows = OwnRows::kCount;
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
      total[0] += static_cast<double>(sum[r]);
      total[1] += static_cast<double>(sum2[r]);
    }
  }
};

// Both sums with w y y', y = y_i - y_j, whose upper triangle follows row by row. So many columns of
// a strip at a time that as many terms meet in one sum as there.
template <typename T, int C, int kRows>
struct Products {
  using OwnRows = Rows<T, C, kRows>;
  static constexpr int kCount = products_results(C);
  T weight, weight2;
  double total[kCount] = {};

  template <bool kDiagonal>
  __device__ __forceinline__ void add_strip(const OwnRows& rows, const Strip<T, C>& strip, int lane,
                                            int count) {
    constexpr int kColumns = kFullStrip / kRows;
#pragma unroll 1
    for (int first = 0; first < kFullStrip; first += kColumns) {
      T sum[kCount] = {};
#pragma unroll 2
      for (int j = first; j < first + kColumns; ++j) {
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          T exponent = 0, difference[C];
#pragma unroll
          for (int k = 0; k < C; ++k) {
            difference[k] = rows.y[r][k] - strip.y[j][k];
            exponent -= difference[k] * difference[k];
          }
          if constexpr (kDiagonal)
            exponent = lane + 32 * r < j && j < count ? exponent : static_cast<T>(-1e30);
          const T e = exp2_of(exponent);
          sum[0] += e;
          sum[1] += e * e;
          const T w = e * (weight + weight2 * e);
          int next = 2;
#pragma unroll
          for (int k = 0; k < C; ++k) {
            const T part = w * difference[k];
#pragma unroll
            for (int l = k; l < C; ++l) sum[next++] += part * difference[l];
          }
        }
      }
#pragma unroll
      for (int k = 0; k < kCount; ++k) total[k] += static_cast<double>(sum[k]);
    }
  }
};

// Calls with_strip(strip, whether rows are in it, lane, count) for a job's strips, and writes its
// results.
template <typename T, int C, typename S, typename F>
__device__ __forceinline__ void job_sums(const T* __restrict__ y, const T* __restrict__ half_norms,
                                         std::int64_t n, const FullCut& cut, std::int64_t job,
                                         S* sums, double* __restrict__ out, const F& with_strip) {
  constexpr int kRows = S::OwnRows::kCount;
  __shared__ Strip<T, C> strip;
  __shared__ double of_warps[S::kCount][kFullThreads / 32];

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
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t row0 =
      low * kRows * kFullThreads + static_cast<std::int64_t>(warp) * 32 * kRows;
  const std::int64_t row_strip = row0 / kFullStrip;
  typename S::OwnRows rows;
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

  const int before = static_cast<int>(row0 % kFullStrip);
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
      with_strip(rows, strip, std::true_type(), before + lane, count);
    } else {
      with_strip(rows, strip, std::false_type(), 0, 0);
    }
  }
#pragma unroll
  for (int k = 0; k < S::kCount; ++k) {
    double total = sums->total[k];
    for (int by = 16; by > 0; by /= 2) total += __shfl_xor_sync(0xffffffffU, total, by);
    if (lane == 0) of_warps[k][warp] = total;
  }
  __syncthreads();
  for (int k = static_cast<int>(threadIdx.x); k < S::kCount; k += kFullThreads) {
    double total = 0;
    for (const double of_warp : of_warps[k]) total += of_warp;
    out[k] = total;
  }
}

template <typename T, int C>
__global__ void __launch_bounds__(kFullThreads)
    full_kernel(const T* __restrict__ y, const T* __restrict__ half_norms,
                const float* __restrict__ greatest_norm, std::int64_t n, FullCut cut,
                std::int64_t first, double* __restrict__ partial) {
  const bool gram = *greatest_norm <= kGramReach;
  Sums<T, C> sums;
  job_sums<T, C>(y, half_norms, n, cut, first + blockIdx.x, &sums,
                 partial + static_cast<std::int64_t>(blockIdx.x) * Sums<T, C>::kCount,
                 [&](const auto& rows, const auto& strip, auto diagonal, int lane, int count) {
                   constexpr bool kDiagonal = decltype(diagonal)::value;
                   if (gram) {
                     sums.template add_strip<true, kDiagonal>(rows, strip, lane, count);
                   } else {
                     sums.template add_strip<false, kDiagonal>(rows, strip, lane, count);
                   }
                 });
}

template <typename T, int C, int kRows>
__global__ void __launch_bounds__(kFullThreads)
    products_kernel(const T* __restrict__ y, const T* __restrict__ half_norms, std::int64_t n,
                    T weight, T weight2, FullCut cut, std::int64_t first,
                    double* __restrict__ partial) {
  using Own = Products<T, C, kRows>;
  Own sums{weight, weight2};
  job_sums<T, C>(y, half_norms, n, cut, first + blockIdx.x, &sums,
                 partial + static_cast<std::int64_t>(blockIdx.x) * Own::kCount,
                 [&](const auto& rows, const auto& strip, auto diagonal, int lane, int count) {
                   sums.template add_strip<decltype(diagonal)::value>(rows, strip, lane, count);
                 });
}

}  // namespace

template <typename T>
Status launch_full(const T* y, const T* half_norms, const float* greatest_norm, std::int64_t n,
                   int c, std::int64_t first, std::int64_t last, double* partial,
                   cudaStream_t stream) {
  return with_coordinates(c, [&](auto coordinates) {
    constexpr int C = decltype(coordinates)::value;
    full_kernel<T, C><<<static_cast<unsigned>(last - first), kFullThreads, 0, stream>>>(
        y, half_norms, greatest_norm, n, cut_full(n, full_rows<T>()), first, partial);
    KDE_CUDA(cudaGetLastError());
    return Status::success();
  });
}

template <typename T>
Status launch_products(const T* y, const T* half_norms, std::int64_t n, int c, double once,
                       double twice, std::int64_t first, std::int64_t last, double* partial,
                       cudaStream_t stream) {
  return with_coordinates(c, [&](auto coordinates) {
    constexpr int C = decltype(coordinates)::value;
    if constexpr (C <= kMostProducts) {
      const FullCut cut = cut_products<T>(n);
      const auto kernel = cut.strips_per_tile == 1 ? products_kernel<T, C, 1>
                                                   : products_kernel<T, C, full_rows<T>()>;
      kernel<<<static_cast<unsigned>(last - first), kFullThreads, 0, stream>>>(
          y, half_norms, n, static_cast<T>(once), static_cast<T>(twice), cut, first, partial);
      KDE_CUDA(cudaGetLastError());
      return Status::success();
    } else {
      return Status::error(Code::internal, "no kernel has products of %d coordinates", C);
    }
  });
}

template Status launch_full<float>(const float*, const float*, const float*, std::int64_t, int,
                                   std::int64_t, std::int64_t, double*, cudaStream_t);
template Status launch_full<double>(const double*, const double*, const float*, std::int64_t, int,
                                    std::int64_t, std::int64_t, double*, cudaStream_t);

template Status launch_products<float>(const float*, const float*, std::int64_t, int, double,
                                       double, std::int64_t, std::int64_t, double*, cudaStream_t);
template Status launch_products<double>(const double*, const double*, std::int64_t, int, double,
                                        double, std::int64_t, std::int64_t, double*, cudaStream_t);

}  // namespace kde::cuda
