// See steps.h.
#include "core/picture/steps.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace kde {

namespace {

Range between(double lower, double upper, bool closed) {
  Range r;
  r.lower = lower;
  r.upper = upper;
  r.lower_unbounded = r.upper_unbounded = false;
  r.upper_inclusive = closed;
  return r;
}

Range up_to(double upper, bool closed) {
  Range r;
  r.upper = upper;
  r.upper_unbounded = false;
  r.upper_inclusive = closed;
  return r;
}

constexpr double kMostFactor = 1e200;

// Interval `i` times a factor into step `at`.
void put(const Interval& i, double factor, std::size_t at, const StepValues& out) {
  out.value[at] = i.estimate * factor;
  out.lower[at] = i.lower * factor;
  out.upper[at] = i.upper * factor;
}

// Of the rows that a share is taken of, whose number does not matter then.
IntervalOptions of_share(IntervalOptions options) {
  options.of_share = true;
  return options;
}

}  // namespace

AxisSpan readable_span(const DensityView& density) {
  const Header& h = density.header();
  constexpr double kLeftOut = 0.02, kFence = 3;
  // Quantiles are of all rows that are not NULL, infinities and NaN among them.
  const double before = h.negative_infinities;
  const auto at = [&](double q) {
    return std::clamp(quantile(density, (before + q * h.finite_rows()) / h.rows), h.min, h.max);
  };
  AxisSpan out = {h.min, h.max};
  const double whole = h.max - h.min;
  if (!(whole > 0) || !std::isfinite(whole)) return out;
  const double low = at(0.25);
  const double high = at(0.75);
  const double fence = kFence * (high - low);
  out.lower = std::max(h.min, std::min(low - fence, at(kLeftOut)));
  out.upper = std::min(h.max, std::max(high + fence, at(1 - kLeftOut)));
  // Most rows are one value: the others are what there is to see.
  if (!(out.upper > out.lower)) return {h.min, h.max};
  // Each end for itself: what moves it little stays.
  constexpr double kWorth = 1.0 / 3;
  if (h.max - out.upper < kWorth * (h.max - out.lower)) out.upper = h.max;
  if (out.lower - h.min < kWorth * (out.upper - h.min)) out.lower = h.min;
  return out;
}

void count_steps(const DensityView& density, std::span<const double> edges,
                 const IntervalOptions& options, const StepValues& out) {
  for (std::size_t i = 0; i < out.value.size(); ++i) {
    const bool last = i + 1 == out.value.size();
    put(interval_of(Wanted::count, density, between(edges[i], edges[i + 1], last), options), 1, i,
        out);
  }
}

void density_steps(const DensityView& density, std::span<const double> edges, double unit,
                   const IntervalOptions& options, const StepValues& out) {
  count_steps(density, edges, of_share(options), out);
  for (std::size_t i = 0; i < out.value.size(); ++i) {
    // Steps may be so narrow that the height overflows.
    const double share = 100 / density.header().rows;
    const double factor = std::min(share * (unit / (edges[i + 1] - edges[i])), kMostFactor);
    put({out.value[i], out.lower[i], out.upper[i]}, factor, i, out);
  }
}

void cumulative_steps(const DensityView& density, std::span<const double> edges,
                      const IntervalOptions& options, const StepValues& out) {
  const double rows = density.header().rows;
  for (std::size_t i = 0; i < out.value.size(); ++i) {
    Interval below =
        interval_of(Wanted::count, density, up_to(edges[i + 1], true), of_share(options));
    below.upper = std::max(std::min(below.upper, rows), below.estimate);
    put(below, 100 / rows, i, out);
  }
}

RowsBeyond rows_beyond(const DensityView& density, const AxisSpan& span) {
  const Header& h = density.header();
  const double below = count(density, up_to(span.lower, false)) - h.negative_infinities;
  const double up = count(density, up_to(span.upper, true)) - h.negative_infinities;
  return {std::max(below, 0.0), std::max(h.finite_rows() - up, 0.0)};
}

}  // namespace kde
