// Fewer steps for a distribution function, within a tolerance.
//
// From a step the chord to another one is tried that is as far away as possible, such that the
// function between them, both before and after each jump, is within the tolerance of the chord: a
// piecewise linear approximation whose vertices lie on the function. The chords from a step that
// pass an interval at each following step are a cone, which only narrows, so that each step takes
// constant time: H. Imai & M. Iri, CVGIP 36 (1986); H. Elmeleegy et al., PVLDB 2(1), 2009 (swing
// filter); E. Keogh et al., ICDM 2001 (segmentation, an overview).
//
// The tolerance is in rows, and lower in the tails: a share of the rows to the nearer end of the
// column, so that quantiles have a relative error there, and the outermost rows stay points, whose
// values make the sum of a heavy tail (T. Dunning, arXiv:1902.04023).
#pragma once

#include "core/density/histogram_steps.h"

#include <algorithm>

namespace kde {

struct Tolerance {
  double rows = 0;   // the most
  double share = 0;  // of the rows to the nearer end
  double total = 0;  // rows of the function

  double at(const Step& s) const {
    return std::min(rows, share * std::min(s.below, total - s.through));
  }
};

// Steps of `given`, its first and last among them, where a step may now end a range that has the
// rows at the step's value too. Throws std::bad_alloc.
void simplify(const Steps& given, const Tolerance& tolerance, Steps* simpler);

// The heights of a simplified distribution function that are nearest to the given one.
//
// Chords between points of a function are, for one that wanders about a smooth curve by chance,
// on the same side of it as the points at their ends. With heights of their own the vertices make a
// linear spline, whose least squares distance is lower: in the mean over a Brownian path with a
// vertex every m rows, m/6 is the chords' mean square, and m/pi^2 the least of any basis of that
// many functions (Karhunen and Loeve). The normal equations of hat functions are tridiagonal
// (C. de Boor, A Practical Guide to Splines, 2001, chapters III and XIV).
//
// simpler: of simplify(given, tolerance). Moves its steps between two ranges up or down: by at most
// the tolerance there, and such that it still ascends. Throws std::bad_alloc.
void level(const Steps& given, const Tolerance& tolerance, Steps* simpler);

}  // namespace kde
