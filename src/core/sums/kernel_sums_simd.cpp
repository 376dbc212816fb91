// The vector kernel of kernel_sums.h, compiled once for every instruction set by Google Highway,
// whose foreach_target.h includes this file again for each. There is no OpenMP here, and nothing
// that allocates or throws.
//
// Four queries are broadcast at a time, points fill the vectors, two of them at a time, so that
// eight distances hide each other's latency.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <type_traits>

#include "core/sums/kernel_sums.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/sums/kernel_sums_simd.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "core/sums/exp2_minus-inl.h"
#include "core/sums/wide-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kde::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kQueryBlock = 4;
// Terms that a lane adds up in its own precision before they are added in double.
constexpr std::size_t kLaneRun = 32;
// Where what fills up the last block of points lies: farther from every query than any term
// reaches, and its square no overflow in single precision.
constexpr double kAwayPoint = 1e18;

template <class T>
constexpr double kTermReach = kernel_sum_reach(std::is_same_v<T, float> ? Precision::single
                                                                        : Precision::full);

// A tile's points about its centre, rounded, and filled up to `end`.
template <std::size_t kPoints, class T>
void CopyTile(const PointTile& from, const double* centre, std::size_t dimensions, double fill,
              std::size_t end, T (*to)[kPoints]) {
  for (std::size_t k = 0; k < dimensions; ++k) {
    const double* x = from.coordinates + k * from.stride;
    for (std::size_t i = 0; i < from.count; ++i) to[k][i] = static_cast<T>(x[i] - centre[k]);
    for (std::size_t i = from.count; i < end; ++i) to[k][i] = static_cast<T>(fill);
  }
}

// 2^(-s log2(e)/2), and exactly 0 where that is beyond the reach.
template <class D, class V>
HWY_INLINE V KernelTerm(D d, V s) {
  using T = hn::TFromD<D>;
  constexpr double kScale = std::numbers::log2e / 2;
  const V reach = hn::Set(d, static_cast<T>(kTermReach<T> / kScale));
  return hn::IfThenElseZero(hn::Lt(s, reach), Exp2Minus(d, s, hn::Set(d, static_cast<T>(kScale))));
}

template <class D, class V>
HWY_INLINE V AddSquare(D d, V point, const hn::TFromD<D>* query, V sum) {
  const V difference = hn::Sub(point, hn::Set(d, *query));
  return hn::MulAdd(difference, difference, sum);
}

template <class T>
void TileSums(const PointTile& queries, const PointTile& points, const double* centre,
              std::size_t dimensions, double* out) {
  const hn::ScalableTag<T> d;
  const hn::ScalableTag<double> wide;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t query_end = (queries.count + kQueryBlock - 1) / kQueryBlock * kQueryBlock;
  const std::size_t point_end = (points.count + 2 * lanes - 1) / (2 * lanes) * (2 * lanes);
  HWY_ALIGN T q[kMaxDimensions][kQueryTile];
  HWY_ALIGN T y[kMaxDimensions][kPointTile];
  CopyTile(queries, centre, dimensions, 0, query_end, q);
  CopyTile(points, centre, dimensions, kAwayPoint, point_end, y);
  for (std::size_t i = 0; i < query_end; i += kQueryBlock) {
    auto total0 = hn::Zero(wide);
    auto total1 = hn::Zero(wide);
    auto total2 = hn::Zero(wide);
    auto total3 = hn::Zero(wide);
    for (std::size_t j = 0; j < point_end;) {
      const std::size_t run_end = std::min(point_end, j + kLaneRun * lanes);
      V sum0 = hn::Zero(d);
      V sum1 = hn::Zero(d);
      V sum2 = hn::Zero(d);
      V sum3 = hn::Zero(d);
      for (; j < run_end; j += 2 * lanes) {
        V s0 = hn::Zero(d);
        V s1 = hn::Zero(d);
        V s2 = hn::Zero(d);
        V s3 = hn::Zero(d);
        V s4 = hn::Zero(d);
        V s5 = hn::Zero(d);
        V s6 = hn::Zero(d);
        V s7 = hn::Zero(d);
        for (std::size_t k = 0; k < dimensions; ++k) {
          const V left = hn::Load(d, y[k] + j);
          const V right = hn::Load(d, y[k] + j + lanes);
          const T* query = q[k] + i;
          s0 = AddSquare(d, left, query, s0);
          s4 = AddSquare(d, right, query, s4);
          s1 = AddSquare(d, left, query + 1, s1);
          s5 = AddSquare(d, right, query + 1, s5);
          s2 = AddSquare(d, left, query + 2, s2);
          s6 = AddSquare(d, right, query + 2, s6);
          s3 = AddSquare(d, left, query + 3, s3);
          s7 = AddSquare(d, right, query + 3, s7);
        }
        sum0 = hn::Add(sum0, hn::Add(KernelTerm(d, s0), KernelTerm(d, s4)));
        sum1 = hn::Add(sum1, hn::Add(KernelTerm(d, s1), KernelTerm(d, s5)));
        sum2 = hn::Add(sum2, hn::Add(KernelTerm(d, s2), KernelTerm(d, s6)));
        sum3 = hn::Add(sum3, hn::Add(KernelTerm(d, s3), KernelTerm(d, s7)));
      }
      total0 = AddWide(wide, d, sum0, total0);
      total1 = AddWide(wide, d, sum1, total1);
      total2 = AddWide(wide, d, sum2, total2);
      total3 = AddWide(wide, d, sum3, total3);
    }
    const double sums[kQueryBlock] = {
        hn::GetLane(hn::SumOfLanes(wide, total0)), hn::GetLane(hn::SumOfLanes(wide, total1)),
        hn::GetLane(hn::SumOfLanes(wide, total2)), hn::GetLane(hn::SumOfLanes(wide, total3))};
    const std::size_t count = std::min(kQueryBlock, queries.count - i);
    for (std::size_t r = 0; r < count; ++r) out[i + r] += sums[r];
  }
}

KernelSumTile TileKernel(Precision precision) {
  return precision == Precision::single ? TileSums<float> : TileSums<double>;
}

}  // namespace kde::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/sums/simd_dispatch.h"

namespace kde {

KernelSumTile kernel_sum_tile(std::int64_t target, Precision precision) {
  using Maker = KernelSumTile (*)(Precision);
  static constexpr TargetFunction<Maker> kMakers[] = KDE_TARGET_FUNCTIONS(TileKernel);
  return function_for<Maker>(kMakers, target)(precision);
}

}  // namespace kde
#endif  // HWY_ONCE
