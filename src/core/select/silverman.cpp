// Silverman's rule of thumb, h = 0.9 min(sigma, IQR/1.34) n^(-1/5).
// Source: B. W. Silverman, Density Estimation (1986), eq. (3.31); quartiles as R's type 7
// (Hyndman & Fan, The American Statistician 50, 1996): the value at the 0-based rank p (m - 1).
#include "core/select/silverman.h"

#include <cmath>

#include "core/select/moments.h"

namespace kde {
namespace {

double quantile7(std::span<const double> sorted, double p) {
  const double rank = p * static_cast<double>(sorted.size() - 1);
  const std::size_t below = static_cast<std::size_t>(rank);
  const double fraction = rank - static_cast<double>(below);
  if (fraction == 0) return sorted[below];
  return (1 - fraction) * sorted[below] + fraction * sorted[below + 1];
}

// Written so that a NaN anywhere makes it false.
bool is_ascending(std::span<const double> x) {
  for (std::size_t i = 1; i < x.size(); ++i) {
    if (!(x[i - 1] <= x[i])) return false;
  }
  return true;
}

}  // namespace

Status select_silverman(std::span<const double> sorted, std::int64_t n, double* h) {
  if (sorted.size() < 2) {
    return Status::error(Code::invalid_argument, "a bandwidth needs at least two values");
  }
  if (n < static_cast<std::int64_t>(sorted.size())) {
    return Status::error(Code::invalid_argument,
                         "the sample is smaller than the part of it that was given");
  }
  if (!is_ascending(sorted) || !std::isfinite(sorted.front()) || !std::isfinite(sorted.back())) {
    return Status::error(Code::invalid_argument, "values must be finite and in ascending order");
  }
  if (sorted.front() == sorted.back()) {
    return Status::error(Code::degenerate, "all values are equal");
  }

  const double sd = two_pass_moments(sorted).sd;
  const double iqr = quantile7(sorted, 0.75) - quantile7(sorted, 0.25);
  double spread = sd;
  if (iqr > 0) spread = std::fmin(sd, iqr / 1.34);
  const double result = 0.9 * spread * std::pow(static_cast<double>(n), -0.2);
  if (!(result > 0) || !std::isfinite(result)) {
    return Status::error(Code::degenerate, "the spread of the values is out of range");
  }
  *h = result;
  return Status::success();
}

}  // namespace kde
