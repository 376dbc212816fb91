// Internal to src/core/joint: the integration of a block under a product kernel, as vector code.
//
// The kernel of a point with the coordinates t_k has in the box, whose sides have the edges a_k and
// b_k, the probability
//   P = product over k of Phi(b_k - t_k) - Phi(a_k - t_k),
// of which a side or an edge out of reach of all points of the block is a factor, or a term, of 1.
// With the target on a linear axis among the sides, its kernel has in the box the first moment
//   M / P_y,  M = phi(a_y - t_y) - phi(b_y - t_y),  P_y its own side's factor,
// of the truncated normal.
//
// All in double lanes, with Phi to 1e-9 (normal-inl.h): P to 2e-9 a side.
#pragma once

#include "core/joint/box_plan.h"
#include "core/density/joint_format.h"

#include <cstddef>
#include <cstdint>

namespace kde {

// A block's points as they are computed with: of columns that are asked for.
struct BlockNumbers {
  float coordinate[kMaxColumns][kJointBlock];
  std::int32_t raw[kMaxColumns][kJointBlock];
  float weight[kJointBlock];
  double share[kJointBlock];
  std::uint8_t contrast[kJointBlock];
};

struct ProductSide {
  const float* coordinate;  // of the block's kJointBlock points
  AxisRange range;
  RawRange raw;
  const std::int32_t* value;    // null for RawValue::coordinate
  bool lower_cuts, upper_cuts;  // else the edge is out of the points' reach
};

struct ProductBlock {
  int sides = 0;                  // those that cut the block
  ProductSide side[kMaxColumns];  // so many of them are set
  std::size_t points = 0;         // of the block's kJointBlock places
  const double* share = nullptr;  // of points in the box by their categories' values; null: 1
  const float* weight = nullptr;  // null: equal_weight
  const std::uint8_t* contrast = nullptr;  // codes; null: none are asked for
  double equal_weight = 0, own_rows = 0;
  bool members = false;  // BoxPlan's
  // The target: its coordinates; its values, null for RawValue::coordinate. Its own side, if it
  // cuts, is the last of `side`.
  RawValue value = RawValue::none;
  const float* coordinate = nullptr;
  const std::int32_t* raw = nullptr;
  bool own_side = false;
  double zero = 0, least = 0, most = 0;
};

// Without sides. Points into *numbers.
ProductBlock product_block(const BoxPlan& plan, std::size_t b, BlockNumbers* numbers);

// Of every point of a block, whatever the kernel.
struct BlockShares {
  alignas(64) double probability[kJointBlock];
  alignas(64) double member[kJointBlock];  // 1: the point itself is in the box; of `members`
  // With own_side and RawValue::coordinate: E[e_y; the kernel in the box] and the target's
  // conditional mean.
  alignas(64) double moment[kJointBlock];
  alignas(64) double mean[kJointBlock];
  // With own_side and values: the probability without the target's own side.
  alignas(64) double others[kJointBlock];
};

// What a block with those shares adds; of its sides only own_side is looked at.
using AddShares = void (*)(const ProductBlock& block, const BlockShares& shares, BoxSums* sums);
AddShares add_shares(std::int64_t target);

using AddProduct = void (*)(const ProductBlock& block, BoxSums* sums);

// target: one of simd_targets(). Safe from any thread.
AddProduct add_product(std::int64_t target);

// out[i] = Phi(x[i]) - 1/2 and phi(x[i]) as blocks use them, kJointBlock of each: for tests.
using HalfNormals = void (*)(const double* x, double* half, double* density);
HalfNormals half_normals(std::int64_t target);

}  // namespace kde
