// The kernels of gram.h. A block has kGramStrip rows and goes through strips of columns, the next on
// its way while one is worked on. A pair costs one exponential, which bounds the whole
// (derivative.cu says how), the additions of its exponent's two parts and of its terms, and its
// share of the matrix units' instructions.
#include <cub/block/block_reduce.cuh>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "cuda/gram.cuh"
#include "cuda/rows.h"
#include "cuda/runtime.cuh"
#include "cuda/whiten.h"

namespace kde::cuda {
namespace {

constexpr int kThreads = 128;
constexpr float kNoPoint = -1e30F;
// Of a warp: 16 rows each, so often is a column that was loaded used.
constexpr int kValueTiles = 2;
constexpr int kScatterTiles = 1;
constexpr int kScatterBlocks = 3;  // of a multiprocessor: 80 registers
constexpr int threads_of(int row_tiles) { return kGramStrip / (16 * row_tiles) * 32; }

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

template <int C>
__global__ void __launch_bounds__(kPackThreads)
    gram_points_kernel(const double* __restrict__ points, std::int64_t n, int d,
                       const __grid_constant__ SquareWhitening<C> whitening,
                       const double* __restrict__ centre, float step, float per_step,
                       GramPoint<C>* __restrict__ packed) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kPackThreads + threadIdx.x;
  double x[C];
#pragma unroll
  for (int k = 0; k < C; ++k) x[k] = i < n && k < d ? points[i * d + k] - centre[k] : 0;
  GramPoint<C> point;
  float norm = 0, rest = 0;
#pragma unroll
  for (int k = 0; k < C; ++k) {
    double sum = 0;
#pragma unroll
    for (int l = 0; l <= k; ++l) sum += whitening.a[k][l] * x[l];
    const float u = rintf(static_cast<float>(sum) * per_step) * step;
    const __half low = __float2half_rn(static_cast<float>(sum - static_cast<double>(u)));
    const float v = __half2float(low);
    point.high[k] = __float2half_rn(u);
    point.low[k] = low;
    norm += u * u;
    rest += v * (u + v / 2);
  }
  norm = i < n ? -norm / 2 : kNoPoint;
  rest = -rest;
  const float norm2 = __shfl_xor_sync(0xffffffffU, norm, 1);
  const float rest2 = __shfl_xor_sync(0xffffffffU, rest, 1);
  const bool even = i % 2 == 0;
  point.norms[0] = point.norms[2] = even ? norm : rest2;
  point.norms[1] = point.norms[3] = even ? norm2 : rest;
  packed[i] = point;
}

// The strips of columns [begin, end) through two buffers; `use` gets each when it has come.
template <int C, int kBlock, typename F>
__device__ __forceinline__ void for_strips(const GramPoint<C>* __restrict__ points, int begin,
                                           int end, GramPoint<C> (*buffers)[kGramStrip],
                                           const F& use) {
  const GramPoint<C>* from = points + static_cast<std::int64_t>(begin) * kGramStrip;
  start_strip<C, kBlock>(from, buffers[0]);
  for (int strip = begin; strip < end; ++strip) {
    const int now = (strip - begin) % 2;
    if (strip + 1 < end) {
      from += kGramStrip;
      start_strip<C, kBlock>(from, buffers[1 - now]);
      wait_for_strips<1>();
    } else {
      wait_for_strips<0>();
    }
    __syncthreads();
    use(strip, buffers[now]);
    __syncthreads();
  }
}

template <int C>
__global__ void __launch_bounds__(threads_of(kValueTiles))
    gram_full_kernel(const GramPoint<C>* __restrict__ points, GramCut cut, std::int64_t first,
                     double* __restrict__ partial) {
  constexpr int kTiles = kValueTiles;
  constexpr int kBlock = threads_of(kTiles);
  __shared__ GramPoint<C> buffers[2][kGramStrip];
  using Reduce = cub::BlockReduce<double, kBlock>;
  __shared__ typename Reduce::TempStorage reduce[2];

  const std::int64_t job = first + blockIdx.x;
  int row = 0, above = static_cast<int>(cut.strips);  // first_job(row) <= job < first_job(above)
  while (above - row > 1) {
    const int middle = (row + above) / 2;
    if (cut.first_job(middle) <= job) {
      row = middle;
    } else {
      above = middle;
    }
  }
  const int begin = ((row >> cut.shift) + static_cast<int>(job - cut.first_job(row))) << cut.shift;
  const int end = min(begin + (1 << cut.shift), static_cast<int>(cut.strips));

  const int lane = static_cast<int>(threadIdx.x) % 32;
  RowTile<C> rows[kTiles];
#pragma unroll
  for (int m = 0; m < kTiles; ++m)
    rows[m].load(points + static_cast<std::int64_t>(row) * kGramStrip +
                 (threadIdx.x / 32 * kTiles + m) * 16);
  double once = 0, twice = 0;
  for_strips<C, kBlock>(
      points, max(begin, row), end, buffers, [&](int strip, const GramPoint<C>* columns) {
        float sum[kTiles][2] = {}, sum2[kTiles][2] = {};
#pragma unroll 2
        for (int j = 0; j < kGramStrip; j += 16) {
          float e[kTiles][2][4];
          exponents<C, kTiles>(rows, columns + j, lane, e);
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
        }
        float all = 0, all2 = 0;
#pragma unroll
        for (int m = 0; m < kTiles; ++m) {
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const float factor = exp2_of(rows[m].rest[half]);
            all += sum[m][half] * factor;
            all2 += sum2[m][half] * factor * factor;
          }
        }
        // In its own strip a point meets each other twice, and itself.
        const float weight = strip == row ? 0.5F : 1.0F;
        once += static_cast<double>(all * weight);
        twice += static_cast<double>(all2 * weight);
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
__device__ __forceinline__ float2 unpack(unsigned both) {
  return __half22float2(*reinterpret_cast<const __half2*>(&both));
}

// For each row i of a block: sum_j w_ij y_j by a second product, of the weights, which are where
// the first product left its results, and the points; and sum_j e, sum_j e^2, whose weighted sum is
// sum_j w_ij. Of each product's three parts the great one has an accumulator of its own, kept for a
// strip only.
template <int C>
__global__ void __launch_bounds__(threads_of(kScatterTiles), kScatterBlocks)
    gram_scatter_kernel(const GramPoint<C>* __restrict__ points, float weight, float weight2,
                        int all_strips, int strips, int across, std::int64_t first,
                        double* __restrict__ partial) {
  constexpr int kTiles = kScatterTiles;
  constexpr int kBlock = threads_of(kTiles);
  constexpr int kWarps = kBlock / 32;
  constexpr int kBlocks = C / 8;  // of eight coordinates
  using Sides = float[2][kGramStrip][C + 4];  // sum_j w (y_i - y_j), and y_i
  using Buffers = GramPoint<C>[2][kGramStrip];
  __shared__ alignas(16)
      unsigned char memory[sizeof(Sides) > sizeof(Buffers) ? sizeof(Sides) : sizeof(Buffers)];
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
  const GramPoint<C>* own =
      points + static_cast<std::int64_t>(tile) * kGramStrip + warp * 16 * kTiles;

  RowTile<C> rows[kTiles];
  float slope[kTiles][2], slope2[kTiles][2];
#pragma unroll
  for (int m = 0; m < kTiles; ++m) {
    rows[m].load(own + 16 * m);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float f = exp2_of(rows[m].rest[half]);
      slope[m][half] = weight * f * kWeightUnit;
      slope2[m][half] = weight2 * f * f * kWeightUnit;
    }
  }

  float once[kTiles][2] = {}, twice[kTiles][2] = {};
  float whole[kTiles][kBlocks][4] = {};  // rows and coordinates as results of products
  for_strips<C, kBlock>(points, begin, end, buffers, [&](int, const GramPoint<C>* columns) {
    float sum[kTiles][2] = {}, sum2[kTiles][2] = {};
    float great[kTiles][kBlocks][4] = {}, small[kTiles][kBlocks][4] = {};
#pragma unroll 2
    for (int j = 0; j < kGramStrip; j += 16) {
      float e[kTiles][2][4];
      exponents<C, kTiles>(rows, columns + j, lane, e);
      // Points as the right side of the second product, coordinates 8 k to 8 k + 7 of points 0
      // to 7 and 8 to 15.
      unsigned high[kBlocks][2], low[kBlocks][2], b[4];
      const char* point =
          reinterpret_cast<const char*>(columns + j + lane % 16) + lane / 16 * 16;
      load_transposed(b, point);
      high[0][0] = b[0], high[0][1] = b[1];
      if constexpr (C == 16) {
        high[1][0] = b[2], high[1][1] = b[3];
        load_transposed(b, point + 32);
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
            w[p] = term * (slope[m][p / 2] + slope2[m][p / 2] * term);
          }
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const unsigned rounded = pack(w[2 * half], w[2 * half + 1]);
            const float2 back = unpack(rounded);
            w_high[m][2 * k + half] = rounded;
            w_low[m][2 * k + half] = pack(w[2 * half] - back.x, w[2 * half + 1] - back.y);
          }
        }
      }
#pragma unroll
      for (int m = 0; m < kTiles; ++m) {
#pragma unroll
        for (int k = 0; k < kBlocks; ++k)
          multiply16(small[m][k], w_high[m], low[k][0], low[k][1], small[m][k]);
#pragma unroll
        for (int k = 0; k < kBlocks; ++k)
          multiply16(great[m][k], w_high[m], high[k][0], high[k][1], great[m][k]);
#pragma unroll
        for (int k = 0; k < kBlocks; ++k)
          multiply16(small[m][k], w_low[m], high[k][0], high[k][1], small[m][k]);
      }
    }
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        once[m][half] += sum[m][half];
        twice[m][half] += sum2[m][half];
      }
#pragma unroll
      for (int k = 0; k < kBlocks; ++k) {
#pragma unroll
        for (int p = 0; p < 4; ++p) whole[m][k][p] += great[m][k][p] + small[m][k][p];
      }
    }
  });

  const int g = lane / 4, t = lane % 4;
  double total = 0, total2 = 0;
#pragma unroll
  for (int m = 0; m < kTiles; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float f = exp2_of(rows[m].rest[half]);
      total += static_cast<double>(once[m][half] * f);
      total2 += static_cast<double>(twice[m][half] * f * f);
      // sum_j w_ij of the row: its four lanes' parts.
      float of_row = once[m][half] * slope[m][half] + twice[m][half] * slope2[m][half];
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
          const float y =
              __half2float(own[row].high[coordinate]) + __half2float(own[row].low[coordinate]);
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

template <int C>
__global__ void __launch_bounds__(threads_of(kValueTiles))
    gram_density_kernel(const GramPoint<C>* __restrict__ queries,
                        const GramPoint<C>* __restrict__ points, int all_strips, int strips,
                        int across, std::int64_t first, double* __restrict__ partial) {
  constexpr int kTiles = kValueTiles;
  constexpr int kBlock = threads_of(kTiles);
  __shared__ GramPoint<C> buffers[2][kGramStrip];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t job = first + blockIdx.x;
  const std::int64_t tile = job / across;
  const int begin = static_cast<int>(job - tile * across) * strips;
  const int end = min(begin + strips, all_strips);
  RowTile<C> rows[kTiles];
#pragma unroll
  for (int m = 0; m < kTiles; ++m)
    rows[m].load(queries + tile * kGramStrip + (warp * kTiles + m) * 16);

  double total[kTiles][2] = {};
  for_strips<C, kBlock>(points, begin, end, buffers, [&](int, const GramPoint<C>* columns) {
    float sum[kTiles][2] = {};
#pragma unroll 2
    for (int j = 0; j < kGramStrip; j += 16) {
      float e[kTiles][2][4];
      exponents<C, kTiles>(rows, columns + j, lane, e);
#pragma unroll
      for (int k = 0; k < 2; ++k) {
#pragma unroll
        for (int m = 0; m < kTiles; ++m) {
#pragma unroll
          for (int p = 0; p < 4; ++p) sum[m][p / 2] += exp2_of(e[m][k][p]);
        }
      }
    }
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
      if (lane % 4 == 0)
        out[16 * (warp * kTiles + m) + 8 * half + lane / 4] =
            of_row * static_cast<double>(exp2_of(rows[m].rest[half]));
    }
  }
}

template <typename F>
Status with_gram_coordinates(int coordinates, const F& f) {
  if (coordinates == 8) return f(std::integral_constant<int, 8>());
  return f(std::integral_constant<int, 16>());
}

}  // namespace

std::size_t gram_bytes(std::int64_t n, int coordinates) {
  return static_cast<std::size_t>(padded(n)) *
         (coordinates == 8 ? sizeof(GramPoint<8>) : sizeof(GramPoint<16>));
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
  const int power = std::ilogb(radius * (1.0001 / 2048)) + 1;
  const float step = std::ldexp(1.0F, power), per_step = std::ldexp(1.0F, -power);
  return with_gram_coordinates(coordinates, [&](auto constant) {
    constexpr int C = decltype(constant)::value;
    static_assert(sizeof(GramPoint<C>) == 4 * C + 16 && kPointsPadding % kGramStrip == 0);
    SquareWhitening<C> square{};
    for (int k = 0; k < d; ++k) std::copy_n(a.a + k * d, d, square.a[k]);
    gram_points_kernel<C>
        <<<static_cast<unsigned>(padded(n) / kPackThreads), kPackThreads, 0, stream>>>(
            points, n, d, square, centre, step, per_step, static_cast<GramPoint<C>*>(packed));
    KDE_CUDA(cudaGetLastError());
    return Status::success();
  });
}

Status launch_gram_full(const void* packed, std::int64_t n, int coordinates, std::int64_t first,
                        std::int64_t last, double* partial, cudaStream_t stream) {
  return with_gram_coordinates(coordinates, [&](auto constant) {
    constexpr int C = decltype(constant)::value;
    gram_full_kernel<C>
        <<<static_cast<unsigned>(last - first), threads_of(kValueTiles), 0, stream>>>(
            static_cast<const GramPoint<C>*>(packed), cut_gram(n), first, partial);
    KDE_CUDA(cudaGetLastError());
    return Status::success();
  });
}

Status launch_gram_scatter(const void* packed, std::int64_t n, int coordinates, double once,
                           double twice, std::int64_t first, std::int64_t last, double* partial,
                           cudaStream_t stream) {
  const auto strips = static_cast<int>(padded(n) / kGramStrip);
  const int per_job = gram_scatter_strips(n);
  return with_gram_coordinates(coordinates, [&](auto constant) {
    constexpr int C = decltype(constant)::value;
    gram_scatter_kernel<C>
        <<<static_cast<unsigned>(last - first), threads_of(kScatterTiles), 0, stream>>>(
            static_cast<const GramPoint<C>*>(packed), static_cast<float>(once),
            static_cast<float>(twice), strips, per_job, (strips - 1) / per_job + 1, first, partial);
    KDE_CUDA(cudaGetLastError());
    return Status::success();
  });
}

Status launch_gram_density(const void* queries, std::int64_t m, const void* packed, std::int64_t n,
                           int coordinates, std::int64_t first, std::int64_t last, double* partial,
                           cudaStream_t stream) {
  return with_gram_coordinates(coordinates, [&](auto constant) {
    constexpr int C = decltype(constant)::value;
    gram_density_kernel<C>
        <<<static_cast<unsigned>(last - first), threads_of(kValueTiles), 0, stream>>>(
            static_cast<const GramPoint<C>*>(queries), static_cast<const GramPoint<C>*>(packed),
            static_cast<int>(padded(n) / kGramStrip), strips_per_job(m, n),
            static_cast<int>(jobs_across(m, n)), first, partial);
    KDE_CUDA(cudaGetLastError());
    return Status::success();
  });
}

}  // namespace kde::cuda
