// The vector code of product.h, compiled once for every instruction set by Google Highway, whose
// foreach_target.h includes this file again for each. There is no OpenMP here, and nothing that
// allocates or throws.
//
// Sides are taken one after the other over a whole block, whose probabilities stay in the nearest
// cache: which of their edges cut is then decided once a block, not once a point.
#include <cstddef>
#include <cstdint>

#include "core/joint/product.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/joint/product_simd.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "core/joint/normal-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kde::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Floats in double lanes.
template <class DD>
HWY_INLINE hn::Vec<DD> Widened(DD dd, const float* from) {
  const hn::Rebind<float, DD> narrow;
  return hn::PromoteTo(dd, hn::LoadU(narrow, from));
}

// P of one side.
template <class DD, class V>
HWY_INLINE V SideShare(DD dd, const ProductSide& side, V t) {
  const V half = hn::Set(dd, 0.5);
  V below = half;
  V above = half;
  if (side.lower_cuts)
    below = HalfNormal(dd, hn::Sub(t, hn::Set(dd, double{side.range.kernel_lower})));
  if (side.upper_cuts)
    above = HalfNormal(dd, hn::Sub(hn::Set(dd, double{side.range.kernel_upper}), t));
  return hn::Max(hn::Add(below, above), hn::Zero(dd));
}

void MultiplySide(const ProductSide& side, BlockShares* shares) {
  const hn::ScalableTag<double> dd;
  for (std::size_t i = 0; i < kJointBlock; i += hn::Lanes(dd)) {
    const auto share = SideShare(dd, side, Widened(dd, side.coordinate + i));
    double* p = shares->probability + i;
    hn::Store(hn::Mul(hn::Load(dd, p), share), dd, p);
  }
}

// Finite raw values in double lanes; t: their coordinates.
template <class DD, class V>
HWY_INLINE V RawValues(DD dd, RawValue kind, const std::int32_t* value, std::size_t i, V t) {
  const hn::Rebind<float, DD> narrow;
  const hn::Rebind<std::int32_t, DD> integer;
  if (kind == RawValue::lattice) return hn::PromoteTo(dd, hn::LoadU(integer, value + i));
  if (kind == RawValue::number)
    return hn::PromoteTo(dd, hn::BitCast(narrow, hn::LoadU(integer, value + i)));
  return t;
}

// Finite values by themselves, as their coordinates are rounded; the others by their places.
void MultiplyMember(const ProductSide& side, BlockShares* shares) {
  const hn::ScalableTag<double> dd;
  const auto least = hn::Set(dd, side.raw.least);
  const auto most = hn::Set(dd, side.raw.most);
  const auto lower = hn::Set(dd, double{side.range.kernel_lower});
  const auto upper = hn::Set(dd, double{side.range.kernel_upper});
  const auto farthest = hn::Set(dd, double{kFarthest});
  for (std::size_t i = 0; i < kJointBlock; i += hn::Lanes(dd)) {
    const auto t = Widened(dd, side.coordinate + i);
    const auto raw = RawValues(dd, side.raw.kind, side.value, i, t);
    const auto finite = hn::Le(hn::Abs(t), farthest);
    const auto by_value = hn::And(hn::Ge(raw, least), hn::Le(raw, most));
    const auto by_place = hn::And(hn::Gt(t, lower), hn::Le(t, upper));
    const auto in = hn::Or(hn::And(finite, by_value), hn::AndNot(finite, by_place));
    double* m = shares->member + i;
    hn::Store(hn::IfThenElseZero(in, hn::Load(dd, m)), dd, m);
  }
}

// Below that probability M/P is a quotient of Phi's errors: the mean is then the nearer edge.
constexpr double kLeastShare = 1e-7;

// The target's own side, after all others.
void MultiplyOwnSide(const ProductSide& side, BlockShares* shares) {
  const hn::ScalableTag<double> dd;
  const auto lower = hn::Set(dd, double{side.range.kernel_lower});
  const auto upper = hn::Set(dd, double{side.range.kernel_upper});
  const auto least = hn::Set(dd, kLeastShare);
  for (std::size_t i = 0; i < kJointBlock; i += hn::Lanes(dd)) {
    const auto t = Widened(dd, side.coordinate + i);
    const auto share = SideShare(dd, side, t);
    const auto moment =
        hn::Sub(NormalDensity(dd, hn::Sub(lower, t)), NormalDensity(dd, hn::Sub(upper, t)));
    const auto shift =
        hn::IfThenElseZero(hn::Ge(share, least), hn::Div(moment, hn::Max(share, least)));
    double* p = shares->probability + i;
    const auto others = hn::Load(dd, p);
    hn::Store(hn::Mul(others, share), dd, p);
    hn::Store(hn::Mul(others, moment), dd, shares->moment + i);
    hn::Store(hn::Max(hn::Min(hn::Add(t, shift), upper), lower), dd, shares->mean + i);
  }
}

template <class DD, class V>
HWY_INLINE double Total(DD dd, V v) {
  return hn::GetLane(hn::SumOfLanes(dd, v));
}

// Of a vector of points: w.
template <class DD>
HWY_INLINE hn::Vec<DD> Weights(DD dd, const ProductBlock& block, std::size_t i) {
  if (block.weight == nullptr) return hn::Set(dd, block.equal_weight);
  return Widened(dd, block.weight + i);
}

// own_rows [in the box] + w P.
template <class DD, class V>
HWY_INLINE V Rows(DD dd, const ProductBlock& block, const BlockShares& shares, std::size_t i,
                  V weight) {
  const V rows = hn::Mul(weight, hn::Load(dd, shares.probability + i));
  if (!(block.own_rows > 0)) return rows;
  return hn::MulAdd(hn::Set(dd, block.own_rows), hn::Load(dd, shares.member + i), rows);
}

// Sums of Counted, a vector of points after the other.
template <class DD>
struct CountedSums {
  using V = hn::Vec<DD>;
  DD dd;
  V rows, finite, row_squares, valued, power, square0, square1, square2, alone;

  explicit CountedSums(DD d) : dd(d) {
    rows = finite = row_squares = valued = power = square0 = square1 = square2 = alone =
        hn::Zero(d);
  }
  // off: m - P.
  HWY_INLINE void AddRows(V weight, V own, V off) {
    rows = hn::MulAdd(weight, off, rows);
    const V whole = hn::Mul(hn::Add(weight, own), off);
    row_squares = hn::MulAdd(whole, whole, row_squares);
  }
  // u: the value.
  HWY_INLINE void AddValues(V weight, V own, V off, V member, V u) {
    const V smoothed = hn::Mul(weight, off);
    valued = hn::Add(valued, smoothed);
    power = hn::MulAdd(smoothed, u, power);
    const V all = hn::Add(weight, own);
    const V whole = hn::Mul(all, off);
    const V with_value = hn::Mul(whole, u);
    square0 = hn::MulAdd(whole, whole, square0);
    square1 = hn::MulAdd(whole, with_value, square1);
    square2 = hn::MulAdd(with_value, with_value, square2);
    const V counted = hn::Mul(all, member);
    alone = hn::MulAdd(counted, counted, alone);
  }
  void Put(Counted* out) const {
    const auto total = [this](V v) { return hn::GetLane(hn::SumOfLanes(dd, v)); };
    out->rows += total(rows);
    out->finite += total(finite);
    out->row_squares += total(row_squares);
    out->valued += total(valued);
    out->power += total(power);
    out->squares[0] += total(square0);
    out->squares[1] += total(square1);
    out->squares[2] += total(square2);
    out->alone += total(alone);
  }
};

// The points' u m and values, of which contrasts are made one by one.
struct ContrastPoints {
  alignas(64) double rows[kJointBlock];
  alignas(64) double valued[kJointBlock];
  alignas(64) double value[kJointBlock];

  void Put(const std::uint8_t* code, bool has_values, ContrastSums* out) const {
    for (std::size_t i = 0; i < kJointBlock; ++i) {
      const double x = rows[i];
      if (x == 0) continue;
      const int g = code[i] >> 1;
      const double sign = (code[i] & 1) != 0 ? -1 : 1;
      out->rows[g] += sign * x;
      out->alone += x * x;
      if (!has_values || valued[i] == 0) continue;
      const double y = value[i];
      out->valued[g] += sign * valued[i];
      out->power[g] += sign * valued[i] * y;
      const double square = valued[i] * valued[i];
      out->valued_alone[0] += square;
      out->valued_alone[1] += square * y;
      out->valued_alone[2] += square * y * y;
    }
  }
};

template <RawValue kValue>
void AddTarget(const ProductBlock& block, const BlockShares& shares, BoxSums* sums) {
  const hn::ScalableTag<double> dd;
  using V = hn::Vec<decltype(dd)>;
  V total = hn::Zero(dd);
  V squares = hn::Zero(dd);
  V finite = hn::Zero(dd);
  V valued = hn::Zero(dd);
  V nans = hn::Zero(dd);
  V below = hn::Zero(dd);
  V above = hn::Zero(dd);
  V power1 = hn::Zero(dd);
  V power2 = hn::Zero(dd);
  V power3 = hn::Zero(dd);
  V power4 = hn::Zero(dd);
  V pull = hn::Zero(dd);
  V pull_power = hn::Zero(dd);
  CountedSums beside(dd);
  ContrastPoints points;
  const V own_rows = hn::Set(dd, block.own_rows);
  for (std::size_t i = 0; i < kJointBlock; i += hn::Lanes(dd)) {
    const V weight = Weights(dd, block, i);
    const V rows = Rows(dd, block, shares, i, weight);
    total = hn::Add(total, rows);
    squares = hn::MulAdd(rows, rows, squares);
    const V member = block.members ? hn::Load(dd, shares.member + i) : hn::Zero(dd);
    V smoothed = hn::Load(dd, shares.probability + i);
    if (block.members) {
      beside.AddRows(weight, own_rows, hn::Sub(member, smoothed));
      hn::Store(hn::Mul(hn::Add(weight, own_rows), member), dd, points.rows + i);
    }
    if constexpr (kValue == RawValue::none) continue;

    const V t = Widened(dd, block.coordinate + i);
    const auto is_finite = hn::Le(hn::Abs(t), hn::Set(dd, double{kFarthest}));
    nans = hn::Add(nans, hn::IfThenElseZero(hn::Eq(t, hn::Set(dd, double{kNotANumber})), rows));
    below =
        hn::Add(below, hn::IfThenElseZero(hn::Eq(t, hn::Set(dd, double{kNegativeInfinity})), rows));
    above =
        hn::Add(above, hn::IfThenElseZero(hn::Eq(t, hn::Set(dd, double{kPositiveInfinity})), rows));

    V u = RawValues(dd, kValue, block.raw, i, t);
    V counted = hn::IfThenElseZero(is_finite, rows);
    finite = hn::Add(finite, counted);
    if (block.members)
      beside.finite = hn::Add(
          beside.finite, hn::IfThenElseZero(is_finite, hn::Mul(weight, hn::Sub(member, smoothed))));
    if constexpr (kValue == RawValue::coordinate) {
      if (block.own_side) u = hn::Load(dd, shares.mean + i);
    } else if (block.own_side) {
      // As members are told: bounds are rounded as values are.
      const RawRange& own = block.side[block.sides - 1].raw;
      const auto within = hn::And(
          is_finite, hn::And(hn::Ge(u, hn::Set(dd, own.least)), hn::Le(u, hn::Set(dd, own.most))));
      smoothed = hn::IfThenElseZero(within, hn::Load(dd, shares.others + i));
      counted = hn::Mul(weight, smoothed);
      if (block.own_rows > 0) counted = hn::MulAdd(own_rows, member, counted);
      counted = hn::IfThenElseZero(within, counted);
    }
    u = hn::Max(hn::Min(u, hn::Set(dd, block.most)), hn::Set(dd, block.least));
    u = hn::IfThenElseZero(is_finite, hn::Sub(u, hn::Set(dd, block.zero)));
    valued = hn::Add(valued, counted);
    if (block.members) {
      const V in = hn::IfThenElseZero(is_finite, member);
      const V off = hn::IfThenElseZero(is_finite, hn::Sub(member, smoothed));
      beside.AddValues(weight, own_rows, off, in, u);
      hn::Store(hn::Mul(hn::Add(weight, own_rows), in), dd, points.valued + i);
      hn::Store(u, dd, points.value + i);
    }
    V term = hn::Mul(counted, u);
    power1 = hn::Add(power1, term);
    term = hn::Mul(term, u);
    power2 = hn::Add(power2, term);
    term = hn::Mul(term, u);
    power3 = hn::Add(power3, term);
    power4 = hn::MulAdd(term, u, power4);
    if constexpr (kValue == RawValue::coordinate) {
      if (block.own_side) {
        const V moment = hn::Mul(weight, hn::Load(dd, shares.moment + i));
        const V used = hn::IfThenElseZero(is_finite, moment);
        pull = hn::Add(pull, used);
        pull_power = hn::MulAdd(used, u, pull_power);
      }
    }
  }
  sums->rows += Total(dd, total);
  sums->squares += Total(dd, squares);
  beside.Put(&sums->counted);
  if (block.contrast != nullptr && sums->contrasts != nullptr)
    points.Put(block.contrast, kValue != RawValue::none, sums->contrasts);
  if constexpr (kValue == RawValue::none) return;
  sums->finite += Total(dd, finite);
  sums->valued += Total(dd, valued);
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
    case RawValue::none:
      return AddTarget<RawValue::none>(block, shares, sums);
    case RawValue::coordinate:
      return AddTarget<RawValue::coordinate>(block, shares, sums);
    case RawValue::number:
      return AddTarget<RawValue::number>(block, shares, sums);
    case RawValue::lattice:
      return AddTarget<RawValue::lattice>(block, shares, sums);
  }
}

void AddBlock(const ProductBlock& block, BoxSums* sums) {
  BlockShares shares;
  // What fills up the last block is in no box.
  for (std::size_t i = 0; i < kJointBlock; ++i)
    shares.probability[i] = shares.member[i] = i < block.points ? 1 : 0;
  if (block.share != nullptr) {
    for (std::size_t i = 0; i < block.points; ++i)
      shares.probability[i] = shares.member[i] = block.share[i];
  }
  const int others = block.sides - (block.own_side ? 1 : 0);
  for (int k = 0; k < others; ++k) MultiplySide(block.side[k], &shares);
  if (block.own_side) {
    if (block.value == RawValue::coordinate) {
      MultiplyOwnSide(block.side[others], &shares);
    } else {
      std::copy_n(shares.probability, kJointBlock, shares.others);
      MultiplySide(block.side[others], &shares);
    }
  }
  if (block.members) {
    for (int k = 0; k < block.sides; ++k) MultiplyMember(block.side[k], &shares);
  }
  AddAllShares(block, shares, sums);
}

void EvaluateNormals(const double* x, double* half, double* density) {
  const hn::ScalableTag<double> dd;
  for (std::size_t i = 0; i < kJointBlock; i += hn::Lanes(dd)) {
    const auto at = hn::LoadU(dd, x + i);
    hn::StoreU(HalfNormal(dd, at), dd, half + i);
    hn::StoreU(NormalDensity(dd, at), dd, density + i);
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
