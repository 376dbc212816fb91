// The equation of sheather_jones.h, solved in log h from the wide side: R, too, starts below
// 1.144 s n^(-1/5), the oversmoothed bandwidth of Terrell, JASA 85 (1990).
#include "core/select/sheather_jones.h"

#include "core/sums/pair_sums.h"

#include <cmath>
#include <numbers>

#include "core/select/root.h"

namespace kde {
namespace {

class Equation {
 public:
  Equation(PairSums& sums, const LineSummary& line)
      : sums_(sums), n_(static_cast<double>(line.n)), scale_(line.robust_scale(1.349)) {}

  Status solve(double* h) {
    double s = 0;
    double t = 0;
    if (Status status = functional(4, 1.24 * scale_ * std::pow(n_, -1.0 / 7), &s); !status.ok())
      return status;
    if (Status status = functional(6, 1.23 * scale_ * std::pow(n_, -1.0 / 9), &t); !status.ok())
      return status;
    t = -t;
    if (!(t > 0) || !std::isfinite(t)) {
      return Status::error(Code::degenerate,
                           "the sample is too sparse for the bandwidth of Sheather and Jones");
    }
    alpha_ = 1.357 * std::pow(s / t, 1.0 / 7);

    const Evaluated difference = [&](double log_h, double* value) {
      return at(std::exp(log_h), value);
    };
    const double widest = 1.144 * scale_ * std::pow(n_, -0.2);
    double above = 3 * widest;
    double value_above = 0;
    if (Status status = at(above, &value_above); !status.ok()) return status;
    // Down to the first change of sign.
    while (above > 0.001 * widest) {
      const double below = above * 0.7;
      double value_below = 0;
      if (Status status = at(below, &value_below); !status.ok()) return status;
      if (value_below >= 0 && value_above <= 0) {
        double log_h = 0;
        if (Status status = bracketed_root(difference, std::log(below), value_below,
                                           std::log(above), value_above, 1e-10, &log_h);
            !status.ok())
          return status;
        *h = std::exp(log_h);
        return Status::success();
      }
      above = below;
      value_above = value_below;
    }
    return Status::error(Code::degenerate,
                         "the equation of Sheather and Jones has no solution for these values");
  }

 private:
  // The full sum with its diagonal over n (n - 1) g^(r + 1).
  Status functional(int r, double g, double* value) {
    double sum = 0;
    if (Status s = sums_.derivative(r, g, &sum); !s.ok()) return s;
    const double at_zero = (r == 4 ? 3 : -15) / std::sqrt(2 * std::numbers::pi);
    *value = (2 * sum + n_ * at_zero) / (n_ * (n_ - 1) * std::pow(g, r + 1));
    return Status::success();
  }

  // log of the right hand side over h.
  Status at(double h, double* value) {
    double s = 0;
    if (Status status = functional(4, alpha_ * std::pow(h, 5.0 / 7), &s); !status.ok())
      return status;
    if (!(s > 0) || !std::isfinite(s)) {
      return Status::error(Code::degenerate,
                           "a functional in the equation of Sheather and Jones is %g", s);
    }
    *value = -std::log(2 * std::sqrt(std::numbers::pi) * n_ * s) / 5 - std::log(h);
    return Status::success();
  }

  PairSums& sums_;
  double n_;
  double scale_;
  double alpha_ = 0;
};

}  // namespace

Status select_sheather_jones(PairSums& sums, const LineSummary& line, double* h) {
  return Equation(sums, line).solve(h);
}

}  // namespace kde
