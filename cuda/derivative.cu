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
// Sums of a strip's terms are kept in the word length of the terms, kStrip of them to each of a
// thread's rows; those of its rows are added, and then to others in double.
#include <cub/block/block_reduce.cuh>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
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
constexpr int kSumsAtOnce = 4;  // of StripEdges::cubes, so that one does not wait for another
static_assert(kThreads == 32 * kTileStrips, "a warp has one strip of rows");

template <typename T>
struct Limits;
template <>
struct Limits<float> {
  static constexpr float kNear = 500;        // distances: w^5 does not overflow
  static constexpr float kNarrow = 128;      // width of a strip: coordinates are good to 128 2^-25
  static constexpr float kFar = 1e6F;        // w: 2^-w is 0, and w^5 does not overflow
  static constexpr float kSentinel = 1e18F;  // beyond the ends of the sample, where w is kFar
};
template <>
struct Limits<double> {
  static constexpr double kNear = 1e6;
  static constexpr double kNarrow = 1e4;
  static constexpr double kFar = 1e12;
  static constexpr double kSentinel = 1e150;
};

// The terms of a pack of columns and the rows: of each, one has its own copy of the last
// coefficient.
template <typename T>
constexpr int kBody = kRows * 16 / static_cast<int>(sizeof(T));

// sum_k c_k p^k of gaussian_derivatives.h, p = z^2/2 = w ln 2, as
//   scale 2^v (v^D + a[D - 1] v^(D - 1) + ... + a[1] v + a[0]) = (sum_k c_k p^k) 2^-w,
// v = shift - w, with a[D - 1] = 0 where the shift was chosen for it (kShifted). From r = 8 on that
// costs too many digits: near w = 0 the powers of v nearly cancel.
//
// The sum of K^(r) over the pairs of a smooth sample is smaller than its terms by a factor of
// thousands, because the integral of K^(r) is 0; coefficients rounded to single precision would
// make it 1e-7 of the terms, and the sum wrong in its fourth digit. So a[0] is what makes the
// integral of the rounded polynomial 0,
//   a[0] = -E[v^D + ... + a[1] v],  E the mean under the density in proportion to 2^-q^2, w = q^2,
// and as that is no number of single precision either, each of the terms of kBody uses one of the
// two next to it, so that their mean is nearer than any.
template <typename T, int R>
struct Polynomial {
  static constexpr int kDegree = HermiteInP<R>::kDegree;
  static constexpr bool kShifted = R < 8;
  T shift;
  T a[kDegree > 0 ? kDegree : 1];
  T a0[kBody<T>];
  double scale;
};

// E[(shift - q^2)^k]: of q, normal with variance 1/(2 ln 2), E[q^(2 j)] = (2 j - 1)!! variance^j.
double mean_power(double shift, int k) {
  double mean = 0, choose = 1, moment = 1;
  for (int j = 0; j <= k; ++j) {
    mean += choose * std::pow(shift, k - j) * moment;
    choose *= static_cast<double>(k - j) / (j + 1);
    moment *= -(2 * j + 1) / (2 * std::numbers::ln2);
  }
  return mean;
}

template <typename T, int R>
Polynomial<T, R> polynomial() {
  using P = Polynomial<T, R>;
  constexpr int kDegree = P::kDegree;
  const auto& c = HermiteInP<R>::kCoefficients;
  const double ln2 = std::numbers::ln2;
  P out{};
  if constexpr (kDegree > 0 && P::kShifted)
    out.shift = static_cast<T>(-c[kDegree - 1] / (kDegree * c[kDegree] * ln2));
  const double shift = static_cast<double>(out.shift);
  // In powers of p - shift ln 2 = -v ln 2, by repeated division (Horner's scheme).
  double q[kDegree + 1];
  std::copy(std::begin(c), std::end(c), q);
  for (int first = 0; first < kDegree; ++first) {
    for (int k = kDegree - 1; k >= first; --k) q[k] += shift * ln2 * q[k + 1];
  }
  const double leading = q[kDegree] * std::pow(-ln2, kDegree);
  out.scale = leading * std::exp2(-shift);
  if constexpr (kDegree > 1 || (kDegree == 1 && !P::kShifted)) {
    double last = -mean_power(shift, kDegree);
    for (int k = 1; k < kDegree - (P::kShifted ? 1 : 0); ++k) {
      out.a[k] = static_cast<T>(q[k] * std::pow(-ln2, k) / leading);
      last -= static_cast<double>(out.a[k]) * mean_power(shift, k);
    }
    // The greater neighbour as often as brings the mean nearest.
    T below = static_cast<T>(last);
    if (static_cast<double>(below) > last) below = std::nextafter(below, -HUGE_VALF);
    const T above = std::nextafter(below, static_cast<T>(HUGE_VALF));
    const double share = (last - static_cast<double>(below)) /
                         (static_cast<double>(above) - static_cast<double>(below));
    const int greater = static_cast<int>(std::lround(share * kBody<T>));
    for (int k = 0; k < kBody<T>; ++k) out.a0[k] = k * greater % kBody<T> < greater ? above : below;
  }
  return out;
}

// The term number `which` of kBody.
template <typename T, int R, bool kWide, bool kWithoutUnit>
__device__ __forceinline__ void add_term(T distance, const Polynomial<T, R>& polynomial, int which,
                                         T* sum) {
  using P = Polynomial<T, R>;
  T v = distance * -distance + polynomial.shift;
  if (kWide) v = max(v, -Limits<T>::kFar);
  T e;
  if constexpr (kWithoutUnit && sizeof(T) == 4) {
    e = exp2_by_polynomial(v);
  } else {
    e = exp2_of(v);
  }
  if constexpr (P::kDegree == 0) {
    *sum += e;
  } else {
    T value = v;
    if constexpr (!P::kShifted) value += polynomial.a[P::kDegree - 1];
    if constexpr (P::kDegree > 1) {
      if constexpr (P::kShifted) {
        value = v * v + (P::kDegree > 2 ? polynomial.a[P::kDegree - 2] : polynomial.a0[which]);
      } else {
        value = value * v + (P::kDegree > 2 ? polynomial.a[P::kDegree - 2] : polynomial.a0[which]);
      }
#pragma unroll
      for (int k = P::kDegree - 3; k >= 0; --k)
        value = value * v + (k > 0 ? polynomial.a[k] : polynomial.a0[which]);
    }
    *sum += value * e;
  }
}

// Of sixteen exponentials of single precision so many are computed without the special function
// unit, where the other instructions leave time for it: on an H200 4.04e12 terms a second became
// 4.27e12 for r = 0, 3.93e12 became 4.28e12 for r = 2. For r = 4 it would be 3.94e12 and 4.02e12,
// for r = 6 no gain.
template <int R>
constexpr int kWithoutUnit = R <= 2 ? 2 : 0;

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
#pragma unroll(sizeof(T) == 4 ? 4 : 1)
  for (int j = 0; j < kStrip / kWidth; ++j) {
    const Pack pack = packs[j];
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const int which = k * kRows + r;
        if (!kWide && which * kWithoutUnit<R> % kBody<T> < kWithoutUnit<R>) {
          add_term<T, R, kWide, true>(x[r] - pack.y[k], polynomial, which, &sum[r]);
        } else {
          add_term<T, R, kWide, false>(x[r] - pack.y[k], polynomial, which, &sum[r]);
        }
      }
    }
  }
  static_assert(kRows == 4);
  return static_cast<double>((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

// Some values next to each other: a strip, which only at the end of the sample is not whole.
struct Strip {
  std::int64_t start;
  int count;
  int weight;  // of each value
};

__device__ __forceinline__ Strip strip_at(const DerivativeTables& tables, int strip,
                                          std::int64_t n) {
  const std::int64_t start = tables.start[strip];
  if (start >= n) return {start, kStrip, kMergeStrips};
  return {start, static_cast<int>(min(std::int64_t{kStrip}, n - start)), 1};
}

// A strip's sum where it is so wide that coordinates relative to its middle would lose what tells
// its values apart: distances are taken in double. Few strips are, those with outliers in them.
template <typename T, int R>
__device__ __noinline__ double spread_sum(const double* __restrict__ values, Strip rows,
                                          Strip columns, double unit,
                                          const Polynomial<T, R>& polynomial) {
  T sum[kRows] = {};
  for (int j = 0; j < columns.count; ++j) {
    const double y = values[columns.start + j];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int i = static_cast<int>(threadIdx.x) % 32 + 32 * r;
      if (i < rows.count) {
        const double far = sqrt(static_cast<double>(Limits<T>::kFar));
        const double distance = min(max((values[rows.start + i] - y) * unit, -far), far);
        add_term<T, R, true, false>(static_cast<T>(distance), polynomial,
                                    j % (kBody<T> / kRows) * kRows + r, &sum[r]);
      }
    }
  }
  static_assert(kRows == 4);
  return static_cast<double>((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

// Of the values that the strip has, so that one far away at the end of them is not the centre.
__device__ __forceinline__ double centre_of(const double* values, const Strip& strip) {
  return values[strip.start + (strip.count - 1) / 2];
}

__device__ __forceinline__ bool is_spread(const double* values, const Strip& strip, double unit,
                                          double narrow) {
  return (values[strip.start + strip.count - 1] - values[strip.start]) * unit > narrow;
}

template <typename T, int R>
__global__ void __launch_bounds__(kThreads)
    derivative_kernel(const double* __restrict__ values, std::int64_t n, double unit,
                      Polynomial<T, R> polynomial, DerivativeTables tables, std::int64_t first,
                      double* __restrict__ partial) {
  __shared__ alignas(16) T columns[kMaxColumns][kStrip];
  __shared__ double centres[kMaxColumns];
  __shared__ bool spread[kMaxColumns];
  using Reduce = cub::BlockReduce<double, kThreads>;
  __shared__ typename Reduce::TempStorage reduce;
  constexpr double kNarrow = Limits<T>::kNarrow;

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
  const int tile = low;
  const int column0 =
      tile * kTileStrips + static_cast<int>(job - tables.first_job[tile]) * tables.columns;
  const int column1 = min(column0 + tables.columns, tables.strips);

  static_assert(kStrip == kThreads, "a thread a value of each strip");
  for (int k = 0; k < column1 - column0; ++k) {
    const Strip strip = strip_at(tables, column0 + k, n);
    const double centre = centre_of(values, strip);
    const int j = static_cast<int>(threadIdx.x);
    columns[k][j] = j < strip.count ? static_cast<T>((values[strip.start + j] - centre) * unit)
                                    : Limits<T>::kSentinel;
    if (j == 0) {
      centres[k] = centre;
      spread[k] = is_spread(values, strip, unit, kNarrow);
    }
  }

  const int row_strip = tile * kTileStrips + static_cast<int>(threadIdx.x) / 32;
  const bool any_row = row_strip < tables.strips;
  const Strip rows = any_row ? strip_at(tables, row_strip, n) : Strip{0, 0, 0};
  const double centre = any_row ? centre_of(values, rows) : 0;
  T own[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const int i = static_cast<int>(threadIdx.x) % 32 + 32 * r;
    own[r] = i < rows.count ? static_cast<T>((values[rows.start + i] - centre) * unit)
                            : -Limits<T>::kSentinel;
  }
  __syncthreads();

  double sum = 0;
  if (any_row) {
    const int last = min(column1 - 1, static_cast<int>(tables.last_strip[row_strip]));
    const double low_value = values[rows.start];
    const bool row_spread = is_spread(values, rows, unit, kNarrow);
    for (int strip = max(column0, row_strip); strip <= last; ++strip) {
      const int k = strip - column0;
      const Strip other = strip_at(tables, strip, n);
      const double offset = (centre - centres[k]) * unit;
      const bool wide = other.count < kStrip ||  // it has sentinels
                        (values[other.start + kStrip - 1] - low_value) * unit >
                            static_cast<double>(Limits<T>::kNear);
      double terms;
      if (row_spread || spread[k]) {
        terms = spread_sum<T, R>(values, rows, other, unit, polynomial);
      } else {
        T x[kRows];
#pragma unroll
        for (int r = 0; r < kRows; ++r) x[r] = own[r] + static_cast<T>(offset);
        terms = wide ? strip_sum<T, R, true>(x, columns[k], polynomial)
                     : strip_sum<T, R, false>(x, columns[k], polynomial);
      }
      // Within a strip every pair is met twice, and each value meets itself.
      sum += (strip == row_strip ? terms / 2 : terms) * (rows.weight * other.weight);
    }
  }
  const double total = Reduce(reduce).Sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = total * polynomial.scale;
}

// As strip_edges, a warp a strip and a lane a run of neighbours: the same products, which are not
// to become parts of fused operations, added in the same order.
__global__ void __launch_bounds__(kThreads)
    edges_kernel(const double* __restrict__ values, std::int64_t n, StripEdges* edges) {
  const std::int64_t strip = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / 32;
  const std::int64_t start = strip * kStrip;
  if (start >= n) return;
  const std::int64_t own = start + static_cast<std::int64_t>(threadIdx.x) % 32 * kNeighbours;
  const double width = values[min(own + kNeighbours - 1, n - 1)] - values[min(own, n - 1)];
  const double cube = __dmul_rn(__dmul_rn(width, width), width);
  double cubes = 0;
  for (unsigned k = 0; k < 32; k += kSumsAtOnce)
    cubes += __shfl_sync(~0U, cube, static_cast<int>(k + threadIdx.x % kSumsAtOnce));
  for (int other = 1; other < kSumsAtOnce; other *= 2) cubes += __shfl_xor_sync(~0U, cubes, other);
  if (threadIdx.x % 32 != 0) return;
  edges[strip] = {values[start], values[min(start + kStrip, n) - 1],
                  start + kStrip <= n ? cubes : HUGE_VAL};
}

// A thread a run of neighbours.
__global__ void __launch_bounds__(kThreads)
    merge_kernel(double* values, std::int64_t n, std::int64_t runs) {
  const std::int64_t run = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (run >= runs) return;
  // From the first of them, so that no digits are lost.
  const double* x = values + run * kNeighbours;
  double from_first[kNeighbours], mean = 0, square = 0;
#pragma unroll
  for (int k = 0; k < kNeighbours; ++k) {
    from_first[k] = x[k] - x[0];
    mean += from_first[k] / kNeighbours;
  }
#pragma unroll
  for (int k = 0; k < kNeighbours; ++k)
    square += (from_first[k] - mean) * (from_first[k] - mean) / kNeighbours;
  const double deviation = sqrt(square);
  double* merged = values + n + run * (kNeighbours / kMergeStrips);
  static_assert(kNeighbours / kMergeStrips == 2);
  merged[0] = x[0] + (mean - deviation);
  merged[1] = x[0] + (mean + deviation);
}

template <typename T, int R>
Status launch(const double* values, std::int64_t n, double g, const DerivativeTables& tables,
              std::int64_t first, std::int64_t last, double* partial, cudaStream_t stream) {
  // exp(-z^2/2) = 2^-w, w = (x - y)^2 unit^2.
  const double unit = std::sqrt(std::numbers::log2e / 2) / g;
  derivative_kernel<T, R><<<static_cast<unsigned>(last - first), kThreads, 0, stream>>>(
      values, n, unit, polynomial<T, R>(), tables, first, partial);
  KDE_CUDA(cudaGetLastError());
  return Status::success();
}

template <typename T>
Status launch_order(const double* values, std::int64_t n, int r, double g,
                    const DerivativeTables& tables, std::int64_t first, std::int64_t last,
                    double* partial, cudaStream_t stream) {
  switch (r) {
    case 0:
      return launch<T, 0>(values, n, g, tables, first, last, partial, stream);
    case 2:
      return launch<T, 2>(values, n, g, tables, first, last, partial, stream);
    case 4:
      return launch<T, 4>(values, n, g, tables, first, last, partial, stream);
    case 6:
      return launch<T, 6>(values, n, g, tables, first, last, partial, stream);
    case 8:
      return launch<T, 8>(values, n, g, tables, first, last, partial, stream);
    case 10:
      return launch<T, 10>(values, n, g, tables, first, last, partial, stream);
    default:
      return Status::error(Code::invalid_argument, "there is no derivative of order %d", r);
  }
}

}  // namespace

double reach(int r, Precision precision) {
  return precision == Precision::single ? 8.5 : kernel_reach(r);
}

namespace {

// Whether neighbours in these strips may be merged (derivative.h).
bool merges(std::span<const StripEdges> strips, int r, double g, Precision precision) {
  if (precision != Precision::single || strips.size() != kMergeStrips) return false;
  double cubes = 0;
  for (const StripEdges& strip : strips) cubes += strip.cubes;
  const double most = std::ldexp(24 / std::sqrt((r + 1.0) * (r + 2.0) * (r + 3.0)), -25);
  const int runs = kMergeStrips * kStrip / kNeighbours;
  return cubes < runs * most * g * g * g;
}

}  // namespace

DerivativePlan plan_derivative(std::span<const StripEdges> edges, std::int64_t n, int r, double g,
                               Precision precision) {
  // The strips as they are used: where each begins, its least and its greatest value.
  std::vector<std::int64_t> starts;
  std::vector<double> least, greatest;
  const bool may_merge = with_merged(n) > n;
  for (std::size_t s = 0; s < edges.size(); s += kMergeStrips) {
    const auto run = edges.subspan(s, std::min<std::size_t>(kMergeStrips, edges.size() - s));
    const auto start = static_cast<std::int64_t>(s) * kStrip;
    if (may_merge && merges(run, r, g, precision)) {
      starts.push_back(n + start / kMergeStrips);
      least.push_back(run.front().first);
      greatest.push_back(run.back().last);
      continue;
    }
    for (std::size_t k = 0; k < run.size(); ++k) {
      starts.push_back(start + static_cast<std::int64_t>(k) * kStrip);
      least.push_back(run[k].first);
      greatest.push_back(run[k].last);
    }
  }

  const auto strips = static_cast<std::int64_t>(starts.size());
  const std::int64_t tiles = (strips + kTileStrips - 1) / kTileStrips;
  DerivativePlan plan;
  plan.tiles = static_cast<int>(tiles);
  plan.strips = static_cast<int>(strips);
  plan.table.resize(static_cast<std::size_t>(tiles + 1 + 2 * strips));
  // Few strips a job where jobs are few, so that every multiprocessor has some.
  plan.columns =
      static_cast<int>(std::clamp<std::int64_t>(strips * strips / 32768, 1, kMaxColumns));
  const double far = reach(r, precision) * g;
  std::int64_t* first_job = plan.table.data();
  std::int64_t* last_strip = first_job + tiles + 1;
  std::copy(starts.begin(), starts.end(), last_strip + strips);
  std::int64_t last = 0;
  for (std::int64_t s = 0; s < strips; ++s) {
    last = std::max(last, s);
    while (last + 1 < strips &&
           least[static_cast<std::size_t>(last + 1)] - greatest[static_cast<std::size_t>(s)] <= far)
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

bool strip_edges(std::span<const double> values, std::vector<StripEdges>* edges) {
  // The signs of the differences: twice as fast as comparing.
  std::uint64_t signs = 0;
  for (std::size_t i = 1; i < values.size(); ++i)
    signs |= std::bit_cast<std::uint64_t>(values[i] - values[i - 1]);
  if (signs >> 63U != 0) return false;
  edges->clear();
  edges->reserve(values.size() / kStrip + 1);
  for (std::size_t first = 0; first < values.size(); first += kStrip) {
    const double* x = values.data() + first;
    if (values.size() - first < kStrip) {
      edges->push_back({x[0], values.back(), HUGE_VAL});
      break;
    }
    double cubes[kSumsAtOnce] = {};
    for (int i = 0; i < kStrip; i += kSumsAtOnce * kNeighbours) {
      for (int k = 0; k < kSumsAtOnce; ++k) {
        const double* run = x + i + k * kNeighbours;
        const double width = run[kNeighbours - 1] - run[0];
        cubes[k] += width * width * width;
      }
    }
    edges->push_back({x[0], x[kStrip - 1], (cubes[0] + cubes[1]) + (cubes[2] + cubes[3])});
  }
  return true;
}

Status launch_strip_edges(const double* values, std::int64_t n, StripEdges* edges,
                          cudaStream_t stream) {
  static_assert(kStrip == 32 * kNeighbours);
  const std::int64_t strips = (n + kStrip - 1) / kStrip;
  constexpr std::int64_t kWarps = kThreads / 32;
  edges_kernel<<<static_cast<unsigned>((strips + kWarps - 1) / kWarps), kThreads, 0, stream>>>(
      values, n, edges);
  KDE_CUDA(cudaGetLastError());
  return Status::success();
}

Status launch_merge(double* values, std::int64_t n, cudaStream_t stream) {
  const std::int64_t runs = (with_merged(n) - n) / (kNeighbours / kMergeStrips);
  if (runs == 0) return Status::success();
  merge_kernel<<<static_cast<unsigned>((runs + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      values, n, runs);
  KDE_CUDA(cudaGetLastError());
  return Status::success();
}

Status launch_derivative(const double* values, std::int64_t n, int r, double g, Precision precision,
                         const DerivativeTables& tables, std::int64_t first, std::int64_t last,
                         double* partial, cudaStream_t stream) {
  return precision == Precision::single
             ? launch_order<float>(values, n, r, g, tables, first, last, partial, stream)
             : launch_order<double>(values, n, r, g, tables, first, last, partial, stream);
}

}  // namespace kde::cuda
