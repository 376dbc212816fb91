// The definitions of errors.h.
#include "errors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace kde::accuracy {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double truth_of(Quantity quantity, const Slice& truth) {
  if (quantity == kCount) return static_cast<double>(truth.rows);
  return quantity == kSum ? truth.sum : truth.mean;
}

double divisor_of(Quantity quantity, const Slice& truth) {
  if (quantity == kCount) return static_cast<double>(truth.rows);
  return quantity == kSum ? truth.absolute_sum : truth.deviation;
}

double without_asking(const Range& range) {
  if (range.lower_unbounded) return range.upper;
  if (range.upper_unbounded) return range.lower;
  return range.lower / 2 + range.upper / 2;
}

}  // namespace

double error_of(Quantity quantity, const Answers& answers, const Question& question) {
  const double divisor = divisor_of(quantity, question.truth);
  if (divisor == 0) return kNan;
  double estimate = answers.value[quantity];
  if (quantity == kMean && std::isnan(estimate)) estimate = without_asking(question.range);
  return std::fabs(estimate - truth_of(quantity, question.truth)) / divisor;
}

double quantile_of(std::vector<double> values, double q) {
  if (values.empty()) return kNan;
  std::sort(values.begin(), values.end());
  const double position = q * static_cast<double>(values.size() - 1);
  const std::size_t below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (position - static_cast<double>(below)) * (values[above] - values[below]);
}

ErrorSummary summarise(const std::vector<double>& errors) {
  std::vector<double> measured;
  for (const double error : errors)
    if (!std::isnan(error)) measured.push_back(error);
  ErrorSummary summary;
  summary.measured = measured.size();
  summary.mean = measured.empty() ? kNan
                                  : std::accumulate(measured.begin(), measured.end(), 0.0) /
                                        static_cast<double>(measured.size());
  summary.median = quantile_of(measured, 0.5);
  summary.p95 = quantile_of(measured, 0.95);
  return summary;
}

double geometric_mean(const std::vector<double>& ratios) {
  if (ratios.empty()) return kNan;
  double logs = 0;
  for (const double ratio : ratios) logs += std::log(std::max(ratio, 1e-3));
  return std::exp(logs / static_cast<double>(ratios.size()));
}

}  // namespace kde::accuracy
