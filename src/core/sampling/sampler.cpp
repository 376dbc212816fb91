// The scan's accumulator of sampler.h.
#include "core/sampling/sampler.h"

#include "core/sampling/design_effect.h"
#include "core/sampling/sort.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

namespace kde {

namespace {

// Independent streams for the reservoir and the bandwidth's subset from one seed.
constexpr std::uint64_t kSubsetStream = 0x9e3779b97f4a7c15u;

}  // namespace

Sampler::Sampler(const Options& options)
    : options_(options),
      distinct_(kMaxDistinct),
      reservoir_(static_cast<std::size_t>(options.sample_rows < 0 ? options.bandwidth_rows
                                                                  : options.sample_rows),
                 options.seed),
      compactor_(options.compactor_capacity) {}

void Sampler::Reservoir::begin_skipping() {
  w_ = std::exp(std::log(random_.uniform()) / static_cast<double>(size_));
  next_skip();
}

void Sampler::Reservoir::next_skip() {
  const double skip = std::floor(std::log(random_.uniform()) / std::log1p(-w_));
  // A skip beyond any table's length never ends.
  skip_ = skip < 0x1p62 ? static_cast<std::uint64_t>(skip) : std::uint64_t{1} << 62;
  w_ *= std::exp(std::log(random_.uniform()) / static_cast<double>(size_));
}

Status Sampler::add(double x) noexcept {
  if (!std::isfinite(x)) {
    if (std::isnan(x)) {
      ++totals_.nans;
    } else if (x > 0) {
      ++totals_.positive_infinities;
    } else {
      ++totals_.negative_infinities;
    }
    return Status::success();
  }
  x += 0.0;  // -0 becomes 0
  if (!any_finite_) {
    any_finite_ = true;
    shift_ = totals_.min = totals_.max = x;
  }
  ++totals_.finite;
  totals_.min = std::min(totals_.min, x);
  totals_.max = std::max(totals_.max, x);
  const long double d = static_cast<long double>(x) - shift_;
  sum_ += d;
  sum_squares_ += d * d;
  try {
    distinct_.add(x);
    reservoir_.offer(x, block_);
    if (options_.sample_rows < 0) compactor_.add(x);
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "out of memory while sampling");
  }
  return Status::success();
}

void Sampler::finish_totals() {
  if (totals_.finite == 0) return;
  const long double n = static_cast<long double>(totals_.finite);
  const long double mean = sum_ / n;
  totals_.mean = static_cast<double>(shift_ + mean);
  totals_.mean = std::clamp(totals_.mean, totals_.min, totals_.max);
  const long double variance = sum_squares_ / n - mean * mean;
  totals_.variance =
      totals_.min == totals_.max ? 0.0 : static_cast<double>(std::max(variance, 0.0L));
}

Status Sampler::finish(Sample* out, const Control& control) noexcept {
  try {
    finish_totals();
    Sample result;
    result.totals = totals_;
    result.distinct_known = !distinct_.overflowed();
    if (result.distinct_known) result.distinct = distinct_.sorted();
    std::vector<double>& drawn = reservoir_.values();
    if (options_.sample_rows < 0) {
      result.bandwidth_values = std::move(drawn);
      result.values = compactor_.sorted();
      result.rank_error = compactor_.rank_error();
      result.sample_rows = totals_.finite;
      compactor_ = Compactor(options_.compactor_capacity);
    } else {
      result.bandwidth_values = random_subset(
          drawn, static_cast<std::size_t>(options_.bandwidth_rows), options_.seed ^ kSubsetStream);
      if (block_ > 0 &&
          !estimate_design_effect(drawn, reservoir_.blocks(), control, &result.design_effect))
        return Status::error(Code::cancelled, "cancelled");
      std::vector<std::uint32_t>().swap(reservoir_.blocks());
      if (!sort_values(&drawn, control)) return Status::error(Code::cancelled, "cancelled");
      result.values.reserve(drawn.size());
      for (double x : drawn) result.values.push_back({x, 1.0});
      result.sample_rows = static_cast<std::int64_t>(drawn.size());
      std::vector<double>().swap(drawn);
    }
    if (!sort_values(&result.bandwidth_values, control))
      return Status::error(Code::cancelled, "cancelled");
    *out = std::move(result);
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "out of memory while sampling");
  }
  return Status::success();
}

std::vector<double> random_subset(const std::vector<double>& values, std::size_t m,
                                  std::uint64_t seed) {
  if (m >= values.size()) return values;
  std::vector<double> out;
  out.reserve(m);
  Random random(seed);
  std::size_t left = values.size();
  for (double x : values) {
    if (random.below(left) < m - out.size()) out.push_back(x);
    if (out.size() == m) break;
    --left;
  }
  return out;
}

}  // namespace kde
