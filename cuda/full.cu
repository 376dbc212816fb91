// The kernel of full.h.
//
//   -|y_i - y_j|^2/2 = y_i'y_j - |y_i|^2/2 - |y_j|^2/2
//
// costs d instructions a pair by the product on the right (the Gram form) and 2 d by differences.
// The product's rounding error is some eps |y|^2, so that in single precision it serves where no
// norm exceeds kGramReach: an exponent is then wrong by 256 (2 + sqrt d) 2^-24 = 1e-4 at worst,
// either way, of few points' terms alone. Beyond, differences.
#include <cub/block/block_reduce.cuh>

#include "cuda/exponential.cuh"
#include "cuda/full.h"
#include "cuda/runtime.cuh"
#include "cuda/tile_pairs.cuh"
#include "cuda/whiten.h"

namespace kde::cuda {
namespace {

constexpr int kSide = 16;  // threads to a side of the tile
constexpr int kThreads = kSide * kSide;

constexpr float kGramReach = 256;

template <typename T>
struct Shape {
  static constexpr int kWidth = 16 / sizeof(T);  // points that one load brings
  static constexpr int kPoints = full_tile<T>() / kSide;
  static constexpr int kLoads = kPoints / kWidth;
};

// This thread's points of one coordinate: kWidth neighbours from each of kLoads parts of the tile,
// so that the loads of a warp touch every bank alike.
template <typename T>
__device__ __forceinline__ void load_points(const T* coordinate, int thread, T* out) {
  using S = Shape<T>;
  struct alignas(16) Pack {
    T v[S::kWidth];
  };
#pragma unroll
  for (int l = 0; l < S::kLoads; ++l) {
    const Pack pack =
        *reinterpret_cast<const Pack*>(coordinate + l * kSide * S::kWidth + thread * S::kWidth);
#pragma unroll
    for (int w = 0; w < S::kWidth; ++w) out[l * S::kWidth + w] = pack.v[w];
  }
}

template <typename T>
__device__ __forceinline__ int point_of(int thread, int p) {
  using S = Shape<T>;
  return p / S::kWidth * kSide * S::kWidth + thread * S::kWidth + p % S::kWidth;
}

// A tile's points of one side.
template <typename T>
struct Points {
  T y[kMaxDimensions][full_tile<T>()];
  T half_norms[full_tile<T>()];
};

// While the terms of one tile are computed, the columns of the next are on their way in registers.
template <typename T>
struct Memory {
  Points<T> rows, columns;
};

template <typename T>
struct Fetched {
  static constexpr int kMost = (kMaxDimensions + 1) * full_tile<T>() / kThreads + 1;
  T v[kMost];
};

// Number k of a side's d coordinates and norms, coordinate by coordinate.
template <typename T>
__device__ __forceinline__ void fetch(const T* __restrict__ y, const T* __restrict__ half_norms,
                                      std::int64_t stride, int d, std::int64_t first,
                                      Fetched<T>* out) {
  constexpr int kTile = full_tile<T>();
#pragma unroll
  for (int m = 0; m < Fetched<T>::kMost; ++m) {
    const int k = static_cast<int>(threadIdx.x) + m * kThreads;
    if (k < d * kTile) {
      out->v[m] = y[k / kTile * stride + first + k % kTile];
    } else if (k < (d + 1) * kTile) {
      out->v[m] = half_norms[first + k % kTile];
    }
  }
}

template <typename T>
__device__ __forceinline__ void store(const Fetched<T>& fetched, int d, Points<T>* points) {
  constexpr int kTile = full_tile<T>();
#pragma unroll
  for (int m = 0; m < Fetched<T>::kMost; ++m) {
    const int k = static_cast<int>(threadIdx.x) + m * kThreads;
    if (k < d * kTile) {
      points->y[k / kTile][k % kTile] = fetched.v[m];
    } else if (k < (d + 1) * kTile) {
      points->half_norms[k % kTile] = fetched.v[m];
    }
  }
}

// exponent[r][c] = -|y_i - y_j|^2/2.
template <typename T>
__device__ __forceinline__ void gram_exponents(
    const Memory<T>& tile, int d, int ty, int tx,
    T (&exponent)[Shape<T>::kPoints][Shape<T>::kPoints]) {
  constexpr int kPoints = Shape<T>::kPoints;
  T a[kPoints], b[kPoints];
  load_points(tile.rows.half_norms, ty, a);
  load_points(tile.columns.half_norms, tx, b);
#pragma unroll
  for (int r = 0; r < kPoints; ++r) {
#pragma unroll
    for (int c = 0; c < kPoints; ++c) exponent[r][c] = -a[r] - b[c];
  }
#pragma unroll 2
  for (int k = 0; k < d; ++k) {
    load_points(tile.rows.y[k], ty, a);
    load_points(tile.columns.y[k], tx, b);
#pragma unroll
    for (int r = 0; r < kPoints; ++r) {
#pragma unroll
      for (int c = 0; c < kPoints; ++c) exponent[r][c] += a[r] * b[c];
    }
  }
}

template <typename T>
__device__ __forceinline__ void difference_exponents(
    const Memory<T>& tile, int d, int ty, int tx,
    T (&exponent)[Shape<T>::kPoints][Shape<T>::kPoints]) {
  constexpr int kPoints = Shape<T>::kPoints;
#pragma unroll
  for (int r = 0; r < kPoints; ++r) {
#pragma unroll
    for (int c = 0; c < kPoints; ++c) exponent[r][c] = 0;
  }
  for (int k = 0; k < d; ++k) {
    T a[kPoints], b[kPoints];
    load_points(tile.rows.y[k], ty, a);
    load_points(tile.columns.y[k], tx, b);
#pragma unroll
    for (int r = 0; r < kPoints; ++r) {
#pragma unroll
      for (int c = 0; c < kPoints; ++c) {
        const T difference = a[r] - b[c];
        exponent[r][c] -= difference * difference;
      }
    }
  }
#pragma unroll
  for (int r = 0; r < kPoints; ++r) {
#pragma unroll
    for (int c = 0; c < kPoints; ++c) exponent[r][c] *= T{0.5};
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads, 2)
    full_kernel(const T* __restrict__ y, const T* __restrict__ half_norms,
                const float* __restrict__ greatest_norm, std::int64_t n, int d, std::int64_t tiles,
                std::int64_t tiles_per_job, std::int64_t first, double* __restrict__ partial) {
  constexpr int kPoints = Shape<T>::kPoints;
  constexpr int kTile = full_tile<T>();
  __shared__ alignas(16) unsigned char memory[sizeof(Memory<T>)];
  Memory<T>& tile = *reinterpret_cast<Memory<T>*>(memory);
  using Reduce = cub::BlockReduce<double, kThreads>;
  __shared__ typename Reduce::TempStorage reduce;

  const std::int64_t stride = padded(n);
  const std::int64_t side = (n + kTile - 1) / kTile;
  const int tx = static_cast<int>(threadIdx.x) % kSide;
  const int ty = static_cast<int>(threadIdx.x) / kSide;
  const bool gram = *greatest_norm <= kGramReach;
  const std::int64_t job = first + blockIdx.x;
  std::int64_t left = min(tiles_per_job, tiles - job * tiles_per_job);
  TilePair at = tile_pair(job * tiles_per_job, side);
  double once = 0, twice = 0;
  Fetched<T> next;
  fetch(y, half_norms, stride, d, at.row * kTile, &next);
  store(next, d, &tile.rows);
  fetch(y, half_norms, stride, d, at.column * kTile, &next);
  for (; left > 0; --left) {
    store(next, d, &tile.columns);
    __syncthreads();
    // The tile after this one: the next of its row, or the diagonal one of the next row.
    const bool row_ends = at.column + 1 == side;
    const TilePair after =
        row_ends ? TilePair{at.row + 1, at.row + 1} : TilePair{at.row, at.column + 1};
    if (left > 1) fetch(y, half_norms, stride, d, after.column * kTile, &next);
    const std::int64_t column0 = at.column * kTile;
    T exponent[kPoints][kPoints];
    if (gram) {
      gram_exponents(tile, d, ty, tx, exponent);
    } else {
      difference_exponents(tile, d, ty, tx, exponent);
    }
    if (at.row == at.column) {
      // Each pair once, and none of what is beyond the n-th point.
#pragma unroll
      for (int r = 0; r < kPoints; ++r) {
#pragma unroll
        for (int c = 0; c < kPoints; ++c) {
          const int i = point_of<T>(ty, r), j = point_of<T>(tx, c);
          if (i >= j || column0 + j >= n) exponent[r][c] = T(-1e30);
        }
      }
    }
    T sum = 0, sum2 = 0;
#pragma unroll
    for (int r = 0; r < kPoints; ++r) {
#pragma unroll
      for (int c = 0; c < kPoints; ++c) {
        const T e = exp2_of(exponent[r][c]);
        sum += e;
        sum2 += e * e;
      }
    }
    once += static_cast<double>(sum);
    twice += static_cast<double>(sum2);
    __syncthreads();
    // The tile that a row begins with has its rows as columns too.
    if (left > 1 && row_ends) store(next, d, &tile.rows);
    at = after;
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
                   int d, std::int64_t first, std::int64_t last, double* partial,
                   cudaStream_t stream) {
  const TileJobs jobs = cut_full<T>(n);
  full_kernel<T><<<static_cast<unsigned>(last - first), kThreads, 0, stream>>>(
      y, half_norms, greatest_norm, n, d, jobs.tiles, jobs.tiles_per_job, first, partial);
  KDE_CUDA(cudaGetLastError());
  return Status::success();
}

template Status launch_full<float>(const float*, const float*, const float*, std::int64_t, int,
                                   std::int64_t, std::int64_t, double*, cudaStream_t);
template Status launch_full<double>(const double*, const double*, const float*, std::int64_t, int,
                                    std::int64_t, std::int64_t, double*, cudaStream_t);

}  // namespace kde::cuda
