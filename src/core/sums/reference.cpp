// The reference engine: one plain double loop over the pairs, in double, by the formula as it is
// printed. It shares nothing with the vector code that it is there to check.
//   K^(r)(z) = He_r(z) phi(z), e.g. K^(4)(z) = (z^4 - 6 z^2 + 3) phi(z)
// Source: Andrzejewski, Gramacki & Gramacki, AMCS 23(4), 2013, eqs. (9)-(12), for r = 4 and 6;
// Abramowitz & Stegun, table 22.12, for the Hermite polynomials He_r of every order.
#include <cmath>
#include <numbers>
#include <vector>

#include "core/sums/engine_parts.h"
#include "core/sums/gaussian_derivatives.h"

namespace kde {
namespace {

constexpr std::size_t kPairsBetweenPolls = 1'000'000;

double phi(double z) {
  return std::exp(-0.5 * z * z) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

// He_r(z), r even, from t = z^2.
double hermite(int r, double t) {
  switch (r) {
    case 0:
      return 1;
    case 2:
      return t - 1;
    case 4:
      return t * t - 6 * t + 3;
    case 6:
      return t * t * t - 15 * t * t + 45 * t - 15;
    case 8:
      return t * t * t * t - 28 * t * t * t + 210 * t * t - 420 * t + 105;
    default:
      return t * t * t * t * t - 45 * t * t * t * t + 630 * t * t * t - 3150 * t * t + 4725 * t -
             945;
  }
}

class ReferenceSums : public PairSums {
 public:
  ReferenceSums(std::span<const double> x, const Control& control)
      : x_(x.begin(), x.end()), control_(control) {}

  Status derivative(int r, double g, double* sum) override {
    if (!is_derivative_order(r)) {
      return Status::error(Code::invalid_argument,
                           "the derivative must be an even one, from 0 to 10");
    }
    if (!(g > 0) || !std::isfinite(g)) {
      return Status::error(Code::invalid_argument, "the bandwidth must be positive and finite");
    }
    const WorkAmount all = pairs_of(static_cast<std::int64_t>(x_.size()));
    double total = 0;
    std::size_t pairs = kPairsBetweenPolls;  // so that the first row polls
    for (std::size_t i = 0; i < x_.size(); ++i) {
      if (pairs >= kPairsBetweenPolls) {
        if (control_.stop_requested()) return Status::error(Code::cancelled, "cancelled");
        pairs = 0;
        // Those with the points before i.
        control_.tell(all, static_cast<std::int64_t>(i * (2 * x_.size() - i - 1) / 2));
      }
      double row = 0;
      for (std::size_t j = i + 1; j < x_.size(); ++j) {
        // Where K is below 1e-300 of its peak: also keeps z^r from overflowing to infinity times 0.
        const double z = std::fmin(std::fabs(x_[i] - x_[j]) / g, 40.0);
        row += hermite(r, z * z) * phi(z);
      }
      total += row;
      pairs += x_.size() - i;
    }
    control_.tell(all, all.total);
    *sum = total;
    return Status::success();
  }

 private:
  std::vector<double> x_;
  Control control_;
};

}  // namespace

std::unique_ptr<PairSums> make_reference_sums(std::span<const double> x, const Control& control) {
  return std::make_unique<ReferenceSums>(x, control);
}

}  // namespace kde
