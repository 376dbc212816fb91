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
  double most = 0;
  for (const auto& scales : header.count_variance) most = std::max<double>(most, scales[0]);
  return most > 0 ? header.sample_rows / most : std::numeric_limits<double>::infinity();
}

Status drift(const DensityView& density, const Sample& sample, double estimated_from,
             Drift* out) noexcept {
  GridList list;
  if (Status s = (*sample.cells)->list(&list); !s.ok()) return s;
  const RoundEnds& ends = (*sample.cells)->ends();
  const double rows = sample.not_null();
  const double per_row =
      sample.sample_rows() > 0 ? sample.totals.count() / sample.sample_rows() : 0;

  double distance = 0;
  const auto compare = [&](double f, double g) { distance = std::max(distance, std::fabs(f - g)); };
  const double infinity = std::numeric_limits<double>::infinity();
  double up_to = sample.specials.negative_infinities;
  compare(up_to / rows, cdf(density, -infinity));
  // G rises between two values of the sample while F does not: the extremes are at their ends. Of
  // cells the rows are known at their ends.
  for (const GridEntry& e : list.entries) {
    const bool is_value = e.level < 0;
    compare(up_to / rows, is_value ? below(density, e.x) : cdf(density, e.x));
    up_to += e.rows * per_row;
    const double end = is_value ? e.x : ends.end(e.level, ends.cell(e.level, e.x) + 1);
    compare(up_to / rows, is_value ? cdf(density, end) : below(density, end));
  }
  compare(up_to / rows, below(density, infinity));
  compare((up_to + sample.specials.positive_infinities) / rows, cdf(density, infinity));

  const double other = rows - sample.totals.count();
  const double m = (sample.sample_rows() + other) / std::max(sample.blocks.design_effect(), 1.0);
  const double n = std::isfinite(estimated_from) ? m * estimated_from / (m + estimated_from) : m;
  out->distance = std::min(distance, 1.0);
  const double root = std::sqrt(n);
  out->p_value = root > 0 ? kolmogorov_q((root + 0.12 + 0.11 / root) * out->distance) : 1;
  return Status::success();
}

}  // namespace kde
