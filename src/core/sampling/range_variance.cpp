// The cells and the products of range_variance.h.
#include "core/sampling/range_variance.h"

#include "core/density/range_effects.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <queue>

namespace kde {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
// Of fewer blocks nothing is told apart.
constexpr std::size_t kLeastBlocks = 30;
// Rows of a cell at least, and of all cells together for each.
constexpr std::size_t kLeastRows = 12, kRowsOfCell = 48;
// Standard errors from which a difference counts, and from which it counts whole.
constexpr double kDoubted = 2.5, kSure = 4;
// And which no pair's has by chance.
constexpr double kTelling = 5;
// An effect is not told to be less than this, unless those of its share are.
constexpr double kLeastLocal = 0.9;
// Parts of a cell that ranges within it are taken from.
constexpr std::size_t kPartsOfCell = 4;

double square(double x) { return x * x; }

// Effects by shape and scale, as ratio_at() takes them.
struct Scales {
  float of[kShapes][kErrorScales];

  explicit Scales(const BlockVariance& v) {
    for (int shape = 0; shape < kShapes; ++shape)
      for (int i = 0; i < kErrorScales; ++i) of[shape][i] = static_cast<float>(v.effect[shape][i]);
  }
};

// What the rows drawn of each block have in each cell.
struct BlocksOfRows {
  std::span<const std::uint32_t> cell;  // of each row, block by block
  std::vector<std::size_t> begin;       // of each block's rows, and the last one's end
  std::size_t cells;
};

// Of two values of every row the products of what blocks have of them, for cells and then for what
// is up to their ends: x' Q y, Q of variance_by_differences(), times blocks; or x' y.
class Products {
 public:
  // False if control asked to stop.
  bool add_up(const BlocksOfRows& rows, std::span<const double> x, std::span<const double> y,
              bool by_differences, const Control& control) {
    k_ = rows.cells + 1;
    of_.assign(k_ * k_, 0);
    const std::size_t blocks = rows.begin.size() - 1;
    std::vector<double> own(rows.cells), other(rows.cells);
    const auto add = [&](std::size_t block, std::span<const double> values, double times,
                         std::vector<double>* to) {
      for (std::size_t i = rows.begin[block]; i < rows.begin[block + 1]; ++i)
        (*to)[rows.cell[i]] += times * values[i];
    };
    for (std::size_t b = 0; b < blocks; ++b) {
      if (b % 256 == 0 && control.stop_requested()) return false;
      std::fill(own.begin(), own.end(), 0.0);
      std::fill(other.begin(), other.end(), 0.0);
      add(b, x, 1, &own);
      add(b, y, 1, &other);
      // L/4 + LL/12, with (Lx)_b = 2 x_b - x_{b-1} - x_{b+1}.
      for (const std::size_t off : {1, 2}) {
        if (!by_differences) break;
        const double times = off == 1 ? -7.0 / 12 : 1.0 / 12;
        add((b + off) % blocks, y, times, &other);
        add((b + 2 * blocks - off) % blocks, y, times, &other);
      }
      for (std::size_t i = 0; i < rows.cells; ++i) {
        if (own[i] == 0) continue;
        double* to = &of_[(i + 1) * k_ + 1];
        for (std::size_t j = 0; j < rows.cells; ++j) to[j] += own[i] * other[j];
      }
    }
    for (std::size_t i = 1; i < k_; ++i)
      for (std::size_t j = 1; j < k_; ++j)
        at(i, j) += at(i - 1, j) + at(i, j - 1) - at(i - 1, j - 1);
    return true;
  }

  // Between two ends, of both; of x there, and of y of all.
  double between(std::size_t i, std::size_t j) const {
    return of(j, j) - of(i, j) - of(j, i) + of(i, i);
  }
  double with_all(std::size_t i, std::size_t j) const { return of(j, k_ - 1) - of(i, k_ - 1); }
  double all() const { return of(k_ - 1, k_ - 1); }

 private:
  double& at(std::size_t i, std::size_t j) { return of_[i * k_ + j]; }
  double of(std::size_t i, std::size_t j) const { return of_[i * k_ + j]; }

  std::size_t k_ = 0;  // ends, with that below all
  std::vector<double> of_;
};

// How much of the difference of two effects is believed, of which one has that standard error.
double belief(double difference, double error, bool* tells) {
  const double errors = std::fabs(difference) / error;
  *tells = *tells || errors > kTelling;
  return std::clamp((errors - kDoubted) / (kSure - kDoubted), 0.0, 1.0);
}

class Estimate {
 public:
  Estimate(const BlockRows& blocks, const BlockVariance& whole, RangeVariance* out)
      : blocks_(blocks),
        whole_(whole),
        scales_(whole),
        n_(static_cast<double>(blocks.drawn.size())),
        b_(static_cast<double>(blocks.rows.size())),
        q_(std::min(n_ / blocks.finite, 1.0)),
        drawn_in_(blocks.rows.size()),
        out_(*out) {
    rows_.reserve(blocks.drawn.size());
    for (std::size_t i = 0; i < blocks.drawn.size(); ++i) {
      rows_.push_back({blocks.drawn[i], blocks.drawn_block[i], static_cast<std::uint32_t>(i)});
      ++drawn_in_[blocks.drawn_block[i]];
    }
    std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
      return a.value != b.value ? a.value < b.value : a.number < b.number;
    });
  }

  bool run(std::span<const std::span<const double>> y, std::span<const MeanVariance> means,
           int most_cells, const Control& control) {
    if (!choose_cells(static_cast<std::size_t>(most_cells), control)) return false;
    if (cells() < 2) return true;
    for (std::size_t c = 1; c <= cells(); ++c) {
      if (c < cells()) out_.end.push_back(rows_[first_[c] - 1].value);
      out_.through.push_back(static_cast<double>(first_[c]) / n_);
    }
    divide_rows();
    if (!find_counts(control)) return false;
    MeanVariance own;
    own.whole = whole_.mean_effect;
    for (int i = 0; i < kErrorScales; ++i) own.effect[i] = scales_.of[0][i];
    if (!find_means(blocks_.drawn, own, true, control, &out_.own)) return false;
    out_.mean.resize(y.size());
    for (std::size_t k = 0; k < y.size(); ++k)
      if (!find_means(y[k], means[k], false, control, &out_.mean[k])) return false;
    return true;
  }

 private:
  struct Row {
    double value;
    std::uint32_t block, number;
  };
  struct Cell {
    std::size_t first, end, middle;  // rows; the middle is where it is divided
    double mass;

    bool operator<(const Cell& other) const { return mass < other.mass; }
  };

  std::size_t cells() const { return first_.size() - 1; }
  std::size_t rows_in(std::size_t i, std::size_t j) const { return first_[j] - first_[i]; }
  double share_in(std::size_t i, std::size_t j) const {
    return static_cast<double>(rows_in(i, j)) / n_;
  }

  // Of rows that are drawn the effect of what `share` of those of each block has: of the count of
  // rows [first, end), given how many rows of `of` there are, `share` of which are in it.
  double effect_of(std::size_t first, std::size_t end, std::span<const double> of, double share) {
    residual_.assign(of.begin(), of.end());
    for (double& e : residual_) e *= -share;
    for (std::size_t i = first; i < end; ++i) residual_[rows_[i].block] += 1;
    return b_ * variance_by_differences(residual_) /
           (static_cast<double>(end - first) * (1 - share));
  }

  // Between two values, as near the median as may be.
  std::size_t middle_of(std::size_t first, std::size_t end) const {
    const std::size_t half = first + (end - first) / 2;
    for (std::size_t off = 0; off <= (end - first) / 2; ++off) {
      for (const std::size_t at : {half - off, half + off}) {
        if (at < first + kLeastRows || at + kLeastRows > end) continue;
        if (rows_[at - 1].value < rows_[at].value) return at;
      }
    }
    return end;
  }

  Cell cell_of(std::size_t first, std::size_t end) {
    const std::size_t middle = middle_of(first, end);
    const auto rows = static_cast<double>(end - first);
    if (middle == end) return {first, end, end, 0};
    if (first == 0 && end == rows_.size()) return {first, end, middle, rows};
    const double share = rows / n_;
    return {first, end, middle, rows * (1 + (1 - share) * effect_of(first, end, drawn_, share))};
  }

  bool choose_cells(std::size_t most, const Control& control) {
    drawn_.assign(drawn_in_.begin(), drawn_in_.end());
    most = std::min({most, rows_.size() / kRowsOfCell, std::size_t{kMostEffectCells}});
    std::priority_queue<Cell> open;
    first_ = {0, rows_.size()};
    if (most < 2) return true;
    open.push(cell_of(0, rows_.size()));
    while (first_.size() <= most && open.top().mass > 0) {
      if (control.stop_requested()) return false;
      const Cell cell = open.top();
      open.pop();
      first_.push_back(cell.middle);
      open.push(cell_of(cell.first, cell.middle));
      open.push(cell_of(cell.middle, cell.end));
    }
    std::sort(first_.begin(), first_.end());
    return true;
  }

  // Shape of the range between two ends; of all no shape.
  Shape shape_of(std::size_t i, std::size_t j) const {
    return i == 0 ? Shape::below : j == cells() ? Shape::above : Shape::two_ends;
  }
  double usual(Shape shape, double p) const {
    if (p > 0.5 && shape != Shape::two_ends)
      shape = shape == Shape::below ? Shape::above : Shape::below;
    return ratio_at(scales_.of[static_cast<int>(shape)], p);
  }

  // The effect of a range where those of its share have `usual`: drawn, with a standard error of so
  // much of the usual one; NaN where they are not told apart.
  double told_apart(double drawn, double usual, double error, bool* tells,
                    bool only_more = false) const {
    const double expected = q_ * usual + (1 - q_);
    if (only_more && drawn < expected) return kNan;
    const double by = belief(drawn / expected - 1, error, tells);
    if (!(by > 0)) return kNan;
    const double own = std::max(without_thinning(drawn, q_), std::min(usual, kLeastLocal));
    return usual + by * (own - usual);
  }
  // Of residuals of that kurtosis' excess, of so many rows; of few of them the estimate is skewed.
  double error_of(double rows, double excess) const {
    return std::sqrt((4 + excess * b_ / rows) / b_) + 1 / b_ + 4 / rows;
  }

  void divide_rows() {
    cell_.resize(rows_.size());
    for (std::size_t c = 0; c < cells(); ++c)
      for (std::size_t i = first_[c]; i < first_[c + 1]; ++i)
        cell_[rows_[i].number] = static_cast<std::uint32_t>(c);
    by_block_ = {cell_, {0}, cells()};
    for (const std::uint32_t rows : drawn_in_)
      by_block_.begin.push_back(by_block_.begin.back() + rows);
  }

  bool find_counts(const Control& control) {
    const std::size_t k = cells();
    ones_.assign(rows_.size(), 1);
    if (!counts_.add_up(by_block_, ones_, ones_, true, control)) return false;
    out_.count.assign(effect_pairs(k), kNan);
    variance_.assign(effect_pairs(k), 0);
    for (std::size_t j = 1; j <= k; ++j) {
      for (std::size_t i = 0; i < j; ++i) {
        if (i == 0 && j == k) continue;
        const double p = share_in(i, j);
        const double variance = std::max(
            counts_.between(i, j) - p * (2 * counts_.with_all(i, j) - p * counts_.all()), 0.0);
        const double fewer = static_cast<double>(rows_in(i, j)) * std::min(1.0, (1 - p) / p);
        variance_[effect_pair(i, j)] = variance;
        out_.count[effect_pair(i, j)] =
            told_apart(variance / (n_ * p * (1 - p)), usual(shape_of(i, j), p), error_of(fewer, 1),
                       &out_.tell);
      }
    }
    for (std::size_t c = 0; c < k; ++c) out_.within.push_back(within_cell(c));
    return true;
  }

  // The most of a part of the cell's rows, where others have the share of their own.
  double within_cell(std::size_t c) {
    const std::size_t rows = rows_in(c, c + 1);
    if (rows_[first_[c]].value == rows_[first_[c + 1] - 1].value)
      return std::numeric_limits<double>::infinity();
    if (rows < 2 * kLeastRows) return kNan;
    std::vector<double> of(drawn_in_.size());
    for (std::size_t i = first_[c]; i < first_[c + 1]; ++i) of[rows_[i].block] += 1;
    const std::size_t parts = std::min(kPartsOfCell, rows / kLeastRows);
    const double share = 1.0 / static_cast<double>(parts);
    double most = kNan;
    for (std::size_t part = 0; part < parts; ++part) {
      const std::size_t first = first_[c] + rows * part / parts;
      const std::size_t end = first_[c] + rows * (part + 1) / parts;
      const double in_part = static_cast<double>(end - first);
      const double drawn = effect_of(first, end, of, in_part / static_cast<double>(rows));
      const double own = told_apart(drawn, usual(Shape::two_ends, share * share_in(c, c + 1)),
                                    error_of(in_part, 1), &out_.tell);
      most = std::fmax(most, own);
    }
    return most;
  }

  // Sums over rows up to each end.
  struct Moments {
    double rows = 0, of[4] = {};  // y, y^2, y^3, y^4

    Moments less(const Moments& other) const {
      Moments out = *this;
      out.rows -= other.rows;
      for (int p = 0; p < 4; ++p) out.of[p] -= other.of[p];
      return out;
    }
    double mean() const { return of[0] / rows; }
    double squares() const { return of[1] - rows * mean() * mean(); }
    // The excess of the kurtosis, but no less than a count's.
    double excess() const {
      const double mu = mean();
      const double fourth =
          of[3] - 4 * mu * of[2] + 6 * mu * mu * of[1] - 3 * rows * square(square(mu));
      return std::max(fourth * rows / square(squares()) - 3, 1.0);
    }
  };

  // About the mean, in units of the farthest from it, and 0 where NULL; false for no two that differ.
  struct Measured {
    double mean = 0, unit = 0;
    std::vector<double> y, there;
    bool has_nulls = false;

    explicit Measured(std::span<const double> of) {
      double rows = 0;
      for (const double v : of) rows += std::isnan(v) ? 0 : 1;
      has_nulls = rows < static_cast<double>(of.size());
      for (const double v : of) mean += std::isnan(v) ? 0 : v / rows;
      for (const double v : of) unit = std::fmax(unit, std::fabs(v - mean));
      if (!differs()) return;
      for (const double v : of) {
        there.push_back(std::isnan(v) ? 0 : 1);
        y.push_back(std::isnan(v) ? 0 : (v - mean) / unit);
      }
    }
    bool differs() const { return unit > 0 && std::isfinite(unit); }
  };

  std::vector<Moments> moments_of(const Measured& m) const {
    std::vector<Moments> out(cells() + 1);
    for (std::size_t i = 0; i < m.y.size(); ++i) {
      if (m.there[i] == 0) continue;
      Moments& to = out[cell_[i] + 1];
      to.rows += 1;
      double power = 1;
      for (double& of : to.of) of += power *= m.y[i];
    }
    for (std::size_t c = 1; c < out.size(); ++c) {
      out[c].rows += out[c - 1].rows;
      for (int p = 0; p < 4; ++p) out[c].of[p] += out[c - 1].of[p];
    }
    return out;
  }

  bool find_means(std::span<const double> of, const MeanVariance& usual, bool own,
                  const Control& control, RangeMeans* out) {
    const std::size_t k = cells();
    out->effect.assign(effect_pairs(k), kNan);
    out->correlation.assign(effect_pairs(k), 0);
    const Measured m(of);
    if (!m.differs()) return true;
    const std::vector<Moments> moments = moments_of(m);
    // y with itself, with the rows where it is not NULL, and with all; those rows with both.
    Products y_y, y_there, y_all, there_there, there_all, plain;
    const auto add = [&](Products* to, std::span<const double> a, std::span<const double> b,
                         bool differences) {
      return to->add_up(by_block_, a, b, differences, control);
    };
    if (!add(&y_y, m.y, m.y, true) || !add(&y_all, m.y, ones_, true) ||
        !add(&plain, m.there, m.there, false))
      return false;
    if (m.has_nulls &&
        (!add(&y_there, m.y, m.there, true) || !add(&there_there, m.there, m.there, true) ||
         !add(&there_all, m.there, ones_, true)))
      return false;
    const Products& y_rows = m.has_nulls ? y_there : y_all;
    const Products& rows_rows = m.has_nulls ? there_there : counts_;
    const Products& rows_all = m.has_nulls ? there_all : counts_;
    for (std::size_t j = 1; j <= k; ++j) {
      for (std::size_t i = 0; i < j; ++i) {
        const Moments in = moments[j].less(moments[i]);
        if (in.rows < static_cast<double>(kLeastRows)) continue;
        const double mu = in.mean(), squares = in.squares();
        if (!(squares > 1e-9 * in.of[1])) continue;
        const double alone = plain.between(i, j) / square(in.rows);
        if (!(alone < 1 - 1e-9)) continue;
        double variance =
            y_y.between(i, j) - mu * (2 * y_rows.between(i, j) - mu * rows_rows.between(i, j));
        // That is too much where rows are mixed: means of x are not told to be surer than others.
        if (own) variance -= ends_of(i, j, m.mean + m.unit * mu) / square(m.unit);
        const double drawn = std::max(variance, 0.0) / squares / (1 - alone);
        const double p = share_in(i, j);
        const std::size_t pair = effect_pair(i, j);
        out->effect[pair] = told_apart(drawn, mean_usual(usual, own, shape_of(i, j), p),
                                       error_of(in.rows, in.excess()), &out->tell, own);
        if (i == 0 && j == k) continue;
        // Of a count less p times all.
        const double together = y_all.between(i, j) - mu * rows_all.between(i, j) -
                                p * (y_all.with_all(i, j) - mu * rows_all.with_all(i, j));
        out->correlation[pair] =
            correlation(together, variance_[pair], variance, squares, n_ * p * (1 - p), &out->tell);
      }
    }
    return true;
  }

  // Of a sum of x - mean that of the rows at both ends (BlockVariance::end), which is told apart.
  double ends_of(std::size_t i, std::size_t j, double mean) const {
    double out = 0;
    if (i > 0) out += square(rows_[first_[i]].value - mean);
    if (j < cells()) out += square(rows_[first_[j] - 1].value - mean);
    return whole_.end * n_ * n_ * out;
  }

  double mean_usual(const MeanVariance& usual, bool own, Shape shape, double p) const {
    if (!own) {
      float of[kErrorScales];
      for (int i = 0; i < kErrorScales; ++i) of[i] = static_cast<float>(usual.effect[i]);
      return p < 1 ? ratio_at(of, std::min(p, 0.5)) : of[0];
    }
    if (!(p > 0.5)) return ratio_at(scales_.of[static_cast<int>(shape)], p);
    return std::max({ratio_at(scales_.of[static_cast<int>(Shape::below)], 0.5),
                     ratio_at(scales_.of[static_cast<int>(Shape::above)], 0.5), usual.whole});
  }

  // Over the root of the product of both sides' variances if rows came one by one, without
  // thinning, in which they have nothing to do with each other.
  double correlation(double together, double count, double mean, double squares, double binomial,
                     bool* tells) const {
    const double error = std::sqrt(std::max(count, binomial) * std::max(mean, squares) * 2 / b_);
    if (!(error > 0)) return 0;
    return belief(together, error, tells) * together / std::sqrt(squares * binomial) / q_;
  }

  const BlockRows& blocks_;
  const BlockVariance& whole_;
  Scales scales_;
  double n_, b_, q_;
  std::vector<std::uint32_t> drawn_in_;  // rows drawn of each block
  std::vector<double> drawn_;            // the same
  std::vector<Row> rows_;
  std::vector<std::size_t> first_;  // where cells begin, and end
  std::vector<double> residual_;
  std::vector<std::uint32_t> cell_;  // of each row, as it was drawn
  BlocksOfRows by_block_;
  std::vector<double> ones_;      // of each row
  Products counts_;               // of those
  std::vector<double> variance_;  // of counts, drawn, by pair
  RangeVariance& out_;
};

}  // namespace

bool estimate_range_variance(const BlockRows& blocks, std::span<const std::span<const double>> y,
                             const BlockVariance& whole, std::span<const MeanVariance> means,
                             int most_cells, const Control& control, RangeVariance* out) {
  *out = RangeVariance();
  if (blocks.rows.size() < kLeastBlocks || blocks.drawn.empty()) return true;
  return Estimate(blocks, whole, out).run(y, means, most_cells, control);
}

bool estimate_measured_variance(const BlockRows& blocks, std::span<const double> y,
                                std::span<const std::uint32_t> measured, int most_cells,
                                const Control& control, BlockVariance* out, RangeVariance* ranges) {
  std::vector<double> drawn;
  std::vector<std::uint32_t> block;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (std::isnan(y[i])) continue;
    drawn.push_back(blocks.drawn[i]);
    block.push_back(blocks.drawn_block[i]);
  }
  const double share =
      y.empty() ? 0 : static_cast<double>(drawn.size()) / static_cast<double>(y.size());
  const BlockRows rows = {drawn, block, measured, blocks.finite * share};
  return estimate_block_variance(rows, control, out) &&
         (most_cells == 0 ||
          estimate_range_variance(rows, {}, *out, {}, most_cells, control, ranges));
}

}  // namespace kde
