// The numbers of coordinates that kernels are compiled for: the least of them that is at least d;
// points have zeros in those they lack.
#pragma once

#include <type_traits>

#include "core/status.h"

namespace kde::cuda {

constexpr int kernel_coordinates(int d) {
  for (const int c : {1, 2, 3, 4, 6, 8, 12})
    if (d <= c) return c;
  return 16;
}

// Gradients of up to so many coordinates are of each pair's own products (full.h): an exponential
// and d (d + 1)/2 + 3 d instructions. Of more, which have matrix units (gram.h), they are of rows:
// 3 d and an exponential from either side (rows.h).
inline constexpr int kMostProducts = 4;

// f(std::integral_constant<int, C>) for the C that is c, one of kernel_coordinates.
template <typename F>
Status with_coordinates(int c, const F& f) {
  switch (c) {
    case 1:
      return f(std::integral_constant<int, 1>());
    case 2:
      return f(std::integral_constant<int, 2>());
    case 3:
      return f(std::integral_constant<int, 3>());
    case 4:
      return f(std::integral_constant<int, 4>());
    case 6:
      return f(std::integral_constant<int, 6>());
    case 8:
      return f(std::integral_constant<int, 8>());
    case 12:
      return f(std::integral_constant<int, 12>());
    case 16:
      return f(std::integral_constant<int, 16>());
    default:
      return Status::error(Code::internal, "no kernel has %d coordinates", c);
  }
}

}  // namespace kde::cuda
