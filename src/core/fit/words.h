// From a scan's rows of a category to its density: values are numbered as they are met, counted by
// number, and ranked by their counts at the end (word_format.h), of equal counts by the bytes of
// their text: so that ranks are the same whatever the order of the rows.
//
// Each value has its own design effect. Of b blocks with m_i rows, c_i of them with the value,
// whose share is p, its count varies as the residuals e_i = c_i - p m_i do between neighbours
// (sampling/block_variance.h: the first differences, K. M. Wolter, Introduction to Variance
// Estimation, 1985, section 7.2),
//
//   sum (e_i - e_{i+1})^2 / 2  =  sum e_i^2 - sum e_i e_{i+1},
//
// but for its two ends; over n p (1 - p) that is 1 where rows are as mixed as if they came one by
// one. It is added up while rows come, of every row.
//
// Values that lie together vary together. Of the counts c of all values, rows n of them and shares
// p, any combination x'c has the variance x'Mx, M being the same sum of the vectors c_i - p m_i,
// so over that of draws, x'Dx about the mean, D = diag(n), it has at most the largest eigenvalue of
//
//   D^-1/2 M D^-1/2,
//
// which is found by power iteration over the counts of values in blocks (G. H. Golub and C. F. Van
// Loan, Matrix Computations, 4th ed. 2013, section 7.3.1). Of g = values/blocks and mixed rows that
// is near (1 + sqrt(g))^2 by chance alone (V. A. Marchenko and L. A. Pastur, Math. USSR Sbornik 1,
// 1967), and one of l is seen as l + g l/(l - 1) (J. Baik and J. W. Silverstein, J. Multivariate
// Analysis 97, 2006), which is undone.
//
// Of a sample, values may have rows in other blocks alone: the share of the rows that are of such
// is estimated by that of the rows whose value was met in one block only (I. J. Good, The
// population frequencies of species, Biometrika 40, 1953), a block in the place of a draw. One of
// them has as many rows as lie together of values met in few blocks, once, but for chance.
#pragma once

#include "core/density/bytes.h"
#include "core/density/word_format.h"
#include "core/fit/fit.h"
#include "core/grid/owned_cells.h"
#include "core/sampling/reservoir.h"
#include "core/sampling/sampler.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace kde {

// Values are counted each by itself, however many.
inline constexpr std::size_t kAnyWords = std::size_t{1} << 40;

class Words {
 public:
  struct Options {
    std::uint64_t seed = 0;
    int measures = 0;                      // in [0, kMaxMeasures]
    std::size_t most_bytes = kWordsBytes;  // of the words kept, at most kMostWordsBytes
    bool placed = false;                   // whether words have places
  };

  explicit Words(const Options& options);

  // One row. number: of its value, from 1; at most one more than any before. y: of each measure,
  // finite, or NaN where NULL. Errors: out_of_memory (it must not be used further).
  Status add(std::uint32_t number, std::span<const double> y = {}) noexcept;
  void add_null(double rows = 1) { nulls_ += rows; }
  // Before any row: all that there are will come, so that where they lie does not matter.
  void begin_every_row() { every_row_ = true; }
  // Then also: so many rows of a value at once, and what each measure has in them. Errors:
  // out_of_memory.
  Status add(std::uint32_t number, double rows, std::span<const ValueSums> measures) noexcept;
  // Instead of rows: values and their rows, numbered in that order, and cells that have them, with what
  // measures have in them. Throws std::bad_alloc.
  void take(std::span<const GridEntry> values, std::unique_ptr<OwnedGridCells> cells);
  // As Sampler::begin_block().
  Status begin_block() noexcept;

  double rows() const { return rows_; }
  double nulls() const { return nulls_; }
  // Values met.
  std::size_t distinct() const { return values_.size(); }

  // Ends the rows: values by their rows, most first. Errors: out_of_memory.
  Status rank() noexcept;
  std::uint32_t number(std::size_t i) const { return order_[i]; }

  // Keeps the next value's text, in the order of rank(); number 0: a word of no rows, after all
  // others. Of values of equal rows those are kept that come first by their bytes, as long as there
  // is room. place: see word_format.h. full: there is none for this one and all that follow.
  Status keep(std::uint32_t number, std::string_view text, std::uint16_t place,
              bool* full) noexcept;
  // After the last of them. Errors of both: out_of_memory.
  Status end_keeping() noexcept;

  // Its rank; of one that is not kept what they share.
  double rank_of(std::uint32_t number) const {
    const double rank = rank_[number - 1];
    return rank < 0 ? static_cast<double>(kept_.size()) : rank;
  }

  // Then: the sample in terms of ranks, into a new one. Errors: out_of_memory, cancelled.
  Status finish(Sample* out, const Control& control) noexcept;

  // The words behind the cells of what fit_column() made of that sample. May be called again.
  // Errors: out_of_memory.
  Status append(const FitOptions& options, DensityBytes* density) const noexcept;

 private:
  struct Value {
    std::uint64_t rows = 0;
    std::uint32_t block = 0;     // where its latest row lay; from 1
    std::uint32_t in_block = 0;  // rows there
    std::uint32_t before = 0;    // and in the block before that
    std::uint32_t blocks = 0;    // in which it has rows
    // Sums over the blocks of c_i^2, c_i m_i, c_i c_{i+1}, c_i m_{i+1} + c_{i+1} m_i.
    double squares = 0, own = 0, next = 0, cross = 0;
  };

  Value& value_of(std::uint32_t number);
  void note(std::uint32_t number, std::span<const double> y);
  void draw(std::uint32_t number, std::span<const double> y);
  void open_block();
  void end_block();
  void hold_in_block();
  double effect(const Value& v) const;
  Status find_most_effect(const Control& control);
  bool has_room(std::size_t words, std::size_t text_bytes) const;
  void keep_tied();
  Status gather(GridCells* cells) const;
  void describe_unseen(const ReadShare& read, WordsHeader* h) const;

  Options options_;
  Reservoir reservoir_;
  std::vector<Value> values_;
  double rows_ = 0, nulls_ = 0;
  bool every_row_ = false, by_block_ = false;
  std::uint32_t block_ = 0;
  std::vector<std::uint32_t> block_rows_;
  std::vector<std::uint32_t> measured_[kMaxMeasures];  // of them, where each measure is not NULL
  std::vector<std::uint32_t> here_, before_;  // values with rows in this block, and in the last one
  double squares_ = 0, next_ = 0;             // sums of m_i^2, m_i m_{i+1}
  // Block by block the rows of each value in it; none where there were too many.
  struct InBlock {
    std::uint32_t value, rows;
  };
  std::vector<InBlock> in_block_;
  std::vector<std::size_t> in_block_end_;
  bool in_block_full_ = false;
  double most_effect_ = 1;     // of any combination of values
  std::vector<double> drawn_;  // numbers, later ranks
  std::vector<double> drawn_y_;
  std::vector<std::uint32_t> drawn_block_;
  // Of measures: what each number's rows have in sum of them; null: there are none.
  std::unique_ptr<OwnedGridCells> sums_;

  std::vector<std::uint32_t> order_;
  std::vector<double> rank_;  // of each number
  struct KeptWord {
    std::uint32_t number;
    std::string text;
    std::uint16_t place;
  };
  std::deque<KeptWord> kept_;
  std::unordered_set<std::string_view> texts_;
  std::size_t text_bytes_ = 0;
  bool full_ = false;
  // Of as many rows as the latest, by their text; the least of them that is left out.
  struct Tied {
    std::uint32_t number;
    std::uint16_t place;
  };
  std::map<std::string, Tied, std::less<>> tied_;
  std::uint64_t tied_rows_ = 0;
  std::size_t tied_bytes_ = 0;
  std::string least_left_;
  bool has_left_ = false;
};

}  // namespace kde
