// The reference engine: one plain double loop over the pairs, in double, by the formula as it is
// printed. It shares nothing with the vector code that it is there to check.
//   K^(4)(z) = (z^4 - 6 z^2 + 3) phi(z),  K^(6)(z) = (z^6 - 15 z^4 + 45 z^2 - 15) phi(z)
// Source: Andrzejewski, Gramacki & Gramacki, AMCS 23(4), 2013, eqs. (9)-(12).
#include <cmath>
#include <numbers>
#include <vector>

#include "core/sums/engine_parts.h"

namespace kde {
namespace {

constexpr std::size_t kPairsBetweenPolls = 1'000'000;

double phi(double z) {
  return std::exp(-0.5 * z * z) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

double k4(double z) {
  const double z2 = z * z;
  return (z2 * z2 - 6 * z2 + 3) * phi(z);
}

double k6(double z) {
  const double z2 = z * z;
  return (z2 * z2 * z2 - 15 * z2 * z2 + 45 * z2 - 15) * phi(z);
}

class ReferenceSums : public PairSums {
 public:
  ReferenceSums(std::span<const double> x, const Control& control)
      : x_(x.begin(), x.end()), control_(control) {}

  Status derivative(int r, double g, double* sum) override {
    if (r != 4 && r != 6) {
      return Status::error(Code::invalid_argument, "the derivative must be the 4th or the 6th");
    }
    if (!(g > 0) || !std::isfinite(g)) {
      return Status::error(Code::invalid_argument, "the bandwidth must be positive and finite");
    }
    double total = 0;
    std::size_t pairs = kPairsBetweenPolls;  // so that the first row polls
    for (std::size_t i = 0; i < x_.size(); ++i) {
      if (pairs >= kPairsBetweenPolls) {
        if (control_.stop_requested()) return Status::error(Code::cancelled, "cancelled");
        pairs = 0;
      }
      double row = 0;
      for (std::size_t j = i + 1; j < x_.size(); ++j) {
        // Where K is below 1e-300 of its peak: also keeps z^6 from overflowing to infinity times 0.
        const double z = std::fmin(std::fabs(x_[i] - x_[j]) / g, 40.0);
        row += r == 4 ? k4(z) : k6(z);
      }
      total += row;
      pairs += x_.size() - i;
    }
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
