// Sums of LSCV_H, its gradient and densities by matrix units (gram.h has the formula). A block has
// kGramStrip rows and goes through strips of columns, the next on its way while one is worked on. A
// pair costs one exponential, which is the least that its terms take (derivative.cu), the additions
// of its exponent's two parts and of its terms, and its share of the matrix units' instructions.
#include <cub/block/block_reduce.cuh>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "cuda/gram.cuh"
#include "cuda/rows.h"
#include "cuda/runtime.cuh"
#include "cuda/tile_pairs.cuh"
#include "cuda/whiten.h"

namespace kde::cuda {
namespace {

constexpr int kThreads = 128;
constexpr float kNoPoint = -60000;

// By the units of a warp a warp has twice 16 rows, so that columns which it loads serve more pairs;
// by those of four warps, which load them by themselves, 16 are a warp's share. Blocks: of a
// multiprocessor, so that a thread has the registers that it needs and no more.
template <bool kGroups>
struct ValueShape {
  static constexpr int kTiles = kGroups ? 1 : 2;
  static constexpr int kBlock = kGramStrip / (16 * kTiles) * 32;
  static constexpr int kBlocks = kGroups ? 3 : 6;
};
template <bool kGroups>
struct ScatterShape {
  static constexpr int kTiles = 1;
  static constexpr int kBlock = kGramStrip / (16 * kTiles) * 32;
  static constexpr int kBlocks = kGroups ? 2 : 3;
};

// As gram.cuh has its instructions.
__global__ void matrix_units_kernel(MatrixUnits* units) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  *units = MatrixUnits::group;
#elif __CUDA_ARCH__ >= 800
  *units = MatrixUnits::warp;
#else
  *units = MatrixUnits::none;
#endif
}

__global__ void __launch_bounds__(kThreads)
    square_radius_kernel(const double* __restrict__ points, std::int64_t n, int d,
                         const double* __restrict__ centre, double* square) {
  double most = 0;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n;
       i += static_cast<std::int64_t>(gridDim.x) * kThreads) {
    double sum = 0;
    for (int k = 0; k < d; ++k) {
      const double x = points[i * d + k] - centre[k];
      sum += x * x;
    }
    most = fmax(most, sum);
  }
  for (int by = 16; by > 0; by /= 2) most = fmax(most, __shfl_xor_sync(0xffffffffU, most, by));
  // Of numbers that are not negative, the bits have the same order.
  if (threadIdx.x % 32 == 0)
    atomicMax(reinterpret_cast<long long*>(square), __double_as_longlong(most));
}

constexpr int kPackThreads = 64;

// a: C x C, zeros where d is less.
template <int C>
struct SquareWhitening {
  double a[C][C];
};

struct alignas(16) Block {
  __half part[8];
};
// Two halves whose sum is as near to x as they come, and what meets those of another point.
__device__ __forceinline__ Block norm_block(float great, float small) {
  Block block{};
  block.part[0] = __float2half_rn(great);
  block.part[1] = __float2half_rn(small);
  block.part[2] = block.part[3] = __float2half_rn(1);
  return block;
}

template <int C>
__global__ void __launch_bounds__(kPackThreads)
    gram_points_kernel(const double* __restrict__ points, std::int64_t n, int d,
                       const __grid_constant__ SquareWhitening<C> whitening,
                       const double* __restrict__ centre, float step, float per_step,
                       char* __restrict__ packed) {
  using L = GramLayout<C>;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kPackThreads + threadIdx.x;
  double x[C];
#pragma unroll
  for (int k = 0; k < C; ++k) x[k] = i < n && k < d ? points[i * d + k] - centre[k] : 0;
  Block high[C / 8], low[C / 8];
  float norm = 0, rest = 0;
#pragma unroll
  for (int k = 0; k < C; ++k) {
    double sum = 0;
#pragma unroll
    for (int l = 0; l <= k; ++l) sum += whitening.a[k][l] * x[l];
    const float u = rintf(static_cast<float>(sum) * per_step) * step;
    const __half v = __float2half_rn(static_cast<float>(sum - static_cast<double>(u)));
    high[k / 8].part[k % 8] = __float2half_rn(u);
    low[k / 8].part[k % 8] = v;
    const float left = __half2float(v);
    norm -= u * u / 2;
    rest -= left * (u + left / 2);
  }
  if (i >= n) norm = kNoPoint;
  // Of a multiple of s^2/2 whole multiples of 2048 of them, and what is left.
  const float unit = 1024 * step * step;
  const float great = i < n ? truncf(norm / unit) * unit : norm;
  const float rounded = __half2float(__float2half_rn(rest));
  char* to = packed + i / 8 * L::kGroupBytes + i % 8 * 16;
#pragma unroll
  for (int k = 0; k < C / 8; ++k) {
    *reinterpret_cast<Block*>(to + (L::kHigh + k) * 128) = high[k];
    *reinterpret_cast<Block*>(to + (L::kLow + k) * 128) = low[k];
  }
  *reinterpret_cast<Block*>(to + L::kNorm * 128) = norm_block(great, norm - great);
  *reinterpret_cast<Block*>(to + L::kRest * 128) = norm_block(rounded, rest - rounded);
}

// `count` strips of columns through two buffers; `next` gives the number of each, `use` gets it
// when it has come.
template <int C, int kBlock, typename N, typename F>
__device__ __forceinline__ void for_strips(const char* __restrict__ points, std::int64_t count,
                                           char (*buffers)[GramLayout<C>::kStripBytes], N next,
                                           const F& use) {
  const auto start = [&](int buffer) {
    start_strip<C, kBlock>(points + static_cast<std::int64_t>(next()) * GramLayout<C>::kStripBytes,
                           buffers[buffer]);
  };
  start(0);
  for (int done = 0; done < count; ++done) {
    const int now = done % 2;
    if (done + 1 < count) {
      start(1 - now);
      wait_for_strips<1>();
    } else {
      wait_for_strips<0>();
    }
    __syncthreads();
    use(buffers[now]);
    __syncthreads();
  }
}

// Pairs of strips of the upper triangle, row by row.
struct StripPair {
  int row, column;
  __device__ __forceinline__ void advance(int strips) {
    if (++column == strips) column = ++row;
  }
};

template <int C, bool kGroups>
__global__ void __launch_bounds__(ValueShape<kGroups>::kBlock, ValueShape<kGroups>::kBlocks)
    gram_full_kernel(const char* __restrict__ points, int strips, TileJobs cut, std::int64_t first,
                     double* __restrict__ partial) {
  constexpr int kTiles = ValueShape<kGroups>::kTiles, kBlock = ValueShape<kGroups>::kBlock;
  __shared__ alignas(128) char buffers[2][GramLayout<C>::kStripBytes];
  using Reduce = cub::BlockReduce<double, kBlock>;
  __shared__ typename Reduce::TempStorage reduce[2];

  const std::int64_t begin = (first + blockIdx.x) * cut.tiles_per_job;
  const std::int64_t count = min(cut.tiles_per_job, cut.tiles - begin);
  const TilePair begins = tile_pair(begin, strips);
  StripPair pair{static_cast<int>(begins.row), static_cast<int>(begins.column)};

  const int lane = static_cast<int>(threadIdx.x) % 32;
  RowTile<C> rows[kTiles];
  const auto load_rows = [&] {
#pragma unroll
    for (int m = 0; m < kTiles; ++m)
      rows[m].load(points + static_cast<std::int64_t>(pair.row) * GramLayout<C>::kStripBytes +
                   (threadIdx.x / 32 * kTiles + m) * (2 * GramLayout<C>::kGroupBytes));
  };
  load_rows();
  const auto next = [pair, strips]() mutable {
    const int column = pair.column;
    pair.advance(strips);
    return column;
  };
  double once = 0, twice = 0;
  for_strips<C, kBlock>(points, count, buffers, next, [&](const char* columns) {
    float sum[kTiles][2] = {}, sum2[kTiles][2] = {};
    for_exponents<C, kGroups, kTiles>(rows, columns, lane, [&](int, const auto& e, auto) {
#pragma unroll
      for (int k = 0; k < 2; ++k) {
#pragma unroll
        for (int m = 0; m < kTiles; ++m) {
#pragma unroll
          for (int p = 0; p < 4; ++p) {
            const float term = exp2_of(e[m][k][p]);
            sum[m][p / 2] += term;
            sum2[m][p / 2] += term * term;
          }
        }
      }
    });
    float all = 0, all2 = 0;
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        all += sum[m][half];
        all2 += sum2[m][half];
      }
    }
    // In its own strip a point meets each other twice, and itself.
    const float weight = pair.column == pair.row ? 0.5F : 1.0F;
    once += static_cast<double>(all * weight);
    twice += static_cast<double>(all2 * weight);
    const int row = pair.row;
    pair.advance(strips);
    if (pair.row != row && pair.row < strips) load_rows();
  });
  const double total = Reduce(reduce[0]).Sum(once);
  const double total2 = Reduce(reduce[1]).Sum(twice);
  if (threadIdx.x == 0) {
    partial[2 * static_cast<std::int64_t>(blockIdx.x)] = total;
    partial[2 * static_cast<std::int64_t>(blockIdx.x) + 1] = total2;
  }
}

// Weights of the gradient are halves too, high and low part, in units such that the greatest, 2,
// does not overflow and one of 2^-39 is not lost.
constexpr float kWeightUnit = 16384;

__device__ __forceinline__ unsigned pack(float first, float second) {
  const __half2 both = __floats2half2_rn(first, second);
  return *reinterpret_cast<const unsigned*>(&both);
}
// The leading 11 bits, which a half holds; of less than its least normal number what it rounds to
// differs by 2^-25 at most, 2^-39 of the greatest weight.
__device__ __forceinline__ float leading(float w) {
  return __int_as_float(__float_as_int(w) & static_cast<int>(0xffffe000U));
}

// For each row i of a block: sum_j w_ij y_j by a second product, of the weights, which are where
// the first product left its results, and the points; and sum_j e, sum_j e^2, whose weighted sum is
// sum_j w_ij. Of each product's three parts the matrix units add the great one over 32 columns
// only, so that it is truncated twice; the small ones over a strip.
template <int C, bool kGroups>
__global__ void __launch_bounds__(ScatterShape<kGroups>::kBlock, ScatterShape<kGroups>::kBlocks)
    gram_scatter_kernel(const char* __restrict__ points, float weight, float weight2,
                        int all_strips, int strips, int across, std::int64_t first,
                        double* __restrict__ partial) {
  using L = GramLayout<C>;
  constexpr int kTiles = ScatterShape<kGroups>::kTiles, kBlock = ScatterShape<kGroups>::kBlock;
  constexpr int kWarps = kBlock / 32;
  constexpr int kBlocks = C / 8;              // of eight coordinates
  using Sides = float[2][kGramStrip][C + 4];  // sum_j w (y_i - y_j), and y_i
  using Buffers = char[2][L::kStripBytes];
  __shared__ alignas(
      128) unsigned char memory[sizeof(Sides) > sizeof(Buffers) ? sizeof(Sides) : sizeof(Buffers)];
  auto& buffers = *reinterpret_cast<Buffers*>(memory);
  auto& sides = *reinterpret_cast<Sides*>(memory);
  __shared__ float products[kWarps][C * C];
  using Reduce = cub::BlockReduce<double, kBlock>;
  __shared__ typename Reduce::TempStorage reduce[2];

  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t job = first + blockIdx.x;
  const auto tile = static_cast<int>(job / across);
  const int begin = static_cast<int>(job - static_cast<std::int64_t>(tile) * across) * strips;
  const int end = min(begin + strips, all_strips);
  const char* own = points + static_cast<std::int64_t>(tile) * L::kStripBytes +
                    warp * kTiles * 2 * L::kGroupBytes;

  RowTile<C> rows[kTiles];
#pragma unroll
  for (int m = 0; m < kTiles; ++m) rows[m].load(own + m * 2 * L::kGroupBytes);
  const float slope = weight * kWeightUnit, slope2 = weight2 * kWeightUnit;

  // Rows and coordinates of `whole` as results of products. What kFlush strips have added is added
  // in its turn, so that no sum has many more terms than that.
  constexpr int kFlush = 8;
  float once[kTiles][2] = {}, twice[kTiles][2] = {}, whole[kTiles][kBlocks][4] = {};
  float once_part[kTiles][2] = {}, twice_part[kTiles][2] = {}, whole_part[kTiles][kBlocks][4] = {};
  const auto flush = [&] {
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        once[m][half] += once_part[m][half];
        twice[m][half] += twice_part[m][half];
        once_part[m][half] = twice_part[m][half] = 0;
      }
#pragma unroll
      for (int k = 0; k < kBlocks; ++k) {
#pragma unroll
        for (int p = 0; p < 4; ++p) {
          whole[m][k][p] += whole_part[m][k][p];
          whole_part[m][k][p] = 0;
        }
      }
    }
  };
  int strip = 0;
  const auto next = [strip = begin]() mutable { return strip++; };
  for_strips<C, kBlock>(points, end - begin, buffers, next, [&](const char* columns) {
    float sum[kTiles][2] = {}, sum2[kTiles][2] = {};
    float great[kTiles][kBlocks][4], part[kTiles][kBlocks][4] = {};
    float small[kTiles][kBlocks][4] = {};
    for_exponents<C, kGroups, kTiles>(rows, columns, lane, [&](int j, const auto& e, auto second) {
      // Points as the right side of the second product, coordinates 8 k to 8 k + 7 of points 0
      // to 7 and 8 to 15.
      unsigned high[kBlocks][2], low[kBlocks][2], b[4];
      const char* point = columns + (j / 8 + lane / 8 % 2) * L::kGroupBytes +
                          lane / 16 * (C == 16 ? 128 : 256) + lane % 8 * 16;
      static_assert(L::kHigh == 0 && L::kLow == 2);
      load_transposed(b, point);
      high[0][0] = b[0], high[0][1] = b[1];
      if constexpr (C == 16) {
        high[1][0] = b[2], high[1][1] = b[3];
        load_transposed(b, point + 2 * 128);
        low[0][0] = b[0], low[0][1] = b[1], low[1][0] = b[2], low[1][1] = b[3];
      } else {
        low[0][0] = b[2], low[0][1] = b[3];
      }
      unsigned w_high[kTiles][4], w_low[kTiles][4];
#pragma unroll
      for (int m = 0; m < kTiles; ++m) {
#pragma unroll
        for (int k = 0; k < 2; ++k) {
          float w[4];
#pragma unroll
          for (int p = 0; p < 4; ++p) {
            const float term = exp2_of(e[m][k][p]);
            sum[m][p / 2] += term;
            sum2[m][p / 2] += term * term;
            w[p] = term * (slope + slope2 * term);
          }
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const float first = leading(w[2 * half]), next = leading(w[2 * half + 1]);
            w_high[m][2 * k + half] = pack(first, next);
            w_low[m][2 * k + half] = pack(w[2 * half] - first, w[2 * half + 1] - next);
          }
        }
      }
#pragma unroll
      for (int m = 0; m < kTiles; ++m) {
#pragma unroll
        for (int k = 0; k < kBlocks; ++k) multiply(small[m][k], w_high[m], low[k][0], low[k][1]);
#pragma unroll
        for (int k = 0; k < kBlocks; ++k) {
          if constexpr (!decltype(second)::value) {
#pragma unroll
            for (int p = 0; p < 4; ++p) great[m][k][p] = 0;
          }
          multiply(great[m][k], w_high[m], high[k][0], high[k][1]);
          if constexpr (decltype(second)::value) {
#pragma unroll
            for (int p = 0; p < 4; ++p) part[m][k][p] += great[m][k][p];
          }
        }
#pragma unroll
        for (int k = 0; k < kBlocks; ++k) multiply(small[m][k], w_low[m], high[k][0], high[k][1]);
      }
    });
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        once_part[m][half] += sum[m][half];
        twice_part[m][half] += sum2[m][half];
      }
#pragma unroll
      for (int k = 0; k < kBlocks; ++k) {
#pragma unroll
        for (int p = 0; p < 4; ++p) whole_part[m][k][p] += part[m][k][p] + small[m][k][p];
      }
    }
    if (++strip % kFlush == 0) flush();
  });
  flush();

  const int g = lane / 4, t = lane % 4;
  double total = 0, total2 = 0;
#pragma unroll
  for (int m = 0; m < kTiles; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      total += static_cast<double>(once[m][half]);
      total2 += static_cast<double>(twice[m][half]);
      // sum_j w_ij of the row: its four lanes' parts.
      float of_row = once[m][half] * slope + twice[m][half] * slope2;
      of_row += __shfl_xor_sync(0xffffffffU, of_row, 1);
      of_row += __shfl_xor_sync(0xffffffffU, of_row, 2);
      const int row = 16 * m + 8 * half + g;
      float(*left)[C + 4] = sides[0] + warp * 16 * kTiles;
      float(*right)[C + 4] = sides[1] + warp * 16 * kTiles;
#pragma unroll
      for (int k = 0; k < kBlocks; ++k) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          const int coordinate = 8 * k + 2 * t + c;
          const char* point = own + row / 8 * L::kGroupBytes + row % 8 * 16 + k * 128;
          const auto part = [&](int block) {
            return __half2float(reinterpret_cast<const __half*>(point + block * 128)[2 * t + c]);
          };
          const float y = part(L::kHigh) + part(L::kLow);
          left[row][coordinate] = (of_row * y - whole[m][k][2 * half + c]) * (1 / kWeightUnit);
          right[row][coordinate] = y;
        }
      }
    }
  }
  __syncwarp();
  // Of a warp's own rows: so many neighbouring elements of the C x C to a lane.
  constexpr int kEach = C * C / 32;
  float product[kEach] = {};
#pragma unroll 4
  for (int row = warp * 16 * kTiles; row < (warp + 1) * 16 * kTiles; ++row) {
    const float left = sides[0][row][lane * kEach / C];
#pragma unroll
    for (int k = 0; k < kEach; ++k) product[k] += left * sides[1][row][lane * kEach % C + k];
  }
#pragma unroll
  for (int k = 0; k < kEach; ++k) products[warp][lane * kEach + k] = product[k];
  total = Reduce(reduce[0]).Sum(total);
  total2 = Reduce(reduce[1]).Sum(total2);
  __syncthreads();
  double* out = partial + static_cast<std::int64_t>(blockIdx.x) * scatter_results(C);
  if (threadIdx.x == 0) {
    out[0] = total;
    out[1] = total2;
  }
  for (int k = static_cast<int>(threadIdx.x); k < C * C; k += kBlock) {
    double sum = 0;
    for (int w = 0; w < kWarps; ++w) sum += static_cast<double>(products[w][k]);
    out[2 + k] = sum;
  }
}

template <int C, bool kGroups>
__global__ void __launch_bounds__(ValueShape<kGroups>::kBlock, ValueShape<kGroups>::kBlocks)
    gram_density_kernel(const char* __restrict__ queries, const char* __restrict__ points,
                        int all_strips, int strips, int across, std::int64_t first,
                        double* __restrict__ partial) {
  constexpr int kTiles = ValueShape<kGroups>::kTiles, kBlock = ValueShape<kGroups>::kBlock;
  __shared__ alignas(128) char buffers[2][GramLayout<C>::kStripBytes];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t job = first + blockIdx.x;
  const std::int64_t tile = job / across;
  const int begin = static_cast<int>(job - tile * across) * strips;
  const int end = min(begin + strips, all_strips);
  RowTile<C> rows[kTiles];
#pragma unroll
  for (int m = 0; m < kTiles; ++m)
    rows[m].load(queries + tile * GramLayout<C>::kStripBytes +
                 (warp * kTiles + m) * (2 * GramLayout<C>::kGroupBytes));

  double total[kTiles][2] = {};
  const auto next = [strip = begin]() mutable { return strip++; };
  for_strips<C, kBlock>(points, end - begin, buffers, next, [&](const char* columns) {
    float sum[kTiles][2] = {};
    for_exponents<C, kGroups, kTiles>(rows, columns, lane, [&](int, const auto& e, auto) {
#pragma unroll
      for (int k = 0; k < 2; ++k) {
#pragma unroll
        for (int m = 0; m < kTiles; ++m) {
#pragma unroll
          for (int p = 0; p < 4; ++p) sum[m][p / 2] += exp2_of(e[m][k][p]);
        }
      }
    });
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) total[m][half] += static_cast<double>(sum[m][half]);
    }
  });
  double* out = partial + static_cast<std::int64_t>(blockIdx.x) * kGramStrip;
#pragma unroll
  for (int m = 0; m < kTiles; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      double of_row = total[m][half];
      of_row += __shfl_xor_sync(0xffffffffU, of_row, 1);
      of_row += __shfl_xor_sync(0xffffffffU, of_row, 2);
      if (lane % 4 == 0) out[16 * (warp * kTiles + m) + 8 * half + lane / 4] = of_row;
    }
  }
}

// f(C, kGroups), both as constants.
template <typename F>
Status with_gram_shape(int coordinates, MatrixUnits units, const F& f) {
  using Small = std::integral_constant<int, 8>;
  using Large = std::integral_constant<int, 16>;
  if (units == MatrixUnits::group)
    return coordinates == 8 ? f(Small(), std::true_type()) : f(Large(), std::true_type());
  return coordinates == 8 ? f(Small(), std::false_type()) : f(Large(), std::false_type());
}

}  // namespace

std::size_t gram_bytes(std::int64_t n, int coordinates) {
  return static_cast<std::size_t>(padded(n) / 8) *
         (coordinates == 8 ? GramLayout<8>::kGroupBytes : GramLayout<16>::kGroupBytes);
}

Status find_matrix_units(MatrixUnits* units, cudaStream_t stream) {
  PinnedBuffer<MatrixUnits> found;
  if (Status s = found.reserve(1); !s.ok()) return s;
  matrix_units_kernel<<<1, 1, 0, stream>>>(found.data());
  KDE_CUDA(cudaGetLastError());
  KDE_CUDA(cudaStreamSynchronize(stream));
  *units = *found.data();
  return Status::success();
}

Status launch_square_radius(const double* points, std::int64_t n, int d, const double* centre,
                            double* square, cudaStream_t stream) {
  KDE_CUDA(cudaMemsetAsync(square, 0, sizeof *square, stream));
  const std::int64_t blocks = std::min<std::int64_t>((n + kThreads - 1) / kThreads, 1024);
  square_radius_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(points, n, d, centre,
                                                                               square);
  KDE_CUDA(cudaGetLastError());
  return Status::success();
}

double gram_radius(const Whitening& a, int d, double square_radius) {
  double rows = 0, columns = 0;
  for (int k = 0; k < d; ++k) {
    double row = 0, column = 0;
    for (int l = 0; l < d; ++l) {
      row += std::fabs(a.a[k * d + l]);
      column += std::fabs(a.a[l * d + k]);
    }
    rows = std::max(rows, row);
    columns = std::max(columns, column);
  }
  return std::sqrt(rows * columns * square_radius);
}

Status launch_gram_points(const double* points, std::int64_t n, int d, const Whitening& a,
                          const double* centre, double radius, int coordinates, void* packed,
                          cudaStream_t stream) {
  const int power = std::ilogb(radius / 2040) + 1;
  const float step = std::ldexp(1.0F, power), per_step = std::ldexp(1.0F, -power);
  static_assert(kPointsPadding % kGramStrip == 0 && kPointsPadding % kPackThreads == 0);
  return with_gram_shape(coordinates, MatrixUnits::warp, [&](auto constant, auto) {
    constexpr int C = decltype(constant)::value;
    SquareWhitening<C> square{};
    for (int k = 0; k < d; ++k) std::copy_n(a.a + k * d, d, square.a[k]);
    gram_points_kernel<C>
        <<<static_cast<unsigned>(padded(n) / kPackThreads), kPackThreads, 0, stream>>>(
            points, n, d, square, centre, step, per_step, static_cast<char*>(packed));
    KDE_CUDA(cudaGetLastError());
    return Status::success();
  });
}

Status launch_gram_full(const void* packed, std::int64_t n, int coordinates, MatrixUnits units,
                        std::int64_t first, std::int64_t last, double* partial,
                        cudaStream_t stream) {
  return with_gram_shape(coordinates, units, [&](auto constant, auto groups) {
    constexpr bool kGroups = decltype(groups)::value;
    gram_full_kernel<decltype(constant)::value, kGroups>
        <<<static_cast<unsigned>(last - first), ValueShape<kGroups>::kBlock, 0, stream>>>(
            static_cast<const char*>(packed), static_cast<int>(padded(n) / kGramStrip), cut_gram(n),
            first, partial);
    KDE_CUDA(cudaGetLastError());
    return Status::success();
  });
}

Status launch_gram_scatter(const void* packed, std::int64_t n, int coordinates, MatrixUnits units,
                           double once, double twice, std::int64_t first, std::int64_t last,
                           double* partial, cudaStream_t stream) {
  const GramScatterCut cut = cut_gram_scatter(n);
  return with_gram_shape(coordinates, units, [&](auto constant, auto groups) {
    constexpr bool kGroups = decltype(groups)::value;
    gram_scatter_kernel<decltype(constant)::value, kGroups>
        <<<static_cast<unsigned>(last - first), ScatterShape<kGroups>::kBlock, 0, stream>>>(
            static_cast<const char*>(packed), static_cast<float>(once), static_cast<float>(twice),
            static_cast<int>(cut.rows), static_cast<int>(cut.strips),
            static_cast<int>(cut.across()), first, partial);
    KDE_CUDA(cudaGetLastError());
    return Status::success();
  });
}

Status launch_gram_density(const void* queries, std::int64_t m, const void* packed, std::int64_t n,
                           int coordinates, MatrixUnits units, std::int64_t first,
                           std::int64_t last, double* partial, cudaStream_t stream) {
  static_assert(kGramStrip == kRowThreads, "the same jobs");
  return with_gram_shape(coordinates, units, [&](auto constant, auto groups) {
    constexpr bool kGroups = decltype(groups)::value;
    gram_density_kernel<decltype(constant)::value, kGroups>
        <<<static_cast<unsigned>(last - first), ValueShape<kGroups>::kBlock, 0, stream>>>(
            static_cast<const char*>(queries), static_cast<const char*>(packed),
            static_cast<int>(padded(n) / kGramStrip), strips_per_job(m, n),
            static_cast<int>(jobs_across(m, n)), first, partial);
    KDE_CUDA(cudaGetLastError());
    return Status::success();
  });
}

}  // namespace kde::cuda
