// The vector code of product.h, compiled once for every instruction set by Google Highway, whose
// foreach_target.h includes this file again for each. There is no OpenMP here, and nothing that
// allocates or throws.
//
// Sides are taken one after the other over a whole block, whose probabilities stay in the nearest
// cache: which of their edges cut is then decided once a block, not once a point.
#include <cstddef>
#include <cstdint>

#include "core/joint/product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/joint/product_simd.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "core/joint/normal-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kde::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// P of one side.
template <class D, class V>
HWY_INLINE V SideShare(D d, const ProductSide& side, V t) {
  const V half = hn::Set(d, 0.5F);
  V below = half;
  V above = half;
  if (side.lower_cuts) below = HalfNormal(d, hn::Sub(t, hn::Set(d, side.range.kernel_lower)));
  if (side.upper_cuts) above = HalfNormal(d, hn::Sub(hn::Set(d, side.range.kernel_upper), t));
  return hn::Max(hn::Add(below, above), hn::Zero(d));
}

void MultiplySide(const ProductSide& side, BlockShares* shares) {
  const hn::ScalableTag<float> d;
  for (std::size_t i = 0; i < kJointBlock; i += hn::Lanes(d)) {
    const auto share = SideShare(d, side, hn::LoadU(d, side.coordinate + i));
    float* p = shares->probability + i;
    hn::Store(hn::Mul(hn::Load(d, p), share), d, p);
  }
}

void MultiplyMember(const ProductSide& side, BlockShares* shares) {
  const hn::ScalableTag<float> d;
  const auto lower = hn::Set(d, side.range.member_lower);
  const auto upper = hn::Set(d, side.range.member_upper);
  for (std::size_t i = 0; i < kJointBlock; i += hn::Lanes(d)) {
    const auto t = hn::LoadU(d, side.coordinate + i);
    float* m = shares->member + i;
    hn::Store(hn::IfThenElseZero(hn::And(hn::Gt(t, lower), hn::Le(t, upper)), hn::Load(d, m)), d,
              m);
  }
}

// Below that probability M/P is a quotient of roundings: the mean is then the nearer edge.
constexpr float kLeastShare = 1e-6F;

// The target's own side, after all others.
void MultiplyOwnSide(const ProductSide& side, BlockShares* shares) {
  const hn::ScalableTag<float> d;
  const auto lower = hn::Set(d, side.range.kernel_lower);
  const auto upper = hn::Set(d, side.range.kernel_upper);
  for (std::size_t i = 0; i < kJointBlock; i += hn::Lanes(d)) {
    const auto t = hn::LoadU(d, side.coordinate + i);
    const auto share = SideShare(d, side, t);
    const auto moment =
        hn::Sub(NormalDensity(d, hn::Sub(lower, t)), NormalDensity(d, hn::Sub(upper, t)));
    const auto usable = hn::Ge(share, hn::Set(d, kLeastShare));
    const auto mean = hn::Add(
        t, hn::IfThenElseZero(usable, hn::Div(moment, hn::Max(share, hn::Set(d, kLeastShare)))));
    float* p = shares->probability + i;
    const auto others = hn::Load(d, p);
    hn::Store(hn::Mul(others, share), d, p);
    hn::Store(hn::Mul(others, moment), d, shares->moment + i);
    hn::Store(hn::Max(hn::Min(mean, upper), lower), d, shares->mean + i);
  }
}

template <class DD, class V>
HWY_INLINE double Total(DD dd, V v) {
  return hn::GetLane(hn::SumOfLanes(dd, v));
}

// Of a vector of points: w.
template <class DD>
HWY_INLINE hn::Vec<DD> Weights(DD dd, const ProductBlock& block, std::size_t i) {
  const hn::Rebind<float, DD> narrow;
  if (block.weight == nullptr) return hn::Set(dd, block.equal_weight);
  return hn::PromoteTo(dd, hn::LoadU(narrow, block.weight + i));
}

// own_rows [in the box] + w P.
template <class DD, class V>
HWY_INLINE V Rows(DD dd, const ProductBlock& block, const BlockShares& shares, std::size_t i,
                  V weight) {
  const hn::Rebind<float, DD> narrow;
  V rows = hn::Mul(weight, hn::PromoteTo(dd, hn::Load(narrow, shares.probability + i)));
  if (block.own_rows > 0) {
    const V member = hn::PromoteTo(dd, hn::Load(narrow, shares.member + i));
    rows = hn::Add(rows, hn::Mul(hn::Set(dd, block.own_rows), member));
  }
  return rows;
}

void AddRows(const ProductBlock& block, const BlockShares& shares, BoxSums* sums) {
  const hn::ScalableTag<double> dd;
  auto total = hn::Zero(dd);
  auto squares = hn::Zero(dd);
  for (std::size_t i = 0; i < kJointBlock; i += hn::Lanes(dd)) {
    const auto rows = Rows(dd, block, shares, i, Weights(dd, block, i));
    total = hn::Add(total, rows);
    squares = hn::MulAdd(rows, rows, squares);
  }
  sums->rows += Total(dd, total);
  sums->squares += Total(dd, squares);
}

template <TargetValue kValue>
void AddTarget(const ProductBlock& block, const BlockShares& shares, BoxSums* sums) {
  const hn::ScalableTag<double> dd;
  const hn::Rebind<float, decltype(dd)> narrow;
  const hn::Rebind<std::int32_t, decltype(dd)> integer;
  using V = hn::Vec<decltype(dd)>;
  V total = hn::Zero(dd);
  V squares = hn::Zero(dd);
  V finite = hn::Zero(dd);
  V nans = hn::Zero(dd);
  V below = hn::Zero(dd);
  V above = hn::Zero(dd);
  V power1 = hn::Zero(dd);
  V power2 = hn::Zero(dd);
  V power3 = hn::Zero(dd);
  V power4 = hn::Zero(dd);
  V pull = hn::Zero(dd);
  V pull_power = hn::Zero(dd);
  const V farthest = hn::Set(dd, kFarthest);
  for (std::size_t i = 0; i < kJointBlock; i += hn::Lanes(dd)) {
    const V weight = Weights(dd, block, i);
    const V rows = Rows(dd, block, shares, i, weight);
    total = hn::Add(total, rows);
    squares = hn::MulAdd(rows, rows, squares);

    const V t = hn::PromoteTo(dd, hn::LoadU(narrow, block.coordinate + i));
    const auto is_finite = hn::Le(hn::Abs(t), farthest);
    nans = hn::Add(nans, hn::IfThenElseZero(hn::Eq(t, hn::Set(dd, kNotANumber)), rows));
    below = hn::Add(below, hn::IfThenElseZero(hn::Eq(t, hn::Set(dd, kNegativeInfinity)), rows));
    above = hn::Add(above, hn::IfThenElseZero(hn::Eq(t, hn::Set(dd, kPositiveInfinity)), rows));

    V u = hn::Zero(dd);
    if constexpr (kValue == TargetValue::coordinate) {
      u = block.own_side ? hn::PromoteTo(dd, hn::Load(narrow, shares.mean + i)) : t;
    } else if constexpr (kValue == TargetValue::number) {
      u = hn::PromoteTo(dd, hn::BitCast(narrow, hn::LoadU(integer, block.raw + i)));
    } else {
      u = hn::PromoteTo(dd, hn::LoadU(integer, block.raw + i));
    }
    u = hn::Max(hn::Min(u, hn::Set(dd, block.most)), hn::Set(dd, block.least));
    u = hn::IfThenElseZero(is_finite, hn::Sub(u, hn::Set(dd, block.zero)));
    const V counted = hn::IfThenElseZero(is_finite, rows);
    finite = hn::Add(finite, counted);
    V term = hn::Mul(counted, u);
    power1 = hn::Add(power1, term);
    term = hn::Mul(term, u);
    power2 = hn::Add(power2, term);
    term = hn::Mul(term, u);
    power3 = hn::Add(power3, term);
    power4 = hn::MulAdd(term, u, power4);
    if constexpr (kValue == TargetValue::coordinate) {
      if (block.own_side) {
        const V moment = hn::Mul(weight, hn::PromoteTo(dd, hn::Load(narrow, shares.moment + i)));
        const V used = hn::IfThenElseZero(is_finite, moment);
        pull = hn::Add(pull, used);
        pull_power = hn::MulAdd(used, u, pull_power);
      }
    }
  }
  sums->rows += Total(dd, total);
  sums->squares += Total(dd, squares);
  sums->finite += Total(dd, finite);
  sums->nans += Total(dd, nans);
  sums->negative_infinities += Total(dd, below);
  sums->positive_infinities += Total(dd, above);
  sums->power[0] += Total(dd, power1);
  sums->power[1] += Total(dd, power2);
  sums->power[2] += Total(dd, power3);
  sums->power[3] += Total(dd, power4);
  sums->pull += Total(dd, pull);
  sums->pull_power += Total(dd, pull_power);
}

void AddAllShares(const ProductBlock& block, const BlockShares& shares, BoxSums* sums) {
  switch (block.value) {
    case TargetValue::none:
      return AddRows(block, shares, sums);
    case TargetValue::coordinate:
      return AddTarget<TargetValue::coordinate>(block, shares, sums);
    case TargetValue::number:
      return AddTarget<TargetValue::number>(block, shares, sums);
    case TargetValue::lattice:
      return AddTarget<TargetValue::lattice>(block, shares, sums);
  }
}

void AddBlock(const ProductBlock& block, BoxSums* sums) {
  BlockShares shares;
  // What fills up the last block is in no box.
  for (std::size_t i = 0; i < kJointBlock; ++i)
    shares.probability[i] = shares.member[i] = i < block.points ? 1.0F : 0.0F;
  const int others = block.sides - (block.own_side ? 1 : 0);
  for (int k = 0; k < others; ++k) MultiplySide(block.side[k], &shares);
  if (block.own_side) MultiplyOwnSide(block.side[others], &shares);
  if (block.own_rows > 0) {
    for (int k = 0; k < block.sides; ++k) MultiplyMember(block.side[k], &shares);
  }
  AddAllShares(block, shares, sums);
}

void EvaluateNormals(const float* x, float* half, float* density) {
  const hn::ScalableTag<float> d;
  for (std::size_t i = 0; i < kJointBlock; i += hn::Lanes(d)) {
    const auto at = hn::LoadU(d, x + i);
    hn::StoreU(HalfNormal(d, at), d, half + i);
    hn::StoreU(NormalDensity(d, at), d, density + i);
  }
}

}  // namespace kde::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/sums/simd_dispatch.h"

namespace kde {

AddProduct add_product(std::int64_t target) {
  static constexpr TargetFunction<AddProduct> kFunctions[] = KDE_TARGET_FUNCTIONS(AddBlock);
  return function_for<AddProduct>(kFunctions, target);
}

AddShares add_shares(std::int64_t target) {
  static constexpr TargetFunction<AddShares> kFunctions[] = KDE_TARGET_FUNCTIONS(AddAllShares);
  return function_for<AddShares>(kFunctions, target);
}

HalfNormals half_normals(std::int64_t target) {
  static constexpr TargetFunction<HalfNormals> kFunctions[] = KDE_TARGET_FUNCTIONS(EvaluateNormals);
  return function_for<HalfNormals>(kFunctions, target);
}

}  // namespace kde
#endif  // HWY_ONCE
