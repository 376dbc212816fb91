// See conditional.h.
#include "core/joint/conditional.h"

#include "core/answer/interval_parts.h"
#include "core/kernel/normal.h"
#include "core/joint/axis.h"
#include "core/joint/joint_moments.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kde {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Points of the target's own spread that join those that speak, as in a box (box_evidence.cpp).
constexpr double kPointsAdded = 2;

// S_2 - S_1^2/S_0 less than that share of S_0: the points lie at one place, but for the rounding of
// their coordinates, and have no slope.
constexpr double kNoSpread = 1e-3;

// Calls visit(W_i, t_i - t_0, y_i) for each point within reach of t_0 whose target is finite. Rows
// are in units of their mean, so that no square overflows.
template <typename Visit>
void for_points_near(const JointView& d, int target, int on, float t0, Visit visit) {
  const double unit = d.header().rows / d.header().points;
  for (std::size_t b = 0; b < d.blocks(); ++b) {
    if (d.least(b, on) > t0 + kJointReach || d.greatest(b, on) < t0 - kJointReach) continue;
    float given[kJointBlock];
    float place[kJointBlock];
    float weight[kJointBlock];
    std::int32_t raw[kJointBlock] = {};
    d.coordinates(b, on, given);
    d.coordinates(b, target, place);
    if (d.has_weights()) d.weights(b, weight);
    if (d.has_values()) d.raw_values(b, target, raw);
    for (int i = 0; i < kJointBlock; ++i) {
      const double u = double{given[i]} - t0;
      if (!(std::fabs(u) <= kJointReach)) continue;
      if (!(std::fabs(place[i]) <= kFarthest)) continue;
      const double spread = d.has_weights() ? double{weight[i]} : d.equal_weight();
      const double rows = (d.header().own_rows + spread) / unit;
      if (rows > 0) visit(rows * std::exp(-u * u / 2), u, d.value_of(target, place[i], raw[i]));
    }
  }
}

struct Sums {
  double s0 = 0, s1 = 0, s2 = 0, squares = 0;
  double y = 0, uy = 0;  // sums of W (y - center), W u (y - center)
};

// A line by its weighted points, as conditional.h has it, about the target's `center`.
struct Line {
  double s0, mean_u, spread;
  bool sloped;  // else it is flat
  double height, slope;

  double l(double w, double u) const {
    return w * (1 / s0 - (sloped ? (u - mean_u) * mean_u / spread : 0));
  }
  double leverage(double w, double u) const {
    return w * (1 / s0 + (sloped ? (u - mean_u) * (u - mean_u) / spread : 0));
  }
};

struct Shift {
  double down = 0, up = 0;
};

// What rows of that weight may do to the height that go with such targets, and come with others.
Shift shift_of(const Line& line, double weight, const ValueBounds& went, const ValueBounds& came) {
  constexpr int kPlaces = 8 * static_cast<int>(kJointReach);  // to either side, 1/8 bandwidth apart
  Shift come;
  Shift go;
  for (int i = -kPlaces; i <= kPlaces; ++i) {
    const double u = i / 8.0;
    const double w = weight * std::exp(-u * u / 2);
    const double h = line.leverage(w, u);
    // They may have been all there is.
    if (!(h < 1)) return {kInfinity, kInfinity};
    const auto moved = [&](double y) {
      const double l = line.l(w, u);
      return l == 0 ? 0 : l * (y - line.height - line.slope * u);
    };
    for (const double y : {came.low, came.high}) {
      come.up = std::max(come.up, moved(y) / (1 + h));
      come.down = std::max(come.down, -moved(y) / (1 + h));
    }
    for (const double y : {went.low, went.high}) {
      go.up = std::max(go.up, -moved(y) / (1 - h));
      go.down = std::max(go.down, moved(y) / (1 - h));
    }
  }
  return {come.down + go.down, come.up + go.up};
}

}  // namespace

Interval conditional_mean(const JointView& d, int target, int on, double x,
                          const IntervalOptions& options) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const float t0 = axis_of(d, on).coordinate(x);
  const Header& column = *d.marginal(target);
  // Keeps what is subtracted small.
  const double center = column.mean;
  Sums s;
  for_points_near(d, target, on, t0, [&](double w, double u, double y) {
    s.s0 += w;
    s.s1 += w * u;
    s.s2 += w * u * u;
    s.squares += w * w;
    s.y += w * (y - center);
    s.uy += w * u * (y - center);
  });
  if (!(s.s0 > 0)) return {kNan, kNan, kNan};

  const double mean_u = s.s1 / s.s0;
  const double spread = s.s2 - s.s1 * mean_u;
  const bool line = spread > kNoSpread * s.s0;
  const double mean_y = s.y / s.s0;
  const double slope = line ? (s.uy - mean_u * s.y) / spread : 0;
  const double height = mean_y - slope * mean_u;
  if (!std::isfinite(height)) return {kNan, kNan, kNan};

  double residuals = 0;
  double fourth = 0;
  double l_squares = 0;
  for_points_near(d, target, on, t0, [&](double w, double u, double y) {
    const double r = y - center - height - slope * u;
    residuals += w * r * r;
    fourth += w * r * r * r * r;
    const double l = w / s.s0 - (line ? w * (u - mean_u) * mean_u / spread : 0);
    l_squares += l * l;
  });
  const double points = s.s0 * s.s0 / s.squares;
  const double degrees = points - (line ? 2 : 1);
  const double kurtosis = residuals > 0 ? fourth / residuals * (s.s0 / residuals) : 0;
  const double added = kPointsAdded * std::max((kurtosis - 1) / 2, 1.0);
  const double variance =
      (residuals / s.s0 * points + added * column.variance) / (std::max(degrees, 0.0) + added);
  const JointHeader& h = d.header();
  const double z = normal_central_quantile(options.confidence);
  const double deviations = z + student_excess(z, std::max(degrees, 1.0));
  if (std::isnan(height)) return {kNan, kNan, kNan};
  const double share = std::min(points / h.points, 1.0);
  const double unit =
      l_squares *
      (h.sampling_variance + h.reading_variance * ratio_at(d.mean_effect(target, false), share));
  double half = unit > 0 ? deviations * std::sqrt(unit) * std::sqrt(variance) : 0;
  if (std::isnan(half)) half = column.max - column.min;  // residuals that overflow
  Interval out;
  out.estimate = std::clamp(center + height, column.min, column.max);
  out.lower = std::clamp(out.estimate - half, column.min, column.max);
  out.upper = std::clamp(out.estimate + half, column.min, column.max);
  const ChangedRows changed = changed_rows(column, Range(), options);
  if (!(changed.rows > 0)) return out;
  const Shift shift =
      shift_of({s.s0, mean_u, spread, line, height, slope}, changed.rows / (h.rows / h.points),
               {changed.went.low - center, changed.went.high - center},
               {changed.came.low - center, changed.came.high - center});
  // As the estimate, it stays within the values that there were or may be.
  ValueBounds all = {column.min, column.max};
  all.take_in(changed.came);
  all.take_in(changed.went);
  out.lower = std::max(out.lower - shift.down, all.low);
  out.upper = std::min(out.upper + shift.up, all.high);
  return out;
}

}  // namespace kde
