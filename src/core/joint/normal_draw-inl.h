// Internal to src/core/joint, per target: the normal distribution in single precision where
// absolute errors alone matter, as in draws. Included once for every instruction set, inside
// hwy/foreach_target.h.
//
//   Phi(x) - 1/2 = x c(2 x^2/25 - 1),  |x| <= 5, and from there 1/2 in magnitude: to 3e-7
//   Phi^-1(1/2 + y) = y g(w),  w = -ln(1 - 4 y^2):  to 2e-5, up to 1e-6 from the ends
//
// g a polynomial in w near the middle and in sqrt(w) beyond, as in M. Giles, GPU Computing Gems 2
// (2011), on approximating erfinv. test/golden/normal_draw_coefficients.py computes them.

#if defined(KDE_AQP_NORMAL_DRAW_INL_H_) == defined(HWY_TARGET_TOGGLE)  // NOLINT
#ifdef KDE_AQP_NORMAL_DRAW_INL_H_
#undef KDE_AQP_NORMAL_DRAW_INL_H_
#else
#define KDE_AQP_NORMAL_DRAW_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace kde::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// c[kFirst] + ... + c[kFirst + kCount - 1] t^(kCount - 1) by Estrin's scheme, whose latency is less
// than Horner's. powers: t, t^2, t^4, t^8.
template <std::size_t kFirst, std::size_t kCount, class D, class V, std::size_t kTerms>
HWY_INLINE V DrawEstrin(D d, const float (&c)[kTerms], const V& t, const V& t2, const V& t4,
                        const V& t8) {
  if constexpr (kCount == 1) {
    return hn::Set(d, c[kFirst]);
  } else if constexpr (kCount == 2) {
    return hn::MulAdd(hn::Set(d, c[kFirst + 1]), t, hn::Set(d, c[kFirst]));
  } else {
    constexpr std::size_t kHalf = kCount > 8 ? 8 : (kCount > 4 ? 4 : 2);
    const V& power = kHalf == 8 ? t8 : (kHalf == 4 ? t4 : t2);
    return hn::MulAdd(DrawEstrin<kFirst + kHalf, kCount - kHalf>(d, c, t, t2, t4, t8), power,
                      DrawEstrin<kFirst, kHalf>(d, c, t, t2, t4, t8));
  }
}

template <class D, class V, std::size_t kTerms>
HWY_INLINE V DrawPolynomial(D d, const float (&c)[kTerms], V t) {
  static_assert(kTerms <= 16);
  const V t2 = hn::Mul(t, t);
  const V t4 = hn::Mul(t2, t2);
  return DrawEstrin<0, kTerms>(d, c, t, t2, t4, hn::Mul(t4, t4));
}

// Phi(x) - 1/2, any x but NaN.
template <class D, class V>
HWY_INLINE V DrawHalfNormal(D d, V x) {
  static constexpr float kEnd = 5;
  static constexpr float kC[] = {
      0.14136381447315216F,   -0.07029594480991364F,  0.05151894688606262F,
      -0.04045071452856064F,  0.03146487474441528F,   -0.02321634627878666F,
      0.016287071630358696F,  -0.011299744248390198F, 0.006667809560894966F,
      -0.002534322440624237F, 0.0014626316260546446F, -0.0016740311402827501F,
      0.000705953047145158F};
  const V near = hn::Min(hn::Max(x, hn::Set(d, -kEnd)), hn::Set(d, kEnd));
  const V s = hn::MulSub(hn::Mul(near, hn::Set(d, 2 / (kEnd * kEnd))), near, hn::Set(d, 1.0F));
  return hn::Mul(near, DrawPolynomial(d, kC, s));
}

// ln(y) + plus, 1e-30 < y < 1e30, to 1e-5.
template <class D, class V>
HWY_INLINE V DrawLog(D d, V y, float plus) {
  static constexpr float kC[] = {1.0000070333480835F,  -0.5000061392784119F,
                                 0.33220362663269043F, -0.24900780618190765F,
                                 0.22636030614376068F, -0.18979991972446442F};
  constexpr std::int32_t kTwoThirds = 0x3f2aaaab;
  const hn::RebindToSigned<D> integer;
  const auto bits = hn::BitCast(integer, y);
  const auto exponent = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(integer, kTwoThirds)));
  const V f = hn::Sub(hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(exponent))), hn::Set(d, 1.0F));
  return hn::MulAdd(hn::ConvertTo(d, exponent), hn::Set(d, 0.6931471805599453F),
                    hn::MulAdd(f, DrawPolynomial(d, kC, f), hn::Set(d, plus)));
}

// Phi^-1(1/2 + y), |y| <= 1/2; nearer to the ends than 1e-6 as if it were that.
template <class D, class V>
HWY_INLINE V DrawQuantile(D d, V y) {
  static constexpr float kNear[] = {
      4.59207010269165F,      -0.6835156679153442F,   -0.016231965273618698F, 0.002438950352370739F,
      0.0005537464166991413F, 1.871355743787717e-05F, -5.526275344891474e-06F};
  static constexpr float kFar[] = {8.012864112854004F,    2.833326816558838F,
                                   0.02677316777408123F,  -0.02339855022728443F,
                                   0.016929928213357925F, -0.00596236065030098F};
  constexpr float kEnd = 1e-6F, kBeyond = 6, kMiddle = 3, kLog4 = 1.3862943611198906F;
  const V half = hn::Set(d, 0.5F);
  const V rest = hn::Max(hn::Mul(hn::Sub(half, y), hn::Add(half, y)), hn::Set(d, kEnd));
  const V t = DrawLog(d, rest, kLog4 + kMiddle);  // 3 - w
  V g = DrawPolynomial(d, kNear, t);
  const auto far = hn::Lt(t, hn::Set(d, kMiddle - kBeyond));
  if (HWY_UNLIKELY(!hn::AllFalse(d, far))) {
    const V middle = hn::Set(d, kMiddle);
    const V root = hn::Sqrt(hn::Max(hn::Sub(middle, t), hn::Zero(d)));
    g = hn::IfThenElse(far, DrawPolynomial(d, kFar, hn::Sub(root, middle)), g);
  }
  return hn::Mul(y, g);
}

}  // namespace kde::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggled
