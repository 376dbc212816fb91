// Blocks of points under a correlated kernel (correlated.h).
//
// The points of a block are evaluated side by side, over the sides that cut the block. Where a
// vector's worth of them and more is out of reach of the box the others are brought together.
#include "core/joint/correlated.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/joint/product.h"

namespace kde {
namespace {

// Below that probability M/P is a quotient of roundings: the mean is then the point's own.
constexpr float kLeastShare = 1e-6F;
// Points out of reach for which it pays to bring the others together.
constexpr int kManyOutside = 16;

// Bit s: side s of the order cuts the block.
std::uint32_t sides_that_cut(const BoxPlan& plan, const SideCorrelations& c, std::size_t b) {
  std::uint32_t cut = 0;
  for (int s = 0; s < c.sides; ++s) {
    const AxisRange& range = plan.range[c.side[s]];
    const int column = plan.column[c.side[s]];
    const bool within = plan.density->least(b, column) - plan.reach >= range.kernel_lower &&
                        plan.density->greatest(b, column) + plan.reach <= range.kernel_upper;
    if (!within) cut |= 1U << s;
  }
  return cut;
}

// What the kernels of a block are integrated over, and what comes of it.
struct Kernels {
  float lower[kMaxColumns][kJointBlock];  // edges about the point
  float upper[kMaxColumns][kJointBlock];
  int point[kJointBlock];  // where they are brought together, which point each is
  int points;
  std::uint32_t number[kJointBlock];
  float probability[kJointBlock], moment[kJointBlock];
  float mean[kJointBlock];
  float difference[kJointBlock];
};

// Edges of a side about all points of a block.
void put_edges(const AxisRange& range, const float* t, float* lower, float* upper) {
  for (int i = 0; i < kJointBlock; ++i) {
    lower[i] = range.kernel_lower - t[i];
    upper[i] = range.kernel_upper - t[i];
  }
}

// 1 for points out of reach of them.
void put_outside(float reach, const float* lower, const float* upper, std::uint32_t* outside) {
#pragma omp simd
  for (int i = 0; i < kJointBlock; ++i) {
    outside[i] |= static_cast<std::uint32_t>(lower[i] >= reach) |
                  static_cast<std::uint32_t>(upper[i] <= -reach);
  }
}

// Those of the points within reach alone.
void bring_together(const std::uint32_t* outside, int sides, Kernels* kernels) {
  int n = 0;
  for (int i = 0; i < kernels->points; ++i)
    if (outside[i] == 0) kernels->point[n++] = i;
  kernels->points = n;
  for (int s = 0; s < sides; ++s) {
    for (int i = 0; i < n; ++i) {
      kernels->lower[s][i] = kernels->lower[s][kernels->point[i]];
      kernels->upper[s][i] = kernels->upper[s][kernels->point[i]];
    }
  }
}

// M/P. No event of probability P has a conditional mean beyond sqrt(-2 ln P): the tail of that
// probability has the largest, phi(z)/Phi(-z) < z + 1/z. Where P is not small enough for that to be
// kFarMean, roundings are small beside it.
void put_means(Kernels* kernels) {
  constexpr float kFarMean = 4, kSmall = 3.3e-4F;  // exp(-8)
  const float* probability = kernels->probability;
  float* mean = kernels->mean;
  float farthest = 0;
#pragma omp simd reduction(max : farthest)
  for (int i = 0; i < kJointBlock; ++i) {
    const float p = kernels->probability[i];
    const float share = p < kLeastShare ? HUGE_VALF : p;
    kernels->mean[i] = kernels->moment[i] / share;
    const float size = std::fabs(kernels->mean[i]);
    farthest = size > farthest ? size : farthest;
  }
  for (int i = 0; i < kernels->points && farthest > kFarMean; ++i) {
    if (!(std::fabs(mean[i]) > kFarMean) || probability[i] >= kSmall) continue;
    const float most = std::sqrt(-2 * std::log(probability[i]));
    mean[i] = std::clamp(mean[i], -most, most);
  }
}

// Of a block's count by draws: of the sum of its points, whose errors cancel or add up.
double variance_of_draws(const ProductBlock& block, const Kernels& kernels, bool together) {
  double rows = 0;
  for (int n = 0; n < kernels.points; ++n) {
    const int i = together ? kernels.point[n] : n;
    rows += kernels.difference[n] *
            (block.weight == nullptr ? block.equal_weight : double{block.weight[i]});
  }
  return rows * rows;
}

// Integrates a block's kernels: probabilities, moments and conditional means about the points of
// its shares, and what the draws of its points together err by.
void integrate(const BoxPlan& plan, std::size_t b, const ProductBlock& block, BlockShares* shares,
               BoxSums* sums) {
  const SideCorrelations& c = plan.correlated->correlations;
  const std::uint32_t cut = sides_that_cut(plan, c, b);
  Kernels kernels;
  std::uint32_t outside[kJointBlock] = {};
  int sides = 0;
  for (int s = 0; s < c.sides; ++s) {
    if ((cut >> s & 1U) == 0) continue;
    const AxisRange& range = plan.range[c.side[s]];
    const int column = plan.column[c.side[s]];
    float* lower = kernels.lower[sides];
    float* upper = kernels.upper[sides];
    ++sides;
    float t[kJointBlock];
    plan.density->coordinates(b, column, t);
    put_edges(range, t, lower, upper);
    const bool all_near = range.kernel_lower - plan.density->least(b, column) < plan.reach &&
                          range.kernel_upper - plan.density->greatest(b, column) > -plan.reach;
    if (!all_near) put_outside(plan.reach, lower, upper, outside);
  }
  const int points = static_cast<int>(block.points);
  kernels.points = points;
  // Filling lies nowhere, which is out of reach.
  int left_out = points - kJointBlock;
  for (const std::uint32_t out : outside) left_out += static_cast<int>(out);
  const bool together = left_out >= kManyOutside;
  if (together) bring_together(outside, sides, &kernels);
  // Whole vectors of them will be written, and all are read.
  if (kernels.points < kJointBlock) {
    std::fill_n(kernels.probability, kJointBlock, 0.0F);
    std::fill_n(kernels.moment, kJointBlock, 0.0F);
  }
  for (int i = 0; i < kJointBlock; ++i)
    kernels.number[i] = static_cast<std::uint32_t>(b * kJointBlock) + static_cast<std::uint32_t>(i);
  sums->visited += kernels.points;
  plan.correlated->box_of(cut).evaluate(kernels.lower, kernels.upper, kernels.points,
                                        kernels.number, kernels.probability, kernels.moment,
                                        kernels.difference);
  if (c.has_target) put_means(&kernels);
  const auto put = [&](const float* from, double* to) {
    if (!together) {
      std::copy_n(from, kJointBlock, to);
      std::fill(to + points, to + kJointBlock, 0.0);
      return;
    }
    std::fill_n(to, kJointBlock, 0.0);
    for (int n = 0; n < kernels.points; ++n) to[kernels.point[n]] = from[n];
  };
  put(kernels.probability, shares->probability);
  if (c.has_target) put(kernels.moment, shares->moment);
  if (c.has_target) put(kernels.mean, shares->mean);
  if (sides > 2) sums->variance += variance_of_draws(block, kernels, together);
}

void find_members(const BoxPlan& plan, std::size_t b, int points, BlockShares* shares) {
  for (int i = 0; i < kJointBlock; ++i) shares->member[i] = i < points ? 1 : 0;
  for (int k = 0; k < plan.sides; ++k) {
    for (int i = 0; i < points; ++i) {
      if (!is_member(plan, k, b, i)) shares->member[i] = 0;
    }
  }
}

}  // namespace

SideCorrelations side_correlations(const BoxPlan& plan) {
  SideCorrelations c{};
  const JointView& d = *plan.density;
  c.sides = plan.sides;
  c.has_target = plan.value == RawValue::coordinate;
  float width[kMaxColumns];
  for (int k = 0; k < plan.sides; ++k) {
    width[k] = plan.range[k].kernel_upper - plan.range[k].kernel_lower;
    int at = k;
    for (; at > 0 && width[c.side[at - 1]] > width[k]; --at) c.side[at] = c.side[at - 1];
    c.side[at] = k;
  }
  for (int j = 0; j < c.sides; ++j) {
    const int column = plan.column[c.side[j]];
    for (int l = 0; l < c.sides; ++l)
      c.matrix[j * c.sides + l] = d.correlation(column, plan.column[c.side[l]]);
    if (c.has_target) c.target[j] = d.correlation(plan.target, column);
  }
  return c;
}

CorrelatedPlan::CorrelatedPlan(const BoxPlan& plan)
    : correlations(side_correlations(plan)),
      simd_target_(plan.simd_target),
      all_sides_((1U << correlations.sides) - 1),
      all_(correlations.matrix, correlations.sides,
           correlations.has_target ? correlations.target : nullptr, plan.simd_target) {}

const NormalBox& CorrelatedPlan::box_of(std::uint32_t sides) const {
  if (sides == all_sides_) return all_;
  if (sides == last_sides_) return *last_;
  const SideCorrelations& c = correlations;
  int side[kMaxColumns];
  int k = 0;
  for (int s = 0; s < c.sides; ++s) {
    if ((sides >> s & 1U) != 0) side[k++] = s;
  }
  double matrix[kMaxColumns * kMaxColumns];
  double target[kMaxColumns];
  for (int j = 0; j < k; ++j) {
    for (int l = 0; l < k; ++l) matrix[j * k + l] = c.matrix[side[j] * c.sides + side[l]];
    target[j] = c.target[side[j]];
  }
  last_.emplace(matrix, k, c.has_target ? target : nullptr, simd_target_);
  last_sides_ = sides;
  return *last_;
}

void add_correlated_block(const BoxPlan& plan, std::size_t b, BoxSums* sums) {
  BlockNumbers numbers;
  ProductBlock block = product_block(plan, b, &numbers);
  const int points = static_cast<int>(block.points);
  BlockShares shares;
  integrate(plan, b, block, &shares, sums);
  if (block.members) find_members(plan, b, points, &shares);
  if (plan.value == RawValue::coordinate) {
    block.own_side = true;
    // t_y + M/P.
    for (int i = 0; i < kJointBlock; ++i) shares.mean[i] += block.coordinate[i];
  }
  add_shares(plan.simd_target)(block, shares, sums);
}

}  // namespace kde
