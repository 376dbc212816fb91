// One cell of the smooth part: a cubic on [u0, u0 + w] in the local coordinate s = (u - u0)/w.
//
//   G(s) = g0 + a1 s + a2 s^2 + a3 s^3,   a1 = w d0,  a2 = 3 D - w (2 d0 + d1),  a3 = -2 D + w (d0
//   + d1)
//
// with D = G(1) - G(0) and d0, d1 = dG/du at the ends (cubic Hermite interpolation).
#pragma once

#include "core/room.h"

#include <algorithm>

namespace kde {

// Integrals of (u - c)^k dG over a stretch, k = 0, 1, 2.
struct StretchMoments {
  double m0 = 0, m1 = 0, m2 = 0;
};

struct Cell {
  double u0, w, g0, a1, a2, a3;

  static Cell hermite(double u0, double u1, double g0, double g1, double d0, double d1) {
    const double w = u1 - u0;
    const double rise = g1 - g0;
    return {u0, w, g0, w * d0, 3 * rise - w * (2 * d0 + d1), -2 * rise + w * (d0 + d1)};
  }

  double rise() const { return a1 + (a2 + a3); }
  double local(double u) const { return std::clamp((u - u0) / w, 0.0, 1.0); }

  // G and dG/du at s in [0, 1]; G stays between its ends against rounding.
  double value(double s) const {
    return g0 + std::clamp(s * (a1 + s * (a2 + s * a3)), 0.0, std::max(rise(), 0.0));
  }
  double slope(double s) const { return std::max(a1 + s * (2 * a2 + s * 3 * a3), 0.0) / w; }

  // About c, over s in [s0, s1].
  StretchMoments moments(double s0, double s1, double c) const {
    const double r0 = primitive0(s1) - primitive0(s0);
    const double r1 = primitive1(s1) - primitive1(s0);
    const double r2 = primitive2(s1) - primitive2(s0);
    const double d = u0 - c;
    return {r0, d * r0 + w * r1, d * d * r0 + 2 * d * w * r1 + w * w * r2};
  }

 private:
  // Integrals of s^k dG/ds from 0 to s.
  double primitive0(double s) const { return s * (a1 + s * (a2 + s * a3)); }
  double primitive1(double s) const { return s * s * (a1 / 2 + s * (a2 * 2 / 3 + s * a3 * 3 / 4)); }
  double primitive2(double s) const { return s * s * s * (a1 / 3 + s * (a2 / 2 + s * a3 * 3 / 5)); }
};

}  // namespace kde
