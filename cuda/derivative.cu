// The kernel of derivative.h. A thread holds kRows values in registers and goes through strips of
// values in shared memory, each read by a whole warp at once.
//
// What bounds it is the special function unit, of which a multiprocessor of compute capability 7.5
// to 9.0 starts one exponential for every eight other instructions of a warp; so those others must
// be few. With the coordinate in units in which the exponent is -w = -(x - y)^2, a term is a
// polynomial of degree D = r/2 in w times 2^-w. One fused multiply-add makes v = s - w as cheap as
// w, and 2^v is 2^-w times a constant; s is chosen such that the polynomial in v has no term of
// degree D - 1, and constants are taken out so that its first coefficient is 1. Then a term costs D
// + 3 instructions beside the exponential, of which one accumulates: for r = 6
//
//   x - y,  v = s - (x - y)^2,  v v + a,  (v v + a) v + b,  sum += ... 2^v
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

// sum_k c_k p^k of gaussian_derivatives.h, p = z^2/2 = w ln 2, as
//   scale 2^v (v^D + a[D - 2] v^(D - 2) + ... + a[0]) = (sum_k c_k p^k) 2^-w,  v = shift - w.
template <typename T, int R>
struct Polynomial {
  static constexpr int kDegree = HermiteInP<R>::kDegree;
  T shift;
  T a[kDegree > 1 ? kDegree - 1 : 1];
  double scale;
};

template <typename T, int R>
Polynomial<T, R> polynomial() {
  constexpr int kDegree = HermiteInP<R>::kDegree;
  const auto& c = HermiteInP<R>::kCoefficients;
  const double ln2 = std::numbers::ln2;
  Polynomial<T, R> out{};
  // Without its term of degree D - 1 in p - centre.
  const double centre = kDegree > 0 ? -c[kDegree - 1] / (kDegree * c[kDegree]) : 0;
  // Rounded first, so that the coefficients are those of the shift that is used.
  out.shift = static_cast<T>(centre / ln2);
  const double p0 = static_cast<double>(out.shift) * ln2;
  // In q = p - p0 = -v ln 2, by repeated division (Horner's scheme).
  double q[kDegree + 1];
  std::copy(std::begin(c), std::end(c), q);
  for (int first = 0; first < kDegree; ++first) {
    for (int k = kDegree - 1; k >= first; --k) q[k] += p0 * q[k + 1];
  }
  const double leading = q[kDegree] * std::pow(-ln2, kDegree);
  for (int k = 0; k + 1 < kDegree; ++k)
    out.a[k] = static_cast<T>(q[k] * std::pow(-ln2, k) / leading);
  out.scale = leading * std::exp2(-static_cast<double>(out.shift));
  return out;
}

template <typename T, int R, bool kWide, bool kPolynomial>
__device__ __forceinline__ void add_term(T x, T y, const Polynomial<T, R>& polynomial, T* sum) {
  constexpr int kDegree = Polynomial<T, R>::kDegree;
  const T distance = x - y;
  T v = distance * -distance + polynomial.shift;
  if (kWide) v = max(v, -Limits<T>::kFar);
  T e;
  if constexpr (kPolynomial && sizeof(T) == 4) {
    e = exp2_by_polynomial(v);
  } else {
    e = exp2_of(v);
  }
  if constexpr (kDegree == 0) {
    *sum += e;
  } else {
    T value = v;
    if constexpr (kDegree > 1) {
      value = v * v + polynomial.a[kDegree - 2];
#pragma unroll
      for (int k = kDegree - 3; k >= 0; --k) value = value * v + polynomial.a[k];
    }
    *sum += value * e;
  }
}

#ifndef KDE_SOFT
#define KDE_SOFT 0
#endif
// Of sixteen exponentials so many are computed without the special function unit.
template <int R>
constexpr int kByPolynomial = KDE_SOFT;

// The sum over this thread's rows and a strip of columns.
template <typename T, int R, bool kWide>
__device__ __forceinline__ double strip_sum(const T (&x)[kRows], const T* columns,
                                            const Polynomial<T, R>& polynomial) {
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
      for (int r = 0; r < kRows; ++r) {
        if (!kWide && sizeof(T) == 4 &&
            (k * kRows + r) * kByPolynomial<R> % (kWidth * kRows) < kByPolynomial<R>) {
          add_term<T, R, kWide, true>(x[r], pack.y[k], polynomial, &sum[r]);
        } else {
          add_term<T, R, kWide, false>(x[r], pack.y[k], polynomial, &sum[r]);
        }
      }
    }
  }
  static_assert(kRows == 4);
  return static_cast<double>((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

// Of the values that the strip has, so that one far away at the end of them is not the centre.
__device__ __forceinline__ std::int64_t strip_centre(std::int64_t strip, std::int64_t n) {
  return (strip * kStrip + min((strip + 1) * kStrip, n) - 1) / 2;
}

template <typename T, int R>
__global__ void __launch_bounds__(kThreads)
    derivative_kernel(const double* __restrict__ sorted, std::int64_t n, double unit,
                      Polynomial<T, R> polynomial, DerivativeTables tables, std::int64_t first,
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

  double sum = 0;
  if (any_row) {
    const int last = min(column1 - 1, static_cast<int>(tables.last_strip[row_strip]));
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
      const double terms = wide ? strip_sum<T, R, true>(x, columns[k], polynomial)
                                : strip_sum<T, R, false>(x, columns[k], polynomial);
      // Within a strip every pair is met twice, and each value meets itself.
      sum += strip == row_strip ? terms / 2 : terms;
    }
  }
  const double total = Reduce(reduce).Sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = total * polynomial.scale;
}

__global__ void edges_kernel(const double* __restrict__ sorted, std::int64_t n,
                             StripEdges* __restrict__ edges) {
  const std::int64_t first =
      (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kStrip;
  if (first < n) edges[first / kStrip] = {sorted[first], sorted[min(first + kStrip, n) - 1]};
}

template <typename T, int R>
Status launch(const double* sorted, std::int64_t n, double g, const DerivativeTables& tables,
              std::int64_t first, std::int64_t last, double* partial, cudaStream_t stream) {
  // exp(-z^2/2) = 2^-w, w = (x - y)^2 unit^2.
  const double unit = std::sqrt(std::numbers::log2e / 2) / g;
  derivative_kernel<T, R><<<static_cast<unsigned>(last - first), kThreads, 0, stream>>>(
      sorted, n, unit, polynomial<T, R>(), tables, first, partial);
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

DerivativePlan plan_derivative(std::span<const StripEdges> edges, int r, double g,
                               Precision precision) {
  const auto strips = static_cast<std::int64_t>(edges.size());
  const std::int64_t tiles = (strips + kTileStrips - 1) / kTileStrips;
  DerivativePlan plan;
  plan.tiles = static_cast<int>(tiles);
  plan.table.resize(static_cast<std::size_t>(tiles + 1 + strips));
  // Few strips a job where jobs are few, so that every multiprocessor has some.
  plan.columns =
      static_cast<int>(std::clamp<std::int64_t>(strips * strips / 32768, 1, kMaxColumns));
  const double far = reach(r, precision) * g;
  std::int64_t* first_job = plan.table.data();
  std::int64_t* last_strip = first_job + tiles + 1;
  std::int64_t last = 0;
  for (std::int64_t s = 0; s < strips; ++s) {
    const double greatest = edges[static_cast<std::size_t>(s)].last;
    last = std::max(last, s);
    while (last + 1 < strips && edges[static_cast<std::size_t>(last + 1)].first - greatest <= far)
      ++last;
    last_strip[s] = last;
    plan.pairs += (static_cast<double>(last - s) + 0.5) * kStrip * kStrip;
  }
  for (std::int64_t t = 0; t < tiles; ++t) {
    first_job[t] = plan.jobs;
    const std::int64_t end = std::min((t + 1) * kTileStrips, strips) - 1;
    plan.jobs += (last_strip[end] - t * kTileStrips + plan.columns) / plan.columns;
  }
  first_job[tiles] = plan.jobs;
  return plan;
}

std::vector<StripEdges> strip_edges(std::span<const double> sorted) {
  std::vector<StripEdges> edges;
  for (std::size_t first = 0; first < sorted.size(); first += kStrip)
    edges.push_back({sorted[first], sorted[std::min(first + kStrip, sorted.size()) - 1]});
  return edges;
}

Status launch_strip_edges(const double* sorted, std::int64_t n, StripEdges* edges,
                          cudaStream_t stream) {
  const std::int64_t strips = (n + kStrip - 1) / kStrip;
  edges_kernel<<<static_cast<unsigned>((strips + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      sorted, n, edges);
  KDE_CUDA(cudaGetLastError());
  return Status::success();
}

Status launch_derivative(const double* sorted, std::int64_t n, int r, double g, Precision precision,
                         const DerivativeTables& tables, std::int64_t first, std::int64_t last,
                         double* partial, cudaStream_t stream) {
  return precision == Precision::single
             ? launch_order<float>(sorted, n, r, g, tables, first, last, partial, stream)
             : launch_order<double>(sorted, n, r, g, tables, first, last, partial, stream);
}

}  // namespace kde::cuda
