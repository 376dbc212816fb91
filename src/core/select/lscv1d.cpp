// The formulas of lscv1d.h. For the slope: with S(s) = sum exp(-D^2/(2 s^2)),
//   dS/d log s = sum (D/s)^2 exp(-D^2/(2 s^2)) = sqrt(2 pi) sum [K^(2) + K](D/s),
// since K^(2)(z) = (z^2 - 1) phi(z); e belongs to s = sqrt(2) sigma h, e^2 to s = sigma h.
#include "core/select/lscv1d.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/select/local_minima.h"

namespace kde {
namespace {

const double kSqrt2Pi = std::sqrt(2 * std::numbers::pi);
const double kC4 = 1 / std::sqrt(4 * std::numbers::pi);
const double kC2 = 1 / kSqrt2Pi;

struct GaussianSum {
  double value = 0;  // sum exp(-D^2/(2 s^2))
  double slope = 0;  // its derivative with respect to log s
};

Status gaussian_sum(PairSums& sums, double s, GaussianSum* out) {
  double order0 = 0;
  double order2 = 0;
  if (Status status = sums.derivative(0, s, &order0); !status.ok()) return status;
  if (Status status = sums.derivative(2, s, &order2); !status.ok()) return status;
  *out = {kSqrt2Pi * order0, kSqrt2Pi * (order0 + order2)};
  return Status::success();
}

// The factors of sum e and sum e^2 in the bracket.
struct Factors {
  double diagonal, once, twice;
};

Factors factors(const LineSummary& line, LscvDivisor divisor) {
  const double n = static_cast<double>(line.n);
  const double m = divisor == LscvDivisor::leave_one_out ? n - 1 : n;
  return {kC4 / n, 2 * kC4 / (n * n), -4 * kC2 / (n * m)};
}

}  // namespace

Status lscv1d_objective(PairSums& sums, const LineSummary& line, LscvDivisor divisor, double h,
                        double* g, double* slope) {
  const double width = h * line.sigma;
  GaussianSum once;
  GaussianSum twice;
  if (Status s = gaussian_sum(sums, std::numbers::sqrt2 * width, &once); !s.ok()) return s;
  if (Status s = gaussian_sum(sums, width, &twice); !s.ok()) return s;
  const Factors f = factors(line, divisor);
  const double bracket = f.diagonal + f.once * once.value + f.twice * twice.value;
  *g = bracket / width;
  *slope = (f.once * once.slope + f.twice * twice.slope - bracket) / width;
  return Status::success();
}

Status select_lscv1d(PairSums& sums, const LineSummary& line, LscvDivisor divisor, Lscv1d* out) {
  const double n = static_cast<double>(line.n);
  const double h0 = std::pow(4 / (3 * n), 0.2);
  const double low = h0 / 64 * line.robust_scale(1.34) / line.sigma;
  const CriterionAt criterion = [&](double h, Criterion* at) {
    return lscv1d_objective(sums, line, divisor, h, &at->value, &at->slope);
  };
  LocalMinima minima;
  if (Status s = find_local_minima(criterion, low, 4 * h0, &minima); !s.ok()) return s;

  const Factors f = factors(line, divisor);
  const bool tied = f.diagonal + (f.once + f.twice) * line.tied_pairs < 0;
  const auto lower = [](const Criterion& a, const Criterion& b) { return a.value < b.value; };
  const auto best = std::min_element(minima.interior.begin(), minima.interior.end(), lower);
  const bool found = best != minima.interior.end();
  if (tied && !found) {
    return Status::error(Code::degenerate,
                         "least-squares cross-validation has no minimum: %g pairs of equal values "
                         "among %g, more than its bound of %.4g a value",
                         line.tied_pairs, n, -f.diagonal / (f.once + f.twice) / n);
  }
  Lscv1d result;
  result.minima = static_cast<int>(minima.interior.size());
  Criterion chosen = std::min(minima.lowest, minima.highest, lower);
  result.end = Lscv1dEnd::at_bound;
  if (found && (tied || best->value <= chosen.value)) {
    chosen = *best;
    result.end = tied ? Lscv1dEnd::tied_values : Lscv1dEnd::converged;
  }
  result.h = chosen.h;
  result.bandwidth = chosen.h * line.sigma;
  result.objective = chosen.value;
  *out = result;
  return Status::success();
}

}  // namespace kde
