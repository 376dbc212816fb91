// The heights of a simplified distribution function that are nearest to the given one.
//
// Chords between points of a function are, for one that wanders about a smooth curve by chance,
// on the same side of it as the points at their ends. With heights of their own the vertices make a
// linear spline, whose least squares distance is lower: in the mean over a Brownian path with a
// vertex every m rows, m/6 is the chords' mean square, and m/pi^2 the least of any basis of that
// many functions (Karhunen and Loeve). The normal equations of hat functions are tridiagonal
// (C. de Boor, A Practical Guide to Splines, 2001, chapters III and XIV).
#pragma once

#include "core/density/histogram_simplify.h"
#include "core/density/histogram_steps.h"

namespace kde {

// simpler: of simplify(given, tolerance). Moves its steps between two ranges up or down: by at most
// the tolerance there, and such that it still ascends. Throws std::bad_alloc.
void level(const Steps& given, const Tolerance& tolerance, Steps* simpler);

}  // namespace kde
