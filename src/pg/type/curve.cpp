// See curve.h.
#include "pg/type/curve.h"

#include "pg/values/equally_spaced.h"

#include <algorithm>
#include <limits>

namespace kde_pg {

double Curve::x(int i) const { return equally_spaced(lower, upper, i, points - 1); }

double Curve::edge(int i) const {
  constexpr double kMost = std::numeric_limits<double>::max();
  const auto between = [&](int j) {
    return equally_spaced(lower, upper, 2 * j - 1, 2 * (points - 1));
  };
  if (i == 0) return std::max(lower - (between(1) - lower), -kMost);
  if (i == points) return std::min(upper + (upper - between(points - 1)), kMost);
  return between(i);
}

double Curve::height(int i) const {
  if (points > 1) {
    kde::Range cell;
    cell.lower = edge(i);
    cell.upper = edge(i + 1);
    cell.lower_unbounded = cell.upper_unbounded = cell.upper_inclusive = false;
    const double width = cell.upper - cell.lower;
    // 0 of bounds so close that halfway between two points is one of them.
    if (width > 0) return kde::count(density, cell) / density.header().rows / width;
  }
  return kde::pdf(density, x(i));
}

}  // namespace kde_pg
