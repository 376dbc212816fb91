// The tests of word_drift.h.
#include "core/integrate/word_drift.h"

#include "core/integrate/integrate.h"
#include "core/guarded.h"

#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/gamma.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <vector>

namespace kde {

namespace {

using namespace boost::math::policies;
using Quiet =
    policy<domain_error<ignore_error>, pole_error<ignore_error>, overflow_error<ignore_error>,
           evaluation_error<ignore_error>, promote_double<false>>;

// Rows expected of the fresh sample, and of the density's own.
constexpr double kEnough = 5;
constexpr double kEnoughBehind = 20;
constexpr double kRounding = 1e-9;  // of sums of shares
// Neighbouring blocks are put together beyond so many.
constexpr std::size_t kMostBlocks = 256;

double two_sided(double z) { return z > 0 ? std::erfc(z / std::numbers::sqrt2) : 1; }

// A value, or several.
struct Cell {
  double share = 0;     // p
  double variance = 0;  // of it, by the density's own sample
};

class Test {
 public:
  Test(const DensityView& density, const WordsView& words, const Sample& sample,
       const Control& control)
      : h_(density.header()),
        words_(words),
        control_(control),
        rows_(static_cast<double>(sample.drawn.size())) {
    known_ = (h_.flags & kEveryRowRead) != 0;
    make_cells(density);
    count(sample);
  }

  Drift run() const {
    Drift out;
    out.p_value = 1;
    int tests = 0;
    const auto note = [&](double p) {
      out.p_value = std::min(out.p_value, p);
      ++tests;
    };
    double apart = 0;
    double by_chance = 0;
    if (!cells_.empty()) note(of_cells(&apart, &by_chance, &out.distance));
    note(of_rest(&apart, &out.distance));
    out.distance = std::max(apart / 2 - by_chance / 2, out.distance);
    if (!known_) note(of_low(&out.distance));
    out.p_value = std::min(out.p_value * tests, 1.0);
    // Nothing but what sums of shares leave.
    out.distance = out.distance < kRounding ? 0 : std::min(out.distance, 1.0);
    return out;
  }

 private:
  static constexpr std::uint32_t kRest = 0xffffffff, kLow = 0xfffffffe;

  void make_cells(const DensityView& density) {
    cell_of_.assign(words_.words(), kRest);
    bool open = false;  // whether the last cell takes more values
    for (std::uint32_t r = 0; r < words_.words(); ++r) {
      Range alone;
      alone.lower = alone.upper = r;
      alone.lower_unbounded = alone.upper_unbounded = false;
      const double p = h_.rows > 0 ? kde::count(density, alone) / h_.rows : 0;
      if (!(p > 0)) continue;
      const double spread = known_ ? 0 : words_.spread(r) * p * (1 - p) / h_.sample_rows;
      const double variance = spread + 4 * h_.error * h_.error;
      const bool enough = p * rows_ >= kEnough && p * p >= kEnoughBehind * variance;
      if (known_ && !(h_.error > 0)) {
        if (!open) cells_.emplace_back();
        cells_.back().share += p;
        open = cells_.back().share * rows_ < kEnough;
        cell_of_[r] = static_cast<std::uint32_t>(cells_.size() - 1);
      } else if (enough) {
        cells_.push_back({p, variance});
        cell_of_[r] = static_cast<std::uint32_t>(cells_.size() - 1);
      } else {
        cell_of_[r] = kLow;
        // As many fewer as three of its standard deviations.
        low_least_ += std::max(p - 3 * std::sqrt(variance), 0.0);
      }
    }
    // What is left are too few for a cell of their own.
    if (open && cells_.size() > 1) {
      const double share = cells_.back().share;
      cells_.pop_back();
      cells_.back().share += share;
      for (std::uint32_t& cell : cell_of_)
        if (cell == cells_.size()) --cell;
    }
    rest_share_ = 1;
    for (const Cell& c : cells_) rest_share_ -= c.share;
    if (rest_share_ < kRounding) rest_share_ = 0;
  }

  void count(const Sample& sample) {
    const bool by_block = sample.by_block();
    const std::size_t all =
        by_block ? std::size_t{sample.drawn_block.back()} + 1 : sample.drawn.size();
    blocks_ = std::min(all, kMostBlocks);
    counts_.assign((cells_.size() + 1) * blocks_, 0);
    block_rows_.assign(blocks_, 0);
    std::size_t last_with_rest = all;
    for (std::size_t i = 0; i < sample.drawn.size(); ++i) {
      const std::size_t own = by_block ? sample.drawn_block[i] : i;
      const std::size_t b = own * blocks_ / all;
      ++block_rows_[b];
      const auto rank = static_cast<std::size_t>(sample.drawn[i]);
      const std::uint32_t cell = rank < cell_of_.size() ? cell_of_[rank] : kRest;
      if (cell == kLow) ++low_rows_;
      if (cell == kLow || cell == kRest) {
        ++row(cells_.size())[b];
        if (own != last_with_rest) ++blocks_with_rest_;
        last_with_rest = own;
      } else {
        ++row(cell)[b];
      }
    }
  }

  std::span<double> row(std::size_t cell) { return {&counts_[cell * blocks_], blocks_}; }
  std::span<const double> row(std::size_t cell) const {
    return {&counts_[cell * blocks_], blocks_};
  }
  double share_drawn(std::size_t cell) const {
    double sum = 0;
    for (const double c : row(cell)) sum += c;
    return sum / rows_;
  }

  // The differences d of a cell, its drawn share q.
  void differences(std::size_t cell, double q, double* out) const {
    const std::span<const double> c = row(cell);
    for (std::size_t i = 0; i < blocks_; ++i) {
      const std::size_t next = i + 1 < blocks_ ? i + 1 : 0;
      const double here = c[i] - q * block_rows_[i];
      const double there = c[next] - q * block_rows_[next];
      out[i] = (here - there) / std::numbers::sqrt2;
    }
  }
  // The variance of q, no less than that of independent rows.
  double variance_of(std::span<const double> d, double p) const {
    double squares = 0;
    for (const double x : d) squares += x * x;
    return std::max(squares / (rows_ * rows_), p * (1 - p) / rows_);
  }

  // *distance: at least that of the most frequent values together, however many those are.
  double of_cells(double* apart, double* by_chance, double* distance) const {
    const std::size_t k = cells_.size();
    double moved = 0, farthest = 0;
    std::vector<double> d(k * blocks_);
    double statistic = 0, trace = 0, independent = 0, behind = 0;
    for (std::size_t r = 0; r < k; ++r) {
      const Cell& c = cells_[r];
      const double q = share_drawn(r);
      double* own = &d[r * blocks_];
      differences(r, q, own);
      const double variance = variance_of({own, blocks_}, c.share);
      *apart += std::fabs(q - c.share);
      moved += q - c.share;
      farthest = std::max(farthest, std::fabs(moved));
      *by_chance += std::sqrt(2 / std::numbers::pi * (variance + c.variance));
      statistic += rows_ * (q - c.share) * (q - c.share) / c.share;
      independent += 1 - c.share;
      behind += rows_ * c.variance / c.share;
      const double scale = 1 / std::sqrt(rows_ * c.share);
      for (std::size_t i = 0; i < blocks_; ++i) {
        own[i] *= scale;
        trace += own[i] * own[i];
      }
    }
    // The sum of squares of D is that of the blocks' products.
    double squares = 0;
    std::vector<double> product(blocks_);
    for (std::size_t i = 0; i < blocks_; ++i) {
      std::fill(product.begin(), product.end(), 0.0);
      // What it gives is of no use then.
      if (control_.stop_requested()) break;
      for (std::size_t r = 0; r < k; ++r) {
        const double* own = &d[r * blocks_];
        if (own[i] == 0) continue;
        for (std::size_t j = 0; j < blocks_; ++j) product[j] += own[i] * own[j];
      }
      for (const double x : product) squares += x * x;
    }
    const double nu = squares > 0 ? trace * trace / squares : static_cast<double>(k);
    const double total = std::max(trace, independent) + behind;
    if (!(total > 0) || blocks_ < 3) return 1;
    *distance = std::max(farthest - std::sqrt(total / independent / rows_), *distance);
    const double x = statistic / total;
    const double of_blocks = nu * static_cast<double>(blocks_ - 1);
    return boost::math::ibeta(of_blocks / 2, nu / 2, of_blocks / (of_blocks + nu * x), Quiet());
  }

  double of_rest(double* apart, double* distance) const {
    const double q = share_drawn(cells_.size());
    // Values of a sample that are met in it may be a part of the table's.
    const double unmet =
        known_ || !(h_.rows > 0)
            ? 0
            : (words_.header().unseen + 3 * words_.header().unseen_error) / h_.rows;
    const double most = rows_ * std::max(rest_share_, unmet);
    if (most < kEnough) {
      const double off = std::max(std::fabs(q - rest_share_) - unmet, 0.0);
      *apart += off;
      *distance = std::max(*distance, off);
      if (blocks_with_rest_ == 0) return 1;
      return most > 0 ? boost::math::gamma_p(blocks_with_rest_, most, Quiet()) : 0;
    }
    double behind = 0;
    for (const Cell& c : cells_) behind += std::sqrt(c.variance);
    std::vector<double> d(blocks_);
    differences(cells_.size(), q, d.data());
    const double error = std::sqrt(variance_of(d, std::min(rest_share_, 1.0)));
    const double off = std::fabs(q - rest_share_) - behind;
    *apart += std::max(off - error, 0.0);
    *distance = std::max(*distance, off - error);
    return error > 0 ? two_sided(off / error) : off > 0 ? 0 : 1;
  }

  // Whether values of few rows are still met.
  double of_low(double* distance) const {
    const double short_of = low_least_ - low_rows_ / rows_;
    const double error = std::sqrt(low_least_ * std::max(1 - low_least_, 0.0) / rows_);
    if (!(short_of > 0)) return 1;
    *distance = std::max(*distance, short_of - error);
    // As if blocks were rows: there may be as few of them.
    const double fewer = std::sqrt(rows_ / static_cast<double>(blocks_));
    return two_sided(error > 0 ? short_of / (error * std::max(fewer, 1.0)) : 0);
  }

  const Header& h_;
  const WordsView& words_;
  const Control& control_;
  double rows_;  // m
  bool known_;   // every row
  std::vector<Cell> cells_;
  std::vector<std::uint32_t> cell_of_;  // of each word
  double rest_share_ = 1;
  double low_least_ = 0;  // share at least of the values that are kept and in no cell
  double low_rows_ = 0;
  std::size_t blocks_ = 0;
  std::vector<double> counts_;  // of each cell by block; the rest last
  std::vector<double> block_rows_;
  double blocks_with_rest_ = 0;
};

}  // namespace

Status word_drift(const DensityView& density, const WordsView& words, const Sample& sample,
                  const Control& control, Drift* out) noexcept {
  return guarded([&] {
    *out = {};
    if (!sample.drawn.empty()) *out = Test(density, words, sample, control).run();
    return control.stop_requested() ? cancelled() : Status::success();
  });
}

}  // namespace kde
