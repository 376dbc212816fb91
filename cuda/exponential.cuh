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

// 2^x without the special function unit, for x <= 126: the method and the polynomial of
// core/sums/exp2_minus-inl.h, 2^x = 2^k (1 + r c(r)) with k the nearest integer, relative error
// 3e-7. Below 2^-126 it is 2^-126.
__device__ __forceinline__ float exp2_by_polynomial(float x) {
  constexpr float kMagic = 12582912.0F;  // 1.5 * 2^23: the sum has k in its low bits
  x = fmaxf(x, -126.0F);
  const float shifted = x + kMagic;
  const float r = x - (shifted - kMagic);
  float c = 0.0013381302123889327F;
  c = c * r + 0.00966636836528778F;
  c = c * r + 0.055503811687231064F;
  c = c * r + 0.2402234971523285F;
  c = c * r + 0.6931471824645996F;
  return __int_as_float(__float_as_int(c * r + 1.0F) + (__float_as_int(shifted) << 23));
}

}  // namespace kde::cuda
