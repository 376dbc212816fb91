// The compact kernels of kernel.h as types, so that loops over
// points choose the kernel once and not a point at a time.
//
// K(u) on [-1, 1], with integrals from -1 to u of K, of u K and of u^2 K:
//
//               K                   of K                          of u K
//   Epanechnikov 3/4 (1 - u^2)      (1 + u)^2 (2 - u)/4           -3/16 (1 - u^2)^2
//   biweight  15/16 (1 - u^2)^2     (1 + u)^3 (3u^2 - 9u + 8)/16  -5/32 (1 - u^2)^3
//   triangular   1 - |u|            (1 + u)^2/2, u <= 0           u^2/2 - |u|^3/3 - 1/6
//   uniform      1/2                (1 + u)/2                     (u^2 - 1)/4
//   cosine    pi/4 cos(pi u/2)      (1 + sin(pi u/2))/2           (u s + (2/pi) c - 1)/2
//
// with s = sin(pi u/2), c = cos(pi u/2); the second moments stand at each kernel. All by
// elementary integration; the factors keep their relative accuracy where the lower tail ends.
// Kernels: e.g. Silverman, Density Estimation (1986), table 3.1; the cosine: R's density().
#pragma once

#include "core/density/format.h"

#include <cmath>
#include <numbers>

namespace kde::kernel_forms {

// All functions: u in [-1, 1]. Constants: as of kernel.h.

struct Epanechnikov {
  static constexpr double kRoughness = 3.0 / 5, kVariance = 1.0 / 5;
  static double pdf(double u) { return 0.75 * (1 - u * u); }
  static double cdf(double u) { return 0.25 * (1 + u) * (1 + u) * (2 - u); }
  static double first(double u) { return -0.1875 * (1 - u * u) * (1 - u * u); }
  static double second(double u) { return u * u * u * (0.25 - 0.15 * u * u) + 0.1; }
};

struct Biweight {
  static constexpr double kRoughness = 5.0 / 7, kVariance = 1.0 / 7;
  static double pdf(double u) { return 0.9375 * (1 - u * u) * (1 - u * u); }
  static double cdf(double u) {
    return (1 + u) * (1 + u) * (1 + u) * (u * (3 * u - 9) + 8) * 0.0625;
  }
  static double first(double u) {
    const double v = 1 - u * u;
    return -0.15625 * v * v * v;
  }
  static double second(double u) {
    const double v = u * u;
    return 0.9375 * u * v * (1 / 3.0 + v * (-0.4 + v / 7)) + 1 / 14.0;
  }
};

struct Triangular {
  static constexpr double kRoughness = 2.0 / 3, kVariance = 1.0 / 6;
  static double pdf(double u) { return 1 - std::fabs(u); }
  static double cdf(double u) {
    const double below = 0.5 * (1 - std::fabs(u)) * (1 - std::fabs(u));
    return u <= 0 ? below : 1 - below;
  }
  static double first(double u) { return u * u * (0.5 - std::fabs(u) / 3) - 1 / 6.0; }
  static double second(double u) { return u * u * u * (1 / 3.0 - std::fabs(u) / 4) + 1 / 12.0; }
};

struct Uniform {
  static constexpr double kRoughness = 1.0 / 2, kVariance = 1.0 / 3;
  static double pdf(double) { return 0.5; }
  static double cdf(double u) { return 0.5 * (1 + u); }
  static double first(double u) { return 0.25 * (u * u - 1); }
  static double second(double u) { return (u * u * u + 1) / 6; }
};

struct Cosine {
  static constexpr double kRoughness = std::numbers::pi * std::numbers::pi / 16;
  static constexpr double kVariance = 1 - 8 / (std::numbers::pi * std::numbers::pi);
  static constexpr double kHalfPi = std::numbers::pi / 2;
  static double pdf(double u) { return 0.5 * kHalfPi * std::cos(kHalfPi * u); }
  static double cdf(double u) { return 0.5 * (1 + std::sin(kHalfPi * u)); }
  static double first(double u) {
    return 0.5 * (u * std::sin(kHalfPi * u) + std::cos(kHalfPi * u) / kHalfPi - 1);
  }
  static double second(double u) {
    constexpr double kSquare = kHalfPi * kHalfPi;
    return 0.5 * ((u * u - 2 / kSquare) * std::sin(kHalfPi * u) + 1 - 2 / kSquare) +
           u * std::cos(kHalfPi * u) / kHalfPi;
  }
};

// use(form) with the form of a compact kernel.
template <typename Use>
auto with_compact(Kernel kernel, Use use) {
  switch (kernel) {
    case Kernel::biweight:
      return use(Biweight{});
    case Kernel::triangular:
      return use(Triangular{});
    case Kernel::uniform:
      return use(Uniform{});
    case Kernel::cosine:
      return use(Cosine{});
    default:
      return use(Epanechnikov{});
  }
}

}  // namespace kde::kernel_forms
