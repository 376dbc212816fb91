// Smoothed cross-validation in one dimension: the bias of least-squares cross-validation estimated
// with a pilot bandwidth g of its own, which makes it far less variable.
//
//   SCV(h) = 1/(2 sqrt(pi) n h) + T(sqrt(2 h^2 + 2 g^2)) - 2 T(sqrt(h^2 + 2 g^2)) + T(sqrt(2) g),
//   T(s) = (1/n^2) sum_ij phi((x_i - x_j)/s)/s,  g = C n^(-23/45) h^(-2),
//   C = (441/(64 pi))^(1/18) (4 pi)^(-1/5) Psi4^(-2/5) Psi8^(-1/9)
//
// Psi4 and Psi8 by two stages from the normal: pilots g_6 = (2/(7n))^(1/9) sqrt(2) sigma and
// g_10 = (2/(11n))^(1/13) sqrt(2) sigma for Psi6 and Psi10, then (-6/(sqrt(2 pi) Psi6 n))^(1/7)
// and (-210/(sqrt(2 pi) Psi10 n))^(1/11). Source: P. Hall, J. S. Marron & B. U. Park, Smoothed
// cross-validation, Probability Theory and Related Fields 92 (1992); M. C. Jones, J. S. Marron &
// B. U. Park, A simple root n bandwidth selector, Annals of Statistics 19 (1991); as R's ks::hscv
// with binned = FALSE, to the tolerance of its search.
#pragma once

#include "core/select/line_summary.h"
#include "core/status.h"

namespace kde {

class PairSums;

struct SmoothedCv {
  double h = 0;           // in units of x
  double value = 0;       // SCV(h), in units of 1/x
  bool at_bound = false;  // lowest at an end of the range searched, which is what h is
};

// sums: of the sample that `line` describes.
// Searches from 0.1 to 2 times the normal-reference bandwidth (4/(3n))^(1/5) sigma; where
// s = min(sigma, IQR/1.34) is the smaller, from 0.1 times that of s. Errors: degenerate (a
// functional of the wrong sign); what the sums report.
Status select_smoothed_cv(PairSums& sums, const LineSummary& line, SmoothedCv* out);

}  // namespace kde
