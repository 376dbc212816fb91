// Points of the plane that are made by rule, with a third column that follows from where they lie: what
// joint densities find easy, and what they do not.
//
//   normal    two correlated normal columns: smooth
//   disc      evenly in a circle: half of a square at its border has no rows
//   corner    gamma columns of shape 1/2: the density is infinite at a corner
//   hot_spot  normal, but for a twentieth of the rows within a hundredth of the spread
//   streets   a net of streets with a market place, to five digits
//   runs      rows of a customer one after the other, alike in the first and the third column
#pragma once

#include "joint_rows.h"

#include <vector>

namespace kde::accuracy {

inline constexpr int kPlaceRows = 40000;

struct MadePoints {
  JointTable table;
  bool smooth = false;
  bool by_block = false;  // the order of the rows matters
};

std::vector<MadePoints> made_points();

}  // namespace kde::accuracy
