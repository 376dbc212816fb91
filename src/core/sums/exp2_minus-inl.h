// 2^-t, per target (Highway's instruction sets). Included once for every instruction set, inside
// hwy/foreach_target.h.
//
// The usual method: t = k + r with k the integer nearest t, and 2^-t = 2^-k 2^-r. In base 2 the
// remainder r is exact, and with a fused multiply-add so is t before it, so that a term has about
// the error of the polynomial alone. The polynomial is 1 + r c(r). In double c interpolates
// (2^-r - 1)/r at the Chebyshev nodes of |r| <= 1/2: relative error at most 2.0e-17.
//
// In single precision what counts is a sum's error. Cross-validation compares sums whose difference
// is some fortieth of them, so that what terms have in common is forty times as much in h. So c is
// the one that nearly takes the mean error out of e and e^2, of pairs whose squared distance has a
// density like t^m, -1/2 <= m <= 8 (d = 2 m + 2 dimensions): 2.3e-9 at most, where interpolation
// leaves 2.0e-8. The largest relative error is 1.4e-7. test/golden/exp_coefficients.py has both.

#if defined(KDE_AQP_EXP2_MINUS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // NOLINT
#ifdef KDE_AQP_EXP2_MINUS_INL_H_
#undef KDE_AQP_EXP2_MINUS_INL_H_
#else
#define KDE_AQP_EXP2_MINUS_INL_H_
#endif

#include <hwy/highway.h>

#include "core/room.h"

HWY_BEFORE_NAMESPACE();
namespace kde::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// kMagic added to a number leaves the nearest integer in the low bits of the sum.
template <class T>
struct Exp2MinusConstants;

template <>
struct Exp2MinusConstants<float> {
  static constexpr int kMantissaBits = 23;
  static constexpr float kMagic = 12582912.0F;  // 1.5 * 2^23
  static constexpr int kTerms = 5;
  static constexpr float kC[kTerms] = {-0.6931467652320862F, 0.24022307991981506F,
                                       -0.0555114783346653F, 0.00966858584433794F,
                                       -0.001312126056291163F};
};

template <>
struct Exp2MinusConstants<double> {
  static constexpr int kMantissaBits = 52;
  static constexpr double kMagic = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr int kTerms = 11;
  static constexpr double kC[kTerms] = {
      -0.6931471805599453,     0.24022650695910097,   -0.0555041086648216,    0.009618129107606888,
      -0.0013333558146416936,  0.0001540353044173605, -1.525273382983612e-05, 1.321544258792169e-06,
      -1.0178062445845774e-07, 7.072585949269223e-09, -4.4549605981865186e-10};
};

// The coefficients from number kTerm on, by Horner's rule.
template <int kTerm, class D, class V>
HWY_INLINE V Exp2MinusHorner(D d, V r) {
  using Constants = Exp2MinusConstants<hn::TFromD<D>>;
  const V c = hn::Set(d, Constants::kC[kTerm]);
  if constexpr (kTerm + 1 == Constants::kTerms) {
    return c;
  } else {
    return hn::MulAdd(r, Exp2MinusHorner<kTerm + 1>(d, r), c);
  }
}

// 2^(-s scale), for 0 <= s scale <= 120, in double <= 1020; beyond that no number to be used.
template <class D, class V>
HWY_INLINE V Exp2Minus(D d, V s, V scale) {
  using Constants = Exp2MinusConstants<hn::TFromD<D>>;
  const hn::RebindToSigned<D> integer;
  const V magic = hn::Set(d, Constants::kMagic);
  const V shifted = hn::MulAdd(s, scale, magic);
  const V r = hn::MulSub(s, scale, hn::Sub(shifted, magic));
  const V power = hn::MulAdd(r, Exp2MinusHorner<0>(d, r), hn::Set(d, hn::TFromD<D>{1}));
  // Taking k from the exponent field multiplies by 2^-k.
  const auto exponent = hn::ShiftLeft<Constants::kMantissaBits>(hn::BitCast(integer, shifted));
  return hn::BitCast(d, hn::Sub(hn::BitCast(integer, power), exponent));
}

}  // namespace kde::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggled
