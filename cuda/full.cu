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

template <typename T>
struct Tile {
  T rows[kMaxDimensions][full_tile<T>()];
  T columns[kMaxDimensions][full_tile<T>()];
  T row_norms[full_tile<T>()];
  T column_norms[full_tile<T>()];
};

// exponent[r][c] = -|y_i - y_j|^2/2.
template <typename T>
__device__ __forceinline__ void gram_exponents(
    const Tile<T>& tile, int d, int ty, int tx,
    T (&exponent)[Shape<T>::kPoints][Shape<T>::kPoints]) {
  constexpr int kPoints = Shape<T>::kPoints;
  T a[kPoints], b[kPoints];
  load_points(tile.row_norms, ty, a);
  load_points(tile.column_norms, tx, b);
#pragma unroll
  for (int r = 0; r < kPoints; ++r) {
#pragma unroll
    for (int c = 0; c < kPoints; ++c) exponent[r][c] = -a[r] - b[c];
  }
  for (int k = 0; k < d; ++k) {
    load_points(tile.rows[k], ty, a);
    load_points(tile.columns[k], tx, b);
#pragma unroll
    for (int r = 0; r < kPoints; ++r) {
#pragma unroll
      for (int c = 0; c < kPoints; ++c) exponent[r][c] += a[r] * b[c];
    }
  }
}

template <typename T>
__device__ __forceinline__ void difference_exponents(
    const Tile<T>& tile, int d, int ty, int tx,
    T (&exponent)[Shape<T>::kPoints][Shape<T>::kPoints]) {
  constexpr int kPoints = Shape<T>::kPoints;
#pragma unroll
  for (int r = 0; r < kPoints; ++r) {
#pragma unroll
    for (int c = 0; c < kPoints; ++c) exponent[r][c] = 0;
  }
  for (int k = 0; k < d; ++k) {
    T a[kPoints], b[kPoints];
    load_points(tile.rows[k], ty, a);
    load_points(tile.columns[k], tx, b);
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
  extern __shared__ unsigned char memory[];
  Tile<T>& tile = *reinterpret_cast<Tile<T>*>(memory);
  using Reduce = cub::BlockReduce<double, kThreads>;
  __shared__ typename Reduce::TempStorage reduce;

  const std::int64_t stride = padded(n);
  const std::int64_t side = (n + kTile - 1) / kTile;
  const int tx = static_cast<int>(threadIdx.x) % kSide;
  const int ty = static_cast<int>(threadIdx.x) / kSide;
  const bool gram = *greatest_norm <= kGramReach;
  const std::int64_t job = first + blockIdx.x;
  const std::int64_t end = min((job + 1) * tiles_per_job, tiles);
  double once = 0, twice = 0;
  for (std::int64_t number = job * tiles_per_job; number < end; ++number) {
    const TilePair at = tile_pair(number, side);
    const std::int64_t row0 = at.row * kTile;
    const std::int64_t column0 = at.column * kTile;
    __syncthreads();
    for (int k = static_cast<int>(threadIdx.x); k < d * kTile; k += kThreads) {
      tile.rows[k / kTile][k % kTile] = y[k / kTile * stride + row0 + k % kTile];
      tile.columns[k / kTile][k % kTile] = y[k / kTile * stride + column0 + k % kTile];
    }
    if (threadIdx.x < kTile) {
      tile.row_norms[threadIdx.x] = half_norms[row0 + threadIdx.x];
      tile.column_norms[threadIdx.x] = half_norms[column0 + threadIdx.x];
    }
    __syncthreads();
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
  full_kernel<T><<<static_cast<unsigned>(last - first), kThreads, sizeof(Tile<T>), stream>>>(
      y, half_norms, greatest_norm, n, d, jobs.tiles, jobs.tiles_per_job, first, partial);
  KDE_CUDA(cudaGetLastError());
  return Status::success();
}

template Status launch_full<float>(const float*, const float*, const float*, std::int64_t, int,
                                   std::int64_t, std::int64_t, double*, cudaStream_t);
template Status launch_full<double>(const double*, const double*, const float*, std::int64_t, int,
                                    std::int64_t, std::int64_t, double*, cudaStream_t);

}  // namespace kde::cuda
