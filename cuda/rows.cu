// The kernels of rows.h. In single precision a row's sums over one strip of columns are kept apart
// and added to those of the job's other strips, so that no sum has more than kRowThreads terms, or
// as many sums as a job has strips.
#include <cub/block/block_reduce.cuh>

#include <type_traits>

#include "cuda/exponential.cuh"
#include "cuda/rows.h"
#include "cuda/runtime.cuh"
#include "cuda/whiten.h"

namespace kde::cuda {
namespace {

// Points lie one after another, so a strip is a piece of the array.
template <typename T, int C>
__device__ __forceinline__ void load_strip(const T* __restrict__ y, std::int64_t strip,
                                           T (*columns)[C]) {
  __syncthreads();
  const T* from = y + strip * kRowThreads * C;
#pragma unroll
  for (int k = 0; k < C; ++k)
    (&columns[0][0])[threadIdx.x + k * kRowThreads] = from[threadIdx.x + k * kRowThreads];
  __syncthreads();
}

template <typename T, int C>
__device__ __forceinline__ T distance(const T (&x)[C], const T* column, T (&difference)[C]) {
  T s = 0;
#pragma unroll
  for (int k = 0; k < C; ++k) {
    difference[k] = x[k] - column[k];
    s += difference[k] * difference[k];
  }
  return s;
}

template <typename T, int C>
__global__ void __launch_bounds__(kRowThreads)
    scatter_kernel(const T* __restrict__ y, std::int64_t n, T weight, T weight2, int strips,
                   std::int64_t across, std::int64_t first, double* __restrict__ partial) {
  union Memory {
    T columns[kRowThreads][C];
    T sides[2][kRowThreads][C];  // sum_j w (y_i - y_j), and y_i
  };
  __shared__ alignas(16) unsigned char memory[sizeof(Memory)];
  T(*columns)[C] = reinterpret_cast<Memory*>(memory)->columns;
  T(*sides)[kRowThreads][C] = reinterpret_cast<Memory*>(memory)->sides;
  using Reduce = cub::BlockReduce<double, kRowThreads>;
  __shared__ typename Reduce::TempStorage reduce;

  const std::int64_t all = (n + kRowThreads - 1) / kRowThreads;
  const std::int64_t job = first + blockIdx.x;
  const std::int64_t tile = job / across;
  const std::int64_t strip0 = job % across * strips;
  const std::int64_t strip1 = min(strip0 + strips, all);
  const std::int64_t i = tile * kRowThreads + threadIdx.x;
  T x[C];
#pragma unroll
  for (int k = 0; k < C; ++k) x[k] = y[i * C + k];
  // Beyond the ends rows are as far on the other side as columns are on theirs.
  if (i >= n) x[0] = static_cast<T>(-kAway);

  double once = 0, twice = 0;
  T whole[C] = {};
  for (std::int64_t strip = strip0; strip < strip1; ++strip) {
    load_strip<T, C>(y, strip, columns);
    T sum = 0, sum2 = 0;
    T part[C] = {};
#pragma unroll 4
    for (int j = 0; j < kRowThreads; ++j) {
      T difference[C];
      const T e = exp2_of(-distance<T, C>(x, columns[j], difference));
      sum += e;
      sum2 += e * e;
      const T w = e * (weight + weight2 * e);
#pragma unroll
      for (int k = 0; k < C; ++k) part[k] += w * difference[k];
    }
    once += static_cast<double>(sum);
    twice += static_cast<double>(sum2);
#pragma unroll
    for (int k = 0; k < C; ++k) whole[k] += part[k];
  }

  __syncthreads();
#pragma unroll
  for (int k = 0; k < C; ++k) {
    sides[0][threadIdx.x][k] = whole[k];
    sides[1][threadIdx.x][k] = i < n ? x[k] : T{0};
  }
  double* out = partial + static_cast<std::int64_t>(blockIdx.x) * scatter_results(C);
  const double total = Reduce(reduce).Sum(once);
  __syncthreads();
  const double total2 = Reduce(reduce).Sum(twice);
  if (threadIdx.x == 0) {
    out[0] = total;
    out[1] = total2;
  }
  for (int k = static_cast<int>(threadIdx.x); k < C * C; k += kRowThreads) {
    double sum = 0;
    for (int r = 0; r < kRowThreads; ++r)
      sum += static_cast<double>(sides[0][r][k / C]) * static_cast<double>(sides[1][r][k % C]);
    out[2 + k] = sum;
  }
}

// Queries that a thread of density_kernel holds, so that a column once loaded serves as many pairs.
template <typename T>
constexpr int kQueries = sizeof(T) == 4 ? 4 : 2;
// Of sixteen exponentials of single precision so many are computed without the special function
// unit (derivative.cu), where a pair's other instructions leave time for it.
template <typename T, int C>
constexpr int kWithoutUnit = sizeof(T) == 8 ? 0
                             : C == 1       ? 3
                             : C == 2       ? 2
                                            : 0;

// Warps of the same queries share a strip's columns.
template <typename T, int C>
__global__ void __launch_bounds__(kRowThreads)
    density_kernel(const T* __restrict__ queries, const T* __restrict__ y, std::int64_t n,
                   int strips, std::int64_t across, std::int64_t first,
                   double* __restrict__ partial) {
  constexpr int kEach = kQueries<T>;
  constexpr int kColumns = kRowThreads / kEach;  // of a strip, to a warp
  __shared__ alignas(16) T columns[kRowThreads][C];
  __shared__ double sums[kEach][kRowThreads];
  const std::int64_t all = (n + kRowThreads - 1) / kRowThreads;
  const std::int64_t job = first + blockIdx.x;
  const std::int64_t strip0 = job % across * strips;
  const std::int64_t strip1 = min(strip0 + strips, all);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int share = warp % kEach;
  const int row0 = warp / kEach * (32 * kEach) + static_cast<int>(threadIdx.x) % 32;
  T x[kEach][C];
#pragma unroll
  for (int q = 0; q < kEach; ++q) {
#pragma unroll
    for (int k = 0; k < C; ++k)
      x[q][k] = queries[(job / across * kRowThreads + row0 + 32 * q) * C + k];
  }
  double total[kEach] = {};
  for (std::int64_t strip = strip0; strip < strip1; ++strip) {
    // Beyond the n-th point columns are so far away that their terms are 0.
    load_strip<T, C>(y, strip, columns);
    T sum[kEach] = {};
#pragma unroll 4
    for (int j = 0; j < kColumns; ++j) {
#pragma unroll
      for (int q = 0; q < kEach; ++q) {
        T difference[C];
        const T exponent = -distance<T, C>(x[q], columns[share * kColumns + j], difference);
        const int which = j % 4 * kEach + q;
        if (which * kWithoutUnit<T, C> % 16 < kWithoutUnit<T, C>) {
          sum[q] += exp2_by_polynomial(exponent);
        } else {
          sum[q] += exp2_of(exponent);
        }
      }
    }
#pragma unroll
    for (int q = 0; q < kEach; ++q) total[q] += static_cast<double>(sum[q]);
  }
#pragma unroll
  for (int q = 0; q < kEach; ++q) sums[share][row0 + 32 * q] = total[q];
  __syncthreads();
  double all_shares = 0;
#pragma unroll
  for (int other = 0; other < kEach; ++other) all_shares += sums[other][threadIdx.x];
  partial[static_cast<std::int64_t>(blockIdx.x) * kRowThreads + threadIdx.x] = all_shares;
}

__global__ void density_sums_kernel(const double* __restrict__ partial, std::int64_t across,
                                    double* __restrict__ out) {
  double sum = 0;
  for (std::int64_t k = 0; k < across; ++k)
    sum +=
        partial[(static_cast<std::int64_t>(blockIdx.x) * across + k) * kRowThreads + threadIdx.x];
  out[static_cast<std::int64_t>(blockIdx.x) * kRowThreads + threadIdx.x] = sum;
}

}  // namespace

template <typename T>
Status launch_scatter(const T* y, std::int64_t n, int c, double once, double twice,
                      std::int64_t first, std::int64_t last, double* partial, cudaStream_t stream) {
  return with_coordinates(c, [&](auto coordinates) {
    constexpr int C = decltype(coordinates)::value;
    if constexpr (C > kMostProducts) {
      scatter_kernel<T, C><<<static_cast<unsigned>(last - first), kRowThreads, 0, stream>>>(
          y, n, static_cast<T>(once), static_cast<T>(twice), strips_per_job(n, n),
          jobs_across(n, n), first, partial);
      KDE_CUDA(cudaGetLastError());
      return Status::success();
    } else {
      return Status::error(Code::internal, "%d coordinates have products", C);
    }
  });
}

template <typename T>
Status launch_density(const T* queries, std::int64_t m, const T* y, std::int64_t n, int c,
                      std::int64_t first, std::int64_t last, double* partial, cudaStream_t stream) {
  return with_coordinates(c, [&](auto coordinates) {
    constexpr int C = decltype(coordinates)::value;
    density_kernel<T, C><<<static_cast<unsigned>(last - first), kRowThreads, 0, stream>>>(
        queries, y, n, strips_per_job(m, n), jobs_across(m, n), first, partial);
    KDE_CUDA(cudaGetLastError());
    return Status::success();
  });
}

Status launch_density_sums(const double* partial, std::int64_t rows, std::int64_t across,
                           double* out, cudaStream_t stream) {
  density_sums_kernel<<<static_cast<unsigned>(rows), kRowThreads, 0, stream>>>(partial, across,
                                                                               out);
  KDE_CUDA(cudaGetLastError());
  return Status::success();
}

template Status launch_scatter<float>(const float*, std::int64_t, int, double, double, std::int64_t,
                                      std::int64_t, double*, cudaStream_t);
template Status launch_scatter<double>(const double*, std::int64_t, int, double, double,
                                       std::int64_t, std::int64_t, double*, cudaStream_t);
template Status launch_density<float>(const float*, std::int64_t, const float*, std::int64_t, int,
                                      std::int64_t, std::int64_t, double*, cudaStream_t);
template Status launch_density<double>(const double*, std::int64_t, const double*, std::int64_t,
                                       int, std::int64_t, std::int64_t, double*, cudaStream_t);

}  // namespace kde::cuda
