// Minimisation of a function of several variables, by NLopt (a shared library under the LGPL, these
// two of its algorithms under BSD and MIT; Debian: libnlopt-dev): what a criterion over bandwidth
// matrices needs of it, behind Status.
#pragma once

#include <functional>

#include "core/select/matrix.h"
#include "core/status.h"

namespace kde {

// The best point seen.
struct Minimum {
  Vector at;
  double value = 0;
  int evaluations = 0;     // where f had a value
  bool stationary = true;  // false: out of evaluations, or lost in rounding
};

// A function and its gradient. Infinite where it has no value.
using SmoothFunction = std::function<Status(const Vector& x, double* f, Vector* gradient)>;
// Constraints c <= 0, and their Jacobian, a row each, unless it is null.
using Constraints = std::function<void(const Vector& x, Vector* c, Matrix* jacobian)>;

// Where a search by gradients begins, and in what units: x = at + units p for the p that the
// algorithm sees. The better the units, that is the nearer f's second derivatives in p to the unit
// matrix, the fewer the evaluations.
struct SmoothStart {
  Vector at;
  Matrix units;
};

struct SmoothStop {
  double tolerance = 1e-7;    // of the step in p that is left, by the curvature seen so far
  double least_step = 1e-6;   // shorter ones are too uncertain to tell of the curvature
  double held_tolerance = 0;  // the same where constraints matter, if that is more
  int evaluations = 500;
  // First without the constraints, as long as none comes within reach: that takes less time beside
  // f, and sometimes leads to another of several minima.
  bool freely = true;
};

// Sequential quadratic programming with a quasi-Newton (BFGS) matrix: D. Kraft, A software package
// for sequential quadratic programming, DFVLR-FB 88-28 (1988); as long as no constraint comes into
// play, its steps without the quadratic program. *next: the minimum, and units in which the
// curvature seen on the way is the unit matrix: where a search with a more exact f goes on.
// constraints: `count` of them, met where the search begins. |p| is kept below 10. Errors: what
// f reports; out_of_memory.
Status minimise_smooth(const SmoothFunction& f, const Constraints& constraints, int count,
                       const SmoothStart& start, const SmoothStop& stop, Minimum* out,
                       SmoothStart* next);

// Nelder & Mead, A simplex method for function minimization, The Computer Journal 7 (1965), from
// `start` with a first simplex of side `step` until one of side `tolerance`. f: infinite where it
// has no value. Errors: what f reports; out_of_memory.
using Function = std::function<Status(const Vector& x, double* f)>;
Status minimise_simplex(const Function& f, const Vector& start, double step, double tolerance,
                        int evaluations, Minimum* out);

}  // namespace kde
