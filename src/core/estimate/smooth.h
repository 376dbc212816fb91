// The smooth part of a density: knots for a kernel sum's distribution function, as few as keep
// every count within tolerance.
//
// From left to right each cell is made as long as the cubic through its ends stays within the
// tolerance of the kernel sum at test nodes (the source's test_stride apart, at least 8 a cell), in
// mass and in density; what was built is then checked again on nodes of its own. If the knots do
// not fit the space, the tolerance grows until they do, and the error seen says so: that of the
// mass and of the density together; but where the kernel has corners, first the density's alone.
#pragma once

#include "core/control.h"
#include "core/density/format.h"
#include "core/estimate/node_source.h"

#include <vector>

namespace kde {

// A range's count is the difference of two values of G, so this leaves room below 1e-5 even where
// the test nodes miss the worst point of a cell.
inline constexpr double kMassTolerance = 2e-6;
// Of the largest density.
inline constexpr double kDensityTolerance = 4e-4;

struct SmoothPart {
  std::vector<double> knot_u;
  std::vector<std::uint32_t> knot_mass;
  std::vector<std::uint16_t> knot_slope;
  std::vector<float> block_moment;
  double slope_unit = 0;
  double error = 0;  // largest |G - kernel sum| seen
};

// source: in the stored unit u, |u| <= 1. knots <= limit (>= 2).
// Errors: cancelled, out_of_memory (std::bad_alloc is thrown and left to the caller).
Status fit_smooth(const NodeSource& source, std::size_t limit, const Control& control,
                  SmoothPart* out);

}  // namespace kde
