// The vector code of batch.h, compiled once for every instruction set by Google Highway, whose
// foreach_target.h includes this file again for each. There is no OpenMP here, and nothing that
// allocates or throws. Products are split (T. J. Dekker, Numer. Math. 18, 1971), not fused, so that
// every processor has the same.
#include "core/summary/batch.h"

#include <cmath>
#include <cstddef>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/sums/batch_simd.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kde::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, class V>
HWY_INLINE V NearestWhole(D d, V x) {
  const V ones = hn::Set(d, kOnes);
  return hn::Sub(hn::Add(x, ones), ones);
}

// low of high = a a.
template <class D, class V>
HWY_INLINE V SquareError(D d, V a, V high) {
  const V c = hn::Mul(hn::Set(d, 0x1p27 + 1), a);
  const V a1 = hn::Sub(c, hn::Sub(c, a));
  const V a2 = hn::Sub(a, a1);
  const V cross = hn::Mul(a1, a2);
  return hn::Add(hn::Add(hn::Add(hn::Sub(hn::Mul(a1, a1), high), cross), cross), hn::Mul(a2, a2));
}

template <class V>
HWY_INLINE void AddPair(V x, V x_low, V* high, V* low) {
  const V sum = hn::Add(*high, x);
  const V part = hn::Sub(sum, *high);
  const V lost = hn::Add(hn::Sub(*high, hn::Sub(sum, part)), hn::Sub(x, part));
  *low = hn::Add(*low, hn::Add(lost, x_low));
  *high = sum;
}

void AddValues(const double* values, std::size_t n, double scale, double origin, Lanes* sum,
               Lanes* squares) {
  const hn::CappedTag<double, kLanes> d;
  const auto scales = hn::Set(d, scale), origins = hn::Set(d, origin);
  for (std::size_t lane = 0; lane < kLanes; lane += hn::Lanes(d)) {
    auto sum_high = hn::LoadU(d, sum->high + lane), sum_low = hn::LoadU(d, sum->low + lane);
    auto high = hn::LoadU(d, squares->high + lane), low = hn::LoadU(d, squares->low + lane);
    for (std::size_t i = lane; i < n; i += kLanes) {
      const auto value = hn::Mul(hn::LoadU(d, values + i), scales);
      const auto x = hn::Sub(value, origins);
      const auto part = hn::Sub(x, value);
      const auto x_low = hn::Sub(hn::Sub(value, hn::Sub(x, part)), hn::Add(origins, part));
      const auto xx = hn::Mul(x, x);
      const auto twice = hn::Mul(hn::Add(x, x), x_low);
      AddPair(x, x_low, &sum_high, &sum_low);
      AddPair(xx, hn::Add(SquareError(d, x, xx), twice), &high, &low);
    }
    hn::StoreU(sum_high, d, sum->high + lane);
    hn::StoreU(sum_low, d, sum->low + lane);
    hn::StoreU(high, d, squares->high + lane);
    hn::StoreU(low, d, squares->low + lane);
  }
}

bool AreDecimal(const double* values, std::size_t n, double scale) {
  const hn::ScalableTag<double> d;
  const auto scales = hn::Set(d, scale), most = hn::Set(d, kMostUnits);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    const auto x = hn::LoadU(d, values + i);
    const auto units = NearestWhole(d, hn::Mul(x, scales));
    const auto are = hn::And(hn::Lt(hn::Abs(units), most), hn::Eq(hn::Div(units, scales), x));
    if (!hn::AllTrue(d, are)) return false;
  }
  for (; i < n; ++i) {
    const double units = nearest_whole(values[i] * scale);
    if (!(std::fabs(units) < kMostUnits && units / scale == values[i])) return false;
  }
  return true;
}

void MakeUnits(double* values, std::size_t n, double scale, double origin) {
  const hn::ScalableTag<double> d;
  const auto scales = hn::Set(d, scale), origins = hn::Set(d, origin);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    const auto units = NearestWhole(d, hn::Mul(hn::LoadU(d, values + i), scales));
    hn::StoreU(hn::Sub(units, origins), d, values + i);
  }
  for (; i < n; ++i) values[i] = nearest_whole(values[i] * scale) - origin;
}

// Where the quotient is not near a whole number no end is between it and x: it is off by at most 2^-52
// of it.
void FindKeys(const double* values, std::size_t n, double steps_of_one, std::int64_t* keys) {
  const hn::ScalableTag<double> d;
  const hn::RebindToSigned<decltype(d)> whole;
  const auto scales = hn::Set(d, steps_of_one), ones = hn::Set(d, kOnes);
  const auto offset = hn::BitCast(whole, ones);
  const auto one = hn::Set(whole, std::int64_t{1});
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    const auto steps = hn::Mul(hn::LoadU(d, values + i), scales);
    const auto rounded = hn::Add(steps, ones);
    const auto rest = hn::Sub(steps, hn::Sub(rounded, ones));
    auto k = hn::Sub(hn::BitCast(whole, rounded), offset);
    k = hn::Add(k, hn::VecFromMask(whole, hn::RebindMask(whole, hn::Lt(rest, hn::Zero(d)))));
    const auto quick = hn::And(hn::Lt(hn::Abs(steps), hn::Set(d, kMostSteps)),
                               hn::Gt(hn::Abs(rest), hn::Set(d, kNearEnd)));
    const auto key = hn::Add(hn::Add(k, k), one);
    const auto slow = hn::Set(whole, kSlowKey);
    hn::StoreU(hn::IfThenElse(hn::RebindMask(whole, quick), key, slow), whole, keys + i);
  }
  for (; i < n; ++i) keys[i] = kSlowKey;
}

}  // namespace kde::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/sums/engine.h"
#include "core/sums/simd_dispatch.h"

namespace kde {

const BatchWork& batch_work() {
  static constexpr TargetFunction<decltype(BatchWork::add)> kAdd[] =
      KDE_TARGET_FUNCTIONS(AddValues);
  static constexpr TargetFunction<decltype(BatchWork::are_decimal)> kAreDecimal[] =
      KDE_TARGET_FUNCTIONS(AreDecimal);
  static constexpr TargetFunction<decltype(BatchWork::make_units)> kMakeUnits[] =
      KDE_TARGET_FUNCTIONS(MakeUnits);
  static constexpr TargetFunction<decltype(BatchWork::find_keys)> kFindKeys[] =
      KDE_TARGET_FUNCTIONS(FindKeys);
  static const BatchWork work = [] {
    const std::int64_t target = best_simd_target();
    return BatchWork{
        function_for<decltype(BatchWork::add)>(kAdd, target),
        function_for<decltype(BatchWork::are_decimal)>(kAreDecimal, target),
        function_for<decltype(BatchWork::make_units)>(kMakeUnits, target),
        function_for<decltype(BatchWork::find_keys)>(kFindKeys, target),
    };
  }();
  return work;
}

}  // namespace kde
#endif  // HWY_ONCE
