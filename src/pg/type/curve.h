// A density at equally spaced points, to plot.
#pragma once

#include "pg/base/pg.h"

#include "core/kde.h"

namespace kde_pg {

// points >= 1; lower <= upper, both finite; of one point they are equal. density has finite rows.
struct Curve {
  kde::DensityView density;
  double lower, upper;
  int points;

  double x(int i) const;
  // The mean density about point i, halfway to its neighbours and as far beyond the ends: the
  // share of the rows there over the width. So no row between two points goes unseen and none
  // counts as more than it is, whatever the density does there, and all heights times the spacing
  // are the share of the rows from half a spacing below `lower` to half a spacing above `upper`.
  // Of one point kde_pdf().
  double height(int i) const;

 private:
  // Where the cell of point i begins, and that of point i - 1 ends; 0 <= i <= points.
  double edge(int i) const;
};

}  // namespace kde_pg
