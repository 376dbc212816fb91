// The parts of integrate.h's answers that a histogram (density/histogram.h) gives from its cells.
//
// Two behaviours:
//   kBounded   the data's own distribution function: piecewise linear between the cells' values,
//              steps at points and atoms. On a lattice a cell's rows are shared evenly by the
//              lattice points in it.
//   otherwise  the plain kernel sum of the same cells (histogram_kernel.h), or as above
//              where there is no bandwidth.
#pragma once

#include "core/density/histogram_view.h"
#include "core/integrate/range.h"

namespace kde::histogram {

// Finite rows <= x (inclusive) or < x; x finite. Ascends with x.
double finite_below(const DensityView& d, double x, bool inclusive);

// As of integrate.h, of a density with round ends; x finite.
CutCell cut_cell(const DensityView& d, double x, bool inclusive);
double rows_times_width(const DensityView& d, const Range& range);

// Mean and variance of the finite rows in the range, which has some.
void partial_moments(const DensityView& d, const Range& range, RangeMoments* out);

// Whether the answers are the cells' own, and no kernel acts in them.
bool is_own(const DensityView& d);
// Of the rows of block b.
BlockMoments moments_of(const DensityView& d, int b);

// The smallest finite x with finite_below(x, inclusive) >= rows, but for rounding.
double finite_quantile(const DensityView& d, double rows);

// Rows per unit of x at x, which is finite: the kernel estimate f, where bounded reflected at min
// and max, f(x) + f(2 min - x) + f(2 max - x) (B. W. Silverman, Density Estimation, 1986, section
// 2.10). Without a bandwidth, and where bounded with one narrower than half a lattice step, that of
// the cells; points and atoms then have a density on a lattice only.
double rows_density(const DensityView& d, double x);

}  // namespace kde::histogram
