// Internal to src/core/joint: a box as the integration of blocks sees it, and what blocks add to.
#pragma once

#include "core/joint/axis.h"
#include "core/joint/contrasts.h"
#include "core/density/joint_format.h"
#include "core/joint/joint_moments.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace kde {

// What of a stored point tells a column's value, y = origin + unit raw.
enum class RawValue : std::uint8_t {
  none,
  coordinate,  // no values are stored: the coordinate itself
  number,      // the float of JointView::raw_value()
  lattice,     // the whole number of JointView::raw_value()
};

// Finite raw values in [least, most] are in the range: what of points that stand for rows is.
struct RawRange {
  RawValue kind;
  double least, most;
};

// The values of a category that a box has: those with one of the ranks, ascending, and of those
// that are not kept, whose rank is `others`, that share.
struct ValueSide {
  int column;
  bool any;  // or any but NULL
  std::span<const std::uint32_t> ranks;
  float others;
  double share_of_others;

  // Of a point of that rank, or kNowhere.
  double share(float rank) const {
    if (any || rank == kNowhere) return rank == kNowhere ? 0 : 1;
    if (rank == others) return share_of_others;
    if (ranks.size() == 1) return rank == static_cast<float>(ranks[0]) ? 1 : 0;
    return std::binary_search(ranks.begin(), ranks.end(), static_cast<std::uint32_t>(rank)) ? 1 : 0;
  }
  // Whether there may be points with a share among those of ranks from least to greatest.
  bool meets(float least, float greatest) const {
    if (least == kNowhere) return false;
    if (any || (share_of_others > 0 && greatest >= others && least <= others)) return true;
    const auto next =
        std::lower_bound(ranks.begin(), ranks.end(), static_cast<std::uint32_t>(least));
    return next != ranks.end() && static_cast<float>(*next) <= greatest;
  }
};

class CorrelatedPlan;

struct BoxPlan {
  const JointView* density;
  float reach;  // of its kernels, in bandwidths: kJointReach or kCorrelatedReach
  // Whether it matters which points are in the box themselves: to count them beside their kernels
  // (Counted), or as rows.
  bool members;
  int sides;  // 0 .. kMaxColumns; none of them empty
  int column[kMaxColumns];
  AxisRange range[kMaxColumns];
  RawRange raw[kMaxColumns];
  int categories;  // of product kernels
  ValueSide category[kMaxColumns];
  int target;       // -1: none
  int target_side;  // the side that bounds the target; -1: none does
  // The target's sums are of u = raw - zero, raw on linear axes E[coordinate | the kernel in the
  // box]. zero of a lattice is one of its points, so that u is exact.
  RawValue value;
  double raw_origin, raw_unit, zero;
  double least, most;                // the target's own bounds as raw values, or infinite
  double least_y, most_y;            // and as values
  std::int64_t simd_target;          // one of simd_targets()
  const CorrelatedPlan* correlated;  // correlated.h; null for product kernels and without sides
};

// What counting the points in a box, each with its weight w and the rows that are its own, u in all,
// differs by from what their kernels have there: sums over the points that the box's faces are near.
// m is 1 for a point in the box, P its kernel's share.
struct Counted {
  double rows = 0, finite = 0;  // of w (m - P)
  double row_squares = 0;       // of (u (m - P))^2
  // The same of those that BoxSums::valued is of, times 1, u and u^2 of BoxSums::power.
  double valued = 0, power = 0;
  double squares[3] = {};
  double alone = 0;  // of (u m)^2 of these, those that lie far from the faces, too
};

// Sums over points.
struct BoxSums {
  double rows = 0, squares = 0;  // of the points' rows in the box
  double finite = 0, nans = 0, negative_infinities = 0, positive_infinities = 0;
  // Sums of r, r u, r u^2, r u^3 and r u^4 over the finite ones, r being the point's rows; but
  // where values have bounds of their own, r = w P_others for points whose value is within them and
  // 0 for others: a kernel says how near a row is to the box, but no row has its values.
  double valued = 0;
  double power[4] = {};
  // RawValue::coordinate with the target bounded: sums of w M and w M u, M = E[e_y; the kernel
  // in the box]. The rows of the box spread by what the kernels' own conditional means lack:
  // (mean pull - pull_power)/finite (finish_moments says why).
  double pull = 0, pull_power = 0;
  double variance = 0;  // of `rows`, left by quadrature
  double visited = 0;
  Counted counted;                    // with BoxPlan::members
  ContrastSums* contrasts = nullptr;  // of a density that has some
};

// The block lies within the box as a whole; or it does not and its kernels are integrated.
void add_whole_block(const BoxPlan& plan, std::size_t block, BoxSums* sums);
void add_product_block(const BoxPlan& plan, std::size_t block, BoxSums* sums);
void add_correlated_block(const BoxPlan& plan, std::size_t block, BoxSums* sums);

// Whether a point itself is on its side's inside: a finite value by itself, as coordinates are
// rounded; the others by their places.
bool is_member(const BoxPlan& plan, int side, std::size_t block, int point);

// Drops sides that every row is in; those of categories are apart. False: no row is in the box.
bool plan_box(const JointView& density, std::span<const BoxSide> sides, int target, BoxPlan* plan);
// Over all blocks within reach of the box.
// contrasts: null, or what they are added up in as well.
BoxSums sum_blocks(const BoxPlan& plan, ContrastSums* contrasts = nullptr);
JointMoments finish_moments(const BoxPlan& plan, const BoxSums& kernels);

}  // namespace kde
