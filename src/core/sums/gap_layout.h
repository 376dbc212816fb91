// Internal to src/core/sums: where the points of a sample lie on a grid from which the wide gaps
// have been cut.
//
// A kernel of bandwidth g sees nothing beyond kReach g, so a gap wider than that may be narrowed to
// it, and no sum over pairs changes by more than what kReach drops. With heavy tails or a far
// outlier this is what keeps the grid small: its length is what the sample covers, never its range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/room.h"

namespace kde {

// Points `first` up to the next stretch's, with no wide gap among them. A point at x lies
// (x - origin)/step cells to the right of the left edge of cell `cell`.
struct Stretch {
  std::size_t first;
  double origin;
  std::int64_t cell;
};

struct GapLayout {
  double step = 0;             // width of a cell, in units of x
  std::vector<Stretch> parts;  // ascending; at least one
  std::int64_t cells = 0;      // of one period: all stretches, each with its gap to the right
};

// x: at least one finite value, ascending. The grid serves bandwidths from `low` to `high`
// (0 < low <= high): `nodes` cells in the narrowest, gaps of at least kReach of the widest.
// False if it needs more than `limit` cells. May throw std::bad_alloc.
bool lay_out(std::span<const double> x, double low, double high, double nodes, std::int64_t limit,
             GapLayout* out);

}  // namespace kde
