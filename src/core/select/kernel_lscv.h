// Least-squares cross-validation in one dimension for a compact kernel K.
//
//   g(h) = R(K)/(n h) + (2/(n^2 h)) sum [ (K*K)(D/h) - (2n/m) K(D/h) ],  D = |x_i - x_j|
//
// sums over pairs i < j; m = n, or n - 1 where the estimate at a point leaves that point out. R(K):
// kernel/kernel.h. Source: M. Rudemo, Scand. J. Statist. 9 (1982); A. W.
// Bowman, Biometrika 71 (1984); Silverman, Density Estimation (1986), eqs. (3.35)-(3.39).
//
// With D pairs of equal values and h -> 0, h g -> R(K)/n + 2 D R(K)/n^2 - 4 D K(0)/(n m): where
// that is negative (m = n: D/n > R/(4 K(0) - 2R); uniform kernel 1/2, others less) g has no lowest
// value, and what is wanted is the lowest interior minimum. Source as in lscv.h.
//
// The kernels are polynomials or sines between their corners, so that a sum over all points within
// a window is a sum of window moments: g costs O(n) operations at each h, whatever the window.
// g has corners, and for the uniform kernel jumps and many minima: no derivative is used.
#pragma once

#include "core/control.h"
#include "core/density/format.h"
#include "core/select/lscv.h"
#include "core/status.h"

#include <span>

namespace kde {

struct KernelLscv {
  double bandwidth = 0;              // the kernel's h, in units of x
  double objective = 0;              // g, in units of 1/x
  int minima = 0;                    // local minima in the interior that the search's grid shows
  LscvEnd end = LscvEnd::converged;  // never iteration_limit
  double tie_bound = 0;              // tied pairs a point above which g has no lowest value
};

// sorted: two or more finite values, ascending, not all equal, in units of x. weights: as many,
// positive and finite, or none for ones; a weight stands for so many equal values.

// *g at h > 0, by window moments. The sums are right to 1e-11 of the sum of all weights' products
// within 2h. Memory: some 100 bytes a value at most. Errors: invalid_argument (the Gaussian kernel,
// h); degenerate; cancelled; out_of_memory.
Status kernel_lscv_objective(Kernel kernel, std::span<const double> sorted,
                             std::span<const double> weights, LscvDivisor divisor, double h,
                             const Control& control, double* g);

// Searches the canonical equivalents of what select_lscv_h searches for the Gaussian kernel, at
// steps of 2^(1/16) (above 20,000 rows, and for the uniform kernel, 2^(1/8)), then within each
// minimum of that grid. Values of g alone tell h to about the square root of their rounding over
// g's curvature, which falls as n^(-4/5): to 1e-6 for a thousand rows and 1e-4 for 200,000 where g
// has a smooth minimum; the uniform kernel's is rough, and a narrow valley between two steps can be
// missed. Errors: as above; degenerate also where ties leave no minimum in the interior.
Status select_kernel_lscv(Kernel kernel, std::span<const double> sorted,
                          std::span<const double> weights, LscvDivisor divisor,
                          const Control& control, KernelLscv* out);

}  // namespace kde
