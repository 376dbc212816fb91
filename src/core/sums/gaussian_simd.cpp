// The vector kernels of Gaussian sums, compiled once for every instruction set by Google Highway,
// whose foreach_target.h includes this file again for each. There is no OpenMP here, and nothing
// that allocates or throws.
//
// Rows of a rectangle of pairs are broadcast, columns fill the vectors. The exponential is in base
// 2, the factor log2(e)/(4 h^2) its caller's.
//
// Error in single precision. A coordinate is rounded after the rectangle's centre c was taken off
// in double, so a difference of two points is wrong by 2^-24 (|y_i - c| + |y_j - c|) at most, and
// e by
//   |de| = (z/2) exp(-z^2/4) |dz| <= 0.43 |dz|,   z = |y_i - y_j|
// in bandwidths: by at most 5.2e-8 R, and e^2 by 7.3e-8 R, for points within R bandwidths of the
// centre. It has either sign and comes anew with every point, so the sum is wrong, relative to its
// terms, by about n^(-1/2) of that: 1e-6 in all as long as R < 20 sqrt(n), for which the samples
// are to be whitened; where a few values repeat, so do their roundings, and it may be all of it.
// The squares and their sum add (d + 3) 2^-24 z^2/4, the exponential 1.4e-7 and runs of 32
// additions at most 2e-6, relative, all of either sign. In double it is all 2^-29 of that.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "core/sums/gaussian_parts.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/sums/gaussian_simd.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "core/sums/exp2_minus-inl.h"
#include "core/sums/wide-inl.h"

// Of a lambda in a kernel. The compiler does not inline one that is called eight times by itself,
// which made a sum take twice as long.
#undef KDE_LAMBDA
#define KDE_LAMBDA HWY_ATTR __attribute__((always_inline))

// Of the loop over dimensions, where the compiler knows how.
#undef KDE_UNROLL_4
#if HWY_COMPILER_GCC_ACTUAL
#define KDE_UNROLL_4 _Pragma("GCC unroll 4")
#else
#define KDE_UNROLL_4
#endif

HWY_BEFORE_NAMESPACE();
namespace kde::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows that share a load of the columns. Columns come in pairs of vectors: eight distances at a
// time hide the latency of each other.
constexpr std::size_t kBlockRows = 4;

// Vectors of terms that a sum in single precision takes before it is added to one in double.
constexpr std::size_t kRun = 32;

// What fills a copy up is so far from every point, rows and columns on opposite sides, that no
// scale reaches it.
constexpr double kFarPoint = 1e19;
constexpr double kFarSquare = 1e38;

// The points of a rectangle, centred and rounded; filled up to whole blocks.
template <class T>
struct Copy {
  HWY_ALIGN T rows[kMaxDimensions][kGaussianRows];
  HWY_ALIGN T columns[kMaxDimensions][kGaussianColumns];
  std::size_t d;
  std::size_t row_end;     // a multiple of kBlockRows
  std::size_t column_end;  // a multiple of two vectors
  std::ptrdiff_t first;
};

template <class T>
void CopyCoordinate(const PointTile& points, std::size_t k, double centre, double fill,
                    std::size_t end, T* to) {
  const double* from = points.coordinates + k * points.stride;
  const hn::ScalableTag<double> wide;
  const hn::Rebind<T, decltype(wide)> d;
  const auto middle = hn::Set(wide, centre);
  std::size_t i = 0;
  for (; i + hn::Lanes(wide) <= points.count; i += hn::Lanes(wide)) {
    const auto x = hn::Sub(hn::LoadU(wide, from + i), middle);
    if constexpr (std::is_same_v<T, double>) {
      hn::Store(x, d, to + i);
    } else {
      hn::Store(hn::DemoteTo(d, x), d, to + i);
    }
  }
  for (; i < points.count; ++i) to[i] = static_cast<T>(from[i] - centre);
  for (; i < end; ++i) to[i] = static_cast<T>(fill);
}

template <class T>
void MakeCopy(const PointRectangle& pairs, Copy<T>* copy) {
  const std::size_t block = 2 * hn::Lanes(hn::ScalableTag<T>());
  copy->d = pairs.d;
  copy->first = pairs.first;
  copy->row_end = (pairs.rows.count + kBlockRows - 1) / kBlockRows * kBlockRows;
  copy->column_end = (pairs.columns.count + block - 1) / block * block;
  for (std::size_t k = 0; k < pairs.d; ++k) {
    const double far = k == 0 ? kFarPoint : 0;
    CopyCoordinate(pairs.rows, k, pairs.centre[k], -far, copy->row_end, copy->rows[k]);
    CopyCoordinate(pairs.columns, k, pairs.centre[k], far, copy->column_end, copy->columns[k]);
  }
}

// The first column, of a whole block, that makes a pair with row i or one after it.
template <class T>
std::size_t FirstColumn(const Copy<T>& copy, std::size_t i) {
  const std::size_t block = 2 * hn::Lanes(hn::ScalableTag<T>());
  const std::ptrdiff_t j = static_cast<std::ptrdiff_t>(i) + copy.first + 1;
  return j <= 0 ? 0 : static_cast<std::size_t>(j) / block * block;
}

// Whether some pair of rows i .. i + kBlockRows - 1 with the block of columns at j is none.
template <class T>
bool OnDiagonal(const Copy<T>& copy, std::size_t i, std::size_t j) {
  return static_cast<std::ptrdiff_t>(i + kBlockRows - 1) + copy.first >=
         static_cast<std::ptrdiff_t>(j);
}

// s, but far where column j + lane makes no pair with row i.
template <class D, class V, class T>
HWY_INLINE V OnlyPairs(D d, const Copy<T>& copy, std::size_t i, std::size_t j, V s) {
  const V column = hn::Iota(d, static_cast<T>(j));
  const V last = hn::Set(d, static_cast<T>(static_cast<std::ptrdiff_t>(i) + copy.first));
  return hn::IfThenElse(hn::Gt(column, last), s, hn::Set(d, static_cast<T>(kFarSquare)));
}

template <class D, class V>
HWY_INLINE V AddDimension(D d, V column, const hn::TFromD<D>* row, V sum) {
  const V difference = hn::Sub(column, hn::Set(d, *row));
  return hn::MulAdd(difference, difference, sum);
}

// Calls act(s0, ..., s7): the squared distances of rows i .. i + 3 from the vector of columns at j,
// then from the one after it.
template <class D, class T, class Act>
HWY_INLINE void WithDistances(D d, const Copy<T>& copy, std::size_t i, std::size_t j,
                              const Act& act) {
  using V = hn::Vec<D>;
  const std::size_t next = j + hn::Lanes(d);
  V s0 = hn::Zero(d);
  V s1 = hn::Zero(d);
  V s2 = hn::Zero(d);
  V s3 = hn::Zero(d);
  V s4 = hn::Zero(d);
  V s5 = hn::Zero(d);
  V s6 = hn::Zero(d);
  V s7 = hn::Zero(d);
  KDE_UNROLL_4
  for (std::size_t k = 0; k < copy.d; ++k) {
    const V left = hn::Load(d, copy.columns[k] + j);
    const V right = hn::Load(d, copy.columns[k] + next);
    const T* row = copy.rows[k] + i;
    s0 = AddDimension(d, left, row, s0);
    s4 = AddDimension(d, right, row, s4);
    s1 = AddDimension(d, left, row + 1, s1);
    s5 = AddDimension(d, right, row + 1, s5);
    s2 = AddDimension(d, left, row + 2, s2);
    s6 = AddDimension(d, right, row + 2, s6);
    s3 = AddDimension(d, left, row + 3, s3);
    s7 = AddDimension(d, right, row + 3, s7);
  }
  if (OnDiagonal(copy, i, next)) {
    s0 = OnlyPairs(d, copy, i, j, s0);
    s1 = OnlyPairs(d, copy, i + 1, j, s1);
    s2 = OnlyPairs(d, copy, i + 2, j, s2);
    s3 = OnlyPairs(d, copy, i + 3, j, s3);
    s4 = OnlyPairs(d, copy, i, next, s4);
    s5 = OnlyPairs(d, copy, i + 1, next, s5);
    s6 = OnlyPairs(d, copy, i + 2, next, s6);
    s7 = OnlyPairs(d, copy, i + 3, next, s7);
  } else if (OnDiagonal(copy, i, j)) {
    s0 = OnlyPairs(d, copy, i, j, s0);
    s1 = OnlyPairs(d, copy, i + 1, j, s1);
    s2 = OnlyPairs(d, copy, i + 2, j, s2);
    s3 = OnlyPairs(d, copy, i + 3, j, s3);
  }
  act(s0, s1, s2, s3, s4, s5, s6, s7);
}

// e = 2^(-s factor), and exactly 0 from `reach` on, however far.
template <class D, class V>
HWY_INLINE V TermWithin(D d, V s, V reach, V factor) {
  return hn::IfThenElseZero(hn::Lt(s, reach), Exp2Minus(d, s, factor));
}

// ---- one pass over the pairs for many scales ---------------------------------------------------

// Distances of eight rows: 8 KB in single precision, which stay in the first cache.
constexpr std::size_t kSweepRows = 8;

// What a scale needs of one stretch of distances: sums of e, e^2 and, with kSlopes, of t e, t e^2,
// t = s scale. kBeyond: some t may be above kGaussianReach. vectors: a multiple of 8.
template <bool kBeyond, bool kSlopes, class T>
void SumOverDistances(const T* s, std::size_t vectors, double scale, double* out) {
  const hn::ScalableTag<T> d;
  const hn::ScalableTag<double> wide;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  const V factor = hn::Set(d, static_cast<T>(scale));
  const V reach = hn::Set(d, static_cast<T>(kGaussianReach / scale));
  auto once_total = hn::Zero(wide);
  auto twice_total = hn::Zero(wide);
  auto once_s_total = hn::Zero(wide);
  auto twice_s_total = hn::Zero(wide);
  const T* const end = s + vectors * lanes;
  while (s != end) {
    const T* const run_end = std::min(end, s + kRun * lanes);
    V once = hn::Zero(d);
    V twice = hn::Zero(d);
    V once_s = hn::Zero(d);
    V twice_s = hn::Zero(d);
    const auto add = [&](V distance) KDE_LAMBDA {
      const V e = kBeyond ? TermWithin(d, distance, reach, factor) : Exp2Minus(d, distance, factor);
      once = hn::Add(once, e);
      twice = hn::MulAdd(e, e, twice);
      if (kSlopes) {
        // Infinity times nothing would be no number.
        if (kBeyond) distance = hn::Min(distance, reach);
        const V te = hn::Mul(hn::Mul(distance, factor), e);
        once_s = hn::Add(once_s, te);
        twice_s = hn::MulAdd(te, e, twice_s);
      }
    };
    for (; s != run_end; s += 4 * lanes) {
      add(hn::Load(d, s));
      add(hn::Load(d, s + lanes));
      add(hn::Load(d, s + 2 * lanes));
      add(hn::Load(d, s + 3 * lanes));
    }
    once_total = AddWide(wide, d, once, once_total);
    twice_total = AddWide(wide, d, twice, twice_total);
    if (kSlopes) {
      once_s_total = AddWide(wide, d, once_s, once_s_total);
      twice_s_total = AddWide(wide, d, twice_s, twice_s_total);
    }
  }
  out[0] += hn::GetLane(hn::SumOfLanes(wide, once_total));
  out[1] += hn::GetLane(hn::SumOfLanes(wide, twice_total));
  if (kSlopes) {
    out[2] += hn::GetLane(hn::SumOfLanes(wide, once_s_total)) / scale;
    out[3] += hn::GetLane(hn::SumOfLanes(wide, twice_s_total)) / scale;
  }
}

template <bool kSlopes, class T>
void Sweep(const PointRectangle& pairs, std::span<const double> scales, double* out) {
  constexpr std::size_t kSums = kSlopes ? 4 : 2;
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  Copy<T> copy;
  MakeCopy(pairs, &copy);
  HWY_ALIGN T distances[kSweepRows * kGaussianColumns];

  for (std::size_t i = 0; i < copy.row_end; i += kSweepRows) {
    T* to = distances;
    V low = hn::Set(d, static_cast<T>(kFarSquare));
    V high = hn::Zero(d);
    const std::size_t end = std::min(i + kSweepRows, copy.row_end);
    for (std::size_t row = i; row < end; row += kBlockRows) {
      for (std::size_t j = FirstColumn(copy, row); j < copy.column_end; j += 2 * lanes) {
        WithDistances(d, copy, row, j,
                      [&](V s0, V s1, V s2, V s3, V s4, V s5, V s6, V s7) KDE_LAMBDA {
                        const auto keep = [&](V s) KDE_LAMBDA {
                          low = hn::Min(low, s);
                          high = hn::Max(high, s);
                          hn::Store(s, d, to);
                          to += lanes;
                        };
                        keep(s0);
                        keep(s1);
                        keep(s2);
                        keep(s3);
                        keep(s4);
                        keep(s5);
                        keep(s6);
                        keep(s7);
                      });
      }
    }
    const std::size_t vectors = static_cast<std::size_t>(to - distances) / lanes;
    const double nearest = static_cast<double>(hn::GetLane(hn::MinOfLanes(d, low)));
    const double farthest = static_cast<double>(hn::GetLane(hn::MaxOfLanes(d, high)));
    for (std::size_t k = 0; k < scales.size(); ++k) {
      if (nearest * scales[k] > kGaussianReach) continue;
      if (farthest * scales[k] > kGaussianReach) {
        SumOverDistances<true, kSlopes>(distances, vectors, scales[k], out + kSums * k);
      } else {
        SumOverDistances<false, kSlopes>(distances, vectors, scales[k], out + kSums * k);
      }
    }
  }
}

// ---- one scale, with the scatter ---------------------------------------------------------------

// An outer product a pair would cost d^2/2. With y_ij = y_j - y_i, v_j the sum
// of w_ij y_ij over the rows and u_i that over the columns,
//   sum_ij w_ij y_ij y_ij' = sum_ij w_ij y_ij (y_j - y_i)' = sum_j v_j y_j' - sum_i u_i y_i',
// which costs 2 d a pair. What cancels are the last two sums: u and v, rounded to within 2^-24 of
// the sum of w |y_ij|, meet points R from the centre, so that the scatter is right to some
// 2^-24 R / |y_ij| of its terms, the error that the differences themselves have.
template <class T>
class MomentSums {
 public:
  void clear(const Copy<T>& copy) {
    for (std::size_t k = 0; k < copy.d; ++k) {
      std::fill(columns_[k], columns_[k] + copy.column_end, T{0});
    }
    std::fill(rows_, rows_ + copy.d * (copy.d + 1) / 2 * hn::Lanes(hn::ScalableTag<T>()), T{0});
  }

  // weights[r][j]: of the pairs of rows i + r with columns j from `begin` on.
  void add(const Copy<T>& copy, std::size_t i, std::size_t begin,
           const T (*weights)[kGaussianColumns]) {
    const hn::ScalableTag<T> d;
    using V = hn::Vec<decltype(d)>;
    T* product = rows_;
    for (std::size_t k = 0; k < copy.d; ++k) {
      const T* row = copy.rows[k] + i;
      const V row0 = hn::Set(d, row[0]);
      const V row1 = hn::Set(d, row[1]);
      const V row2 = hn::Set(d, row[2]);
      const V row3 = hn::Set(d, row[3]);
      V u0 = hn::Zero(d);
      V u1 = hn::Zero(d);
      V u2 = hn::Zero(d);
      V u3 = hn::Zero(d);
      for (std::size_t j = begin; j < copy.column_end; j += hn::Lanes(d)) {
        const V column = hn::Load(d, copy.columns[k] + j);
        V v = hn::Load(d, columns_[k] + j);
        const auto add_row = [&](V coordinate, const T* weight, V& u) KDE_LAMBDA {
          const V y = hn::Sub(column, coordinate);
          const V w = hn::Load(d, weight + j);
          u = hn::MulAdd(w, y, u);
          v = hn::MulAdd(w, y, v);
        };
        add_row(row0, weights[0], u0);
        add_row(row1, weights[1], u1);
        add_row(row2, weights[2], u2);
        add_row(row3, weights[3], u3);
        hn::Store(v, d, columns_[k] + j);
      }
      // u stays spread over the lanes, and with it the products.
      for (std::size_t l = 0; l <= k; ++l, product += hn::Lanes(d)) {
        const T* y = copy.rows[l] + i;
        V sum = hn::MulAdd(u0, hn::Set(d, y[0]), hn::Load(d, product));
        sum = hn::MulAdd(u1, hn::Set(d, y[1]), sum);
        sum = hn::MulAdd(u2, hn::Set(d, y[2]), sum);
        sum = hn::MulAdd(u3, hn::Set(d, y[3]), sum);
        hn::Store(sum, d, product);
      }
    }
  }

  // out: the lower triangle, row by row.
  void scatter(const Copy<T>& copy, double* out) const {
    const hn::ScalableTag<T> d;
    const T* product = rows_;
    for (std::size_t k = 0; k < copy.d; ++k) {
      for (std::size_t l = 0; l <= k; ++l, product += hn::Lanes(d)) {
        auto sum = hn::Neg(hn::Load(d, product));
        for (std::size_t j = 0; j < copy.column_end; j += hn::Lanes(d)) {
          sum = hn::MulAdd(hn::Load(d, columns_[k] + j), hn::Load(d, copy.columns[l] + j), sum);
        }
        *out++ += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)));
      }
    }
  }

 private:
  HWY_ALIGN T columns_[kMaxDimensions][kGaussianColumns];  // v
  // sum_i u_i y_i', lower triangle, a vector each
  HWY_ALIGN T rows_[kMaxDimensions * (kMaxDimensions + 1) / 2 * HWY_MAX_BYTES / sizeof(T)];
};

template <class T>
void Scatter(const PointRectangle& pairs, double scale, double once, double twice, double* out) {
  const hn::ScalableTag<T> d;
  const hn::ScalableTag<double> wide;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  Copy<T> copy;
  MakeCopy(pairs, &copy);
  MomentSums<T> moments;
  moments.clear(copy);
  HWY_ALIGN T weights[kBlockRows][kGaussianColumns];
  const V factor = hn::Set(d, static_cast<T>(scale));
  const V reach = hn::Set(d, static_cast<T>(kGaussianReach / scale));
  const V weight1 = hn::Set(d, static_cast<T>(once));
  const V weight2 = hn::Set(d, static_cast<T>(twice));
  auto once_total = hn::Zero(wide);
  auto twice_total = hn::Zero(wide);
  for (std::size_t i = 0; i < copy.row_end; i += kBlockRows) {
    const std::size_t begin = FirstColumn(copy, i);
    for (std::size_t j = begin; j < copy.column_end;) {
      const std::size_t run_end = std::min(copy.column_end, j + kRun / 8 * 2 * lanes);
      V once_sum = hn::Zero(d);
      V twice_sum = hn::Zero(d);
      for (; j < run_end; j += 2 * lanes) {
        WithDistances(d, copy, i, j,
                      [&](V s0, V s1, V s2, V s3, V s4, V s5, V s6, V s7) KDE_LAMBDA {
                        const auto add = [&](V s, T* weight) KDE_LAMBDA {
                          const V e = TermWithin(d, s, reach, factor);
                          once_sum = hn::Add(once_sum, e);
                          twice_sum = hn::MulAdd(e, e, twice_sum);
                          hn::Store(hn::Mul(hn::MulAdd(e, weight2, weight1), e), d, weight);
                        };
                        add(s0, weights[0] + j);
                        add(s1, weights[1] + j);
                        add(s2, weights[2] + j);
                        add(s3, weights[3] + j);
                        add(s4, weights[0] + j + lanes);
                        add(s5, weights[1] + j + lanes);
                        add(s6, weights[2] + j + lanes);
                        add(s7, weights[3] + j + lanes);
                      });
      }
      once_total = AddWide(wide, d, once_sum, once_total);
      twice_total = AddWide(wide, d, twice_sum, twice_total);
    }
    moments.add(copy, i, begin, weights);
  }
  out[0] += hn::GetLane(hn::SumOfLanes(wide, once_total));
  out[1] += hn::GetLane(hn::SumOfLanes(wide, twice_total));
  moments.scatter(copy, out + 2);
}

// ---- sums at other points ----------------------------------------------------------------------

// Of four rows at a time, each with every column.
template <class T>
void AtRows(const PointRectangle& pairs, double scale, double reach, double* out) {
  const hn::ScalableTag<T> d;
  const hn::ScalableTag<double> wide;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  Copy<T> copy;
  MakeCopy(pairs, &copy);
  const V factor = hn::Set(d, static_cast<T>(scale));
  const V end = hn::Set(d, static_cast<T>(reach / scale));
  const auto both = [&](V s, V t) KDE_LAMBDA {
    return hn::Add(TermWithin(d, s, end, factor), TermWithin(d, t, end, factor));
  };
  for (std::size_t i = 0; i < copy.row_end; i += kBlockRows) {
    auto total0 = hn::Zero(wide);
    auto total1 = hn::Zero(wide);
    auto total2 = hn::Zero(wide);
    auto total3 = hn::Zero(wide);
    for (std::size_t j = 0; j < copy.column_end;) {
      const std::size_t run_end = std::min(copy.column_end, j + kRun * lanes);
      V sum0 = hn::Zero(d);
      V sum1 = hn::Zero(d);
      V sum2 = hn::Zero(d);
      V sum3 = hn::Zero(d);
      for (; j < run_end; j += 2 * lanes) {
        WithDistances(d, copy, i, j,
                      [&](V s0, V s1, V s2, V s3, V s4, V s5, V s6, V s7) KDE_LAMBDA {
                        sum0 = hn::Add(sum0, both(s0, s4));
                        sum1 = hn::Add(sum1, both(s1, s5));
                        sum2 = hn::Add(sum2, both(s2, s6));
                        sum3 = hn::Add(sum3, both(s3, s7));
                      });
      }
      total0 = AddWide(wide, d, sum0, total0);
      total1 = AddWide(wide, d, sum1, total1);
      total2 = AddWide(wide, d, sum2, total2);
      total3 = AddWide(wide, d, sum3, total3);
    }
    const double sums[kBlockRows] = {
        hn::GetLane(hn::SumOfLanes(wide, total0)), hn::GetLane(hn::SumOfLanes(wide, total1)),
        hn::GetLane(hn::SumOfLanes(wide, total2)), hn::GetLane(hn::SumOfLanes(wide, total3))};
    for (std::size_t r = i; r < std::min(i + kBlockRows, pairs.rows.count); ++r)
      out[r] += sums[r - i];
  }
}

template <class T>
GaussianKernels KernelsOf() {
  return {Sweep<false, T>, Sweep<true, T>, Scatter<T>, AtRows<T>};
}

GaussianKernels Kernels(Precision precision) {
  return precision == Precision::single ? KernelsOf<float>() : KernelsOf<double>();
}

}  // namespace kde::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/sums/simd_dispatch.h"

namespace kde {

GaussianKernels gaussian_kernels(std::int64_t target, Precision precision) {
  using Maker = GaussianKernels (*)(Precision);
  static constexpr TargetFunction<Maker> kMakers[] = KDE_TARGET_FUNCTIONS(Kernels);
  return function_for<Maker>(kMakers, target)(precision);
}

}  // namespace kde
#endif  // HWY_ONCE
