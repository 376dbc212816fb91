// The vector engine for values that repeat (whole numbers, cents): distinct values v with counts c,
//
//   sum_{i<j} K(x_i - x_j) = sum_{u<v} c_u c_v K(u - v) + sum_v c_v (c_v - 1)/2 K(0)
//
// The counts may be weights that are no whole numbers. It is always in double. With few distinct
// differences the roundings of single precision repeat with the values instead of averaging out: on
// normal values rounded to a tenth of their standard deviation, n = 32768, they moved PLUGIN's h by
// 7e-6; left unrounded, by 1.3e-7.
#include <algorithm>
#include <cmath>
#include <new>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include "core/sums/engine_parts.h"
#include "core/sums/gaussian_derivatives.h"
#include "core/sums/ordered_sum.h"

namespace kde {
namespace {

class TiedSums : public PairSums {
 public:
  TiedSums(std::vector<double> values, std::vector<double> counts, std::int64_t target,
           const Control& control)
      : values_(std::move(values)),
        counts_(std::move(counts)),
        target_(target),
        control_(control) {}

  Status derivative(int r, double g, double* sum) override {
    if (Status s = check_derivative(r, g); !s.ok()) return s;
    const DerivativeKernels::Row row = derivative_kernels(target_, Precision::full, r).weighted_row;
    const double at_zero = hermite_at_zero(r);
    const double reach = kernel_reach(r) * g;
    const auto work = [&](std::int64_t item, double* out) {
      const std::size_t i = static_cast<std::size_t>(item);
      const auto above = values_.begin() + static_cast<std::ptrdiff_t>(i) + 1;
      const auto reached = std::upper_bound(above, values_.end(), values_[i] + reach);
      const std::size_t others = static_cast<std::size_t>(reached - above);
      *out = counts_[i] * (row(values_[i], std::span(values_).subspan(i + 1, others),
                               std::span(counts_).subspan(i + 1, others), g) +
                           (counts_[i] - 1) / 2 * at_zero);
    };

    double total = 0;
    try {
      const std::int64_t items = static_cast<std::int64_t>(values_.size());
      if (Status s = ordered_sum(control_, items, work, {&total, 1}, pairs_of(items)); !s.ok())
        return s;
    } catch (const std::bad_alloc&) {
      return out_of_memory();
    }
    *sum = total * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
    return Status::success();
  }

 private:
  std::vector<double> values_;  // ascending
  std::vector<double> counts_;
  std::int64_t target_;
  Control control_;
};

}  // namespace

std::unique_ptr<PairSums> make_tied_sums(const std::vector<double>& sorted, std::int64_t target,
                                         const Control& control) {
  std::vector<double> values;
  std::vector<double> counts;
  for (const double v : sorted) {
    if (values.empty() || v != values.back()) {
      values.push_back(v);
      counts.push_back(0);
    }
    counts.back() += 1;
  }
  return make_tied_sums(std::move(values), std::move(counts), target, control);
}

std::unique_ptr<PairSums> make_tied_sums(std::vector<double> values, std::vector<double> weights,
                                         std::int64_t target, const Control& control) {
  return std::make_unique<TiedSums>(std::move(values), std::move(weights), target, control);
}

}  // namespace kde
