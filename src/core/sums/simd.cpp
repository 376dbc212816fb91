// The vector kernels, compiled once for every instruction set by Google Highway, whose
// foreach_target.h includes this file again for each. There is no OpenMP here, and nothing that
// allocates or throws.
//
// A term is a polynomial in p = z^2/2 times exp(-p) (gaussian_derivatives.h). Points are first
// divided by g sqrt(2), so that p is the square of a plain difference. The division is done in
// double on differences from the last point of the lower tile, and only then rounded: as the
// lower points come out <= 0 and the upper ones >= 0, no difference of two rounded values cancels,
// and z has a relative error of 2^-23 in single precision however far from 0 or apart the data lie.
// Pairs within a tile have no such gap; they are split in halves that have, down to leaves of 32
// points, which are done in double.
//
// PLUGIN's h in single precision, relative to the reference: bound 1e-5; measured 1.3e-7 at worst
// on normal, mixture, lognormal, Cauchy and uniform samples of n = 12000 or 32768.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>

#include "core/sums/engine_parts.h"
#include "core/sums/gaussian_derivatives.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/sums/simd.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "core/sums/wide-inl.h"
#include "hwy/contrib/math/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kde::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// exp(-p) for 0 <= p <= kMaxP. p is clamped to kMaxP first: in single precision exp(-87.4) is
// denormal, which costs many times a normal number. Beyond the clamp K^(r) stays what it is there:
// 2.2e-31 for r = 6, 5.2e-27 for r = 10, less than what kernel_reach drops.
constexpr double kMaxP = 85;

HWY_INLINE hn::Vec<hn::ScalableTag<double>> ExpMinus(hn::ScalableTag<double> d,
                                                     hn::Vec<hn::ScalableTag<double>> p) {
  return hn::Exp(d, hn::Neg(p));
}

// In single precision Highway's Exp made the whole sum take twice the time on AVX-512: it serves
// arguments of both signs and underflow, which a clamped p >= 0 does not need. The method is the
// usual one: p = k ln 2 - r with k the integer nearest p/ln 2, and exp(-p) = 2^-k exp(r).
// The polynomial is 1 + r + r^2 c(r), c interpolating (exp(r) - 1 - r)/r^2 at the five Chebyshev
// nodes of |r| <= ln(2)/2 and rounded to single precision: relative error 1.1e-8 before rounding.
// test/golden/exp_coefficients.py computes it.
HWY_INLINE hn::Vec<hn::ScalableTag<float>> ExpMinus(hn::ScalableTag<float> d,
                                                    hn::Vec<hn::ScalableTag<float>> p) {
  const hn::RebindToSigned<decltype(d)> integer;
  // Adding 1.5 * 2^23 leaves the rounded integer in the low bits of the sum.
  const auto magic = hn::Set(d, 12582912.0f);
  const auto shifted = hn::MulAdd(p, hn::Set(d, 1.44269504f), magic);
  const auto k = hn::Sub(shifted, magic);
  // ln 2 in two parts; the first has 15 bits, so that k times it is exact.
  auto r = hn::MulSub(k, hn::Set(d, 0.693145751953125f), p);
  r = hn::MulAdd(k, hn::Set(d, 1.428606765330187e-06f), r);
  auto sum = hn::MulAdd(r, hn::Set(d, 0.0013926184037700295f), hn::Set(d, 0.008363178931176662f));
  sum = hn::MulAdd(r, sum, hn::Set(d, 0.041666556149721146f));
  sum = hn::MulAdd(r, sum, hn::Set(d, 0.16666576266288757f));
  sum = hn::MulAdd(r, sum, hn::Set(d, 0.5f));
  sum = hn::MulAdd(r, sum, hn::Set(d, 1.0f));
  sum = hn::MulAdd(r, sum, hn::Set(d, 1.0f));
  // Taking k from the exponent field multiplies by 2^-k; k <= 123 keeps the result normal.
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(integer, shifted));
  return hn::BitCast(d, hn::Sub(hn::BitCast(integer, sum), exponent));
}

// The polynomial in p of gaussian_derivatives.h, by Horner's rule.
template <int R, class D, class V>
HWY_INLINE V Polynomial(D d, V p) {
  using T = hn::TFromD<D>;
  using H = HermiteInP<R>;
  V sum = hn::Set(d, static_cast<T>(H::kCoefficients[H::kDegree]));
  for (int k = H::kDegree - 1; k >= 0; --k) {
    sum = hn::MulAdd(sum, p, hn::Set(d, static_cast<T>(H::kCoefficients[k])));
  }
  return sum;
}

// sum + sqrt(2 pi) K^(R)(z), where difference = z/sqrt(2).
template <int R, class D, class V>
HWY_INLINE V AddTerm(D d, V difference, V sum) {
  using T = hn::TFromD<D>;
  const V p = hn::Min(hn::Mul(difference, difference), hn::Set(d, static_cast<T>(kMaxP)));
  return hn::MulAdd(Polynomial<R>(d, p), ExpMinus(d, p), sum);
}

// How many rows share a load of the columns and, having sums of their own, hide each other's
// latency.
constexpr std::size_t kRows = 4;

// Vectors of terms that a sum in single precision takes before it is added to one in double.
constexpr std::size_t kRun = 16;

template <int R, class T>
double Cross(std::span<const double> low, std::span<const double> high, double g) {
  const hn::ScalableTag<T> d;
  const hn::ScalableTag<double> wide;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);

  // Points beyond this many g sqrt(2) from the gap are put there: any pair with one is out of
  // reach all the same, and T can hold them. It also fills the arrays up.
  constexpr double kFar = 1e4;
  HWY_ALIGN T rows[kTilePoints + kRows];
  HWY_ALIGN T columns[kTilePoints + HWY_MAX_BYTES / sizeof(T)];
  const double gap = low.back();
  const double unit = g * std::numbers::sqrt2;
  for (std::size_t i = 0; i < low.size(); ++i) {
    rows[i] = static_cast<T>(std::max((low[i] - gap) / unit, -kFar));
  }
  for (std::size_t i = low.size(); i < low.size() + kRows; ++i) rows[i] = static_cast<T>(-kFar);
  for (std::size_t j = 0; j < high.size(); ++j) {
    columns[j] = static_cast<T>(std::min((high[j] - gap) / unit, kFar));
  }
  for (std::size_t j = high.size(); j < high.size() + lanes; ++j) columns[j] = static_cast<T>(kFar);

  const T reach = static_cast<T>(kernel_reach(R) / std::numbers::sqrt2);
  auto total = hn::Zero(wide);
  std::size_t end = 0;  // columns from here on are out of reach; rows ascend, so it only grows
  for (std::size_t i = 0; i < low.size(); i += kRows) {
    const T nearest = rows[std::min(i + kRows, low.size()) - 1];
    while (end < high.size() && columns[end] - nearest <= reach) ++end;

    const V row0 = hn::Set(d, rows[i]);
    const V row1 = hn::Set(d, rows[i + 1]);
    const V row2 = hn::Set(d, rows[i + 2]);
    const V row3 = hn::Set(d, rows[i + 3]);
    for (std::size_t j = 0; j < end;) {
      const std::size_t run_end = std::min(end, j + kRun * lanes);
      V sum0 = hn::Zero(d);
      V sum1 = hn::Zero(d);
      V sum2 = hn::Zero(d);
      V sum3 = hn::Zero(d);
      for (; j < run_end; j += lanes) {
        const V column = hn::Load(d, columns + j);
        sum0 = AddTerm<R>(d, hn::Sub(column, row0), sum0);
        sum1 = AddTerm<R>(d, hn::Sub(column, row1), sum1);
        sum2 = AddTerm<R>(d, hn::Sub(column, row2), sum2);
        sum3 = AddTerm<R>(d, hn::Sub(column, row3), sum3);
      }
      const V sum = hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3));
      total = AddWide(wide, d, sum, total);
    }
  }
  return hn::GetLane(hn::SumOfLanes(wide, total));
}

constexpr std::size_t kLeafPoints = 32;

template <int R>
double Leaf(std::span<const double> points, double g) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  // Filled up with infinity, which is as far as any point gets from any other.
  HWY_ALIGN double x[kLeafPoints + HWY_MAX_BYTES / sizeof(double)];
  std::copy(points.begin(), points.end(), x);
  std::fill(x + points.size(), x + points.size() + lanes, HUGE_VAL);

  const auto unit = hn::Set(d, g * std::numbers::sqrt2);
  auto total = hn::Zero(d);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto row = hn::Set(d, x[i]);
    for (std::size_t j = i + 1; j < points.size(); j += lanes) {
      const auto difference = hn::Div(hn::Sub(hn::LoadU(d, x + j), row), unit);
      total = AddTerm<R>(d, difference, total);
    }
  }
  return hn::GetLane(hn::SumOfLanes(d, total));
}

template <int R>
double WeightedRow(double x, std::span<const double> points, std::span<const double> weights,
                   double g) {
  const hn::ScalableTag<double> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  const V unit = hn::Set(d, g * std::numbers::sqrt2);
  const V row = hn::Set(d, x);
  const auto add = [&](const double* at, const double* weight, V sum) HWY_ATTR {
    const V difference = hn::Div(hn::Sub(hn::LoadU(d, at), row), unit);
    return hn::MulAdd(hn::LoadU(d, weight), AddTerm<R>(d, difference, hn::Zero(d)), sum);
  };

  V total = hn::Zero(d);
  std::size_t k = 0;
  for (; k + lanes <= points.size(); k += lanes) {
    total = add(points.data() + k, weights.data() + k, total);
  }
  // What does not fill a vector, filled up with points of no weight.
  HWY_ALIGN double last_points[HWY_MAX_BYTES / sizeof(double)] = {};
  HWY_ALIGN double last_weights[HWY_MAX_BYTES / sizeof(double)] = {};
  std::copy(points.begin() + static_cast<std::ptrdiff_t>(k), points.end(), last_points);
  std::copy(weights.begin() + static_cast<std::ptrdiff_t>(k), weights.end(), last_weights);
  total = add(last_points, last_weights, total);
  return hn::GetLane(hn::SumOfLanes(d, total));
}

// All pairs of a tile: those across its middle, then those of each half.
template <int R, class T>
double Triangle(std::span<const double> points, double g) {
  if (points.size() <= kLeafPoints) return Leaf<R>(points, g);
  const std::span<const double> low = points.first(points.size() / 2);
  const std::span<const double> high = points.subspan(points.size() / 2);
  return Cross<R, T>(low, high, g) + Triangle<R, T>(low, g) + Triangle<R, T>(high, g);
}

template <int R>
DerivativeKernels KernelsOf(Precision precision) {
  if (precision == Precision::single) return {Cross<R, float>, Triangle<R, float>, WeightedRow<R>};
  return {Cross<R, double>, Triangle<R, double>, WeightedRow<R>};
}

DerivativeKernels Kernels(Precision precision, int r) {
  switch (r) {
    case 0:
      return KernelsOf<0>(precision);
    case 2:
      return KernelsOf<2>(precision);
    case 4:
      return KernelsOf<4>(precision);
    case 6:
      return KernelsOf<6>(precision);
    case 8:
      return KernelsOf<8>(precision);
    default:
      return KernelsOf<10>(precision);
  }
}

}  // namespace kde::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/sums/simd_dispatch.h"

namespace kde {

DerivativeKernels derivative_kernels(std::int64_t target, Precision precision, int r) {
  using Maker = DerivativeKernels (*)(Precision, int);
  static constexpr TargetFunction<Maker> kMakers[] = KDE_TARGET_FUNCTIONS(Kernels);
  return function_for<Maker>(kMakers, target)(precision, r);
}

}  // namespace kde
#endif  // HWY_ONCE
