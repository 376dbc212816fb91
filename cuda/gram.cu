// The kernels of gram.h. A block has kGramStrip rows, a warp kRowTiles times 16 of them, and goes
// through strips of columns, the next on its way while one is worked on. A pair costs one
// exponential, which bounds the whole (derivative.cu says how), the additions of its exponent's two
// parts and of its terms, and its share of the matrix units' instructions.
#include <cub/block/block_reduce.cuh>

#include "cuda/gram.cuh"
#include "cuda/rows.h"
#include "cuda/runtime.cuh"
#include "cuda/whiten.h"

namespace kde::cuda {
namespace {

constexpr float kNoPoint = -1e30F;

// s of gram.h; of a norm of 0 any will do.
__device__ __forceinline__ float grid_step(float greatest_norm) {
  const float r = sqrtf(fmaxf(2 * greatest_norm, 1e-20F)) * (1.000001F / 2048);
  return exp2f(ceilf(log2f(r)));
}

template <int C>
__global__ void __launch_bounds__(kGramThreads)
    gram_points_kernel(const float* __restrict__ y, std::int64_t n, int c,
                       const float* __restrict__ greatest_norm, GramPoint<C>* __restrict__ points) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kGramThreads + threadIdx.x;
  const float norm = *greatest_norm;
  const bool is_point = i < n && norm <= kGreatestGramNorm;
  const float step = is_point ? grid_step(norm) : 1;
  GramPoint<C> point;
  float high_norm = 0, rest = 0;
#pragma unroll
  for (int k = 0; k < C; ++k) {
    const float value = is_point && k < c ? y[i * c + k] : 0.0F;
    const float u = rintf(value / step) * step;
    const __half v = __float2half_rn(value - u);
    const float low = __half2float(v);
    point.high[k] = __float2half_rn(u);
    point.low[k] = v;
    high_norm += u * u;
    rest += low * (u + low / 2);
  }
  point.minus_norm = is_point ? -high_norm / 2 : kNoPoint;
  point.minus_rest = -rest;
  point.unused[0] = point.unused[1] = 0;
  points[i] = point;
}

// The strips of columns [begin, end) through two buffers; `use` gets each when it has come.
template <int C, typename F>
__device__ __forceinline__ void for_strips(const GramPoint<C>* __restrict__ points,
                                           std::int64_t begin, std::int64_t end,
                                           GramPoint<C> (*buffers)[kGramStrip], const F& use) {
  start_strip<C>(points + begin * kGramStrip, buffers[0]);
  for (std::int64_t strip = begin; strip < end; ++strip) {
    const int now = static_cast<int>((strip - begin) % 2);
    if (strip + 1 < end) {
      start_strip<C>(points + (strip + 1) * kGramStrip, buffers[1 - now]);
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
__global__ void __launch_bounds__(kGramThreads)
    gram_full_kernel(const GramPoint<C>* __restrict__ points,
                     const float* __restrict__ greatest_norm, FullCut cut, std::int64_t first,
                     double* __restrict__ partial) {
  __shared__ GramPoint<C> buffers[2][kGramStrip];
  using Reduce = cub::BlockReduce<double, kGramThreads>;
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
  const std::int64_t begin = (low / cut.strips + job - cut.first_job(low)) * cut.strips;
  const std::int64_t end = min(begin + cut.strips, cut.all_strips);

  double once = 0, twice = 0;
  if (*greatest_norm <= kGreatestGramNorm) {
    RowTile<C> rows[kRowTiles];
    float factor[kRowTiles][2];
    const std::int64_t row0 = low * kGramStrip + threadIdx.x / 32 * (16 * kRowTiles);
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
      rows[m].load(points + row0 + 16 * m);
      for (int half = 0; half < 2; ++half) factor[m][half] = exp2_of(rows[m].minus_rest[half]);
    }
    for_strips<C>(points, max(begin, low), end, buffers,
                  [&](std::int64_t strip, const GramPoint<C>* columns) {
                    float sum[kRowTiles][2] = {}, sum2[kRowTiles][2] = {};
#pragma unroll 2
                    for (int j = 0; j < kGramStrip; j += 16) {
                      ColumnTile<C> tile[2];
                      load_columns<C>(columns + j, tile);
#pragma unroll
                      for (int k = 0; k < 2; ++k) {
#pragma unroll
                        for (int m = 0; m < kRowTiles; ++m) {
                          float exponent[4];
                          exponents<C>(rows[m], tile[k], exponent);
#pragma unroll
                          for (int p = 0; p < 4; ++p) {
                            const float e = exp2_of(exponent[p]);
                            sum[m][p / 2] += e;
                            sum2[m][p / 2] += e * e;
                          }
                        }
                      }
                    }
                    float all = 0, all2 = 0;
#pragma unroll
                    for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
                      for (int half = 0; half < 2; ++half) {
                        all += sum[m][half] * factor[m][half];
                        all2 += sum2[m][half] * factor[m][half] * factor[m][half];
                      }
                    }
                    // In its own strip a point meets each other twice, and itself.
                    const float weight = strip == low ? 0.5F : 1.0F;
                    once += static_cast<double>(all * weight);
                    twice += static_cast<double>(all2 * weight);
                  });
  }
  const double total = Reduce(reduce).Sum(once);
  __syncthreads();
  const double total2 = Reduce(reduce).Sum(twice);
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
__global__ void __launch_bounds__(kGramThreads)
    gram_scatter_kernel(const GramPoint<C>* __restrict__ points,
                        const float* __restrict__ greatest_norm, float weight, float weight2,
                        std::int64_t all_strips, int strips, std::int64_t across,
                        std::int64_t first, double* __restrict__ partial) {
  constexpr int kBlocks = C / 8;  // of eight coordinates
  // sum_j w (y_i - y_j), and y_i
  using Sides = float[2][kGramStrip][C + 4];
  using Buffers = GramPoint<C>[2][kGramStrip];
  __shared__ alignas(16)
      unsigned char memory[sizeof(Sides) > sizeof(Buffers) ? sizeof(Sides) : sizeof(Buffers)];
  auto& buffers = *reinterpret_cast<Buffers*>(memory);
  auto& sides = *reinterpret_cast<Sides*>(memory);
  __shared__ float products[kGramThreads / 32][C * C];
  using Reduce = cub::BlockReduce<double, kGramThreads>;
  __shared__ typename Reduce::TempStorage reduce;

  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int g = lane / 4, t = lane % 4;
  double* out = partial + static_cast<std::int64_t>(blockIdx.x) * scatter_results(C);
  if (!(*greatest_norm <= kGreatestGramNorm)) {
    for (int k = static_cast<int>(threadIdx.x); k < scatter_results(C); k += kGramThreads)
      out[k] = 0;
    return;
  }
  const std::int64_t job = first + blockIdx.x;
  const std::int64_t begin = job % across * strips;
  const std::int64_t end = min(begin + strips, all_strips);
  const std::int64_t row0 = job / across * kGramStrip + warp * (16 * kRowTiles);

  RowTile<C> rows[kRowTiles];
  float factor[kRowTiles][2], slope[kRowTiles][2], slope2[kRowTiles][2];
#pragma unroll
  for (int m = 0; m < kRowTiles; ++m) {
    rows[m].load(points + row0 + 16 * m);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float f = exp2_of(rows[m].minus_rest[half]);
      factor[m][half] = f;
      slope[m][half] = weight * f * kWeightUnit;
      slope2[m][half] = weight2 * f * f * kWeightUnit;
    }
  }

  float once[kRowTiles][2] = {}, twice[kRowTiles][2] = {};
  float whole[kRowTiles][kBlocks][4] = {};  // rows and coordinates as results of products
  for_strips<C>(
      points, begin, end, buffers, [&](std::int64_t, const GramPoint<C>* columns) {
        float sum[kRowTiles][2] = {}, sum2[kRowTiles][2] = {};
        float great[kRowTiles][kBlocks][4] = {}, small[kRowTiles][kBlocks][4] = {};
#pragma unroll 1
        for (int j = 0; j < kGramStrip; j += 16) {
          ColumnTile<C> tile[2];
          load_columns<C>(columns + j, tile);
          // Points as the right side of the second product, coordinates 8 k to 8 k + 7 of points 0
          // to 7 and 8 to 15.
          unsigned high[kBlocks][2], low[kBlocks][2], b[4];
          if constexpr (C == 16) {
            const char* point = reinterpret_cast<const char*>(columns[j + lane % 16].high);
            load_transposed(b, point + lane / 16 * 16);
            high[0][0] = b[0], high[0][1] = b[1], high[1][0] = b[2], high[1][1] = b[3];
            load_transposed(b, point + 32 + lane / 16 * 16);
            low[0][0] = b[0], low[0][1] = b[1], low[1][0] = b[2], low[1][1] = b[3];
          } else {
            const char* point = reinterpret_cast<const char*>(columns[j + lane % 16].high);
            load_transposed(b, point + lane / 16 * 16);
            high[0][0] = b[0], high[0][1] = b[1], low[0][0] = b[2], low[0][1] = b[3];
          }
#pragma unroll
          for (int m = 0; m < kRowTiles; ++m) {
            unsigned w_high[4], w_low[4];
#pragma unroll
            for (int k = 0; k < 2; ++k) {
              float e[4], w[4];
              exponents<C>(rows[m], tile[k], e);
#pragma unroll
              for (int p = 0; p < 4; ++p) {
                e[p] = exp2_of(e[p]);
                sum[m][p / 2] += e[p];
                sum2[m][p / 2] += e[p] * e[p];
                w[p] = e[p] * (slope[m][p / 2] + slope2[m][p / 2] * e[p]);
              }
#pragma unroll
              for (int half = 0; half < 2; ++half) {
                const unsigned rounded = pack(w[2 * half], w[2 * half + 1]);
                const float2 back = unpack(rounded);
                w_high[2 * k + half] = rounded;
                w_low[2 * k + half] = pack(w[2 * half] - back.x, w[2 * half + 1] - back.y);
              }
            }
#pragma unroll
            for (int k = 0; k < kBlocks; ++k) {
              multiply16(great[m][k], w_high, high[k][0], high[k][1], great[m][k]);
              multiply16(small[m][k], w_high, low[k][0], low[k][1], small[m][k]);
              multiply16(small[m][k], w_low, high[k][0], high[k][1], small[m][k]);
            }
          }
        }
#pragma unroll
        for (int m = 0; m < kRowTiles; ++m) {
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

  double total = 0, total2 = 0;
#pragma unroll
  for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float f = factor[m][half];
      total += static_cast<double>(once[m][half] * f);
      total2 += static_cast<double>(twice[m][half] * f * f);
      // sum_j w_ij of the row: its four lanes' parts.
      float of_row = once[m][half] * slope[m][half] + twice[m][half] * slope2[m][half];
      of_row += __shfl_xor_sync(0xffffffffU, of_row, 1);
      of_row += __shfl_xor_sync(0xffffffffU, of_row, 2);
      const int row = 16 * (warp * kRowTiles + m) + 8 * half + g;
#pragma unroll
      for (int k = 0; k < kBlocks; ++k) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          const GramPoint<C>& own = points[job / across * kGramStrip + row];
          const int coordinate = 8 * k + 2 * t + c;
          const float y = __half2float(own.high[coordinate]) + __half2float(own.low[coordinate]);
          sides[0][row][coordinate] =
              (of_row * y - whole[m][k][2 * half + c]) * (1 / kWeightUnit);
          sides[1][row][coordinate] = y;
        }
      }
    }
  }
  __syncwarp();
  // A warp's own rows: C/2 neighbouring elements of a row of the product to a lane, or fewer.
  constexpr int kEach = C * C / 32;
  float product[kEach] = {};
  for (int r = 0; r < 16 * kRowTiles; ++r) {
    const int row = warp * 16 * kRowTiles + r;
    const float left = sides[0][row][lane * kEach / C];
#pragma unroll
    for (int k = 0; k < kEach; ++k) product[k] += left * sides[1][row][lane * kEach % C + k];
  }
#pragma unroll
  for (int k = 0; k < kEach; ++k) products[warp][lane * kEach + k] = product[k];
  total = Reduce(reduce).Sum(total);
  __syncthreads();
  total2 = Reduce(reduce).Sum(total2);
  if (threadIdx.x == 0) {
    out[0] = total;
    out[1] = total2;
  }
  for (int k = static_cast<int>(threadIdx.x); k < C * C; k += kGramThreads) {
    double sum = 0;
    for (int w = 0; w < kGramThreads / 32; ++w) sum += static_cast<double>(products[w][k]);
    out[2 + k] = sum;
  }
}

template <int C>
__global__ void __launch_bounds__(kGramThreads)
    gram_density_kernel(const GramPoint<C>* __restrict__ queries,
                        const GramPoint<C>* __restrict__ points,
                        const float* __restrict__ greatest_norm, std::int64_t all_strips,
                        int strips, std::int64_t across, std::int64_t first,
                        double* __restrict__ partial) {
  __shared__ GramPoint<C> buffers[2][kGramStrip];
  double* out = partial + static_cast<std::int64_t>(blockIdx.x) * kGramStrip;
  if (!(*greatest_norm <= kGreatestGramNorm)) {
    out[threadIdx.x] = 0;
    return;
  }
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t job = first + blockIdx.x;
  const std::int64_t begin = job % across * strips;
  const std::int64_t end = min(begin + strips, all_strips);
  const std::int64_t row0 = job / across * kGramStrip + warp * (16 * kRowTiles);
  RowTile<C> rows[kRowTiles];
#pragma unroll
  for (int m = 0; m < kRowTiles; ++m) rows[m].load(queries + row0 + 16 * m);

  double total[kRowTiles][2] = {};
  for_strips<C>(points, begin, end, buffers, [&](std::int64_t, const GramPoint<C>* columns) {
    float sum[kRowTiles][2] = {};
#pragma unroll 2
    for (int j = 0; j < kGramStrip; j += 16) {
      ColumnTile<C> tile[2];
      load_columns<C>(columns + j, tile);
#pragma unroll
      for (int k = 0; k < 2; ++k) {
#pragma unroll
        for (int m = 0; m < kRowTiles; ++m) {
          float exponent[4];
          exponents<C>(rows[m], tile[k], exponent);
#pragma unroll
          for (int p = 0; p < 4; ++p) sum[m][p / 2] += exp2_of(exponent[p]);
        }
      }
    }
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) total[m][half] += static_cast<double>(sum[m][half]);
    }
  });
#pragma unroll
  for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      double of_row = total[m][half];
      of_row += __shfl_xor_sync(0xffffffffU, of_row, 1);
      of_row += __shfl_xor_sync(0xffffffffU, of_row, 2);
      if (lane % 4 == 0)
        out[16 * (warp * kRowTiles + m) + 8 * half + lane / 4] =
            of_row * static_cast<double>(exp2_of(rows[m].minus_rest[half]));
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

Status launch_gram_points(const float* y, std::int64_t n, int c, const float* greatest_norm,
                          int coordinates, void* points, cudaStream_t stream) {
  return with_gram_coordinates(coordinates, [&](auto constant) {
    constexpr int C = decltype(constant)::value;
    static_assert(sizeof(GramPoint<C>) == 4 * C + 16 && kPointsPadding % kGramStrip == 0);
    gram_points_kernel<C>
        <<<static_cast<unsigned>(padded(n) / kGramThreads), kGramThreads, 0, stream>>>(
            y, n, c, greatest_norm, static_cast<GramPoint<C>*>(points));
    KDE_CUDA(cudaGetLastError());
    return Status::success();
  });
}

Status launch_gram_full(const void* points, std::int64_t n, int coordinates,
                        const float* greatest_norm, std::int64_t first, std::int64_t last,
                        double* partial, cudaStream_t stream) {
  return with_gram_coordinates(coordinates, [&](auto constant) {
    constexpr int C = decltype(constant)::value;
    gram_full_kernel<C><<<static_cast<unsigned>(last - first), kGramThreads, 0, stream>>>(
        static_cast<const GramPoint<C>*>(points), greatest_norm, cut_gram(n), first, partial);
    KDE_CUDA(cudaGetLastError());
    return Status::success();
  });
}

Status launch_gram_scatter(const void* points, std::int64_t n, int coordinates,
                           const float* greatest_norm, double once, double twice,
                           std::int64_t first, std::int64_t last, double* partial,
                           cudaStream_t stream) {
  return with_gram_coordinates(coordinates, [&](auto constant) {
    constexpr int C = decltype(constant)::value;
    gram_scatter_kernel<C><<<static_cast<unsigned>(last - first), kGramThreads, 0, stream>>>(
        static_cast<const GramPoint<C>*>(points), greatest_norm, static_cast<float>(once),
        static_cast<float>(twice), padded(n) / kGramStrip, strips_per_job(n, n), jobs_across(n, n),
        first, partial);
    KDE_CUDA(cudaGetLastError());
    return Status::success();
  });
}

Status launch_gram_density(const void* queries, std::int64_t m, const void* points, std::int64_t n,
                           int coordinates, const float* greatest_norm, std::int64_t first,
                           std::int64_t last, double* partial, cudaStream_t stream) {
  return with_gram_coordinates(coordinates, [&](auto constant) {
    constexpr int C = decltype(constant)::value;
    gram_density_kernel<C><<<static_cast<unsigned>(last - first), kGramThreads, 0, stream>>>(
        static_cast<const GramPoint<C>*>(queries), static_cast<const GramPoint<C>*>(points),
        greatest_norm, padded(n) / kGramStrip, strips_per_job(m, n), jobs_across(m, n), first,
        partial);
    KDE_CUDA(cudaGetLastError());
    return Status::success();
  });
}

}  // namespace kde::cuda
