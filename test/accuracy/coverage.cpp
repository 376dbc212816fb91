// The intervals and counts of coverage.h.
#include "coverage.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kde::accuracy {

namespace {

constexpr double kRounding = 1e-9;

Interval around(double estimate, double half_width) {
  return {estimate, estimate - half_width, estimate + half_width};
}

Interval wilson(double k, double n, double f, double rows) {
  const double p = k / n;
  const double m = n / f;
  const double zz = kNormal95 * kNormal95 / m;
  const double centre = (p + zz / 2) / (1 + zz);
  const double half = kNormal95 / (1 + zz) * std::sqrt(p * (1 - p) / m + zz / (4 * m));
  return {rows * p, rows * std::max(centre - half, 0.0), rows * std::min(centre + half, 1.0)};
}

template <class Values>
void append(const Values& from, Values* to) {
  to->insert(to->end(), from.begin(), from.end());
}

}  // namespace

int class_of(double fraction) {
  if (fraction <= 0.01) return 0;
  return fraction <= 0.03 ? 1 : 2;
}

std::optional<Interval> textbook_interval(Quantity quantity, const Slice& slice,
                                          std::size_t sample_rows, std::size_t rows) {
  const double n = static_cast<double>(sample_rows);
  const double big_n = static_cast<double>(rows);
  const double k = static_cast<double>(slice.rows);
  const double f = 1 - n / big_n;
  if (f <= 0) return std::nullopt;
  if (quantity == kCount) return wilson(k, n, f, big_n);
  if (quantity == kSum) {
    const double variance = std::max(slice.square_sum - slice.sum * slice.sum / n, 0.0) / (n - 1);
    return around(big_n / n * slice.sum, kNormal95 * big_n * std::sqrt(variance * f / n));
  }
  if (slice.rows < 2) return std::nullopt;
  const double s = slice.deviation * std::sqrt(k / (k - 1));
  return around(slice.mean, kNormal95 * s * std::sqrt(f / k));
}

std::optional<Interval> density_interval(Quantity quantity, const DensityView& density,
                                         const Range& range) {
  const IntervalOptions options;
  if (quantity == kCount) return interval_of(Wanted::count, density, range, options);
  const Interval interval = quantity == kSum ? interval_of(Wanted::sum, density, range, options)
                                             : interval_of(Wanted::mean, density, range, options);
  if (std::isnan(interval.lower)) return std::nullopt;
  return interval;
}

bool covers(const Interval& interval, Quantity quantity, const Question& question) {
  const Slice& truth = question.truth;
  double value = static_cast<double>(truth.rows);
  double unit = value;
  if (quantity == kSum) {
    value = truth.sum;
    unit = truth.absolute_sum;
  } else if (quantity == kMean) {
    value = truth.mean;
    unit = std::max(std::fabs(question.range.lower), std::fabs(question.range.upper));
  }
  return interval.lower - kRounding * unit <= value && value <= interval.upper + kRounding * unit;
}

double Tally::share() const {
  if (total == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(covered) / static_cast<double>(total);
}

void Coverage::add(const Coverage& other) {
  for (int c = 0; c < kClasses; ++c) {
    density[c].add(other.density[c]);
    textbook[c].add(other.textbook[c]);
    append(other.width_ratio[c], &width_ratio[c]);
  }
}

Tally Coverage::density_total() const {
  Tally total;
  for (const Tally& tally : density) total.add(tally);
  return total;
}

Tally Coverage::textbook_total() const {
  Tally total;
  for (const Tally& tally : textbook) total.add(tally);
  return total;
}

std::vector<double> Coverage::width_ratios() const {
  std::vector<double> all;
  for (const std::vector<float>& ratios : width_ratio)
    all.insert(all.end(), ratios.begin(), ratios.end());
  return all;
}

void count_question(Quantity quantity, const std::optional<Interval>& ours, const Slice& slice,
                    std::size_t sample_rows, std::size_t rows, const Question& question,
                    Coverage* coverage) {
  if (quantity == kMean && question.truth.deviation == 0) return;
  const int c = class_of(question.fraction);
  coverage->density[c].add(ours && covers(*ours, quantity, question));
  const auto textbook = textbook_interval(quantity, slice, sample_rows, rows);
  if (!textbook) return;
  coverage->textbook[c].add(covers(*textbook, quantity, question));
  const double width = textbook->upper - textbook->lower;
  if (ours && width > 0)
    coverage->width_ratio[c].push_back(static_cast<float>((ours->upper - ours->lower) / width));
}

void count_question(Quantity quantity, const DensityView& density, const Slice& slice,
                    std::size_t sample_rows, std::size_t rows, const Question& question,
                    Coverage* coverage) {
  count_question(quantity, density_interval(quantity, density, question.range), slice, sample_rows,
                 rows, question, coverage);
}

}  // namespace kde::accuracy
