// Which sides and edges of a box cut a block of points under a product kernel (product.h).
#include "core/joint/product.h"

#include "core/joint/integrate.h"

#include <algorithm>

namespace kde {

ProductBlock product_block(const BoxPlan& plan, std::size_t b) {
  const JointView& d = *plan.density;
  ProductBlock block{};
  block.points = std::min<std::size_t>(kJointBlock, d.header().points - b * kJointBlock);
  block.weight = d.has_weights() ? d.weights(b) : nullptr;
  block.equal_weight = d.has_weights() ? 0 : d.equal_weight();
  block.own_rows = d.header().own_rows;
  block.value = plan.value;
  if (plan.value != RawValue::none) block.coordinate = d.coordinates(b, plan.target);
  if (plan.value == RawValue::number || plan.value == RawValue::lattice)
    block.raw = d.raw_values(b, plan.target);
  block.zero = plan.zero;
  block.least = plan.least;
  block.most = plan.most;
  return block;
}

void add_whole_block(const BoxPlan& plan, std::size_t b, BoxSums* sums) {
  add_product(plan.simd_target)(product_block(plan, b), sums);
}

void add_product_block(const BoxPlan& plan, std::size_t b, BoxSums* sums) {
  const JointView& d = *plan.density;
  ProductBlock block = product_block(plan, b);
  ProductSide own{};
  for (int k = 0; k < plan.sides; ++k) {
    const AxisRange& range = plan.range[k];
    const float least = d.least(b, plan.column[k]);
    const float greatest = d.greatest(b, plan.column[k]);
    const bool lower_cuts = least - kJointReach < range.kernel_lower || least <= range.member_lower;
    const bool upper_cuts =
        greatest + kJointReach > range.kernel_upper || greatest >= range.member_upper;
    if (!lower_cuts && !upper_cuts) continue;
    const std::int32_t* values =
        plan.raw[k].kind == RawValue::coordinate ? nullptr : d.raw_values(b, plan.column[k]);
    const ProductSide side = {
        d.coordinates(b, plan.column[k]), range, plan.raw[k], values, lower_cuts, upper_cuts};
    if (k == plan.target_side && plan.value == RawValue::coordinate) {
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
