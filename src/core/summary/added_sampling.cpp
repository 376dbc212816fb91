// See added_sampling.h.
#include "core/summary/added_sampling.h"

#include <algorithm>
#include <cmath>

namespace kde {

namespace {

bool is_count(double x) { return std::isfinite(x) && x >= 0; }

// Of independent sums; finite.
double error_of_sum(double a, double b) {
  return std::min(std::numeric_limits<double>::max(), std::hypot(a, b));
}

}  // namespace

void CountSampling::add(const Header& h) {
  if (!h.has_exact_ends()) any = 1;
  if ((h.flags & kEveryRowRead) == 0) unread = 1;
  rows_variance += h.rows_variance * h.rows * h.rows;
  end_variance += h.end_variance * h.rows * h.rows;
  sum_error = error_of_sum(sum_error, h.mean_error > 0 ? h.mean_error * h.finite_rows() : 0);
  if (!(h.sample_rows > 0)) return;
  const double each = h.rows / h.sample_rows;
  for (int shape = 0; shape < kShapes; ++shape) {
    for (int i = 0; i < kErrorScales; ++i)
      weight[shape][i] =
          std::max(weight[shape][i], finite_float(each * h.count_variance[shape][i]));
  }
}

void CountSampling::add(const CountSampling& other) {
  any = std::max(any, other.any);
  unread = std::max(unread, other.unread);
  rows_variance += other.rows_variance;
  end_variance += other.end_variance;
  sum_error = error_of_sum(sum_error, other.sum_error);
  for (int shape = 0; shape < kShapes; ++shape) {
    for (int i = 0; i < kErrorScales; ++i)
      weight[shape][i] = std::max(weight[shape][i], other.weight[shape][i]);
  }
}

void CountSampling::describe(Header* h) const {
  h->rows_variance = std::min(rows_variance / h->rows / h->rows, kMostVariance);
  h->end_variance = std::min(end_variance / h->rows / h->rows, kMostVariance);
  const double finite = h->finite_rows();
  h->mean_error = finite > 0 ? std::min(sum_error / finite, std::numeric_limits<double>::max()) : 0;
  for (int shape = 0; shape < kShapes; ++shape) {
    for (int i = 0; i < kErrorScales; ++i)
      h->count_variance[shape][i] = finite_float(weight[shape][i] * h->sample_rows / h->rows);
  }
}

bool CountSampling::valid() const {
  bool sure = is_count(rows_variance) && is_count(end_variance) && is_count(sum_error) &&
              any <= 1 && unread <= any;
  for (const auto& scales : weight) {
    for (const float w : scales) sure = sure && is_count(w);
  }
  return sure;
}

void MeanSampling::add(const MeanSampling& other) {
  sum_error = error_of_sum(sum_error, other.sum_error);
  for (int i = 0; i < kErrorScales; ++i) weight[i] = std::max(weight[i], other.weight[i]);
  counts.add(other.counts);
}

bool MeanSampling::valid() const {
  bool sure = is_count(sum_error) && counts.valid();
  for (const float w : weight) sure = sure && is_count(w);
  return sure;
}

Header counted_rows(const Header& density, const MeasureView& measure) {
  Header counted =
      measure.header().has(MeasurePart::rows) ? measure.part(MeasurePart::rows).header() : density;
  counted.rows = measure.header().rows;
  counted.mean_error = 0;
  return counted;
}

MeanSampling mean_sampling(const Header& density, const MeasureView& measure) {
  const MeasureHeader& m = measure.header();
  const Header counted = counted_rows(density, measure);
  const double count = m.has(MeasurePart::rows) ? counted.sample_rows : m.rows;
  MeanSampling out;
  out.sum_error = std::min(m.mean_error * m.rows, std::numeric_limits<double>::max());
  for (int i = 0; i < kErrorScales; ++i)
    out.weight[i] = finite_float(m.rows / count * m.mean_variance[i]);
  out.counts.add(counted);
  return out;
}

}  // namespace kde
