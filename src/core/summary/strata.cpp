// The ranges of strata.h, and what each part adds to their variances.
#include "core/summary/strata.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

namespace kde {

namespace {

// Places of two-ended and one-sided ranges for each scale, and parts about whose middle there are
// some more: of those least sure of wide ranges, and of narrow ones.
constexpr int kTwoEnds = 12, kOneEnd = 6;
constexpr std::size_t kLeastSure = 4;

// Places and shares are spread evenly but keep no step with parts that are as many rows each, whose
// ends all even places might meet: multiples, less whole numbers, of the inverse of the plastic
// number and of its square (M. Roberts, The unreasonable effectiveness of quasirandom sequences,
// 2018).
constexpr double kSteps[] = {0.7548776662466927, 0.5698402909980532};
double part_of_one(int i, double step) { return i * step - std::floor(i * step); }

double share_of(int scale) { return std::ldexp(1.0, -2 * (scale + 1)); }

int scale_of(double p) {
  const double scale = std::nearbyint(-std::log2(p) / 2 - 1);
  return static_cast<int>(std::clamp(scale, 0.0, kErrorScales - 1.0));
}

// Of most rows a range open to one side is as sure as what it leaves out.
int shape_of(int shape, double p) { return p > 0.5 && shape > 0 ? 3 - shape : shape; }

double square(double x) { return x * x; }

// What the number of a part's rows, where it was estimated, adds to a sum's variance: that far is
// the part's mean from all rows'.
double of_number(const Header& h, double rows, double from_mean) {
  return h.rows_variance > 0 ? h.rows_variance * square(rows) * square(from_mean) : 0;
}

// Of independent errors; the most there is where squares overflow.
double together(double error, double variance) {
  return std::min(std::numeric_limits<double>::max(), std::hypot(error, std::sqrt(variance)));
}

// The median of its finite rows, about.
double middle_of(const DensityView& view) {
  std::vector<HistogramCell> cells;
  decode_histogram(view, &cells);
  double begin = view.header().min, below = 0;
  for (const HistogramCell& c : cells) {
    if (2 * (below + c.rows) >= view.header().finite_rows())
      return c.point ? c.value : begin / 2 + c.value / 2;
    below += c.rows;
    begin = c.value;
  }
  return begin;
}

// A scale that no range came to has its neighbour's; where none did, of `otherwise`.
void fill_scales(float* weight, const float* otherwise) {
  for (int i = 1; i < kErrorScales; ++i)
    if (weight[i] < 0) weight[i] = weight[i - 1];
  for (int i = kErrorScales - 2; i >= 0; --i)
    if (weight[i] < 0) weight[i] = weight[i + 1];
  for (int i = 0; i < kErrorScales; ++i)
    if (weight[i] < 0) weight[i] = otherwise[i];
}

}  // namespace

Strata::Strata(std::span<const Header* const> densities, std::span<const double> grid,
               std::span<const double> mass)
    : densities_(densities), grid_(grid) {
  std::size_t measures = densities.empty() ? 0 : densities[0]->measures;
  for (const Header* h : densities)
    if (h->measures != measures) measures = 0;
  kinds_ += measures;
  rows_.resize(kinds_);
  choose(mass);
}

void Strata::choose(std::span<const double> mass) {
  double sum = 0;
  for (const double m : mass) cumulative_.push_back(sum += m);
  if (!(sum > 0)) return;
  for (int scale = 0; scale < kErrorScales; ++scale) {
    const double share = share_of(scale);
    for (int i = 1; i <= kTwoEnds; ++i) {
      const double s = share * std::exp2(part_of_one(i, kSteps[1]) - 0.5);
      ask_two_ends((1 - s) * part_of_one(i, kSteps[0]), s);
    }
    for (int i = 1; i <= kOneEnd; ++i) {
      const double s = share * std::exp2(2 * part_of_one(i, kSteps[0]) - 1);
      ask_one_end(place(s));
      ask_one_end(place(1 - s));
    }
  }
  for (const std::size_t k : least_sure()) {
    const auto found =
        std::lower_bound(grid_.begin(), grid_.end(), middle_of(DensityView(densities_[k])));
    const auto at = std::min(static_cast<std::size_t>(found - grid_.begin()), grid_.size() - 1);
    ask_one_end(at);
    for (int scale = 0; scale < kErrorScales; ++scale)
      ask_two_ends(cumulative_[at] / sum - share_of(scale) / 2, share_of(scale));
  }
  for (const Asked& a : asked_) {
    if (a.low != kOpen) ends_.push_back(a.low);
    if (a.high != kOpen) ends_.push_back(a.high);
  }
  std::sort(ends_.begin(), ends_.end());
  ends_.erase(std::unique(ends_.begin(), ends_.end()), ends_.end());
  for (Asked& a : asked_) {
    for (std::size_t* end : {&a.low, &a.high}) {
      if (*end == kOpen) continue;
      *end = static_cast<std::size_t>(std::lower_bound(ends_.begin(), ends_.end(), *end) -
                                      ends_.begin());
    }
  }
  through_.resize(ends_.size());
  end_variance_.resize(ends_.size() * kinds_);
  sums_.resize(asked_.size() * kinds_);
}

// Of the grid the end that has the share p at or below it.
std::size_t Strata::place(double p) const {
  const auto at = std::lower_bound(cumulative_.begin(), cumulative_.end(),
                                   std::clamp(p, 0.0, 1.0) * cumulative_.back());
  return std::min(static_cast<std::size_t>(at - cumulative_.begin()), grid_.size() - 1);
}

void Strata::ask_two_ends(double first, double share) {
  const std::size_t low = place(first);
  const std::size_t high = place(first + share);
  if (low < high) asked_.push_back({low, high, Shape::two_ends});
}

void Strata::ask_one_end(std::size_t at) {
  asked_.push_back({kOpen, at, Shape::below});
  asked_.push_back({at, kOpen, Shape::above});
}

std::vector<std::size_t> Strata::least_sure() const {
  std::vector<std::size_t> out;
  for (const int scale : {0, kErrorScales - 1}) {
    std::vector<std::pair<double, std::size_t>> parts;
    for (std::size_t k = 0; k < densities_.size(); ++k) {
      const Header& h = *densities_[k];
      if (h.finite_rows() > 0 && h.sample_rows > 0)
        parts.push_back({-h.rows / h.sample_rows * h.count_variance[0][scale], k});
    }
    const std::size_t some = std::min(parts.size(), kLeastSure);
    std::partial_sort(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(some),
                      parts.end());
    for (std::size_t i = 0; i < some; ++i) out.push_back(parts[i].second);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// NaN lies above all.
void Strata::find_shares(const Header& h, std::span<const HistogramCell> cells) {
  double below = h.negative_infinities;
  double begin = cells.empty() ? 0 : cells.front().value;
  std::size_t e = 0;
  for (const HistogramCell& c : cells) {
    for (; e < ends_.size() && grid_[ends_[e]] < c.value; ++e) {
      const double x = grid_[ends_[e]];
      const double width = c.value / 2 - begin / 2;
      const double share = !c.point && x > begin && width > 0 ? (x / 2 - begin / 2) / width : 0;
      through_[e] = (below + c.rows * share) / h.rows;
    }
    below += c.rows;
    begin = c.value;
  }
  for (; e < ends_.size(); ++e) through_[e] = std::min(below / h.rows, 1.0);
}

// h: of rows that lie as the part's.
void Strata::add_counts(std::size_t of, const Header& h) {
  rows_[of] += h.rows;
  const double each = h.sample_rows > 0 ? h.rows / h.sample_rows : 0;
  const double number = h.rows_variance * square(h.rows);
  const double end = h.end_variance * square(h.rows);
  for (std::size_t e = 0; e < ends_.size(); ++e)
    if (through_[e] > 0 && through_[e] < 1) end_variance_[e * kinds_ + of] += end;
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    const double low = asked_[i].low == kOpen ? 0 : through_[asked_[i].low];
    const double high = asked_[i].high == kOpen ? 1 : through_[asked_[i].high];
    const double p = high - low;
    if (!(p > 0)) continue;
    Sums& sums = sums_[i * kinds_ + of];
    sums.rows += p * h.rows;
    sums.number_variance += p * p * number;
    if (!(p < 1)) continue;
    // Of the part's rows it may be open.
    const int shape = shape_of(low > 0 ? high < 1 ? 0 : 1 : 2, p);
    sums.variance += p * (1 - p) * h.rows * each * ratio_at(h.count_variance[shape], p);
  }
}

void Strata::add(std::size_t part, std::span<const HistogramCell> cells) {
  const Header& h = *densities_[part];
  if (!(h.rows > 0)) return;
  find_shares(h, cells);
  add_counts(0, h);
  for (std::size_t k = 1; k < kinds_; ++k) {
    const MeasureView view(&h, static_cast<int>(k) - 1);
    const MeasureHeader& m = view.header();
    if (!(m.rows > 0)) continue;
    const Header counted = counted_rows(h, view);
    add_counts(k, counted);
    if (!(counted.sample_rows > 0) || !(m.variance > 0)) continue;
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      const double low = asked_[i].low == kOpen ? 0 : through_[asked_[i].low];
      const double high = asked_[i].high == kOpen ? 1 : through_[asked_[i].high];
      const double p = high - low;
      if (!(p > 0)) continue;
      Sums& sums = sums_[i * kinds_ + k];
      const double spread = m.rows * p * m.variance;
      sums.spread += spread;
      // All of the part as half of it.
      sums.weighted_spread +=
          spread * m.rows / counted.sample_rows * ratio_at(m.mean_variance, std::min(p, 0.5));
    }
  }
}

// end: at least the variance of an end.
CountSampling Strata::counts_of(std::size_t of, const CountSampling& largest, double end) const {
  CountSampling out = largest;
  if (asked_.empty() || !(rows_[of] > 0)) return out;
  for (std::size_t e = 0; e < ends_.size(); ++e)
    end = std::max(end, end_variance_[e * kinds_ + of]);
  out.end_variance = end;
  for (auto& shape : out.weight) std::fill(std::begin(shape), std::end(shape), -1.0F);
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    const Sums& sums = sums_[i * kinds_ + of];
    const double p = sums.rows / rows_[of];
    if (!(p > 0) || !(p < 1)) continue;
    const double more = std::max(sums.number_variance - p * p * largest.rows_variance, 0.0);
    const int shape = shape_of(static_cast<int>(asked_[i].shape), p);
    float& weight = out.weight[shape][scale_of(std::min(p, 1 - p))];
    weight = std::max(weight, finite_float((sums.variance + more) / (rows_[of] * p * (1 - p))));
  }
  for (int shape = 0; shape < kShapes; ++shape)
    fill_scales(out.weight[shape], largest.weight[shape]);
  return out;
}

void Strata::describe(CountSampling* rows, std::vector<MeanSampling>* measured) const {
  CountSampling largest;
  double end = 0, finite = 0, mean = 0, of_numbers = 0;
  for (const Header* h : densities_) {
    largest.add(*h);
    end = std::max(end, h->end_variance * square(h->rows));
    if (!(h->finite_rows() > 0)) continue;
    finite += h->finite_rows();
    mean += h->mean * h->finite_rows();
  }
  // How many rows a part has moves a mean towards the part's own.
  if (finite > 0) mean /= finite;
  for (const Header* h : densities_)
    if (h->finite_rows() > 0) of_numbers += of_number(*h, h->rows, h->mean - mean);
  // One density is as sure as it was.
  *rows = densities_.size() > 1 ? counts_of(0, largest, end) : largest;
  rows->sum_error = together(largest.sum_error, of_numbers);
  measured->clear();
  for (std::size_t k = 1; k < kinds_; ++k) {
    MeanSampling all;
    double measured_end = 0, measured_rows = 0, sum = 0;
    for (const Header* h : densities_) {
      const MeasureView view(h, static_cast<int>(k) - 1);
      if (!(view.header().rows > 0)) continue;
      all.add(mean_sampling(*h, view));
      const Header counted = counted_rows(*h, view);
      measured_end = std::max(measured_end, counted.end_variance * square(counted.rows));
      measured_rows += view.header().rows;
      sum += view.header().rows * view.header().mean;
    }
    if (densities_.size() > 1) {
      all.counts = counts_of(k, all.counts, measured_end);
      float weight[kErrorScales];
      std::fill(std::begin(weight), std::end(weight), -1.0F);
      for (std::size_t i = 0; i < asked_.size(); ++i) {
        const Sums& s = sums_[i * kinds_ + k];
        const double p = s.rows / rows_[k];
        if (!(s.spread > 0) || !(p > 0) || !(p < 1)) continue;
        float& most = weight[scale_of(std::min(p, 1 - p))];
        most = std::max(most, finite_float(s.weighted_spread / s.spread));
      }
      fill_scales(weight, all.weight);
      std::copy(std::begin(weight), std::end(weight), std::begin(all.weight));
    }
    double numbers = 0;
    for (const Header* h : densities_) {
      const MeasureView view(h, static_cast<int>(k) - 1);
      if (view.header().rows > 0)
        numbers += of_number(counted_rows(*h, view), view.header().rows,
                             view.header().mean - sum / measured_rows);
    }
    all.sum_error = together(all.sum_error, numbers);
    measured->push_back(all);
  }
}

}  // namespace kde
