// Internal to src/core/joint, per target: the normal distribution. Included
// once for every instruction set, inside hwy/foreach_target.h.

#if defined(KDE_AQP_NORMAL_INL_H_) == defined(HWY_TARGET_TOGGLE)  // NOLINT
#ifdef KDE_AQP_NORMAL_INL_H_
#undef KDE_AQP_NORMAL_INL_H_
#else
#define KDE_AQP_NORMAL_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <numbers>

#include "core/sums/exp2_minus-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kde::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// c[kTerm] + u (c[kTerm + 1] + ...), by Horner's rule.
template <std::size_t kTerm, class D, class V, std::size_t kTerms>
HWY_INLINE V NormalHorner(D d, const double (&c)[kTerms], V u) {
  if constexpr (kTerm + 1 == kTerms) {
    (void)u;
    return hn::Set(d, c[kTerm]);
  } else {
    return hn::MulAdd(u, NormalHorner<kTerm + 1>(d, c, u), hn::Set(d, c[kTerm]));
  }
}

// Phi(x) - 1/2 in double lanes, any x but NaN; absolute error at most 1e-9, and exactly 1/2 in
// magnitude from 6 on, so that what is out of a kernel's reach leaves nothing. x P(x^2)/Q(x^2) by
// interpolation (test/golden/normal_cdf_coefficients.py); no term of either changes its sign, so
// that rounding errors do not grow. In single precision they would reach 2e-7 an edge: too much for
// boxes of 16 sides.
template <class D, class V>
HWY_INLINE V HalfNormal(D d, V x) {
  static constexpr double kEnd = 6;
  static constexpr double kP[] = {
      0.3989422802348992,    0.03621689868778207,    0.005332210859813586,  0.00024005477316394987,
      1.330008552635651e-05, 3.2028858009155643e-07, 7.512021107285626e-09, 3.742239154462676e-11};
  static constexpr double kQ[] = {1.0,
                                  0.2574489629162178,
                                  0.031274046211395096,
                                  0.002354019503554343,
                                  0.00012069842579798899,
                                  4.3237203206276495e-06,
                                  1.0526477115806569e-07,
                                  1.4159113148446922e-09,
                                  1.6848875085153402e-12};
  const V end = hn::Set(d, kEnd);
  const V near = hn::Max(hn::Min(x, end), hn::Neg(end));
  const V u = hn::Mul(near, near);
  const V inside = hn::Mul(near, hn::Div(NormalHorner<0>(d, kP, u), NormalHorner<0>(d, kQ, u)));
  const V half = hn::CopySign(hn::Set(d, 0.5), x);
  return hn::IfThenElse(hn::Lt(hn::Abs(x), end), inside, half);
}

// phi(x), any x but NaN; relative error at most 1e-12 down to 1e-300, which is as far as it falls.
template <class D, class V>
HWY_INLINE V NormalDensity(D d, V x) {
  constexpr double kLog2Scale = std::numbers::log2e / 2;
  const V s = hn::Min(hn::Mul(x, x), hn::Set(d, 1380.0));
  return hn::Mul(hn::Set(d, std::numbers::inv_sqrtpi / std::numbers::sqrt2),
                 Exp2Minus(d, s, hn::Set(d, kLog2Scale)));
}

}  // namespace kde::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggled
