// PLUGIN: the two-stage direct plug-in bandwidth of a one-dimensional Gaussian kernel estimate.
//
//   sigma^2 = sum (x - mean)^2 / (n - 1)
//   Psi8 = 105 / (32 sqrt(pi) sigma^9)
//   g1   = (30 / (sqrt(2 pi) Psi8 n))^(1/9)
//   Psi6 = [2 sum K6(Delta/g1) - 15 n/sqrt(2 pi)] / (n^2 g1^7)
//   g2   = (-6 / (sqrt(2 pi) Psi6 n))^(1/7)
//   Psi4 = [2 sum K4(Delta/g2) + 3 n/sqrt(2 pi)] / (n^2 g2^5)
//   h    = (1 / (2 sqrt(pi) Psi4 n))^(1/5)
//
// sums over pairs i < j. Source: Wand & Jones, Kernel Smoothing (1995), section 3.6;
// Andrzejewski, Gramacki & Gramacki, AMCS 23(4), 2013, eqs. (6)-(12), with the diagonal term
// inside the factor 1/(n^2 g^(r+1)), without which h would change with the unit of x.
#pragma once

#include "core/status.h"

#include <cstdint>

namespace kde {

class PairSums;

// Each stage, for tests and for those who want to see it. Units: h, g1, g2 as x; Psi_r as x^-(r+1).
struct PluginTrace {
  double psi8 = 0, g1 = 0, psi6 = 0, g2 = 0, psi4 = 0, h = 0;
};

// The trace of values that are 2^exponent times those it was computed from. Psi_r overflow or
// vanish at extreme scales, h only where double ends.
PluginTrace scaled(const PluginTrace& trace, int exponent);

// sums: of a sample of m >= 2 values whose standard deviation (divisor m - 1) is sigma > 0.
// The functionals Psi are estimated on these m values; the final h is that of a sample of
// n >= m values (n = m gives the textbook rule).
// Errors: invalid_argument; degenerate if a functional has the wrong sign or is not finite;
// what the sums report.
// Accuracy of h: reference 1e-10; simd in single precision 1e-5, in double 1e-10 (relative).
Status select_plugin(PairSums& sums, double sigma, std::int64_t m, std::int64_t n,
                     PluginTrace* trace);

}  // namespace kde
