// Internal to src/core/joint: a box as the integration of blocks sees it, and what blocks add to.
#pragma once

#include "core/joint/axis.h"
#include "core/joint/format.h"
#include "core/room.h"

#include <cstddef>
#include <cstdint>

namespace kde {

struct BoxPlan {
  const JointView* density;
  int sides;  // 1 .. kMaxColumns
  int column[kMaxColumns];
  AxisRange range[kMaxColumns];
  int target;       // -1: none
  int target_side;  // the side that bounds the target; -1: none does
  // The target's bounds in units of its values, or infinite.
  double least, most;
  std::int64_t simd_target;  // one of simd_targets()
};

// Sums over points; of the target in u = (y - value_center)/value_unit (linear axes without
// values: u = the coordinate), y being the point's value, or on linear axes E[y | the kernel in
// the box].
struct BoxSums {
  double rows = 0, squares = 0;  // of the points' rows in the box
  double finite = 0, nans = 0, negative_infinities = 0, positive_infinities = 0;
  double power[4] = {};  // sums of rows u, rows u^2, u^3, u^4 over the finite ones
  double variance = 0;   // of `rows`, left by quadrature
  double visited = 0;
};

// The block lies within the box as a whole; or it does not and its kernels are integrated.
void add_whole_block(const BoxPlan& plan, std::size_t block, BoxSums* sums);
void add_product_block(const BoxPlan& plan, std::size_t block, BoxSums* sums);
void add_correlated_block(const BoxPlan& plan, std::size_t block, BoxSums* sums);

}  // namespace kde
