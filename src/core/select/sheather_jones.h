// The solve-the-equation plug-in bandwidth of Sheather & Jones, JRSS B 53 (1991), 683-690:
//
//   h = [ 1 / (2 sqrt(pi) n S(alpha(h))) ]^(1/5),  alpha(h) = 1.357 [S(a)/T(b)]^(1/7) h^(5/7),
//   S(g) = [2 sum K4(Delta/g) + n K4(0)] / (n (n - 1) g^5)
//   T(g) = -[2 sum K6(Delta/g) + n K6(0)] / (n (n - 1) g^7)
//   a = 1.24 s n^(-1/7),  b = 1.23 s n^(-1/9),  s = min(sigma, IQR/1.349)
//
// sums over pairs i < j; their section 3, eq. (12), with the constants and the scale s of R's
// stats::bw.SJ(method = "ste"), which differs only by the binning that it always does.
#pragma once

#include "core/select/line_summary.h"
#include "core/status.h"

namespace kde {

class PairSums;

// *h in units of x, the root of the equation to 1e-10 relative. Rounded values may give it further
// roots near the width of their rounding; this is the widest. Errors: degenerate (a functional of
// the wrong sign, or no root within [0.001, 3] times the largest sensible bandwidth
// 1.144 s n^(-1/5)); what the sums report.
Status select_sheather_jones(PairSums& sums, const LineSummary& line, double* h);

}  // namespace kde
