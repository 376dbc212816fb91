// The plan of a box, the walk over the blocks, and moments from their sums.
#include "core/joint/joint_moments.h"

#include "core/joint/box_plan.h"
#include "core/joint/correlated.h"
#include "core/sums/engine.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>

namespace kde {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A lattice's bounds as numbers of its points.
double lattice_bound(const Header& h, double x, bool inclusive, bool lower) {
  double nearest;
  if (h.is_at_lattice_point(x, &nearest)) {
    if (inclusive) return nearest;
    return lower ? nearest + 1 : nearest - 1;
  }
  const double steps = (x - h.lattice_offset) / h.lattice_step;
  return lower ? std::ceil(steps) : std::floor(steps);
}

RawValue raw_kind(const JointView& d, int column) {
  if ((d.header().flags & kValues) == 0) return RawValue::coordinate;
  const bool lattice = (d.column(column).flags & kLatticeValues) != 0;
  return lattice && d.marginal(column)->lattice_step > 0 ? RawValue::lattice : RawValue::number;
}

// Numbers are rounded as they are stored (raw_number), so that a bound and the same value agree.
RawRange raw_range(const JointView& d, int column, const Range& r) {
  const JointColumn& c = d.column(column);
  const Header& h = *d.marginal(column);
  RawRange out = {raw_kind(d, column), -kInfinity, kInfinity};
  const auto bound = [&](double x, bool inclusive, bool lower) -> double {
    if (x == -kInfinity) return -kInfinity;
    if (!std::isfinite(x)) return kInfinity;
    // Beyond all points of a lattice, yet finite: targets are clamped to it.
    if (out.kind == RawValue::lattice)
      return std::clamp(lattice_bound(h, x, inclusive, lower), -0x1p40, 0x1p40);
    const float raw = out.kind == RawValue::number
                          ? raw_number(c, x)
                          : static_cast<float>((x - c.center) / c.bandwidth);
    if (inclusive) return raw;
    return std::nextafter(raw, static_cast<float>(lower ? kInfinity : -kInfinity));
  };
  if (!r.lower_unbounded) out.least = bound(r.lower, r.lower_inclusive, true);
  if (!r.upper_unbounded) out.most = bound(r.upper, r.upper_inclusive, false);
  return out;
}

void plan_target(const JointView& d, int target, BoxPlan* plan) {
  const JointColumn& c = d.column(target);
  const Header& h = *d.marginal(target);
  plan->value = raw_kind(d, target);
  // The kernel of a linear axis smooths values too.
  if ((c.flags & kNormalScores) == 0) plan->value = RawValue::coordinate;
  switch (plan->value) {
    case RawValue::lattice:
      plan->raw_origin = h.lattice_offset;
      plan->raw_unit = h.lattice_step;
      plan->zero = std::nearbyint((h.mean - h.lattice_offset) / h.lattice_step);
      break;
    case RawValue::number:
      plan->raw_origin = c.value_center;
      plan->raw_unit = c.value_unit;
      break;
    default:
      plan->raw_origin = c.center;
      plan->raw_unit = c.bandwidth;
  }
}

// raw: the target's range.
void plan_target_bounds(const Range& r, const RawRange& raw, BoxPlan* plan) {
  const bool has_lower = !r.lower_unbounded && std::isfinite(r.lower);
  const bool has_upper = !r.upper_unbounded && std::isfinite(r.upper);
  if (has_lower) plan->least_y = r.lower;
  if (has_upper) plan->most_y = std::max(r.upper, plan->least_y);
  if (plan->value == RawValue::coordinate) {
    if (has_lower) plan->least = (r.lower - plan->raw_origin) / plan->raw_unit;
    if (has_upper) plan->most = (r.upper - plan->raw_origin) / plan->raw_unit;
    return;
  }
  if (has_lower) plan->least = raw.least;
  if (has_upper) plan->most = std::max(raw.most, plan->least);
  plan->zero = std::clamp(plan->zero, plan->least, plan->most);
}

enum class Place : std::uint8_t { outside, inside, cut };

Place place_of(const BoxPlan& plan, std::size_t b) {
  const JointView& d = *plan.density;
  Place place = Place::inside;
  for (int k = 0; k < plan.sides; ++k) {
    const AxisRange& r = plan.range[k];
    const float least = d.least(b, plan.column[k]);
    const float greatest = d.greatest(b, plan.column[k]);
    const bool below =
        greatest + plan.reach <= r.kernel_lower && !(plan.members && greatest >= r.member_lower);
    const bool above =
        least - plan.reach >= r.kernel_upper && !(plan.members && least <= r.member_upper);
    if (below || above) return Place::outside;
    const bool within = least - plan.reach >= r.kernel_lower &&
                        greatest + plan.reach <= r.kernel_upper && least > r.member_lower &&
                        greatest < r.member_upper;
    if (!within) place = Place::cut;
  }
  for (int k = 0; k < plan.categories; ++k) {
    const ValueSide& side = plan.category[k];
    if (!side.meets(d.least(b, side.column), d.greatest(b, side.column))) return Place::outside;
  }
  return place;
}

// What every row that was read tells of a column by itself.
void put_exact(const JointView& d, int column, const Range& range, JointMoments* m) {
  const RangeMoments exact = moments(DensityView(d.marginal(column)), range);
  const double scale = d.marginal_scale(column);
  m->moments_are_marginal = true;
  m->finite = exact.finite * scale;
  m->nans = exact.nans * scale;
  m->negative_infinities = exact.negative_infinities * scale;
  m->positive_infinities = exact.positive_infinities * scale;
  m->mean = exact.mean;
  m->variance = exact.variance;
  m->fourth = std::max(m->fourth, exact.variance * exact.variance);
}

// The points' moments, of so many rows.
void put_count(double count, JointMoments* m) {
  const double factor = m->count > 0 ? count / m->count : 0;
  m->finite *= factor;
  m->nans *= factor;
  m->negative_infinities *= factor;
  m->positive_infinities *= factor;
  m->count = count;
}

bool is_without_condition(const JointView& density, const BoxSide& side) {
  const bool is_number = !density.column(side.column).is_category();
  if (is_number ? !side.range.lower_unbounded || !side.range.upper_unbounded
                : side.words != nullptr)
    return false;
  return !(density.marginal(side.column)->nulls > 0);
}

// False: no row has one of the values.
bool plan_values(const JointView& density, const BoxSide& side, BoxPlan* plan) {
  const WordsView words = density.words(side.column);
  ValueSide& out = plan->category[plan->categories++];
  out.column = side.column;
  out.others = static_cast<float>(words.others_rank());
  out.any = side.words == nullptr;
  if (out.any) return true;
  out.ranks = side.words->ranks;
  if (words.others() > 0) out.share_of_others = std::min(side.words->unknown / words.others(), 1.0);
  return !out.ranks.empty() || out.share_of_others > 0;
}

// Of one column alone the rows that it has by itself.
double marginal_count(const JointView& density, const BoxSide& side) {
  const DensityView marginal(density.marginal(side.column));
  const double rows = !density.column(side.column).is_category() ? count(marginal, side.range)
                      : side.words == nullptr
                          ? marginal.header().rows
                          : words_count(marginal, density.words(side.column), *side.words);
  return rows * density.marginal_scale(side.column);
}

}  // namespace

bool plan_box(const JointView& density, std::span<const BoxSide> sides, int target, BoxPlan* plan) {
  *plan = {};
  plan->density = &density;
  plan->members = density.has_values() || density.header().own_rows > 0;
  plan->reach = density.correlated() ? kCorrelatedReach : kJointReach;
  plan->target = target;
  plan->target_side = -1;
  plan->simd_target = best_simd_target();
  plan->least = plan->least_y = -kInfinity;
  plan->most = plan->most_y = kInfinity;
  plan->raw_unit = 1;
  if (target >= 0) plan_target(density, target, plan);
  for (const BoxSide& side : sides) {
    if (side.range.empty) return false;
    // Without bounds all but NULL is in the range; where there is none, that is no condition.
    if (is_without_condition(density, side)) continue;
    if (plan->sides + plan->categories == kMaxColumns) return false;
    if (density.column(side.column).is_category()) {
      if (!plan_values(density, side, plan)) return false;
      continue;
    }
    const AxisRange range = axis_of(density, side.column).range(side.range);
    if (range.empty) return false;
    const RawRange raw = raw_range(density, side.column, side.range);
    if (side.column == target) {
      plan->target_side = plan->sides;
      plan_target_bounds(side.range, raw, plan);
    }
    plan->raw[plan->sides] = raw;
    plan->column[plan->sides] = side.column;
    plan->range[plan->sides++] = range;
  }
  return true;
}

// What smoothing gains on average it loses where the density bends within a bandwidth: at a corner, in
// a hot spot. The points themselves tell at any box: D = sum u (m - P) is what counting them has more,
// and has the variance sum (u (m - P))^2 of a sample drawn row by row. So an answer is the kernels',
// but never farther from the count than kFarthestSmoothed standard deviations of D, soft thresholding
// of D (P. J. Bickel, in Recent Advances in Statistics, 1983). With k of these the error is at most
//   E|Z + k|/E|Z| = (2 phi(k) + k (2 Phi(k) - 1))/(2 phi(0)) = 1.08
// times that of counting, wherever the box; where smoothing is right it is as little as
// (2 phi(k) - 2 k Phi(-k))/(2 phi(0)) = 0.58 times that, and what it would be without the bound where
// the kernels hardly differ. The rows of blocks that are alike vary more: then the bound is nearer
// than it had to be.
constexpr double kFarthestSmoothed = 0.4;

// The variance of a sum of points over that of as many rows drawn one by one from the table.
double population_factor(const JointHeader& h) {
  return std::max(h.sampling_variance + h.reading_variance, 0.0);
}

// How far something is taken from the kernels' answer, `to_counting` away from that of counting.
double toward_counting(double to_counting, double variance, double factor) {
  const double most = kFarthestSmoothed * std::sqrt(std::max(variance, 0.0) * factor);
  return std::copysign(std::max(std::fabs(to_counting) - most, 0.0), to_counting);
}

// The rows, brought near those that are counted.
BoxSums near_counting(const BoxPlan& plan, const BoxSums& kernels) {
  const Counted& c = kernels.counted;
  const double shift =
      toward_counting(c.rows, c.row_squares, population_factor(plan.density->header()));
  BoxSums sums = kernels;
  if (shift == 0) return sums;
  const double share = shift / c.rows;  // of counting
  sums.rows = std::max(kernels.rows + shift, 0.0);
  sums.finite = std::max(kernels.finite + share * c.finite, 0.0);
  const double factor = kernels.rows > 0 ? sums.rows / kernels.rows : 0;
  for (double* x : {&sums.nans, &sums.negative_infinities, &sums.positive_infinities}) *x *= factor;
  return sums;
}

// u: the kernels' mean. With V the rows that are counted, counting has sum w (m - P)(u_i - u)/V more.
// *points: those that are counted, as many as if each had the same weight.
double mean_toward_counting(const BoxPlan& plan, const BoxSums& kernels, double u, double* points) {
  const Counted& c = kernels.counted;
  const double counted = kernels.valued + c.valued;
  if (!(counted > 0 && c.alone > 0)) return 0;
  *points = counted * counted / c.alone;
  const double to_counting = (c.power - u * c.valued) / counted;
  const double variance =
      (c.squares[2] - 2 * u * c.squares[1] + u * u * c.squares[0]) / (counted * counted);
  return toward_counting(to_counting, variance, population_factor(plan.density->header()));
}

// With the sums S_k of rows u^k the moments about the mean m = S_1/S_0 are
//   S_2/S_0 - m^2,   S_3/S_0 - 3 m S_2/S_0 + 2 m^3,
//   S_4/S_0 - 4 m S_3/S_0 + 6 m^2 S_2/S_0 - 3 m^4.
//
// On linear axes u is the kernel's conditional mean in the box, not the row's place. Of the box's
// second moment about m, summed over the kernels, the kernel's own spread is taken out as in one
// dimension (partial_moments() of integrate/histogram_kernel.cpp): rows - [(y - m) f(y)] over the
// box's ends a and b. With a kernel's P, M = phi(a - t) - phi(b - t) and u = t + M/P, its second
// moment about t is P + (a - t) phi(a - t) - (b - t) phi(b - t), its variance in the box that over
// P less (M/P)^2, and P times the variance, less its part of what is taken out, is M (m - u). So
//   variance = between the u + (m sum w M - sum w M u)/S_0,
// where nothing is left of a kernel that lies within the box (M = 0), and a box narrower than the
// kernels has the variance of rows spread over it.
JointMoments finish_moments(const BoxPlan& plan, const BoxSums& kernels) {
  const BoxSums sums = plan.density->has_values() ? near_counting(plan, kernels) : kernels;
  JointMoments m;
  m.count = std::clamp(sums.rows, 0.0, plan.density->header().rows);
  m.effective_points = sums.squares > 0 ? sums.rows * sums.rows / sums.squares : 0;
  m.quadrature_error = std::sqrt(std::max(sums.variance, 0.0));
  m.points_visited = sums.visited;
  if (plan.value == RawValue::none) return m;
  m.nans = sums.nans;
  m.negative_infinities = sums.negative_infinities;
  m.positive_infinities = sums.positive_infinities;
  m.finite = sums.finite;
  // Rows in the box whose points all have values beyond it have no mean that is known.
  if (!(sums.valued > 0)) m.finite = 0;
  if (!(m.finite > 0)) return m;
  const double n = sums.valued;
  const double u = sums.power[0] / n;
  const double u2 = sums.power[1] / n;
  const double put_back = (u * sums.pull - sums.pull_power) / n;
  double variance = std::max(u2 - u * u, 0.0) + std::max(put_back, 0.0);
  const double half = (plan.most - plan.least) / 2;
  variance = std::min(variance, half * half);
  const double fourth =
      sums.power[3] / n - 4 * u * sums.power[2] / n + 6 * u * u * u2 - 3 * u * u * u * u;
  // Of a unit whose powers overflow: infinite, but nothing times it is nothing.
  const auto in_units = [&plan](double x, int power) {
    for (; power > 0 && x != 0; --power) x *= plan.raw_unit;
    return x;
  };
  const double moved =
      plan.density->has_values() ? mean_toward_counting(plan, kernels, u, &m.effective_points) : 0;
  m.mean = std::clamp(plan.raw_origin + plan.raw_unit * (plan.zero + u + moved), plan.least_y,
                      plan.most_y);
  m.variance = in_units(variance, 2);
  m.third = in_units(sums.power[2] / n - 3 * u * u2 + 2 * u * u * u, 3);
  m.fourth = in_units(std::max(fourth, variance * variance), 4);
  return m;
}

BoxSums sum_blocks(const BoxPlan& plan, ContrastSums* contrasts) {
  BoxSums sums;
  sums.contrasts = contrasts;
  BoxPlan complete = plan;
  const bool correlated = plan.density->correlated() && plan.sides > 0;
  std::optional<CorrelatedPlan> common;
  if (correlated) complete.correlated = &common.emplace(plan);
  for (std::size_t b = 0; b < plan.density->blocks(); ++b) {
    switch (place_of(plan, b)) {
      case Place::outside:
        break;
      case Place::inside:
        add_whole_block(complete, b, &sums);
        break;
      case Place::cut:
        (correlated ? add_correlated_block : add_product_block)(complete, b, &sums);
        break;
    }
  }
  return sums;
}

bool is_member(const BoxPlan& plan, int side, std::size_t block, int point) {
  const JointView& d = *plan.density;
  const int column = plan.column[side];
  const RawRange& raw = plan.raw[side];
  const float t = d.coordinate(block, column, point);
  if (std::fabs(t) > kFarthest)
    return t > plan.range[side].kernel_lower && t <= plan.range[side].kernel_upper;
  double value = t;
  if (raw.kind == RawValue::lattice) value = d.raw_value(block, column, point);
  if (raw.kind == RawValue::number) value = std::bit_cast<float>(d.raw_value(block, column, point));
  return value >= raw.least && value <= raw.most;
}

namespace {

void put_effects(const JointView& density, const BoxSums& sums, JointMoments* m) {
  const double p = (sums.rows + sums.counted.rows) / density.header().rows;
  m->contrasts = static_cast<int>(std::count_if(std::begin(sums.contrasts->rows),
                                                std::end(sums.contrasts->rows),
                                                [](double rows) { return rows != 0; }));
  m->count_effect = count_effect(*sums.contrasts, density.balance(), std::clamp(p, 0.0, 1.0));
  const double valued = sums.valued + sums.counted.valued;
  if (!(valued > 0)) return;
  m->mean_effect = mean_effect(*sums.contrasts, (sums.power[0] + sums.counted.power) / valued);
}

}  // namespace

JointMoments joint_moments(const JointView& density, std::span<const BoxSide> sides, int target) {
  BoxPlan plan;
  JointMoments m;
  m.target = target;
  if (!plan_box(density, sides, target, &plan)) return m;
  const int column = plan.sides > 0 ? plan.column[0] : plan.category[0].column;
  const JointColumn& first = density.column(column);
  const bool none = plan.sides + plan.categories == 0;
  const bool alone = plan.sides + plan.categories == 1 &&
                     ((first.flags & kNormalScores) != 0 || first.is_category());
  // What a column's own distribution answers needs no points.
  const bool needless = target < 0 && (none || alone);
  if (!needless) {
    ContrastSums contrasts;
    BoxSums sums = sum_blocks(plan, density.contrasts() > 0 ? &contrasts : nullptr);
    m = finish_moments(plan, sums);
    if (sums.contrasts != nullptr) put_effects(density, sums, &m);
  }
  m.target = target;
  if (none) {
    put_count(density.header().rows, &m);
    m.count_is_marginal = true;
    if (target >= 0) put_exact(density, target, Range{}, &m);
  }
  if (!alone) return m;
  for (const BoxSide& side : sides) {
    if (side.column != column) continue;
    put_count(marginal_count(density, side), &m);
    m.count_is_marginal = true;
    if (target == column) put_exact(density, column, side.range, &m);
  }
  return m;
}

}  // namespace kde
