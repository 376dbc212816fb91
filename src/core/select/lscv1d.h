// Least-squares cross-validation in one dimension.
//
//   g(h) = (1/(sigma h)) [ c4/n + (2/n^2) c4 sum e - (4/(n m)) c2 sum e^2 ],
//   e = exp(-S/(4 h^2)), S = (x_i - x_j)^2/sigma^2, c4 = (4 pi)^(-1/2), c2 = (2 pi)^(-1/2)
//
// sums over pairs i < j; m = n, or n - 1 where the estimate at a point leaves that point out.
// Source: M. Rudemo, Scand. J. Statist. 9 (1982); A. W. Bowman, Biometrika 71 (1984); with m = n:
// Andrzejewski, Gramacki & Gramacki, AMCS 23(4), 2013, eqs. (13)-(18) at d = 1.
//
// With D pairs of equal values and h -> 0, g h sigma -> c4/n + 2 c4 D/n^2 - 4 c2 D/(n m): where
// that is negative (m = n: D/n > 1/(4 sqrt(2) - 2) = 0.2735) g has no lowest value, and what is
// wanted is the lowest interior minimum. Source: Silverman, Density Estimation (1986),
// section 3.4.3.
#pragma once

#include "core/room.h"
#include "core/select/line_summary.h"
#include "core/status.h"
#include "core/sums/pair_sums.h"

namespace kde {

enum class LscvDivisor { n_squared, leave_one_out };

// How a search ended; the bandwidth is usable in every case.
enum class Lscv1dEnd {
  converged,   // the global minimum over the range searched, in its interior
  at_bound,    // g is lowest at an end of the range searched, which is what h is
  tied_values  // g falls without bound as h -> 0; h is the lowest minimum in the interior
};

struct Lscv1d {
  double h = 0;          // in units of sigma, dimensionless
  double bandwidth = 0;  // h sigma, in units of x
  double objective = 0;  // g(h), in units of 1/x
  int minima = 0;        // local minima found in the interior
  Lscv1dEnd end = Lscv1dEnd::converged;
};

// sums: of the sample that `line` describes.
// *g = g(h), *slope = dg/d log h. h > 0 and finite. Errors: invalid_argument; what the sums report.
Status lscv1d_objective(PairSums& sums, const LineSummary& line, LscvDivisor divisor, double h,
                        double* g, double* slope);

// Searches h from 1/64 h0 s/sigma to 4 h0, h0 = (4/(3n))^(1/5), s = min(sigma, IQR/1.34), because
// with heavy tails sigma says little; not below the first h for which the sums are too_large. h is
// right to 1e-8 where g has no flat minimum. Errors: degenerate (ties, and no minimum in the
// interior); what the sums report.
Status select_lscv1d(PairSums& sums, const LineSummary& line, LscvDivisor divisor, Lscv1d* out);

}  // namespace kde
