// An order of points in which those of a tile are near each other.
//
// The points are halved at the median of the coordinate in which they spread widest, and each half
// again, down to tiles: the leaves of a k-d tree. Source: J. L. Bentley, Comm. ACM 18(9) (1975);
// J. H. Friedman, J. L. Bentley & R. A. Finkel, ACM Trans. Math. Softw. 3(3) (1977).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/control.h"
#include "core/status.h"

namespace kde {

// points: n x d finite values, row-major. *order: 0 .. n - 1, so that the points from
// tile k to tile (k + 1) - 1 of it are a leaf; the last may have fewer. It depends on the points
// and their order alone. Errors: cancelled. May throw std::bad_alloc.
Status compact_order(std::span<const double> points, std::size_t d, std::size_t tile,
                     const Control& control, std::vector<std::size_t>* order);

}  // namespace kde
