// Which sides and edges of a box cut a block of points under a product kernel (product.h).
#include "core/joint/product.h"

#include "core/joint/joint_moments.h"

#include <algorithm>

namespace kde {

namespace {

// Null: all.
const double* shares_by_value(const BoxPlan& plan, std::size_t b, double* share) {
  const JointView& d = *plan.density;
  bool all = true;
  for (int k = 0; k < plan.categories; ++k) {
    const ValueSide& side = plan.category[k];
    const float least = d.least(b, side.column);
    if (least == d.greatest(b, side.column) && side.share(least) == 1) continue;
    float rank[kJointBlock];
    d.coordinates(b, side.column, rank);
    for (int i = 0; i < kJointBlock; ++i) {
      const double own = side.share(rank[i]);
      share[i] = all ? own : share[i] * own;
    }
    all = false;
  }
  return all ? nullptr : share;
}

}  // namespace

ProductBlock product_block(const BoxPlan& plan, std::size_t b, BlockNumbers* numbers) {
  const JointView& d = *plan.density;
  ProductBlock block;
  block.points = std::min<std::size_t>(kJointBlock, d.header().points - b * kJointBlock);
  if (d.has_weights()) {
    d.weights(b, numbers->weight);
    block.weight = numbers->weight;
  } else {
    block.equal_weight = d.equal_weight();
  }
  block.own_rows = d.header().own_rows;
  block.members = plan.members;
  if (d.contrasts() > 0) {
    d.contrasts(b, numbers->contrast);
    block.contrast = numbers->contrast;
  }
  block.share = shares_by_value(plan, b, numbers->share);
  block.value = plan.value;
  if (plan.value != RawValue::none) {
    d.coordinates(b, plan.target, numbers->coordinate[plan.target]);
    block.coordinate = numbers->coordinate[plan.target];
  }
  if (plan.value == RawValue::number || plan.value == RawValue::lattice) {
    d.raw_values(b, plan.target, numbers->raw[plan.target]);
    block.raw = numbers->raw[plan.target];
  }
  block.zero = plan.zero;
  block.least = plan.least;
  block.most = plan.most;
  return block;
}

void add_whole_block(const BoxPlan& plan, std::size_t b, BoxSums* sums) {
  BlockNumbers numbers;
  add_product(plan.simd_target)(product_block(plan, b, &numbers), sums);
}

void add_product_block(const BoxPlan& plan, std::size_t b, BoxSums* sums) {
  const JointView& d = *plan.density;
  BlockNumbers numbers;
  ProductBlock block = product_block(plan, b, &numbers);
  ProductSide own{};
  for (int k = 0; k < plan.sides; ++k) {
    const AxisRange& range = plan.range[k];
    const int column = plan.column[k];
    const float least = d.least(b, column);
    const float greatest = d.greatest(b, column);
    const bool lower_cuts = least - kJointReach < range.kernel_lower || least <= range.member_lower;
    const bool upper_cuts =
        greatest + kJointReach > range.kernel_upper || greatest >= range.member_upper;
    if (!lower_cuts && !upper_cuts) continue;
    d.coordinates(b, column, numbers.coordinate[column]);
    ProductSide side = {
        numbers.coordinate[column], range, plan.raw[k], nullptr, lower_cuts, upper_cuts};
    if (block.members && plan.raw[k].kind != RawValue::coordinate) {
      d.raw_values(b, column, numbers.raw[column]);
      side.value = numbers.raw[column];
    }
    if (k == plan.target_side) {
      block.own_side = true;
      own = side;
    } else {
      block.side[block.sides++] = side;
    }
  }
  if (block.own_side) block.side[block.sides++] = own;
  sums->visited += static_cast<double>(block.points);
  add_product(plan.simd_target)(block, sums);
}

}  // namespace kde
