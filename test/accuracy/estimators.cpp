// The estimators of estimators.h.
#include "estimators.h"

#include "core/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <string>

namespace kde::accuracy {

namespace {

// Beyond that many bandwidths a Gaussian kernel has less than 1e-18 of its mass.
constexpr double kReach = 9;

double normal_density(double z) { return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi); }
double normal_distribution(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

}  // namespace

void require(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message);
}

ValueType value_type_of(ColumnType type) {
  switch (type) {
    case ColumnType::integer:
      return ValueType::int8;
    case ColumnType::date:
      return ValueType::date;
    case ColumnType::timestamp:
      return ValueType::timestamp;
    case ColumnType::timestamptz:
      return ValueType::timestamptz;
    default:
      return ValueType::float8;
  }
}

double lattice_step_of(ColumnType type) {
  if (type == ColumnType::integer) return 1;
  return type == ColumnType::date ? 86400 : 0;
}

std::vector<double> draw_sample(const std::vector<double>& values, std::size_t size,
                                std::uint64_t seed) {
  // Fisher and Yates' shuffle, ended after `size` steps.
  std::vector<double> drawn = values;
  Random random(seed);
  for (std::size_t i = 0; i < size; ++i)
    std::swap(drawn[i], drawn[i + random.below(drawn.size() - i)]);
  drawn.resize(size);
  return drawn;
}

Fitted fit(const Sample& sample, FitOptions options, ColumnType type, int threads) {
  options.value_type = value_type_of(type);
  options.lattice_step = lattice_step_of(type);
  Control control;
  control.threads = threads;
  Fitted fitted;
  require(fit_column(sample, options, control, &fitted.bytes, &fitted.report));
  return fitted;
}

Fitted fit(std::span<const double> values, const FitRequest& request) {
  Sampler::Options sampling;
  sampling.seed = 1;
  sampling.chain = chain_of(value_type_of(request.type));
  Sampler sampler(sampling);
  for (const double x : values) require(sampler.add(x));
  Sample sample;
  require(sampler.finish(&sample));

  FitOptions options;
  options.method = request.method;
  options.rows_per_row_read =
      static_cast<double>(request.rows) / static_cast<double>(values.size());
  options.every_row_read = values.size() == request.rows;
  options.share_of_blocks = 1 / options.rows_per_row_read;
  return fit(sample, options, request.type, request.threads);
}

Answers density_answers(const DensityView& density, const Range& range) {
  const RangeMoments m = moments(density, range);
  return {{m.count, m.finite > 0 ? m.mean * m.finite : 0,
           m.finite > 0 ? m.mean : std::numeric_limits<double>::quiet_NaN()}};
}

Answers sample_answers(const Slice& slice, std::size_t sample_rows, std::size_t rows) {
  const double scale = static_cast<double>(rows) / static_cast<double>(sample_rows);
  return {{scale * static_cast<double>(slice.rows), scale * slice.sum, slice.mean}};
}

UnitKernel::UnitKernel(std::span<const double> sorted)
    : sample_rows_(static_cast<double>(sorted.size())) {
  for (const double x : sorted) {
    if (points_.empty() || points_.back().value != x) points_.push_back({x, 0});
    points_.back().weight += 1;
  }
}

Answers UnitKernel::answers(const Range& range, std::size_t rows) const {
  double mass = 0;
  double sum = 0;
  const double from = range.lower - kReach;
  for (auto p = std::lower_bound(points_.begin(), points_.end(), from,
                                 [](const Point&point, double x) { return point.value < x; });
       p != points_.end() && p->value <= range.upper + kReach; ++p) {
    const double low = range.lower - p->value;
    const double high = range.upper - p->value;
    const double share = normal_distribution(high) - normal_distribution(low);
    mass += p->weight * share;
    sum += p->weight * (p->value * share - normal_density(high) + normal_density(low));
  }
  const double scale = static_cast<double>(rows) / sample_rows_;
  return {{scale * mass, scale * sum,
           mass > 0 ? sum / mass : std::numeric_limits<double>::quiet_NaN()}};
}

}  // namespace kde::accuracy
