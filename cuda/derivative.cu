// The kernel of derivative.h. A thread holds kRows values in registers and goes through strips of
// values in shared memory, each read by a whole warp at once. With the coordinate in units in which
// the exponent is -w = -(x - y)^2, the term is a polynomial in w times 2^-w: six or seven
// instructions beside one special function, of which a multiprocessor of compute capability 7.5 to
// 9.0 starts one for every eight others; so the special function is what bounds it.
//
// Sums of a strip's terms are kept in the word length of the terms, kStrip of them to a thread's
// row, and then added in double.
#include <cub/block/block_reduce.cuh>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/sums/engine_parts.h"
#include "core/sums/gaussian_derivatives.h"
#include "cuda/derivative.h"
#include "cuda/exponential.cuh"
#include "cuda/runtime.cuh"

namespace kde::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kRows = kTileRows / kThreads;
constexpr int kMaxColumns = 4;
static_assert(kThreads == 32 * kTileStrips, "a warp has one strip of rows");

template <typename T>
struct Limits;
template <>
struct Limits<float> {
  static constexpr float kNear = 500;        // distances: w^5 does not overflow
  static constexpr float kFar = 1e6F;        // w: 2^-w is 0, and w^5 does not overflow
  static constexpr float kSentinel = 1e18F;  // beyond the ends of the sample, where w is kFar
};
template <>
struct Limits<double> {
  static constexpr double kNear = 1e6;
  static constexpr double kFar = 1e12;
  static constexpr double kSentinel = 1e150;
};

// c_k (-ln 2)^k: the polynomial of gaussian_derivatives.h in -w, p = z^2/2 = w ln 2.
template <int R>
struct Polynomial {
  double c[HermiteInP<R>::kDegree + 1];
};

template <int R>
Polynomial<R> polynomial() {
  Polynomial<R> out;
  double power = 1;
  for (int k = 0; k <= HermiteInP<R>::kDegree; ++k, power *= -std::numbers::ln2)
    out.c[k] = HermiteInP<R>::kCoefficients[k] * power;
  return out;
}

template <typename T, int R, bool kWide>
__device__ __forceinline__ void add_term(T x, T y, const T* c, T* sum) {
  const T distance = x - y;
  T w = distance * -distance;
  if (kWide) w = max(w, -Limits<T>::kFar);
  T value = c[HermiteInP<R>::kDegree];
#pragma unroll
  for (int k = HermiteInP<R>::kDegree - 1; k >= 0; --k) value = value * w + c[k];
  *sum += value * exp2_of(w);
}

// The sum over this thread's rows and a strip of columns.
template <typename T, int R, bool kWide>
__device__ __forceinline__ double strip_sum(const T (&x)[kRows], const T* columns, const T* c) {
  constexpr int kWidth = 16 / sizeof(T);
  struct alignas(16) Pack {
    T y[kWidth];
  };
  const Pack* packs = reinterpret_cast<const Pack*>(columns);
  T sum[kRows] = {};
#pragma unroll 4
  for (int j = 0; j < kStrip / kWidth; ++j) {
    const Pack pack = packs[j];
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) add_term<T, R, kWide>(x[r], pack.y[k], c, &sum[r]);
    }
  }
  static_assert(kRows == 4);
  return static_cast<double>((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

__device__ __forceinline__ std::int64_t strip_centre(std::int64_t strip, std::int64_t n) {
  return min(strip * kStrip + kStrip / 2, n - 1);
}

template <typename T, int R>
__global__ void __launch_bounds__(kThreads)
    derivative_kernel(const double* __restrict__ sorted, std::int64_t n, double unit,
                      Polynomial<R> polynomial, DerivativeTables tables, std::int64_t first,
                      double* __restrict__ partial) {
  __shared__ alignas(16) T columns[kMaxColumns][kStrip];
  __shared__ double centres[kMaxColumns];
  using Reduce = cub::BlockReduce<double, kThreads>;
  __shared__ typename Reduce::TempStorage reduce;

  const std::int64_t job = first + blockIdx.x;
  int low = 0, high = tables.tiles;  // first_job[low] <= job < first_job[high]
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (tables.first_job[middle] <= job) {
      low = middle;
    } else {
      high = middle;
    }
  }
  const int strips = static_cast<int>((n + kStrip - 1) / kStrip);
  const int tile = low;
  const int column0 =
      tile * kTileStrips + static_cast<int>(job - tables.first_job[tile]) * tables.columns;
  const int column1 = min(column0 + tables.columns, strips);

  for (int k = threadIdx.x; k < (column1 - column0) * kStrip; k += kThreads) {
    const int strip = column0 + k / kStrip;
    const double centre = sorted[strip_centre(strip, n)];
    const std::int64_t j = static_cast<std::int64_t>(strip) * kStrip + k % kStrip;
    columns[k / kStrip][k % kStrip] =
        j < n ? static_cast<T>((sorted[j] - centre) * unit) : Limits<T>::kSentinel;
    if (k % kStrip == 0) centres[k / kStrip] = centre;
  }

  const int row_strip = tile * kTileStrips + static_cast<int>(threadIdx.x) / 32;
  const std::int64_t row0 = static_cast<std::int64_t>(row_strip) * kStrip;
  const bool any_row = row0 < n;
  const double centre = any_row ? sorted[strip_centre(row_strip, n)] : 0;
  T own[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const std::int64_t i = row0 + threadIdx.x % 32 + 32 * r;
    own[r] = i < n ? static_cast<T>((sorted[i] - centre) * unit) : -Limits<T>::kSentinel;
  }
  __syncthreads();

  T c[HermiteInP<R>::kDegree + 1];
#pragma unroll
  for (int k = 0; k <= HermiteInP<R>::kDegree; ++k) c[k] = static_cast<T>(polynomial.c[k]);

  double sum = 0;
  if (any_row) {
    const int last = min(column1 - 1, tables.last_strip[row_strip]);
    const double low_value = sorted[row0];
    for (int strip = max(column0, row_strip); strip <= last; ++strip) {
      const int k = strip - column0;
      const double offset = (centre - centres[k]) * unit;
      const std::int64_t end = (strip + std::int64_t{1}) * kStrip;  // the last strip has sentinels
      const bool wide =
          end > n || (sorted[end - 1] - low_value) * unit > static_cast<double>(Limits<T>::kNear);
      T x[kRows];
#pragma unroll
      for (int r = 0; r < kRows; ++r) x[r] = own[r] + static_cast<T>(offset);
      const double terms =
          wide ? strip_sum<T, R, true>(x, columns[k], c) : strip_sum<T, R, false>(x, columns[k], c);
      // Within a strip every pair is met twice, and each value meets itself.
      sum += strip == row_strip ? terms / 2 : terms;
    }
  }
  const double total = Reduce(reduce).Sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = total;
}

template <typename T, int R>
Status launch(const double* sorted, std::int64_t n, double g, const DerivativeTables& tables,
              std::int64_t first, std::int64_t last, double* partial, cudaStream_t stream) {
  // exp(-z^2/2) = 2^-w, w = (x - y)^2 unit^2.
  const double unit = std::sqrt(std::numbers::log2e / 2) / g;
  derivative_kernel<T, R><<<static_cast<unsigned>(last - first), kThreads, 0, stream>>>(
      sorted, n, unit, polynomial<R>(), tables, first, partial);
  KDE_CUDA(cudaGetLastError());
  return Status::success();
}

template <typename T>
Status launch_order(const double* sorted, std::int64_t n, int r, double g,
                    const DerivativeTables& tables, std::int64_t first, std::int64_t last,
                    double* partial, cudaStream_t stream) {
  switch (r) {
    case 0:
      return launch<T, 0>(sorted, n, g, tables, first, last, partial, stream);
    case 2:
      return launch<T, 2>(sorted, n, g, tables, first, last, partial, stream);
    case 4:
      return launch<T, 4>(sorted, n, g, tables, first, last, partial, stream);
    case 6:
      return launch<T, 6>(sorted, n, g, tables, first, last, partial, stream);
    case 8:
      return launch<T, 8>(sorted, n, g, tables, first, last, partial, stream);
    case 10:
      return launch<T, 10>(sorted, n, g, tables, first, last, partial, stream);
    default:
      return Status::error(Code::invalid_argument, "there is no derivative of order %d", r);
  }
}

}  // namespace

double reach(int r, Precision precision) {
  return precision == Precision::single ? 8.5 : kernel_reach(r);
}

DerivativePlan plan_derivative(std::span<const double> sorted, int r, double g,
                               Precision precision) {
  const auto n = static_cast<std::int64_t>(sorted.size());
  const std::int64_t strips = (n + kStrip - 1) / kStrip;
  const std::int64_t tiles = (strips + kTileStrips - 1) / kTileStrips;
  DerivativePlan plan;
  plan.last_strip.resize(static_cast<std::size_t>(strips));
  plan.first_job.resize(static_cast<std::size_t>(tiles) + 1);
  // Few strips a job where jobs are few, so that every multiprocessor has some.
  plan.columns =
      static_cast<int>(std::clamp<std::int64_t>(strips * strips / 32768, 1, kMaxColumns));
  const double far = reach(r, precision) * g;
  const auto first_of = [&](std::int64_t s) {
    return sorted[static_cast<std::size_t>(s * kStrip)];
  };
  std::int64_t last = 0;
  for (std::int64_t s = 0; s < strips; ++s) {
    const double greatest = sorted[static_cast<std::size_t>(std::min((s + 1) * kStrip, n) - 1)];
    last = std::max(last, s);
    while (last + 1 < strips && first_of(last + 1) - greatest <= far) ++last;
    plan.last_strip[static_cast<std::size_t>(s)] = static_cast<std::int32_t>(last);
    plan.pairs += static_cast<double>(last - s + 1) * kStrip * kStrip - kStrip * kStrip / 2.0;
  }
  std::int64_t jobs = 0;
  for (std::int64_t t = 0; t < tiles; ++t) {
    plan.first_job[static_cast<std::size_t>(t)] = jobs;
    const std::int64_t end = std::min((t + 1) * kTileStrips, strips) - 1;
    const std::int64_t columns =
        plan.last_strip[static_cast<std::size_t>(end)] - t * kTileStrips + 1;
    jobs += (columns + plan.columns - 1) / plan.columns;
  }
  plan.first_job.back() = jobs;
  return plan;
}

Status launch_derivative(const double* sorted, std::int64_t n, int r, double g, Precision precision,
                         const DerivativeTables& tables, std::int64_t first, std::int64_t last,
                         double* partial, cudaStream_t stream) {
  return precision == Precision::single
             ? launch_order<float>(sorted, n, r, g, tables, first, last, partial, stream)
             : launch_order<double>(sorted, n, r, g, tables, first, last, partial, stream);
}

}  // namespace kde::cuda
