// The differences of block_variance.h, range by range.
#include "core/sampling/block_variance.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace kde {

namespace {

// Ranges of a scale, at most; with one end there are fewer that differ.
constexpr int kTwoEnds = 64, kOneEnd = 8;
// Fewer rows do not tell whether they lie together: a smaller scale has the effect of the last that
// does.
constexpr std::size_t kLeastRows = 8;
constexpr double kLeastEffect = 0.01;

// Where ranges begin and end, as ranks of the rows drawn.
struct Ranks {
  std::size_t first, end;
};

double share_of(int scale) { return std::pow(0.25, scale + 1); }

std::vector<Ranks> ranges_of(Shape shape, int scale, std::size_t n) {
  std::vector<Ranks> out;
  const auto size = static_cast<double>(n);
  const auto rank = [size](double share) {
    return static_cast<std::size_t>(std::clamp(std::nearbyint(share * size), 0.0, size));
  };
  const int count = shape == Shape::two_ends ? kTwoEnds : kOneEnd;
  for (int i = 0; i < count; ++i) {
    const double at = (i + 0.5) / count;
    // Of the scale's neighbourhood, for one end; all over the column for two.
    const double share = share_of(scale) * (shape == Shape::two_ends ? 1 : std::pow(2, 2 * at - 1));
    Ranks r = {rank((1 - share) * at), 0};
    r.end = r.first + rank(share);
    if (shape == Shape::below) r = {0, rank(share)};
    if (shape == Shape::above) r = {n - rank(share), n};
    if (r.end - r.first >= kLeastRows && r.end - r.first < n) out.push_back(r);
  }
  return out;
}

std::vector<std::uint32_t> rows_by_block(const BlockRows& blocks) {
  std::vector<std::uint32_t> rows(blocks.rows.size());
  for (const std::uint32_t b : blocks.drawn_block) ++rows[b];
  return rows;
}

class Blocks {
 public:
  explicit Blocks(const BlockRows& blocks)
      : blocks_(blocks),
        drawn_in_(rows_by_block(blocks)),
        in_range_(drawn_in_),
        residual_(blocks.rows.size()) {
    sorted_.reserve(blocks.drawn.size());
    for (std::size_t i = 0; i < blocks.drawn.size(); ++i)
      sorted_.push_back({blocks.drawn[i], blocks.drawn_block[i]});
  }

  // False if control asked to stop.
  bool run(const Control& control, BlockVariance* out) {
    *out = BlockVariance();
    out->read = static_cast<double>(drawn_in_.size());
    if (drawn_in_.size() < 3 || sorted_.empty()) return true;
    out->rows = variance_of_rows(blocks_.rows);
    if (control.stop_requested()) return false;
    std::sort(sorted_.begin(), sorted_.end(),
              [](const Row& a, const Row& b) { return a.value < b.value; });
    for (int shape = 0; shape < kShapes; ++shape) {
      for (int scale = 0; scale < kErrorScales; ++scale) {
        if (control.stop_requested()) return false;
        double& effect = out->effect[shape][scale];
        if (!effect_of(ranges_of(static_cast<Shape>(shape), scale, sorted_.size()), &effect) &&
            scale > 0)
          effect = out->effect[shape][scale - 1];
        // A tail of less than two blocks' rows tells of few clumps: others are as likely there.
        if (share_of(scale) * out->read < 2) effect = std::max(effect, out->effect[0][scale]);
      }
    }
    out->end = end_variance(*out);
    // Of few blocks, thinned, the one estimate is unsure; the other is of 64 ranges.
    out->mean_effect = std::max(mean_effect(), out->effect[static_cast<int>(Shape::two_ends)][0]);
    return true;
  }

 private:
  // Of ranges wider than blocks lie apart.
  double end_variance(const BlockVariance& variance) const {
    const auto& effects = variance.effect[static_cast<int>(Shape::two_ends)];
    double least = std::numeric_limits<double>::infinity();
    for (int scale = 0; scale < kErrorScales; ++scale) {
      const double p = share_of(scale);
      if (scale > 0 && p * static_cast<double>(drawn_in_.size()) < 2) break;
      least = std::min(least, p * (1 - p) * effects[scale] / (2 * blocks_.finite));
    }
    return least;
  }

  // With e_i the sum of a block's x - mean, in units of the standard deviation, lest it overflow.
  double mean_effect() {
    const auto n = static_cast<double>(sorted_.size());
    double largest = 0;
    for (const Row& r : sorted_) largest = std::max(largest, std::fabs(r.value));
    if (!(largest > 0)) return 1;
    double mean = 0;
    for (const Row& r : sorted_) mean += r.value / largest / n;
    double square = 0;
    std::fill(residual_.begin(), residual_.end(), 0.0);
    for (const Row& r : sorted_) {
      const double e = r.value / largest - mean;
      square += e * e;
      residual_[r.block] += e;
    }
    if (!(square > 0)) return 1;
    const auto blocks = static_cast<double>(drawn_in_.size());
    return without_thinning(variance_by_differences(residual_) * blocks / square,
                            std::min(n / blocks_.finite, 1.0));
  }

  struct Row {
    double value;
    std::uint32_t block;
  };

  // The mean over the ranges; false where there is none.
  bool effect_of(const std::vector<Ranks>& ranges, double* effect) {
    if (ranges.empty()) return false;
    const auto n = static_cast<double>(sorted_.size());
    const auto blocks = static_cast<double>(drawn_in_.size());
    const double finite = blocks_.finite;
    const double q = std::min(n / finite, 1.0);
    double sum = 0;
    for (const Ranks& r : ranges) {
      move_to(r);
      const double p = static_cast<double>(r.end - r.first) / n;
      sum += in_range_.at(p) / (n / blocks * p * (1 - p));
    }
    const double drawn = sum / static_cast<double>(ranges.size());
    *effect = without_thinning(drawn, q);
    return true;
  }

  // in_range_ is of the rows of these ranks; of ranges that overlap few rows change.
  void move_to(const Ranks& r) {
    if (r.first >= range_.end || r.end <= range_.first) {
      while (range_.first < range_.end) in_range_.remove(sorted_[range_.first++].block);
      range_ = {r.first, r.first};
    }
    while (range_.first > r.first) in_range_.add(sorted_[--range_.first].block);
    while (range_.end < r.end) in_range_.add(sorted_[range_.end++].block);
    while (range_.first < r.first) in_range_.remove(sorted_[range_.first++].block);
    while (range_.end > r.end) in_range_.remove(sorted_[--range_.end].block);
  }

  const BlockRows& blocks_;
  std::vector<std::uint32_t> drawn_in_;  // rows drawn of each block
  std::vector<Row> sorted_;
  ResidualVariance in_range_;  // of rows drawn
  Ranks range_ = {0, 0};       // which
  std::vector<double> residual_;
};

// One of y's rows that are not NULL, in the order of x.
struct MeasuredRow {
  double x, y;
  std::uint32_t block;
};

// Of the mean over some rows; 1 where they do not differ, NaN where all are of one block. Residuals
// from the rows' own mean add up to 0: of blocks with the shares s_b of the rows the sum of their
// squares is too small by 1 - sum s_b^2, as n - 1 is for n of single rows.
double mean_effect_of(std::span<const MeasuredRow> rows, double q, std::vector<double>* residual) {
  double largest = 0;
  for (const MeasuredRow& r : rows) largest = std::max(largest, std::fabs(r.y));
  if (!(largest > 0)) return 1;
  double mean = 0;
  for (const MeasuredRow& r : rows) mean += r.y / largest / static_cast<double>(rows.size());
  std::fill(residual->begin(), residual->end(), 0.0);
  for (const MeasuredRow& r : rows) (*residual)[r.block] += 1 / static_cast<double>(rows.size());
  double alone = 0;
  for (double& share : *residual) {
    alone += share * share;
    share = 0;
  }
  if (!(alone < 1 - 1e-9)) return std::nan("");
  double square = 0;
  for (const MeasuredRow& r : rows) {
    const double e = r.y / largest - mean;
    square += e * e;
    (*residual)[r.block] += e;
  }
  if (!(square > 0)) return 1;
  const double drawn =
      variance_by_differences(*residual) * static_cast<double>(residual->size()) / square;
  return without_thinning(drawn / (1 - alone), q);
}

}  // namespace

namespace {

// What a variance that was estimated from the rows of few blocks is multiplied by, so that the
// normal's quantile for 95 % does for Student's: to first order (1 + (z^2 + 1)/(4 f))^2, f the
// blocks but one (Abramowitz & Stegun 26.7.5).
double for_few_blocks(std::span<const MeasuredRow> rows) {
  constexpr double kZ = 1.959964;
  std::vector<std::uint32_t> blocks;
  blocks.reserve(rows.size());
  for (const MeasuredRow& row : rows) blocks.push_back(row.block);
  std::sort(blocks.begin(), blocks.end());
  const auto met = std::unique(blocks.begin(), blocks.end()) - blocks.begin();
  const double more = 1 + (kZ * kZ + 1) / (4 * std::max(static_cast<double>(met - 1), 1.0));
  return more * more;
}

}  // namespace

bool estimate_mean_variance(const BlockRows& blocks, std::span<const double> y,
                            const Control& control, MeanVariance* out) {
  *out = MeanVariance();
  if (blocks.rows.size() < 3) return true;
  std::vector<MeasuredRow> rows;
  for (std::size_t i = 0; i < y.size(); ++i)
    if (!std::isnan(y[i])) rows.push_back({blocks.drawn[i], y[i], blocks.drawn_block[i]});
  if (rows.empty()) return true;
  if (control.stop_requested()) return false;
  std::sort(rows.begin(), rows.end(),
            [](const MeasuredRow& a, const MeasuredRow& b) { return a.x < b.x; });
  const double q = std::min(static_cast<double>(blocks.drawn.size()) / blocks.finite, 1.0);
  std::vector<double> residual(blocks.rows.size());
  const double whole = mean_effect_of(rows, q, &residual);
  if (!std::isnan(whole)) out->whole = whole;
  for (int scale = 0; scale < kErrorScales; ++scale) {
    if (control.stop_requested()) return false;
    double sum = 0;
    int known = 0;
    for (const Ranks& r : ranges_of(Shape::two_ends, scale, rows.size())) {
      const double effect =
          mean_effect_of(std::span(rows).subspan(r.first, r.end - r.first), q, &residual);
      if (std::isnan(effect)) continue;
      sum += effect;
      ++known;
    }
    out->effect[scale] = known > 0 ? sum / known : scale > 0 ? out->effect[scale - 1] : out->whole;
  }
  // Of few blocks the one estimate is unsure; the other is of many ranges.
  out->whole = std::max(out->whole, out->effect[0]);
  const double unsure = for_few_blocks(rows);
  out->whole *= unsure;
  for (double& effect : out->effect) effect *= unsure;
  return true;
}

// The variance of x_i by first and second differences, the first of them after the last: of
// independent x_i their squares have expectations of 2 and 6 times their variance.
double variance_by_differences(std::span<const double> x) {
  const std::size_t size = x.size();
  const auto square = [](double d) { return d * d; };
  double first = 0;
  double second = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const double next = x[i + 1 == size ? 0 : i + 1];
    const double before = x[i == 0 ? size - 1 : i - 1];
    first += square(next - x[i]);
    second += square(before - 2 * x[i] + next);
  }
  const auto n = static_cast<double>(size);
  return (first / (2 * n) + second / (6 * n)) / 2;
}

ResidualVariance::ResidualVariance(std::span<const std::uint32_t> d)
    : c_(d.size()), differences_of_d_(d.size()) {
  const std::size_t size = d.size();
  const auto before = [size](std::size_t i) { return (i == 0 ? size : i) - 1; };
  const auto after = [size](std::size_t i) { return i + 1 == size ? 0 : i + 1; };
  for (std::size_t i = 0; i < size; ++i)
    differences_of_d_[i].first = 2 * std::int64_t{d[i]} - d[before(i)] - d[after(i)];
  for (std::size_t i = 0; i < size; ++i) {
    Forms& here = differences_of_d_[i];
    here.second =
        2 * here.first - differences_of_d_[before(i)].first - differences_of_d_[after(i)].first;
    d_d_.first += d[i] * here.first;
    d_d_.second += d[i] * here.second;
  }
}

// With c + s u, u the block's unit vector: s^2 = 1, and u Lu = 2, u LLu = 6.
void ResidualVariance::change(std::size_t block, std::int64_t step) {
  const std::size_t size = c_.size();
  const std::size_t before = (block == 0 ? size : block) - 1;
  const std::size_t after = block + 1 == size ? 0 : block + 1;
  const std::int64_t here = c_[block];
  const std::int64_t beside = c_[before] + c_[after];
  const std::int64_t beyond =
      c_[(before == 0 ? size : before) - 1] + c_[after + 1 == size ? 0 : after + 1];
  c_c_.first += 2 * step * (2 * here - beside) + 2;
  c_c_.second += 2 * step * (6 * here - 4 * beside + beyond) + 6;
  c_d_.first += step * differences_of_d_[block].first;
  c_d_.second += step * differences_of_d_[block].second;
  c_[block] = here + step;
}

double ResidualVariance::at(double p) const {
  const auto of = [p](std::int64_t cc, std::int64_t cd, std::int64_t dd) {
    return static_cast<double>(cc) -
           p * (2 * static_cast<double>(cd) - p * static_cast<double>(dd));
  };
  const auto n = static_cast<double>(c_.size());
  return (of(c_c_.first, c_d_.first, d_d_.first) / (2 * n) +
          of(c_c_.second, c_d_.second, d_d_.second) / (6 * n)) /
         2;
}

double variance_of_rows(std::span<const std::uint32_t> rows) {
  if (rows.size() < 3) return 0;
  const std::vector<double> x(rows.begin(), rows.end());
  double total = 0;
  for (const double r : x) total += r;
  return total > 0 ? variance_by_differences(x) * static_cast<double>(x.size()) / (total * total)
                   : 0;
}

double number_variance(double of_rows, double read, double share) {
  if (!(share < 1)) return 0;
  const double last = read > 0 ? share / read : 0;
  return (1 - share) * of_rows + last * last / 3;
}

double without_thinning(double effect, double q) {
  return std::max((effect - (1 - q)) / q, kLeastEffect);
}

bool estimate_block_variance(const BlockRows& blocks, const Control& control, BlockVariance* out) {
  return Blocks(blocks).run(control, out);
}

}  // namespace kde
