// Internal to src/core/joint, per target: the normal distribution in single precision. Included
// once for every instruction set, inside hwy/foreach_target.h.

#if defined(KDE_AQP_NORMAL_INL_H_) == defined(HWY_TARGET_TOGGLE)  // NOLINT
#ifdef KDE_AQP_NORMAL_INL_H_
#undef KDE_AQP_NORMAL_INL_H_
#else
#define KDE_AQP_NORMAL_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "core/room.h"
#include "core/sums/exp2_minus-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kde::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// c[kTerm] + u (c[kTerm + 1] + ...), by Horner's rule.
template <std::size_t kTerm, class D, class V, std::size_t kTerms>
HWY_INLINE V NormalHorner(D d, const float (&c)[kTerms], V u) {
  if constexpr (kTerm + 1 == kTerms) {
    (void)u;
    return hn::Set(d, c[kTerm]);
  } else {
    return hn::MulAdd(u, NormalHorner<kTerm + 1>(d, c, u), hn::Set(d, c[kTerm]));
  }
}

// Phi(x) - 1/2, any x but NaN; absolute error at most 1e-7, rounding included, and exactly 1/2 in
// magnitude from 5.3 on, so that what is out of a kernel's reach leaves nothing. x P(x^2)/Q(x^2) by
// interpolation (test/golden/normal_cdf_coefficients.py): no term of either changes its sign, so
// that rounding errors do not grow. About 0, where single precision is finest, differences of two
// keep their digits.
template <class D, class V>
HWY_INLINE V HalfNormal(D d, V x) {
  static constexpr float kEnd = 5.3F;
  static constexpr float kP[] = {0.39894232153892517F,  0.033421698957681656F,
                                 0.004955960903316736F, 0.00018424424342811108F,
                                 9.83934023679467e-06F, 9.153560398544869e-08F};
  static constexpr float kQ[] = {1.0F,
                                 0.25044336915016174F,
                                 0.02916152961552143F,
                                 0.0020386844407767057F,
                                 9.070991654880345e-05F,
                                 2.601630058052251e-06F,
                                 5.3255786447437e-09F};
  const V end = hn::Set(d, kEnd);
  const V near = hn::Max(hn::Min(x, end), hn::Neg(end));
  const V u = hn::Mul(near, near);
  const V inside = hn::Mul(near, hn::Div(NormalHorner<0>(d, kP, u), NormalHorner<0>(d, kQ, u)));
  const V half = hn::CopySign(hn::Set(d, 0.5F), x);
  return hn::IfThenElse(hn::Lt(hn::Abs(x), end), inside, half);
}

// phi(x), any x but NaN; relative error at most 1e-6 down to 1e-35, which is as far as it falls.
template <class D, class V>
HWY_INLINE V NormalDensity(D d, V x) {
  const V s = hn::Min(hn::Mul(x, x), hn::Set(d, 160.0F));
  return hn::Mul(hn::Set(d, 0.398942280F), Exp2Minus(d, s, hn::Set(d, 0.721347520F)));
}

}  // namespace kde::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggled
