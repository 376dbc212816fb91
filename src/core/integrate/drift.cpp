// The test of drift.h.
#include "core/integrate/drift.h"

#include "core/integrate/integrate.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kde {

namespace {

// The fraction of the rows that are not NULL below x.
double below(const DensityView& density, double x) {
  Range range;
  range.upper_unbounded = false;
  range.upper = x;
  range.upper_inclusive = false;
  return density.header().rows > 0 ? count(density, range) / density.header().rows : 0;
}

}  // namespace

double kolmogorov_q(double z) {
  // Below, Q is 1 to double precision and the series is slow.
  if (z < 0.2) return 1;
  double sum = 0, sign = 1;
  for (int k = 1; k <= 100; ++k, sign = -sign) {
    const double term = std::exp(-2.0 * k * k * z * z);
    sum += sign * term;
    if (term < 1e-17) break;
  }
  return std::clamp(2 * sum, 0.0, 1.0);
}

double rows_behind(const Header& header) {
  return header.sampling_variance > 0 ? header.sample_rows / header.sampling_variance
                                      : std::numeric_limits<double>::infinity();
}

Drift drift(const DensityView& density, const Sample& sample, double estimated_from) {
  const Totals& totals = sample.totals;
  const double rows = static_cast<double>(totals.non_null());
  double weight = 0;
  for (const WeightedValue& v : sample.values) weight += v.weight;
  const double per_weight = weight > 0 ? static_cast<double>(totals.finite) / weight : 0;

  double distance = 0;
  const auto compare = [&](double f, double g) { distance = std::max(distance, std::fabs(f - g)); };
  const double infinity = std::numeric_limits<double>::infinity();
  double up_to = static_cast<double>(totals.negative_infinities);
  compare(up_to / rows, cdf(density, -infinity));
  // G rises between two values of the sample while F does not: the extremes are at their ends.
  for (std::size_t i = 0; i < sample.values.size();) {
    const double x = sample.values[i].value;
    compare(up_to / rows, below(density, x));
    for (; i < sample.values.size() && sample.values[i].value == x; ++i)
      up_to += sample.values[i].weight * per_weight;
    compare(up_to / rows, cdf(density, x));
  }
  compare(up_to / rows, below(density, infinity));
  compare((up_to + static_cast<double>(totals.positive_infinities)) / rows, cdf(density, infinity));

  const double other = static_cast<double>(totals.non_null() - totals.finite);
  const double m = (static_cast<double>(sample.sample_rows) + other) / sample.design_effect;
  const double n = std::isfinite(estimated_from) ? m * estimated_from / (m + estimated_from) : m;
  Drift out;
  out.distance = std::min(distance, 1.0);
  const double root = std::sqrt(n);
  out.p_value = root > 0 ? kolmogorov_q((root + 0.12 + 0.11 / root) * out.distance) : 1;
  return out;
}

}  // namespace kde
