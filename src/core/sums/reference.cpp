// The reference engine: one plain double loop over the pairs, in double, by the formula as it is
// printed. It shares nothing with the vector code that it is there to check.
//   K^(r)(z) = He_r(z) phi(z), e.g. K^(4)(z) = (z^4 - 6 z^2 + 3) phi(z)
// Source: Andrzejewski, Gramacki & Gramacki, AMCS 23(4), 2013, eqs. (9)-(12), for r = 4 and 6.
#include <cmath>
#include <vector>

#include "core/sums/engine_parts.h"
#include "core/sums/gaussian_derivatives.h"

namespace kde {
namespace {

constexpr std::size_t kPairsBetweenPolls = 1'000'000;

class ReferenceSums : public PairSums {
 public:
  ReferenceSums(std::span<const double> x, const Control& control)
      : x_(x.begin(), x.end()), control_(control) {}

  Status derivative(int r, double g, double* sum) override {
    if (Status s = check_derivative(r, g); !s.ok()) return s;
    const WorkAmount all = pairs_of(static_cast<std::int64_t>(x_.size()));
    double total = 0;
    std::size_t pairs = kPairsBetweenPolls;  // so that the first row polls
    for (std::size_t i = 0; i < x_.size(); ++i) {
      if (pairs >= kPairsBetweenPolls) {
        if (control_.stop_requested()) return cancelled();
        pairs = 0;
        // Those with the points before i.
        control_.tell(all, static_cast<std::int64_t>(i * (2 * x_.size() - i - 1) / 2));
      }
      double row = 0;
      for (std::size_t j = i + 1; j < x_.size(); ++j) {
        // Where K is below 1e-300 of its peak: also keeps z^r from overflowing to infinity times 0.
        const double z = std::fmin(std::fabs(x_[i] - x_[j]) / g, 40.0);
        row += gaussian_derivative(r, z);
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
