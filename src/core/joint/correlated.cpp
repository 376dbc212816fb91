// Blocks of points under a correlated kernel (correlated.h).
//
// Most points of a block that is cut are within reach of no side, or of one or two: these are exact
// at a fraction of the cost. So points go to the vector code in groups: those with one side in
// reach together, whichever it is; those with the same two; and all others, over every side that
// any of them reaches.
#include "core/joint/correlated.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/joint/product.h"

namespace kde {
namespace {

// Below that probability M/P is a quotient of roundings: the mean is then the point's own.
constexpr float kLeastShare = 1e-6F;

constexpr double kUnit = 1;

// The points of a block that the kernel is integrated for.
struct Cut {
  float lower[kMaxColumns][kJointBlock];  // edges about the point, in the order of the plan's sides
  float upper[kMaxColumns][kJointBlock];
  std::uint32_t reached[kJointBlock];  // bit s: side s of the order is within reach
  int point[kJointBlock];              // those with a bit, within reach of the whole box
  int points;
};

void find_cut(const BoxPlan& plan, const SideCorrelations& c, std::size_t b, int points,
              BlockShares* shares, Cut* cut) {
  std::uint32_t outside[kJointBlock] = {};
  std::fill_n(cut->reached, kJointBlock, 0U);
  for (int s = 0; s < c.sides; ++s) {
    const AxisRange& range = plan.range[c.side[s]];
    float t[kJointBlock];
    plan.density->coordinates(b, plan.column[c.side[s]], t);
    float* lower = cut->lower[s];
    float* upper = cut->upper[s];
    for (int i = 0; i < kJointBlock; ++i) {
      lower[i] = range.kernel_lower - t[i];
      upper[i] = range.kernel_upper - t[i];
      outside[i] |= static_cast<std::uint32_t>(lower[i] >= kJointReach) |
                    static_cast<std::uint32_t>(upper[i] <= -kJointReach);
      const std::uint32_t near = static_cast<std::uint32_t>(lower[i] > -kJointReach) |
                                 static_cast<std::uint32_t>(upper[i] < kJointReach);
      cut->reached[i] |= near << s;
    }
  }
  cut->points = 0;
  for (int i = 0; i < kJointBlock; ++i) {
    const bool in_reach = i < points && outside[i] == 0;
    shares->probability[i] = in_reach ? 1.0F : 0.0F;
    shares->moment[i] = 0;
    if (in_reach && cut->reached[i] != 0) cut->point[cut->points++] = i;
  }
}

// Points that are evaluated together.
struct Group {
  float lower[kMaxColumns][kJointBlock];
  float upper[kMaxColumns][kJointBlock];
  int point[kJointBlock];
  std::uint32_t number[kJointBlock];
  int points = 0;
  float probability[kJointBlock], moment[kJointBlock], variance[kJointBlock];

  // point and points are set: those of the sides `column` of `cut`, and what fills up the vectors.
  void gather(const Cut& cut, const int* column, int columns, std::size_t b) {
    for (int j = 0; j < columns; ++j) {
      for (int n = 0; n < points; ++n) {
        lower[j][n] = cut.lower[column[j]][point[n]];
        upper[j][n] = cut.upper[column[j]][point[n]];
      }
    }
    fill_up(columns);
    for (int n = 0; n < points; ++n) {
      number[n] =
          static_cast<std::uint32_t>(b * kJointBlock) + static_cast<std::uint32_t>(point[n]);
    }
  }
  void fill_up(int columns) {
    for (int j = 0; j < columns; ++j) {
      std::fill(lower[j] + points, lower[j] + kJointBlock, 0.0F);
      std::fill(upper[j] + points, upper[j] + kJointBlock, 0.0F);
    }
    std::fill(number + points, number + kJointBlock, 0U);
  }
};

class Block {
 public:
  Block(const BoxPlan& plan, std::size_t b, const ProductBlock& block, BlockShares* shares,
        BoxSums* sums)
      : plan_(plan),
        c_(plan.correlated->correlations),
        b_(b),
        block_(block),
        shares_(shares),
        sums_(sums) {
    find_cut(plan, c_, b, static_cast<int>(block.points), shares, &cut_);
    sums->visited += cut_.points;
  }

  void integrate() {
    integrate_single_sides();
    while (cut_.points > 0 && take_pair()) integrate_group();
    if (cut_.points > 0) {
      take_rest();
      integrate_group();
    }
  }

 private:
  void integrate_single_sides() {
    int rest = 0;
    int side[kJointBlock];
    group_.points = 0;
    for (int n = 0; n < cut_.points; ++n) {
      const int i = cut_.point[n];
      if (!std::has_single_bit(cut_.reached[i])) {
        cut_.point[rest++] = i;
        continue;
      }
      const int s = std::countr_zero(cut_.reached[i]);
      side[group_.points] = s;
      group_.lower[0][group_.points] = cut_.lower[s][i];
      group_.upper[0][group_.points] = cut_.upper[s][i];
      group_.point[group_.points++] = i;
    }
    cut_.points = rest;
    if (group_.points == 0) return;
    group_.fill_up(1);
    plan_.correlated->one.evaluate(group_.lower, group_.upper, group_.points, group_.number,
                                   group_.probability, group_.moment, group_.variance);
    for (int n = 0; c_.has_target && n < group_.points; ++n)
      group_.moment[n] *= static_cast<float>(c_.target[side[n]]);
    scatter();
  }

  // The points with the two sides that the first point with two has.
  bool take_pair() {
    std::uint32_t pair = 0;
    int rest = 0;
    group_.points = 0;
    for (int n = 0; n < cut_.points; ++n) {
      const int i = cut_.point[n];
      if (pair == 0 && std::popcount(cut_.reached[i]) == 2) pair = cut_.reached[i];
      if (cut_.reached[i] == pair) {
        group_.point[group_.points++] = i;
      } else {
        cut_.point[rest++] = i;
      }
    }
    cut_.points = rest;
    reached_ = pair;
    return pair != 0;
  }

  void take_rest() {
    reached_ = 0;
    for (int n = 0; n < cut_.points; ++n) reached_ |= cut_.reached[cut_.point[n]];
    std::copy_n(cut_.point, cut_.points, group_.point);
    group_.points = cut_.points;
    cut_.points = 0;
  }

  // Over the sides in reached_.
  void integrate_group() {
    int column[kMaxColumns];
    int columns = 0;
    for (int s = 0; s < c_.sides; ++s) {
      if ((reached_ >> s & 1U) != 0) column[columns++] = s;
    }
    group_.gather(cut_, column, columns, b_);
    if (columns == c_.sides) {
      evaluate(plan_.correlated->all);
      return;
    }
    double matrix[kMaxColumns * kMaxColumns];
    double target[kMaxColumns];
    for (int j = 0; j < columns; ++j) {
      for (int l = 0; l < columns; ++l)
        matrix[j * columns + l] = c_.matrix[column[j] * c_.sides + column[l]];
      target[j] = c_.target[column[j]];
    }
    evaluate(NormalBox(matrix, columns, c_.has_target ? target : nullptr, plan_.simd_target));
  }

  void evaluate(const NormalBox& box) {
    box.evaluate(group_.lower, group_.upper, group_.points, group_.number, group_.probability,
                 group_.moment, group_.variance);
    scatter();
  }

  void scatter() {
    for (int n = 0; n < group_.points; ++n) {
      const int i = group_.point[n];
      shares_->probability[i] = group_.probability[n];
      if (c_.has_target) shares_->moment[i] = group_.moment[n];
      const double weight =
          block_.weight == nullptr ? block_.equal_weight : static_cast<double>(block_.weight[i]);
      sums_->variance += weight * weight * static_cast<double>(group_.variance[n]);
    }
  }

  const BoxPlan& plan_;
  const SideCorrelations& c_;
  std::size_t b_;
  const ProductBlock& block_;
  BlockShares* shares_;
  BoxSums* sums_;
  Cut cut_;
  Group group_;
  std::uint32_t reached_ = 0;
};

// t_y + M/P. No event of probability P has a conditional mean beyond sqrt(-2 ln P): the tail of
// that probability has the largest, phi(z)/Phi(-z) < z + 1/z.
void put_means(const float* t, int points, BlockShares* shares) {
  for (int i = 0; i < kJointBlock; ++i) {
    const double p = shares->probability[i];
    double mean = 0;
    if (i < points && p >= kLeastShare) mean = shares->moment[i] / p;
    if (i < points && p >= kLeastShare && p < 0.01) {
      const double most = std::sqrt(-2 * std::log(p));
      mean = std::clamp(mean, -most, most);
    }
    shares->mean[i] = t[i] + mean;
  }
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
      all(correlations.matrix, correlations.sides,
          correlations.has_target ? correlations.target : nullptr, plan.simd_target),
      one(&kUnit, 1, correlations.has_target ? &kUnit : nullptr, plan.simd_target) {}

void add_correlated_block(const BoxPlan& plan, std::size_t b, BoxSums* sums) {
  BlockNumbers numbers;
  ProductBlock block = product_block(plan, b, &numbers);
  const int points = static_cast<int>(block.points);
  BlockShares shares;
  Block(plan, b, block, &shares, sums).integrate();
  if (block.own_rows > 0) find_members(plan, b, points, &shares);
  if (plan.value == RawValue::coordinate) {
    block.own_side = true;
    put_means(block.coordinate, points, &shares);
  }
  add_shares(plan.simd_target)(block, shares, sums);
}

}  // namespace kde
