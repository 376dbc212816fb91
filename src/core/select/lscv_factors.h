// Internal to src/core/select: the constants of lscv.h's formula, and the formula at H = h^2
// Sigma with its derivative,
//   dg/dlog h = h^-d det(Sigma)^(-1/2) [ -d [...] + sum S/h^2 (once e/2 + twice e^2) ],
// since e = exp(-S/(4 h^2)) has the derivative e S/(2 h^2).
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "core/select/local_minima.h"
#include "core/select/lscv.h"
#include "core/status.h"
#include "core/sums/gaussian_sums.h"

namespace kde {

// g = det(H)^(-1/2) [diagonal + once sum e + twice sum e^2]
struct LscvFactors {
  double diagonal, once, twice;

  LscvFactors(std::int64_t rows, int d, LscvDivisor divisor) {
    const double n = static_cast<double>(rows);
    const double m = divisor == LscvDivisor::leave_one_out ? n - 1 : n;
    const double c4 = std::pow(4 * std::numbers::pi, -0.5 * d);
    const double c2 = std::pow(2 * std::numbers::pi, -0.5 * d);
    diagonal = c4 / n;
    once = 2 * c4 / (n * n);
    twice = -4 * c2 / (n * m);
  }

  double bracket(const GaussianSums& sums) const {
    return diagonal + once * sums.once + twice * sums.twice;
  }

  // g and its derivative at h in d dimensions, without det(Sigma)^(-1/2), which may be beyond
  // double. width: h in units of the points that the sums were made of.
  Criterion at(const GaussianSlopes& sums, int d, double h, double width) const {
    const double inner = bracket(sums.sums);
    const double rise = (once / 2 * sums.once_s + twice * sums.twice_s) / width / width;
    const double scale = std::pow(h, -d);
    return {h, scale * inner, scale * (rise - d * inner)};
  }

  // Pairs of equal points beyond which the bracket is negative as H -> 0.
  double tied_pairs_bound() const { return -diagonal / (once + twice); }
};

// h0, the normal reference: H_NS = h0^2 Sigma. Source: Wand & Jones, Kernel Smoothing (1995),
// section 4.7.
inline double lscv_reference_h(std::int64_t n, int d) {
  return std::pow(4 / ((d + 2.0) * static_cast<double>(n)), 1 / (d + 4.0));
}

// What a search reports that finds nothing but ties.
inline Status overwhelmed_by_ties(double tied_pairs, std::int64_t rows, double bound) {
  const double n = static_cast<double>(rows);
  return Status::error(Code::degenerate,
                       "least-squares cross-validation has no minimum: %.15g pairs of equal points "
                       "among %.15g, more than its bound of %.4g a point",
                       tied_pairs, n, bound / n);
}

}  // namespace kde
