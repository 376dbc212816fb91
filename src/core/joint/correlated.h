// Internal to src/core/joint: boxes under a correlated kernel, by normal_box.h.
//
// Of a point t the kernel's probability of the box is that of a - t < e < b - t under the
// correlations of the bounded columns; sides out of reach of a block's points bound nothing and are
// left out. With a target, its kernel's conditional mean E[e_y | box] = M/P comes of the same
// correlations, whether its own column is bounded or not: of the bounded columns alone by
// regression on them, E[e_y | e_x] = P_yx P_xx^-1 e_x.
#pragma once

#include "core/joint/box_plan.h"
#include "core/density/joint_format.h"
#include "core/joint/normal_box.h"

#include <cstdint>
#include <optional>

namespace kde {

// The matrix of a box's sides and its row for the target.
struct SideCorrelations {
  int sides;
  int side[kMaxColumns];  // sides of the plan, narrowest first: it is conditioned on first
  double matrix[kMaxColumns * kMaxColumns];  // sides x sides, row-major
  double target[kMaxColumns];
  bool has_target;  // a target on a linear axis
};

SideCorrelations side_correlations(const BoxPlan& plan);

// What a box's blocks have in common. plan: with at least one side. For one thread.
class CorrelatedPlan {
 public:
  explicit CorrelatedPlan(const BoxPlan& plan);

  const SideCorrelations correlations;
  // Of some of the sides, bit s: side s of the order; of one of them at least. Good until it is
  // asked for others.
  const NormalBox& box_of(std::uint32_t sides) const;

 private:
  std::int64_t simd_target_;
  std::uint32_t all_sides_;
  NormalBox all_;
  // Blocks that are cut by the same sides follow each other.
  mutable std::uint32_t last_sides_ = 0;
  mutable std::optional<NormalBox> last_;
};

}  // namespace kde
