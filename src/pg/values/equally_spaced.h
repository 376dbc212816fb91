// Equally spaced places between two finite bounds: edges of bins, points of a plot.
#pragma once

#include <algorithm>
#include <cmath>

namespace kde_pg {

// Place i of n + 1, lower + i (upper - lower) / n; lower where n is 0. lower <= upper, 0 <= i <= n.
inline double equally_spaced(double lower, double upper, int i, int n) {
  if (i == 0) return lower;
  if (i == n) return upper;
  // The second where the span overflows.
  const double t = static_cast<double>(i) / n;
  const double place = std::isfinite((upper - lower) * n) ? lower + (upper - lower) * i / n
                                                          : lower * (1 - t) + upper * t;
  return std::clamp(place, lower, upper);
}

}  // namespace kde_pg
