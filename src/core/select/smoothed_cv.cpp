// The formulas of smoothed_cv.h. For the slope: dT/ds = (1/n^2) sum_ij K^(2)((x_i - x_j)/s)/s^2,
// and g falls as h^-2.
#include "core/select/smoothed_cv.h"

#include "core/sums/pair_sums.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/select/local_minima.h"
#include "core/sums/gaussian_derivatives.h"

namespace kde {
namespace {

const double kSqrtPi = std::sqrt(std::numbers::pi);
const double kSqrt2Pi = std::sqrt(2 * std::numbers::pi);

class ScvCriterion {
 public:
  ScvCriterion(PairSums& sums, const LineSummary& line)
      : sums_(sums), n_(static_cast<double>(line.n)), sigma_(line.sigma) {}

  Status choose_pilot() {
    double psi4 = 0;
    double psi8 = 0;
    if (Status s = two_stages(6, -6, &psi4); !s.ok()) return s;
    if (Status s = two_stages(10, -210, &psi8); !s.ok()) return s;
    pilot_ = std::pow(441 / (64 * std::numbers::pi), 1.0 / 18) *
             std::pow(4 * std::numbers::pi, -0.2) * std::pow(psi4, -0.4) *
             std::pow(psi8, -1.0 / 9) * std::pow(n_, -23.0 / 45);
    return Status::success();
  }

  Status at(double h, Criterion* out) {
    const double g = pilot_ / (h * h);
    const double variance = 1 / (2 * kSqrtPi * n_ * h);
    out->value = variance;
    out->slope = -variance;
    // s^2 = a h^2 + 2 g^2, so ds/dlog h = (a h^2 - 4 g^2)/s.
    struct Part {
      double a, factor;
    };
    for (const Part& part : {Part{2, 1}, Part{1, -2}, Part{0, 1}}) {
      const double s = std::sqrt(part.a * h * h + 2 * g * g);
      double value = 0;
      double derivative = 0;
      if (Status status = mean(0, s, &value); !status.ok()) return status;
      if (Status status = mean(2, s, &derivative); !status.ok()) return status;
      out->value += part.factor * value;
      // mean() of K^(2) is dT/ds over s.
      out->slope += part.factor * derivative * (part.a * h * h - 4 * g * g);
    }
    return Status::success();
  }

 private:
  // (1/n^2) sum_ij K^(r)((x_i - x_j)/g)/g^(r + 1), the diagonal included.
  Status mean(int r, double g, double* value) {
    double sum = 0;
    if (Status s = sums_.derivative(r, g, &sum); !s.ok()) return s;
    *value = (2 * sum + n_ * hermite_at_zero(r) / kSqrt2Pi) / (n_ * n_ * std::pow(g, r + 1));
    return Status::success();
  }

  // Psi of order r - 2, with the bandwidth that Psi of order r gives it.
  Status two_stages(int r, double factor, double* psi) {
    const double first = std::pow(2 / ((r + 1) * n_), 1.0 / (r + 3)) * std::numbers::sqrt2 * sigma_;
    double above = 0;
    if (Status s = mean(r, first, &above); !s.ok()) return s;
    if (!(above < 0) || !std::isfinite(above)) return wrong(r, above);
    if (Status s = mean(r - 2, std::pow(factor / (kSqrt2Pi * above * n_), 1.0 / (r + 1)), psi);
        !s.ok())
      return s;
    if (!(*psi > 0) || !std::isfinite(*psi)) return wrong(r - 2, *psi);
    return Status::success();
  }

  static Status wrong(int r, double value) {
    return Status::error(Code::degenerate, "the functional psi%d is %g, of the wrong sign or size",
                         r, value);
  }

  PairSums& sums_;
  double n_;
  double sigma_;
  double pilot_ = 0;  // g h^2
};

}  // namespace

Status select_smoothed_cv(PairSums& sums, const LineSummary& line, SmoothedCv* out) {
  ScvCriterion scv(sums, line);
  if (Status s = scv.choose_pilot(); !s.ok()) return s;
  const double shape = std::pow(4 / (3 * static_cast<double>(line.n)), 0.2);
  LocalMinima minima;
  const CriterionAt at = [&](double h, Criterion* c) { return scv.at(h, c); };
  if (Status s = find_local_minima(at, 0.1 * shape * line.robust_scale(1.34),
                                   2 * shape * line.sigma, &minima);
      !s.ok())
    return s;

  const auto lower = [](const Criterion& a, const Criterion& b) { return a.value < b.value; };
  const auto best = std::min_element(minima.interior.begin(), minima.interior.end(), lower);
  const Criterion end = std::min(minima.lowest, minima.highest, lower);
  const bool at_bound = best == minima.interior.end() || end.value < best->value;
  const Criterion& chosen = at_bound ? end : *best;
  *out = {chosen.h, chosen.value, at_bound};
  return Status::success();
}

}  // namespace kde
