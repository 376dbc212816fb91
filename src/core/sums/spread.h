// Internal to src/core/sums: spreads a sample over the nodes of a periodic grid with B-splines.
//
// The points are sorted, so those of a cell follow one another: their moments sum w tau^q are
// gathered first, and put on the nodes once a cell. That costs kSplineOrder multiply-adds a point
// and kSplineOrder^2 a cell with points, and writes no node once for every point.
#pragma once

#include <span>

#include "core/control.h"
#include "core/room.h"
#include "core/status.h"
#include "core/sums/gap_layout.h"

namespace kde {

// x, weights: as many, ascending, laid out by `layout`; grid: zeros, at least layout.cells of them.
// Node c + j of the grid receives what spline.h says, taken modulo grid.size(). The same bits for
// any number of threads. Errors: cancelled. May throw std::bad_alloc.
Status spread(std::span<const double> x, std::span<const double> weights, const GapLayout& layout,
              const Control& control, std::span<double> grid);

}  // namespace kde
