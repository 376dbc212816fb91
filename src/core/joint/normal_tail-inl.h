// Internal to src/core/joint, per target: the normal distribution in single precision. Included
// once for every instruction set, inside hwy/foreach_target.h.
//
//   Phi(-x) = exp(-x^2/2) t q(t),  t = 1/(1 + 0.3 x),  0 <= x <= 9
//   x = w - r(v),  v = 1/(1 + 0.4 w),  w = sqrt(-2 ln Phi(-x))
//
// q interpolates Mills's ratio at 8 Chebyshev nodes with a relative error of at most 7.1e-8, of
// Phi 3.5e-8; r likewise at 7 with an absolute error of 7.3e-6, which is plenty for what draws
// points. test/golden/normal_tail_coefficients.py computes both.

#if defined(KDE_AQP_NORMAL_TAIL_INL_H_) == defined(HWY_TARGET_TOGGLE)  // NOLINT
#ifdef KDE_AQP_NORMAL_TAIL_INL_H_
#undef KDE_AQP_NORMAL_TAIL_INL_H_
#else
#define KDE_AQP_NORMAL_TAIL_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <numbers>

#include "core/sums/exp2_minus-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kde::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::Vec<D> Polynomial8(D d, hn::Vec<D> t, const float (&c)[8]) {
  using V = hn::Vec<D>;
  // Estrin's scheme: half the latency of Horner's.
  const V t2 = hn::Mul(t, t);
  const V t4 = hn::Mul(t2, t2);
  const V p0 = hn::MulAdd(hn::Set(d, c[1]), t, hn::Set(d, c[0]));
  const V p1 = hn::MulAdd(hn::Set(d, c[3]), t, hn::Set(d, c[2]));
  const V p2 = hn::MulAdd(hn::Set(d, c[5]), t, hn::Set(d, c[4]));
  const V p3 = hn::MulAdd(hn::Set(d, c[7]), t, hn::Set(d, c[6]));
  return hn::MulAdd(hn::MulAdd(p3, t2, p2), t4, hn::MulAdd(p1, t2, p0));
}

// exp(-e), e >= 0 of any size: below exp(-80) = 2e-35 it stays there.
template <class D>
HWY_INLINE hn::Vec<D> ExpMinus(D d, hn::Vec<D> e) {
  return Exp2Minus(d, hn::Min(e, hn::Set(d, 80.0F)),
                   hn::Set(d, static_cast<float>(std::numbers::log2e)));
}

// Phi(-x) exp(x^2/2), 0 <= x <= 9.
template <class D>
HWY_INLINE hn::Vec<D> MillsRatio(D d, hn::Vec<D> x) {
  static constexpr float kC[8] = {
      0.11959294974803925F,  0.12127061933279037F, 0.09688904136419296F,  0.1380213052034378F,
      -0.07078565657138824F, 0.22426363825798035F, -0.16728755831718445F, 0.03803568333387375F};
  const auto one = hn::Set(d, 1.0F);
  const auto t = hn::Div(one, hn::MulAdd(x, hn::Set(d, 0.3F), one));
  return hn::Mul(t, Polynomial8(d, t, kC));
}

// Phi(-|x|) and exp(-x^2/2), |x| <= 9.
template <class D>
struct Tail {
  hn::Vec<D> area, height;
};

template <class D>
HWY_INLINE Tail<D> TailOf(D d, hn::Vec<D> x) {
  const auto height = ExpMinus(d, hn::Mul(hn::Mul(x, x), hn::Set(d, 0.5F)));
  return {hn::Mul(height, MillsRatio(d, hn::Abs(x))), height};
}

// Phi(b) - Phi(a) of the tails of a <= b, without cancellation where both have one sign.
template <class D>
HWY_INLINE hn::Vec<D> MassBetween(D d, hn::Vec<D> a, const Tail<D>& at_a, hn::Vec<D> b,
                                  const Tail<D>& at_b) {
  const auto zero = hn::Zero(d);
  // -0 becomes 0: signs are to say the same as comparisons.
  a = hn::Add(a, zero);
  b = hn::Add(b, zero);
  const auto across = hn::And(hn::Lt(a, zero), hn::Ge(b, zero));
  const auto signed_a = hn::CopySign(at_a.area, a);
  const auto signed_b = hn::CopySign(at_b.area, b);
  const auto difference = hn::Sub(signed_a, signed_b);
  return hn::Max(zero, hn::Add(difference, hn::IfThenElseZero(across, hn::Set(d, 1.0F))));
}

// x >= 0 with Phi(-x) = p, 0 <= p <= 1/2; below 1e-19 as if it were that.
template <class D>
HWY_INLINE hn::Vec<D> QuantileOfTail(D d, hn::Vec<D> p) {
  static constexpr float kC[8] = {
      0.03272673115134239F, 1.5248615741729736F,  -0.3634539842605591F, -0.43186232447624207F,
      4.571249008178711F,   -6.4537787437438965F, 3.7728283405303955F,  0.0F};
  const auto one = hn::Set(d, 1.0F);
  const auto log = hn::Log(d, hn::Max(p, hn::Set(d, 1e-19F)));
  const auto w = hn::Sqrt(hn::Mul(hn::Set(d, -2.0F), log));
  const auto v = hn::Div(one, hn::MulAdd(w, hn::Set(d, 0.4F), one));
  return hn::Max(hn::Zero(d), hn::Sub(w, Polynomial8(d, v, kC)));
}

}  // namespace kde::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggled
