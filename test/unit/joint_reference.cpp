// P and M of a point, its value, and their sums.
#include "joint_reference.h"

#include "core/kernel/normal.h"
#include "core/joint/box_plan.h"
#include "core/joint/correlated.h"

#include <algorithm>
#include <cmath>

#include "normal_box_reference.h"

namespace kde {

namespace {

// Phi(b) - Phi(a), a <= b, in the tail in which both are small.
double normal_between(double a, double b) {
  return a > 0 ? normal_cdf(-a) - normal_cdf(-b) : normal_cdf(b) - normal_cdf(a);
}

// Whether kernels have conditional means of the target other than their points.
bool has_pull(const BoxPlan& plan) {
  if (plan.value != RawValue::coordinate || plan.sides == 0) return false;
  return plan.target_side >= 0 || plan.density->correlated();
}

struct Point {
  double kernel = 1;     // P
  double others = 1;     // P without the target's side
  double first = 0;      // M of the target's side
  double own_share = 1;  // P of the target's side
  double lower = -HUGE_VAL, upper = HUGE_VAL;
  bool member = true;
};

// P and M of point i of block b; plan: of one or two sides.
void correlated_point_reference(const BoxPlan& plan, std::size_t b, int i, double* probability,
                                double* moment) {
  const SideCorrelations c = side_correlations(plan);
  double lower[2] = {};
  double upper[2] = {};
  for (int j = 0; j < std::min(c.sides, 2); ++j) {
    const AxisRange& range = plan.range[c.side[j]];
    const double t = plan.density->coordinate(b, plan.column[c.side[j]], i);
    lower[j] = range.kernel_lower - t;
    upper[j] = range.kernel_upper - t;
  }
  *moment = 0;
  normal_box_reference(c.matrix, c.sides, lower, upper, c.has_target ? c.target : nullptr,
                       probability, moment);
}

Point point_of(const BoxPlan& plan, std::size_t b, int i) {
  Point p;
  for (int k = 0; k < plan.sides; ++k) {
    const AxisRange& r = plan.range[k];
    const float at = plan.density->coordinate(b, plan.column[k], i);
    const double t = at;
    const double share = normal_between(r.kernel_lower - t, r.kernel_upper - t);
    p.kernel *= share;
    p.member = p.member && is_member(plan, k, b, i);
    if (k == plan.target_side) {
      p.own_share = share;
      p.lower = r.kernel_lower;
      p.upper = r.kernel_upper;
      p.first = normal_pdf(r.kernel_lower - t) - normal_pdf(r.kernel_upper - t);
    } else {
      p.others *= share;
    }
  }
  if (plan.density->correlated() && plan.sides > 0) {
    p.others = 1;
    correlated_point_reference(plan, b, i, &p.kernel, &p.first);
    p.own_share = p.kernel;
  }
  return p;
}

// The target's raw value.
double raw_of(const BoxPlan& plan, std::size_t b, int i, const Point& p) {
  const JointView& d = *plan.density;
  const double t = d.coordinate(b, plan.target, i);
  switch (plan.value) {
    case RawValue::coordinate:
      if (!has_pull(plan)) return t;
      return std::clamp(p.own_share > 1e-12 ? t + p.first / p.own_share : t, p.lower, p.upper);
    case RawValue::lattice:
      return d.raw_value(b, plan.target, i);
    default:
      return (d.value(b, plan.target, i) - plan.raw_origin) / plan.raw_unit;
  }
}

void add_point(const BoxPlan& plan, std::size_t b, int i, BoxSums* sums) {
  const JointView& d = *plan.density;
  const Point p = point_of(plan, b, i);
  const double weight = d.has_weights() ? d.weight(b, i) : d.equal_weight();
  const double rows = weight * p.kernel + (p.member ? d.header().own_rows : 0);
  sums->rows += rows;
  sums->squares += rows * rows;
  sums->visited += 1;
  Counted* counted = &sums->counted;
  const double own = d.header().own_rows;
  const double off = plan.members ? (p.member ? 1 : 0) - p.kernel : 0;
  counted->rows += weight * off;
  counted->row_squares += std::pow((weight + own) * off, 2);
  if (plan.value == RawValue::none) return;
  const float t = d.coordinate(b, plan.target, i);
  if (t == kNotANumber) sums->nans += rows;
  if (t == kNegativeInfinity) sums->negative_infinities += rows;
  if (t == kPositiveInfinity) sums->positive_infinities += rows;
  if (std::fabs(t) > kFarthest) return;
  const double raw = raw_of(plan, b, i, p);
  const double u = std::clamp(raw, plan.least, plan.most) - plan.zero;
  sums->finite += rows;
  double valued = rows;
  if (plan.value != RawValue::coordinate && plan.target_side >= 0 && !d.correlated()) {
    const bool within = is_member(plan, plan.target_side, b, i);
    valued = within ? weight * p.others + (p.member ? d.header().own_rows : 0) : 0;
  }
  if (plan.members) {
    const bool within = plan.target_side < 0 || plan.value == RawValue::coordinate ||
                        is_member(plan, plan.target_side, b, i);
    const bool by_others = plan.target_side >= 0 && plan.value != RawValue::coordinate;
    const double smoothed = !within ? 0 : by_others ? p.others : p.kernel;
    const double apart = (p.member ? 1 : 0) - smoothed;
    counted->finite += weight * off;
    counted->valued += weight * apart;
    counted->power += weight * apart * u;
    for (int k = 0; k < 3; ++k)
      counted->squares[k] += std::pow((weight + own) * apart, 2) * std::pow(u, k);
    if (p.member) counted->alone += (weight + own) * (weight + own);
  }
  sums->valued += valued;
  sums->power[0] += valued * u;
  sums->power[1] += valued * u * u;
  sums->power[2] += valued * u * u * u;
  sums->power[3] += valued * u * u * u * u;
  if (!has_pull(plan)) return;
  sums->pull += weight * p.others * p.first;
  sums->pull_power += weight * p.others * p.first * u;
}

}  // namespace

JointMoments joint_moments_reference(const JointView& density, std::span<const BoxSide> sides,
                                     int target) {
  BoxPlan plan;
  if (!plan_box(density, sides, target, &plan)) return {};
  BoxSums sums;
  for (std::size_t b = 0; b < density.blocks(); ++b) {
    const std::size_t points =
        std::min<std::size_t>(kJointBlock, density.header().points - b * kJointBlock);
    for (std::size_t i = 0; i < points; ++i) add_point(plan, b, static_cast<int>(i), &sums);
  }
  return finish_moments(plan, sums);
}

}  // namespace kde
