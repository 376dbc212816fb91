// The vector kernels of normal_box.h, compiled once for every instruction set by Google Highway,
// whose foreach_target.h includes this file again for each. Boxes fill the lanes; nothing passes
// from one lane to another, so that a box's answer does not depend on where it lies.
#include <cstddef>
#include <cstdint>

#include "core/joint/normal_box.h"

// Structures and arrays of vectors, which are of no size in SVE: NEON has them.
#ifdef __aarch64__
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/joint/normal_box_simd.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "core/joint/normal_draw-inl.h"
#include "core/joint/normal_tail-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kde::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A block of boxes is a whole number of vectors on every processor.
using FloatTag = hn::CappedTag<float, kJointBlock>;
using Floats = hn::Vec<FloatTag>;

// Ends beyond that distance are as good as infinite: Phi(-5.5) = 2e-8, which no |D| of a corner
// there exceeds; phi = 1e-7.
constexpr float kNormalReach = 5.5;
constexpr float kRootTwoPi = 2.5066282746310002F;
constexpr float kInverseRootTwoPi = 0.3989422804014327F;

HWY_INLINE Floats ClampEnd(FloatTag d, Floats x) {
  return hn::Min(hn::Max(x, hn::Set(d, -kNormalBoxEnd)), hn::Set(d, kNormalBoxEnd));
}

HWY_INLINE Floats Square(Floats x) { return hn::Mul(x, x); }

HWY_INLINE Floats ClampProbability(FloatTag d, Floats p) {
  return hn::Min(hn::Max(p, hn::Zero(d)), hn::Set(d, 1.0F));
}

void OneColumn(const NormalBoxRule& rule, const float (*lower)[kJointBlock],
               const float (*upper)[kJointBlock], int boxes, const std::uint32_t* /*number*/,
               float* probability, float* moment, float* /*difference*/) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < static_cast<std::size_t>(boxes); i += lanes) {
    const Floats a = ClampEnd(d, hn::LoadU(d, lower[0] + i));
    const Floats b = ClampEnd(d, hn::LoadU(d, upper[0] + i));
    const auto at_a = TailOf(d, a);
    const auto at_b = TailOf(d, b);
    hn::StoreU(ClampProbability(d, MassBetween(d, a, at_a, b, at_b)), d, probability + i);
    if (rule.moments) {
      const Floats scale = hn::Set(d, rule.target[0] * kInverseRootTwoPi);
      hn::StoreU(hn::Mul(scale, hn::Sub(at_a.height, at_b.height)), d, moment + i);
    }
  }
}

// An end of a side: its place, x^2/2, exp(-x^2/2) and Phi(x) - 1/2; the last two 0 and +-1/2 where
// it is as good as infinite.
struct End {
  Floats x, square, height, half;
  bool near;  // for some of the boxes it is not
};

HWY_INLINE auto IsNear(FloatTag d, Floats x) {
  return hn::Lt(hn::Abs(x), hn::Set(d, kNormalReach));
}

HWY_INLINE End EndOf(FloatTag d, const float* at) {
  End end;
  end.x = ClampEnd(d, hn::LoadU(d, at));
  const auto near = IsNear(d, end.x);
  end.near = !hn::AllFalse(d, near);
  end.square = hn::Mul(Square(end.x), hn::Set(d, 0.5F));
  end.height = hn::Zero(d);
  end.half = hn::CopySign(hn::Set(d, 0.5F), end.x);
  if (!end.near) return end;
  end.height = hn::IfThenElseZero(near, ExpMinus(d, end.square));
  const Floats area = hn::Mul(end.height, MillsRatio(d, hn::Abs(end.x)));
  end.half = hn::CopySign(hn::Sub(hn::Set(d, 0.5F), area), end.x);
  return end;
}

// D(x, y; rho) by quadrature from rho = 0.
HWY_INLINE Floats CornerFromZero(FloatTag d, const NormalBoxRule& rule, const End& x,
                                 const End& y) {
  const Floats squares = hn::Add(x.square, y.square);
  const Floats product = hn::Mul(x.x, y.x);
  Floats sum = hn::Zero(d);
  for (int j = 0; j < rule.nodes; ++j) {
    const Floats e = hn::NegMulAdd(product, hn::Set(d, rule.node[j]),
                                   hn::Mul(squares, hn::Set(d, rule.inverse[j])));
    sum = hn::MulAdd(hn::Set(d, rule.weight[j]), ExpMinus(d, e), sum);
  }
  return sum;
}

// The corner by quadrature from |rho| = 1.
HWY_INLINE Floats CornerFromOne(FloatTag d, const NormalBoxRule& rule, Floats x, Floats y_signed) {
  const Floats zero = hn::Zero(d);
  const Floats half = hn::Set(d, 0.5F);
  const Floats one = hn::Set(d, 1.0F);
  const Floats y = hn::Mul(y_signed, hn::Set(d, rule.sign));
  const Floats xy = hn::Mul(x, y);
  const Floats apart = hn::Abs(hn::Sub(x, y));
  const Floats apart_square = Square(apart);
  const Floats c1 = hn::Mul(hn::Sub(hn::Set(d, 4.0F), xy), hn::Set(d, 1.0F / 8));
  const Floats c2 = hn::Mul(hn::Sub(hn::Set(d, 12.0F), xy), hn::Set(d, 1.0F / 16));

  // In closed form: m_j = int_0^1 t^(2j) exp(-(ratio/t)^2/2) dt exp(-x y/2), by parts. Where ratio
  // is beyond 9, `edge` is below exp(-38): what the ratio is taken for there is no matter.
  const Floats true_ratio = hn::Mul(apart, hn::Set(d, rule.inverse_s));
  const Floats edge =
      ExpMinus(d, hn::Max(zero, hn::Mul(half, hn::MulAdd(true_ratio, true_ratio, xy))));
  const Floats ratio = hn::Min(true_ratio, hn::Set(d, kNormalBoxEnd));
  const Floats ratio_square = Square(ratio);
  const Floats m0 = hn::Mul(
      edge, hn::NegMulAdd(hn::Mul(ratio, hn::Set(d, kRootTwoPi)), MillsRatio(d, ratio), one));
  const Floats m1 = hn::Mul(hn::NegMulAdd(ratio_square, m0, edge), hn::Set(d, 1.0F / 3));
  const Floats m2 = hn::Mul(hn::NegMulAdd(ratio_square, m1, edge), hn::Set(d, 1.0F / 5));
  const Floats q = hn::Set(d, rule.s * rule.s);
  const Floats closed = hn::MulAdd(hn::Mul(c1, q), hn::MulAdd(hn::Mul(c2, q), m2, m1), m0);
  Floats sum = hn::Mul(closed, hn::Set(d, rule.s * (kInverseRootTwoPi * kInverseRootTwoPi)));

  for (int j = 0; j < rule.nodes; ++j) {
    const Floats common = hn::Mul(apart_square, hn::Set(d, rule.node[j]));
    const Floats square = hn::Set(d, rule.square[j]);
    const Floats whole =
        ExpMinus(d, hn::Max(zero, hn::MulAdd(xy, hn::Set(d, rule.inverse[j]), common)));
    const Floats first = ExpMinus(d, hn::Max(zero, hn::MulAdd(xy, half, common)));
    const Floats series = hn::MulAdd(hn::Mul(c1, square), hn::MulAdd(c2, square, one), one);
    const Floats rest = hn::MulSub(whole, hn::Set(d, rule.inverse_r[j]), hn::Mul(first, series));
    sum = hn::MulAdd(hn::Set(d, rule.weight[j]), rest, sum);
  }

  const Floats least = hn::Min(x, y);
  const Floats most = hn::Max(x, y);
  const Floats below_least = TailOf(d, least).area;
  const Floats above_most = TailOf(d, most).area;
  const Floats at_one =
      hn::Mul(hn::IfThenElse(hn::Lt(least, zero), below_least, hn::Sub(one, below_least)),
              hn::IfThenElse(hn::Gt(most, zero), above_most, hn::Sub(one, above_most)));
  return hn::Mul(hn::Sub(at_one, sum), hn::Set(d, rule.sign));
}

HWY_INLINE Floats Corner(FloatTag d, const NormalBoxRule& rule, const End& x, const End& y) {
  if (!x.near || !y.near) return hn::Zero(d);
  // Of each box by itself, so that no answer depends on the others of a vector.
  return hn::IfThenElseZero(
      hn::And(IsNear(d, x.x), IsNear(d, y.x)),
      rule.from_one ? CornerFromOne(d, rule, x.x, y.x) : CornerFromZero(d, rule, x, y));
}

// (x - rho t)/sqrt(1 - rho^2). Near |rho| = 1 the difference of x and +-t comes first, which is
// exact where it is small.
HWY_INLINE Floats Given(FloatTag d, const NormalBoxRule& rule, Floats x, Floats t) {
  const Floats sign = hn::Set(d, rule.sign);
  const Floats apart = hn::NegMulAdd(sign, t, x);
  const Floats gap = hn::Set(d, rule.sign * rule.one_minus);
  return ClampEnd(d, hn::Mul(hn::MulAdd(gap, t, apart), hn::Set(d, rule.inverse_s)));
}

// exp(-x^2/2).
HWY_INLINE Floats Height(FloatTag d, Floats x) {
  return ExpMinus(d, hn::Mul(Square(x), hn::Set(d, 0.5F)));
}

// DrawHalfNormal, which is 1/2 in magnitude from there on.
HWY_INLINE Floats HalfNormalOf(FloatTag d, Floats x) {
  constexpr float kEnd = 5;
  if (hn::AllFalse(d, hn::Lt(hn::Abs(x), hn::Set(d, kEnd))))
    return hn::CopySign(hn::Set(d, 0.5F), x);
  return DrawHalfNormal(d, x);
}

// phi(t) Pr(a < e_2 < b | e_1 = t), without phi's constant.
HWY_INLINE Floats Face(FloatTag d, const NormalBoxRule& rule, const End& t, const End& a,
                       const End& b) {
  if (!t.near) return hn::Zero(d);
  const Floats from = HalfNormalOf(d, Given(d, rule, a.x, t.x));
  const Floats to = HalfNormalOf(d, Given(d, rule, b.x, t.x));
  return hn::Mul(t.height, hn::Max(hn::Sub(to, from), hn::Zero(d)));
}

// What of a side's [from, to] is in a standard normal variable's reach: Phi - 1/2 of its lower end,
// and its probability.
struct SideMass {
  Floats below, mass;
};

HWY_INLINE SideMass MassOf(FloatTag d, Floats a, Floats b) {
  const Floats below = DrawHalfNormal(d, a);
  return {below, hn::Max(hn::Sub(DrawHalfNormal(d, b), below), hn::Zero(d))};
}

void TwoColumns(const NormalBoxRule& rule, const float (*lower)[kJointBlock],
                const float (*upper)[kJointBlock], int boxes, const std::uint32_t* /*number*/,
                float* probability, float* moment, float* /*difference*/) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < static_cast<std::size_t>(boxes); i += lanes) {
    const End a1 = EndOf(d, lower[0] + i);
    const End b1 = EndOf(d, upper[0] + i);
    const End a2 = EndOf(d, lower[1] + i);
    const End b2 = EndOf(d, upper[1] + i);
    const Floats mass1 = hn::Max(hn::Sub(b1.half, a1.half), hn::Zero(d));
    const Floats mass2 = hn::Max(hn::Sub(b2.half, a2.half), hn::Zero(d));
    const Floats corners = hn::Sub(hn::Add(Corner(d, rule, b1, b2), Corner(d, rule, a1, a2)),
                                   hn::Add(Corner(d, rule, a1, b2), Corner(d, rule, b1, a2)));
    const Floats p = hn::Min(hn::MulAdd(mass1, mass2, corners), hn::Min(mass1, mass2));
    hn::StoreU(ClampProbability(d, p), d, probability + i);
    if (rule.moments) {
      const Floats f1 = hn::Sub(Face(d, rule, a1, a2, b2), Face(d, rule, b1, a2, b2));
      const Floats f2 = hn::Sub(Face(d, rule, a2, a1, b1), Face(d, rule, b2, a1, b1));
      const Floats c1 = hn::Set(d, rule.target[0] * kInverseRootTwoPi);
      const Floats c2 = hn::Set(d, rule.target[1] * kInverseRootTwoPi);
      hn::StoreU(hn::MulAdd(c1, f1, hn::Mul(c2, f2)), d, moment + i);
    }
  }
}

// The places of a box's draws in one coordinate: a lattice of four, moved by the number's term of a
// Kronecker sequence, so that boxes whose numbers follow each other are drawn for as by one
// quasi-Monte Carlo set; under the tent.
static_assert(kNormalBoxDraws == 4);
struct Places {
  Floats u[kNormalBoxDraws];
};

HWY_INLINE Floats Tent(FloatTag d, hn::Vec<hn::RebindToUnsigned<FloatTag>> h) {
  const hn::RebindToSigned<FloatTag> s;
  const auto turned = hn::Xor(hn::BitCast(s, h), hn::ShiftRight<31>(hn::BitCast(s, h)));
  return hn::Mul(hn::ConvertTo(d, turned), hn::Set(d, 0x1p-31F));
}

// turn: whether the lattice's generator is 3 or 7, for which the second draw is the last of 1
// and 5.
HWY_INLINE Places PlacesOf(FloatTag d, const std::uint32_t* number, std::uint32_t step, bool turn) {
  const hn::RebindToUnsigned<FloatTag> u;
  // From the middle of the first step: at 0 all places would be ends.
  const auto h = hn::Add(hn::Mul(hn::LoadU(u, number), hn::Set(u, step)), hn::Set(u, step / 2));
  const Floats one = hn::Set(d, 1.0F);
  const Floats first = Tent(d, h);
  const Floats second = Tent(d, hn::Add(h, hn::Set(u, turn ? 0xC0000000U : 0x40000000U)));
  // Half a turn on the tent is at 1 - u.
  return {{first, second, hn::Sub(one, first), hn::Sub(one, second)}};
}

// A variable of the side's truncated distribution, at the share u of it.
HWY_INLINE Floats DrawFrom(FloatTag d, const SideMass& side, Floats u) {
  return DrawQuantile(d, hn::MulAdd(u, side.mass, side.below));
}

// exp(-a^2/2) - exp(-b^2/2).
HWY_INLINE Floats HeightDifference(FloatTag d, Floats a, Floats b) {
  return hn::Sub(Height(d, ClampEnd(d, a)), Height(d, ClampEnd(d, b)));
}

// Sequential conditioning: the draws of a vector of boxes side by side.
template <bool kMoments>
void DrawBoxes(const NormalBoxRule& rule, const float (*lower)[kJointBlock],
               const float (*upper)[kJointBlock], int boxes, const std::uint32_t* number,
               float* probability, float* moment, float* difference) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t k = static_cast<std::size_t>(rule.k);
  constexpr std::size_t kMostLanes = static_cast<std::size_t>(hn::MaxLanes(FloatTag()));
  HWY_ALIGN float z[kNormalBoxDraws][kMaxColumns * kMostLanes];
  const Floats zero = hn::Zero(d);
  const Floats share = hn::Set(d, 1.0F / kNormalBoxDraws);
  for (std::size_t i = 0; i < static_cast<std::size_t>(boxes); i += lanes) {
    Floats product[kNormalBoxDraws];
    Floats mean[kNormalBoxDraws];
    const SideMass first = MassOf(d, hn::LoadU(d, lower[0] + i), hn::LoadU(d, upper[0] + i));
    for (int n = 0; n < kNormalBoxDraws; ++n) {
      product[n] = first.mass;
      mean[n] = zero;
    }
    for (std::size_t j = 0; j < k; ++j) {
      const bool is_last = j + 1 == k;
      const Places places = PlacesOf(d, number + i, rule.step[j], j % 2 == 1);
      const Floats from = hn::LoadU(d, lower[j] + i);
      const Floats to = hn::LoadU(d, upper[j] + i);
      const Floats scale = hn::Set(d, rule.inverse_diagonal[j]);
      for (int n = 0; n < kNormalBoxDraws; ++n) {
        SideMass side = first;
        if (j > 0) {
          Floats centre = zero;
          for (std::size_t l = 0; l < j; ++l) {
            centre =
                hn::MulAdd(hn::Set(d, rule.factor[j][l]), hn::Load(d, z[n] + l * lanes), centre);
          }
          const Floats a = hn::Mul(hn::Sub(from, centre), scale);
          const Floats b = hn::Mul(hn::Sub(to, centre), scale);
          side = MassOf(d, a, b);
          if constexpr (kMoments) {
            if (is_last) {
              const Floats last = hn::Mul(HeightDifference(d, a, b),
                                          hn::Set(d, rule.target[j] * kInverseRootTwoPi));
              mean[n] = hn::Mul(product[n], hn::MulAdd(mean[n], side.mass, last));
            }
          }
          product[n] = hn::Mul(product[n], side.mass);
        }
        if (is_last) continue;
        const Floats at = DrawFrom(d, side, places.u[n]);
        hn::Store(at, d, z[n] + j * lanes);
        if constexpr (kMoments) mean[n] = hn::MulAdd(hn::Set(d, rule.target[j]), at, mean[n]);
      }
    }
    // Even and odd draws are lattices of half the points; their difference measures the error.
    const Floats even = hn::Add(product[0], product[2]);
    const Floats odd = hn::Add(product[1], product[3]);
    hn::StoreU(ClampProbability(d, hn::Mul(share, hn::Add(even, odd))), d, probability + i);
    if (difference != nullptr) hn::StoreU(hn::Mul(share, hn::Sub(even, odd)), d, difference + i);
    if constexpr (kMoments) {
      const Floats sum = hn::Add(hn::Add(mean[0], mean[1]), hn::Add(mean[2], mean[3]));
      hn::StoreU(hn::Mul(share, sum), d, moment + i);
    }
  }
}

void MoreColumns(const NormalBoxRule& rule, const float (*lower)[kJointBlock],
                 const float (*upper)[kJointBlock], int boxes, const std::uint32_t* number,
                 float* probability, float* moment, float* difference) {
  const auto integrate = rule.moments ? DrawBoxes<true> : DrawBoxes<false>;
  integrate(rule, lower, upper, boxes, number, probability, moment, difference);
}

NormalBoxKernel KernelFor(int k) {
  return k == 1 ? OneColumn : (k == 2 ? TwoColumns : MoreColumns);
}

}  // namespace kde::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/sums/simd_dispatch.h"

namespace kde {

NormalBoxKernel normal_box_kernel(std::int64_t target, int k) {
  using Maker = NormalBoxKernel (*)(int);
  static constexpr TargetFunction<Maker> kMakers[] = KDE_TARGET_FUNCTIONS(KernelFor);
  return function_for<Maker>(kMakers, target)(k);
}

}  // namespace kde
#endif  // HWY_ONCE
