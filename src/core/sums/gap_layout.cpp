// One pass over the sorted points: see gap_layout.h.
#include "core/sums/gap_layout.h"

#include <cmath>

#include "core/sums/engine_parts.h"
#include "core/sums/spline.h"

namespace kde {

bool lay_out(std::span<const double> x, double low, double high, double nodes, std::int64_t limit,
             GapLayout* out) {
  // Below this a difference of two points in cells may overflow on its way.
  constexpr double kSmallestStep = 1e-290;
  const double step = low / nodes;
  // The spline of the last point of a stretch reaches kSplineOrder cells into the gap.
  const double gap = std::ceil(kReach * high / step) + kSplineOrder;
  if (!(step >= kSmallestStep) || !(gap < static_cast<double>(limit))) return false;

  out->step = step;
  out->parts.assign(1, {0, x[0], 0});
  const double inverse = 1 / step;
  double next_cell = 0;  // after the stretch that ends at point i - 1, and its gap
  for (std::size_t i = 1; i <= x.size(); ++i) {
    const bool end = i == x.size();
    if (!end && !((x[i] - x[i - 1]) * inverse > gap + 1)) continue;
    const Stretch& last = out->parts.back();
    // A double, because it may exceed every integer before it is found to exceed the limit.
    next_cell =
        static_cast<double>(last.cell) + std::floor((x[i - 1] - last.origin) * inverse) + 1 + gap;
    if (!(next_cell <= static_cast<double>(limit))) return false;
    if (!end) out->parts.push_back({i, x[i], static_cast<std::int64_t>(next_cell)});
  }
  out->cells = static_cast<std::int64_t>(next_cell);
  return true;
}

}  // namespace kde
