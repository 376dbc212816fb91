// One function of a file that Highway compiles for every instruction
// set, chosen by target. For use inside `#if HWY_ONCE`, after hwy/highway.h.
//
// Highway's own dispatch lives in its shared library, which measures the processor's clock for 3 ms
// whenever a process loads it: every backend's first answer would wait for that. The compiler's
// runtime knows as much (simd_targets.cpp).
#pragma once

#include <hwy/highway.h>

#include <cstdint>
#include <span>

#include "core/room.h"

namespace kde {

template <class F>
struct TargetFunction {
  std::int64_t target;  // Highway's bit
  F function;           // null if not compiled
};

// The initializer of an array of TargetFunction, best first; F is defined in HWY_NAMESPACE. The
// last entry is the baseline, which every processor of this build runs.
#if HWY_ARCH_X86
#define KDE_TARGET_FUNCTIONS(F)                                                       \
  {                                                                                   \
    {HWY_AVX3, HWY_CHOOSE_AVX3(F)}, {HWY_AVX2, HWY_CHOOSE_AVX2(F)},                   \
        {HWY_SSE4, HWY_CHOOSE_SSE4(F)}, {HWY_STATIC_TARGET, &HWY_STATIC_DISPATCH(F)}, \
  }
#elif HWY_ARCH_ARM_A64 && defined(__linux__)
#define KDE_TARGET_FUNCTIONS(F)                                                                   \
  {                                                                                               \
    {HWY_SVE2, HWY_CHOOSE_SVE2(F)}, {HWY_SVE, HWY_CHOOSE_SVE(F)}, {HWY_NEON, HWY_CHOOSE_NEON(F)}, \
        {HWY_STATIC_TARGET, &HWY_STATIC_DISPATCH(F)},                                             \
  }
#else
#define KDE_TARGET_FUNCTIONS(F)                    \
  {                                                \
    { HWY_STATIC_TARGET, &HWY_STATIC_DISPATCH(F) } \
  }
#endif

// The function for `target`, which is one of simd_targets(); the baseline's for any other.
template <class F>
F function_for(std::span<const TargetFunction<F>> functions, std::int64_t target) {
  for (const TargetFunction<F>& f : functions) {
    if (f.target == target && f.function != nullptr) return f.function;
  }
  return functions.back().function;
}

}  // namespace kde
