// 2^x in the word length of the terms, and the sentinels and units that go with it.
//
// Single precision: the special function unit's, good to 2 ulp (CUDA C++ Programming Guide,
// "Mathematical Functions"), results below 2^-126 flushed to 0, so that no argument is slow. Double
// precision: CUDA's own exp2, good to 1 ulp.
#pragma once

namespace kde::cuda {

__device__ __forceinline__ float exp2_of(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ double exp2_of(double x) { return exp2(x); }

}  // namespace kde::cuda
