// The kernel of sweep.h.
#include <cub/block/block_reduce.cuh>

#include <algorithm>

#include "cuda/exponential.cuh"
#include "cuda/runtime.cuh"
#include "cuda/sweep.h"
#include "cuda/tile_pairs.cuh"
#include "cuda/whiten.h"

namespace kde::cuda {
namespace {

constexpr int kFlush = 32;  // packs of four terms that are added in their own word length
constexpr int kThreads = 256;

// By value to the kernel: a transfer of their own would take longer than the launch.
struct Scales {
  double of[kSweepBandwidths];
};

constexpr int kPointThreads = 512;
constexpr std::int64_t kBlockPoints = 8192;

// A block takes one coordinate of some points, whose centre each block finds by itself: so nothing
// waits for another kernel.
template <typename T>
__global__ void __launch_bounds__(kPointThreads)
    points_kernel(const double* __restrict__ points, std::int64_t n, int d, T* __restrict__ y,
                  float* extent) {
  using Sum = cub::BlockReduce<double, kPointThreads>;
  using Most = cub::BlockReduce<float, kPointThreads>;
  __shared__ union {
    typename Sum::TempStorage sum;
    typename Most::TempStorage most;
  } reduce;
  __shared__ double centre;
  const int thread = static_cast<int>(threadIdx.x);
  const int k = static_cast<int>(blockIdx.x);
  const std::int64_t count = min(n, kCentrePoints);
  double part = 0;
  for (std::int64_t i = thread; i < count; i += kPointThreads)
    part += points[i * n / count * d + k] / static_cast<double>(count);
  const double mean = Sum(reduce.sum).Sum(part);
  if (thread == 0) centre = mean;
  __syncthreads();
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.y) * kBlockPoints;
  const std::int64_t end = min(first + kBlockPoints, padded(n));
  float greatest = 0;
  for (std::int64_t i = first + thread; i < end; i += kPointThreads) {
    double value = k == 0 ? kAway : 0;
    if (i < n) {
      value = points[i * d + k] - centre;
      greatest = max(greatest, static_cast<float>(value * value * d / 2));
    }
    y[k * padded(n) + i] = static_cast<T>(value);
  }
  greatest = Most(reduce.most).Reduce(greatest, [](float a, float b) { return max(a, b); });
  // Of numbers that are not negative, the bits have the same order.
  if (thread == 0) atomicMax(reinterpret_cast<int*>(extent), __float_as_int(greatest));
}

// S of this thread's pairs: 16 x 16 threads, (tile/16)^2 pairs each, neighbours 16 apart so that a
// warp's loads and stores lie side by side. Pairs that are none get an S of which e is 0.
template <typename T, int kTile>
__device__ void distances(const T* __restrict__ points, std::int64_t stride, std::int64_t n, int d,
                          TilePair at, T (*rows)[kTile], T (*columns)[kTile], T* s) {
  constexpr int kSide = 16;
  constexpr int kPoints = kTile / kSide;
  const int thread = static_cast<int>(threadIdx.x);
  for (int k = thread; k < d * kTile; k += kThreads) {
    const T* coordinate = points + k / kTile * stride;
    rows[k / kTile][k % kTile] = coordinate[at.row * kTile + k % kTile];
    columns[k / kTile][k % kTile] = coordinate[at.column * kTile + k % kTile];
  }
  __syncthreads();
  T sum[kPoints][kPoints] = {};
  for (int k = 0; k < d; ++k) {
    T a[kPoints], b[kPoints];
#pragma unroll
    for (int p = 0; p < kPoints; ++p) {
      a[p] = rows[k][thread / kSide + p * kSide];
      b[p] = columns[k][thread % kSide + p * kSide];
    }
#pragma unroll
    for (int r = 0; r < kPoints; ++r) {
#pragma unroll
      for (int c = 0; c < kPoints; ++c) {
        const T difference = a[r] - b[c];
        sum[r][c] += difference * difference;
      }
    }
  }
#pragma unroll
  for (int r = 0; r < kPoints; ++r) {
#pragma unroll
    for (int c = 0; c < kPoints; ++c) {
      const int i = thread / kSide + r * kSide, j = thread % kSide + c * kSide;
      const bool pair = at.row != at.column || (i < j && at.column * kTile + j < n);
      s[i * kTile + j] = pair ? sum[r][c] : static_cast<T>(1e30);
    }
  }
}

template <typename T, bool kSlopes>
struct Terms {
  T once = 0, twice = 0, once_s = 0, twice_s = 0;

  __device__ __forceinline__ void add(T s, T scale) {
    const T e = exp2_of(s * scale);
    once += e;
    twice += e * e;
    if (kSlopes) {
      const T se = s * e;
      once_s += se;
      twice_s += se * e;
    }
  }
};

template <typename T, int kTile, bool kSlopes>
__global__ void __launch_bounds__(kThreads)
    sweep_kernel(const T* __restrict__ points, std::int64_t n, int d,
                 const __grid_constant__ Scales scales, int count, std::int64_t tiles,
                 std::int64_t tiles_per_job, std::int64_t first, double* __restrict__ partial) {
  struct alignas(16) Pack {
    T s[4];
  };
  constexpr int kPacks = kTile * kTile / 4;
  constexpr int kResults = kSlopes ? 4 : 2;
  extern __shared__ __align__(16) unsigned char memory[];
  T* s = reinterpret_cast<T*>(memory);
  T(*rows)[kTile] = reinterpret_cast<T(*)[kTile]>(s + kTile * kTile);
  T(*columns)[kTile] = rows + d;

  const int thread = static_cast<int>(threadIdx.x);
  // Where bandwidths are fewer than threads, several share the tile's terms of one.
  const int sharers = kThreads / count;
  const int bandwidth = thread % count;
  const int share = thread / count;
  const T scale = static_cast<T>(-scales.of[bandwidth]);
  double total[kResults] = {};

  const std::int64_t side = (n + kTile - 1) / kTile;
  const std::int64_t job = first + blockIdx.x;
  const std::int64_t end = min((job + 1) * tiles_per_job, tiles);
  for (std::int64_t number = job * tiles_per_job; number < end; ++number) {
    __syncthreads();
    distances<T, kTile>(points, padded(n), n, d, tile_pair(number, side), rows, columns, s);
    __syncthreads();
    if (share >= sharers) continue;
    const Pack* packs = reinterpret_cast<const Pack*>(s);
    for (int p0 = share; p0 < kPacks; p0 += kFlush * sharers) {
      Terms<T, kSlopes> terms;
#pragma unroll 4
      for (int p = p0; p < min(p0 + kFlush * sharers, kPacks); p += sharers) {
        const Pack pack = packs[p];
#pragma unroll
        for (int k = 0; k < 4; ++k) terms.add(pack.s[k], scale);
      }
      total[0] += static_cast<double>(terms.once);
      total[1] += static_cast<double>(terms.twice);
      if (kSlopes) {
        total[2] += static_cast<double>(terms.once_s);
        total[3] += static_cast<double>(terms.twice_s);
      }
    }
  }
  __syncthreads();
  // The sharers' parts, in their order.
  double(*parts)[kResults] = reinterpret_cast<double(*)[kResults]>(memory);
#pragma unroll
  for (int k = 0; k < kResults; ++k) parts[thread][k] = total[k];
  __syncthreads();
  if (share != 0) return;
  double* out = partial + (static_cast<std::int64_t>(blockIdx.x) * count + bandwidth) * kResults;
  for (int k = 0; k < kResults; ++k) {
    double sum = 0;
    for (int other = 0; other < sharers; ++other) sum += parts[other * count + bandwidth][k];
    out[k] = sum;
  }
}

template <typename T, int kTile, bool kSlopes>
Status launch(const T* points, std::int64_t n, int d, const double* scales, int count,
              std::int64_t first, std::int64_t last, double* partial, cudaStream_t stream) {
  constexpr int kResults = kSlopes ? 4 : 2;
  const TileJobs jobs = cut_sweep(n);
  const std::size_t tile = sizeof(T) * kTile * (kTile + 2 * static_cast<std::size_t>(d));
  const std::size_t memory = std::max(tile, sizeof(double) * kThreads * kResults);
  static_assert(sizeof(T) * kTile * (kTile + 2 * kMaxDimensions) <= std::size_t{48} << 10,
                "a block gets no more without asking");
  Scales by_value;
  std::copy_n(scales, count, by_value.of);
  sweep_kernel<T, kTile, kSlopes>
      <<<static_cast<unsigned>(last - first), kThreads, memory, stream>>>(
          points, n, d, by_value, count, jobs.tiles, jobs.tiles_per_job, first, partial);
  KDE_CUDA(cudaGetLastError());
  return Status::success();
}

}  // namespace

template <typename T>
Status launch_sweep_points(const double* points, std::int64_t n, int d, T* y, float* extent,
                           cudaStream_t stream) {
  const dim3 blocks(static_cast<unsigned>(d),
                    static_cast<unsigned>((padded(n) + kBlockPoints - 1) / kBlockPoints));
  points_kernel<T><<<blocks, kPointThreads, 0, stream>>>(points, n, d, y, extent);
  KDE_CUDA(cudaGetLastError());
  return Status::success();
}

template <typename T>
Status launch_sweep(const T* points, std::int64_t n, int d, const double* scales, int count,
                    bool slopes, std::int64_t first, std::int64_t last, double* partial,
                    cudaStream_t stream) {
  if (sweep_tile(n) == 32) {
    return slopes ? launch<T, 32, true>(points, n, d, scales, count, first, last, partial, stream)
                  : launch<T, 32, false>(points, n, d, scales, count, first, last, partial, stream);
  }
  return slopes ? launch<T, 64, true>(points, n, d, scales, count, first, last, partial, stream)
                : launch<T, 64, false>(points, n, d, scales, count, first, last, partial, stream);
}

template Status launch_sweep_points<float>(const double*, std::int64_t, int, float*, float*,
                                           cudaStream_t);
template Status launch_sweep_points<double>(const double*, std::int64_t, int, double*, float*,
                                            cudaStream_t);
template Status launch_sweep<float>(const float*, std::int64_t, int, const double*, int, bool,
                                    std::int64_t, std::int64_t, double*, cudaStream_t);
template Status launch_sweep<double>(const double*, std::int64_t, int, const double*, int, bool,
                                     std::int64_t, std::int64_t, double*, cudaStream_t);

}  // namespace kde::cuda
