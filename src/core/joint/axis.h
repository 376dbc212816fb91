// The axes of a joint density: where a value, and a bound, lies in units of the kernel's bandwidth.
//
//   linear         t = (x - center)/h
//   normal scores  t = r z/h + gaps,  z = Phi^-1(F(x)),  r = sqrt(1 - h^2),
//
// F being the column's own distribution function, at a repeated value the middle of its jump. A
// kernel of bandwidth h about r z leaves normal scores standard normal (the "shrunk" kernel
// estimate: Silverman, Density Estimation, 1986, section 6.4.1), so that the density keeps its
// marginals, its bounds and its scale, whatever they are. Source of the transformation: M. P.
// Wand, J. S. Marron & D. Ruppert, JASA 86 (1991).
//
// Heavy values, whose share of the rows is wider than the kernel on this axis, are no place to
// smooth over: gaps of kGap bandwidths on both sides keep every kernel from crossing them, so that
// zeros, categories and defaults are counted by the points that have them.
//
// A bound lies between values: below those it includes, above those it does not. With F the share
// of the rows below it, its coordinate on a normal-scores axis is z/h + gaps for the kernel, whose
// centres are shrunk, and r z/h + gaps for the points themselves. A bound with no row between it
// and a heavy value lies in the middle of the gap, kGap/2 bandwidths or more from all points, for
// the kernel too; one with no row below it, or above it, beyond all finite values. (Where the
// marginal's values are rounded, the rows between are the marginal's.)
#pragma once

#include "core/integrate/integrate.h"
#include "core/density/joint_format.h"

#include <span>
#include <vector>

namespace kde {

inline constexpr double kGap = 12;

// A range of x on an axis. No point at kNowhere is in it; points at the infinities and NaN are in
// it where Range says so (an unbounded side has no limit).
struct AxisRange {
  float kernel_lower, kernel_upper;  // edges for P(t_i + e in range); lower <= upper
  // Points of the range lie in [member_lower, member_upper], others not between them: what is on an
  // edge its value decides (BoxPlan).
  float member_lower, member_upper;
  bool empty = false;  // no value is in the range
};

// An axis apart from the bytes it is stored in. marginal: outlives it.
struct Axis {
  bool normal_scores = false;
  double center = 0;
  double bandwidth = 1;
  std::span<const double> heavy;  // ascending
  const Header* marginal = nullptr;

  // x: not NaN; may be infinite. On a normal-scores axis any double; finite x give at most
  // kFarthest in magnitude. Ascends with x.
  float coordinate(double x) const;
  // Of a finite x on a normal-scores axis, in three steps, of which the first two do not depend on
  // the bandwidth: its level, the share of the column's finite rows that are less, half of those
  // that are equal among them; that level's normal score; and the coordinate of that score.
  double level(double x) const;
  float place(double score, double x) const;
  // Edges ascend with the bounds.
  AxisRange range(const Range& range) const;
};

// Phi^-1(level), as far as a score goes.
double normal_score(double level);

Axis axis_of(const JointView& density, int column);

// The values of a histogram that are heavy on an axis of bandwidth h: with the mass m at the middle
// score z, m > h phi(z), and m >= 1/kMaxHeavy. Ascending. Throws std::bad_alloc.
std::vector<double> heavy_values(const Header* marginal, double h);

}  // namespace kde
