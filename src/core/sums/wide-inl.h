// Internal to src/core/sums, per target: sums that are accumulated in double whatever the word
// length of their terms. Included once for every instruction set, inside hwy/foreach_target.h.

#if defined(KDE_AQP_WIDE_INL_H_) == defined(HWY_TARGET_TOGGLE)  // NOLINT
#ifdef KDE_AQP_WIDE_INL_H_
#undef KDE_AQP_WIDE_INL_H_
#else
#define KDE_AQP_WIDE_INL_H_
#endif

#include <hwy/highway.h>

#include "core/room.h"

HWY_BEFORE_NAMESPACE();
namespace kde::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Adds the lanes of `values` to those of `total`, in double.
template <class DD>
HWY_INLINE hn::Vec<DD> AddWide(DD /*wide*/, hn::ScalableTag<double> /*d*/,
                               hn::Vec<hn::ScalableTag<double>> values, hn::Vec<DD> total) {
  return hn::Add(total, values);
}

template <class DD>
HWY_INLINE hn::Vec<DD> AddWide(DD wide, hn::ScalableTag<float> d,
                               hn::Vec<hn::ScalableTag<float>> values, hn::Vec<DD> total) {
#if HWY_TARGET == HWY_SCALAR  // one lane, which has no halves
  (void)d;
  return hn::Add(total, hn::PromoteTo(wide, values));
#else
  const hn::Half<decltype(d)> half;
  const auto low = hn::PromoteTo(wide, hn::LowerHalf(half, values));
  const auto high = hn::PromoteTo(wide, hn::UpperHalf(half, values));
  return hn::Add(total, hn::Add(low, high));
#endif
}

}  // namespace kde::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggled
