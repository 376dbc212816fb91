// Least-squares cross-validation in 1 to 16 dimensions: the scalar bandwidth (LSCV_h), the full
// bandwidth matrix and its diagonal form (LSCV_H).
//
//   g(H) = det(H)^(-1/2) [ c4/n + (2/n^2) c4 sum e - (4/(n m)) c2 sum e^2 ],
//   e = exp(-s/4), s = u' H^-1 u, u = x_i - x_j, c4 = (4 pi)^(-d/2), c2 = (2 pi)^(-d/2)
//
// sums over pairs i < j; m = n, or n - 1 where the estimate at a point leaves that point out.
// LSCV_h is H = h^2 Sigma with Sigma the sample covariance. Source: M. Rudemo, Scand. J. Statist. 9
// (1982); A. W. Bowman, Biometrika 71 (1984); with m = n Andrzejewski, Gramacki & Gramacki, AMCS
// 23(4), 2013, eqs. (13)-(33), whose (17) and (25) are corrected: h0 = (4/((d+2) n))^(1/(d+4)) and
// the start is H_NS = h0^2 Sigma.
//
// g is unbounded below with ties. With D pairs of equal points and h -> 0,
//   det(Sigma)^(1/2) h^d g -> c4/n + 2 c4 D/n^2 - 4 c2 D/(n m),
// negative (m = n) iff D/n > 1/(4 2^(d/2) - 2): then what is wanted is the lowest interior minimum.
// For a full H, points equal in one projection suffice, and with n < d(d-1)/2 (4 2^(d/2) - 2) a
// projection with enough of them always exists: so the minimum is one under bounds on the
// generalised eigenvalues of (H, H_NS). Source of the tie bound at d = 1: Silverman, Density
// Estimation (1986), section 3.4.3.
#pragma once

#include <span>
#include <vector>

#include "core/control.h"
#include "core/select/line_summary.h"
#include "core/select/white_sample.h"
#include "core/status.h"
#include "core/sums/engine.h"

namespace kde {

class GaussianPairSums;

enum class LscvDivisor { n_squared, leave_one_out };

// How a search ended; the bandwidth is usable in every case.
enum class LscvEnd {
  // A minimum in the interior; for a scalar h the lowest over the range searched, for a matrix the
  // lowest of those found.
  converged,
  // For a scalar h g is lowest at an end of the range searched, which is what is returned; for a
  // matrix no interior minimum was found, and this is the lowest point seen on the bounds.
  at_bound,
  // g falls without bound as h -> 0, or as H flattens along a column of tied values; what is
  // returned is an interior minimum. Ties in other projections (of the sum of two columns, say) are
  // not looked for.
  tied_values,
  // The search ran out of steps, or was lost in rounding; what is returned is the lowest g it saw.
  iteration_limit
};

// "converged", "at bound", "tied values", "iteration limit".
const char* lscv_end_name(LscvEnd end);

// ---- scalar ------------------------------------------------------------------------------------

enum class LscvSearch {
  refined,  // a log grid brackets the minima, each refined by its derivative in log h
  grid      // the papers': the lowest of 150 equidistant h from h0/4 to 4 h0, both included
};

// What g needs to know of the sample besides its sums.
struct LscvSample {
  std::int64_t n = 0;
  int d = 1;
  double log_det = 0;  // log det(Sigma)^(1/2)
  double tied_pairs = 0;
  double unit = 1;       // a whitened unit in units of the points that the sums were made of
  double low = 1. / 64;  // the least h searched, as a fraction of h0
};

// sums over sample.w. With heavy tails or an outlier the standard deviations say little: the search
// goes down to h0/64 times sample.robust_scale.
LscvSample lscv_sample(const WhiteSample& sample);

// Sums over a line's values as they are (unit: sigma), in one dimension. With heavy tails sigma
// says little: the search goes down to h0/64 times min(1, IQR/(1.34 sigma)).
LscvSample lscv_sample(const LineSummary& line);

struct LscvScalar {
  double h = 0;          // dimensionless: H = h^2 Sigma
  double objective = 0;  // g, in units of 1/(x_1 ... x_d)
  int minima = 0;        // local minima found in the interior (1 or 0 for the grid)
  LscvEnd end = LscvEnd::converged;
  double tie_bound = 0;  // tied pairs a point, above which g has no lowest value
};

// sums: of the sample described. *g as the objective above, *slope = dg/dlog h. h > 0 and finite.
// Errors: what the sums report.
Status lscv_h_objective(GaussianPairSums& sums, const LscvSample& sample, LscvDivisor divisor,
                        double h, double* g, double* slope);

// Searches [low h0, 4 h0], or the papers' grid; not below the first h for which the sums are
// too_large. h to 1e-8 where g has no flat minimum (double sums), 1e-6 (single). Errors: degenerate
// (ties, and no interior minimum; never on the grid); what the sums report.
Status select_lscv_h(GaussianPairSums& sums, const LscvSample& sample, LscvDivisor divisor,
                     LscvSearch search, LscvScalar* out);

// Moves the minimum that less precise sums have found to that of these, where it is within 1e-3 of
// it; otherwise leaves it. An end of the search is left alone. Errors: what the sums report.
Status polish_lscv_h(GaussianPairSums& sums, const LscvSample& sample, LscvDivisor divisor,
                     LscvScalar* found);

// ---- matrix ------------------------------------------------------------------------------------

enum class LscvShape { full, diagonal };
enum class LscvOptimiser {
  quasi_newton,  // analytic gradient in the log-Cholesky parameters
  nelder_mead    // the papers': derivative-free over vech(H); ends within some 1e-5 of the minimum
};

struct LscvMatrixOptions {
  LscvShape shape = LscvShape::full;
  LscvDivisor divisor = LscvDivisor::n_squared;
  LscvOptimiser optimiser = LscvOptimiser::quasi_newton;
  // Bounds on the generalised eigenvalues of (H, H_NS), for a diagonal H on its elements over those
  // of H_NS; kept to a relative 1e-4. highest > 2 lowest > 0. The lower bound is `lowest` times the
  // square of the sample's robust_scale, which is less than 1 with heavy tails or an outlier.
  double lowest = 1.0 / 4096, highest = 16;
  int evaluations = 500;  // at most; the simplex gets twenty times as many
};

struct LscvMatrix {
  // L, d x d lower triangular, row-major, positive diagonal: H = scale L L' scale in units of x,
  // with the sample's scale.
  std::vector<double> factor;
  double objective = 0;  // g, in units of 1/(x_1 ... x_d); 0 or infinity where that underflows
  int evaluations = 0;   // of g, most with its gradient, beside the opening sweep over scalar h
  LscvEnd end = LscvEnd::converged;
};

// From the minima along multiples of Sigma, and in 2 to 6 dimensions, as long as n(n-1) d is at
// most 2^24, from there with one axis of the whitened frame half and twice as wide (quasi-Newton).
// A lower minimum may still be missed.
//
// Engine precision single: the search is in single, its last steps in double, so that H is right to
// 1e-6 of its standard deviations either way where it converged (quasi-Newton). Errors:
// invalid_argument (bounds that leave nothing); degenerate (tied points, and no interior minimum);
// cancelled; what the sums report.
Status select_lscv_matrix(const WhiteSample& sample, const Engine& engine,
                          const LscvMatrixOptions& options, const Control& control,
                          LscvMatrix* out);

}  // namespace kde
