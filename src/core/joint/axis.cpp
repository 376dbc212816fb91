// The coordinates of axis.h.
#include "core/joint/axis.h"

#include "core/density/histogram_view.h"
#include "core/kernel/normal.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kde {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Scores of what is below, or above, all rows: beyond Phi^-1 of any positive double.
constexpr double kFarthestScore = 38.5;
constexpr double kLeastHeavyShare = 1.0 / kMaxHeavy;

// Between the coordinates of what is not finite, and around them all (but not kNowhere).
constexpr float kBelowFinite = (kNegativeInfinity - kFarthest) / 2;
constexpr float kAboveFinite = (kPositiveInfinity + kFarthest) / 2;
constexpr float kBelowNotANumber = (kPositiveInfinity + kNotANumber) / 2;
constexpr float kAboveAll = (kNotANumber + kNowhere) / 2;
constexpr float kBelowAll = 2 * kNegativeInfinity;

// On a lattice, a value that is one of its points but for its last digits is that point.
double on_lattice(const Header* h, double x) {
  double k;
  return h->lattice_step > 0 && h->is_at_lattice_point(x, &k) ? h->lattice_point(k) : x;
}

// The share of the finite rows that are <= x (inclusive) or < x.
double share_below(const Header* marginal, double x, bool inclusive) {
  const double finite = marginal->finite_rows();
  if (!(finite > 0)) return 0.5;
  Range below;
  below.upper_unbounded = false;
  below.upper = x;
  below.upper_inclusive = inclusive;
  const double rows = count(DensityView(marginal), below) - marginal->negative_infinities;
  return std::clamp(rows / finite, 0.0, 1.0);
}

// Phi^-1(p), as far as a score goes.
double score(double p) {
  if (!(p > 0)) return -kFarthestScore;
  if (!(p < 1)) return kFarthestScore;
  return std::clamp(normal_quantile(p), -kFarthestScore, kFarthestScore);
}

double shrinkage(double h) { return std::sqrt(std::max(1 - h * h, 0.0)); }

float bounded(double t, float limit) {
  return static_cast<float>(std::clamp<double>(t, -limit, limit));
}

int heavy_below(const Axis& axis, double x) {
  return static_cast<int>(std::lower_bound(axis.heavy.begin(), axis.heavy.end(), x) -
                          axis.heavy.begin());
}

bool is_heavy(const Axis& axis, int i, double x) {
  return i < static_cast<int>(axis.heavy.size()) && axis.heavy[static_cast<std::size_t>(i)] == x;
}

double heavy_share(const Axis& axis, int i, bool inclusive) {
  return share_below(axis.marginal, axis.heavy[static_cast<std::size_t>(i)], inclusive);
}

struct Edge {
  float kernel, member;
};

// The edge just above the finite value x, or just below it.
Edge edge_at(const Axis& axis, double x, bool above) {
  double kernel = 0;
  double member = 0;
  if (!axis.normal_scores) {
    kernel = member = (x - axis.center) / axis.bandwidth;
  } else {
    x = on_lattice(axis.marginal, x);
    const double share = share_below(axis.marginal, x, above);
    if (!(share > 0)) {
      kernel = member = kBelowFinite;
    } else if (!(share < 1)) {
      kernel = member = kAboveFinite;
    } else {
      int left = heavy_below(axis, x);
      if (above && is_heavy(axis, left, x)) ++left;
      // Whether there are no rows between the edge and the next heavy value, or the last.
      const bool meets_next =
          left < static_cast<int>(axis.heavy.size()) && share >= heavy_share(axis, left, false);
      const bool meets_last = left > 0 && share <= heavy_share(axis, left - 1, true);
      const double gaps = kGap * (2.0 * left + (meets_next ? 0.5 : 0) - (meets_last ? 0.5 : 0));
      const double z = score(share) / axis.bandwidth;
      member = shrinkage(axis.bandwidth) * z + gaps;
      kernel = meets_next || meets_last ? member : z + gaps;
    }
  }
  return {bounded(kernel, kAboveFinite), bounded(member, kAboveFinite)};
}

Edge lower_edge(const Axis& axis, const Range& r) {
  if (r.lower_unbounded) return {kBelowAll, kBelowAll};
  if (std::isnan(r.lower)) return {kBelowNotANumber, kBelowNotANumber};
  if (r.lower == -kInfinity) {
    const float t = r.lower_inclusive ? kBelowAll : kBelowFinite;
    return {t, t};
  }
  if (r.lower == kInfinity) {
    const float t = r.lower_inclusive ? kAboveFinite : kBelowNotANumber;
    return {t, t};
  }
  return edge_at(axis, r.lower, !r.lower_inclusive);
}

Edge upper_edge(const Axis& axis, const Range& r) {
  if (r.upper_unbounded) return {kAboveAll, kAboveAll};
  if (std::isnan(r.upper)) {
    const float t = r.upper_inclusive ? kAboveAll : kBelowNotANumber;
    return {t, t};
  }
  if (r.upper == kInfinity) {
    const float t = r.upper_inclusive ? kBelowNotANumber : kAboveFinite;
    return {t, t};
  }
  if (r.upper == -kInfinity) return {kBelowFinite, kBelowFinite};
  return edge_at(axis, r.upper, r.upper_inclusive);
}

}  // namespace

double Axis::level(double x) const {
  x = on_lattice(marginal, x);
  return share_below(marginal, x, false) / 2 + share_below(marginal, x, true) / 2;
}

double normal_score(double level) { return score(level); }

float Axis::place(double score, double x) const {
  double gaps = 0;
  if (!heavy.empty()) {
    x = on_lattice(marginal, x);
    const int left = heavy_below(*this, x);
    gaps = kGap * (2.0 * left + (is_heavy(*this, left, x) ? 1 : 0));
  }
  return bounded(shrinkage(bandwidth) * score / bandwidth + gaps, kFarthest);
}

float Axis::coordinate(double x) const {
  if (std::isinf(x)) return x > 0 ? kPositiveInfinity : kNegativeInfinity;
  if (!normal_scores) return bounded((x - center) / bandwidth, kFarthest);
  return place(normal_score(level(x)), x);
}

AxisRange Axis::range(const Range& range) const {
  AxisRange out{};
  out.empty = is_empty(range);
  if (out.empty) return out;
  const Edge lower = lower_edge(*this, range);
  const Edge upper = upper_edge(*this, range);
  out.kernel_lower = lower.kernel;
  out.kernel_upper = std::max(lower.kernel, upper.kernel);
  out.member_lower = lower.member;
  out.member_upper = std::max(lower.member, upper.member);
  return out;
}

Axis axis_of(const JointView& density, int column) {
  const JointColumn& c = density.column(column);
  Axis axis;
  axis.normal_scores = (c.flags & kNormalScores) != 0;
  axis.center = c.center;
  axis.bandwidth = c.bandwidth;
  axis.heavy = density.heavy(column);
  axis.marginal = density.marginal(column);
  return axis;
}

std::vector<double> heavy_values(const Header* marginal, double h) {
  const double finite = marginal->finite_rows();
  std::vector<double> heavy;
  if (!(finite > 0)) return heavy;
  std::vector<HistogramCell> cells;
  const DensityView view(marginal);
  decode_histogram(view, &cells);
  const auto consider = [&](double x) {
    if (!heavy.empty() && heavy.back() >= x) return;
    const double before = share_below(marginal, x, false);
    const double share = share_below(marginal, x, true) - before;
    if (share >= kLeastHeavyShare && share > h * normal_pdf(score(before + share / 2)))
      heavy.push_back(x);
  };
  const double least_rows = kLeastHeavyShare * finite / 2;  // half: rounding is decided above
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const HistogramCell& cell = cells[i];
    if (cell.point) {
      if (cell.rows >= least_rows) consider(cell.value);
      continue;
    }
    if (marginal->lattice_step == 0 || i == 0 || cell.rows < least_rows) continue;
    // The rows are shared by the lattice points of the cell: heavy ones, if they are few.
    const double offset = marginal->lattice_offset;
    const double step = marginal->lattice_step;
    const double first = std::round((cells[i - 1].value - offset) / step) + 1;
    const double points = std::round((cell.value - offset) / step) - first + 1;
    if (!(points >= 1) || cell.rows / points < least_rows) continue;
    for (int k = 0; k < static_cast<int>(points); ++k) consider(marginal->lattice_point(first + k));
  }
  return heavy;
}

}  // namespace kde
