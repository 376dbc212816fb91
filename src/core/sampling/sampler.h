// What a scan of a column feeds, row by row. Every row counts: it goes into cells with round ends, of
// bounded size (grid/grid_cells.h), unless the caller thins on purpose; beside them are kept
//
//   drawn      a uniform sample without replacement, for sums over pairs and for evidence, with the
//              block that each row lay in (reservoir.h)
//   blocks     how many rows each block had
//   outermost  the least and the greatest of all that were read: of a heavy tail they make most of
//              the sum
//
// Where rows are thinned the cells are of the rows drawn.
#pragma once

#include "core/control.h"
#include "core/grid/owned_cells.h"
#include "core/sampling/block_variance.h"
#include "core/sampling/range_variance.h"
#include "core/sampling/reservoir.h"
#include "core/status.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace kde {

// Rows drawn where every row goes into the cells, at most.
inline constexpr std::int64_t kDrawnRows = 1 << 16;
// Rows drawn of a group, and blocks that its variance is estimated of.
inline constexpr std::int64_t kGroupDrawnRows = 1 << 12;
inline constexpr std::uint32_t kGroupBlocks = 512;
inline constexpr std::size_t kGroupCells = 8192;
// Of Sample::ranges of a group, which is one of many.
inline constexpr int kGroupRangeCells = 16;
// Known one by one at each end, one less and what ties leave of them.
inline constexpr std::size_t kOutermost = 33;

// What a scan read of a table.
struct ReadShare {
  double rows_per_row_read = 1;  // >= 1: rows of the table for each
  bool every_row_read = false;
  double share_of_blocks = 1;  // in (0, 1]; of rows where they came one by one
  double unread() const { return std::max(1 - share_of_blocks, 0.0); }
};

// A finished sample.
struct Sample {
  SummaryTotals totals;  // of the finite rows read
  SpecialRows specials;  // of all rows read
  // Settled: of the finite rows read, or of those drawn, with the measures; null before finish().
  std::unique_ptr<OwnedGridCells> cells;
  bool thinned = false;  // they are of those drawn, and some were not
  bool by_block() const { return !drawn_block.empty(); }
  // The least and the greatest finite rows read, kOutermost at most, ascending.
  std::vector<double> least, greatest;
  // Finite rows drawn, block by block.
  std::vector<double> drawn;
  std::vector<std::uint32_t> drawn_block;  // of each; empty where rows did not come by block
  BlockVariance blocks;
  std::vector<MeanVariance> means;  // of each measure
  // Of the rows where each is not NULL: as `blocks`, which they are where none is.
  std::vector<BlockVariance> measured;
  // Of ranges: of the column with its measures, and of the rows where each is not NULL; no cells
  // where they are not asked for, nor of rows that all are.
  RangeVariance ranges;
  std::vector<RangeVariance> measured_ranges;

  double rows_read() const {
    return totals.count() + specials.nans + specials.negative_infinities +
           specials.positive_infinities + specials.nulls;
  }
  double not_null() const { return rows_read() - specials.nulls; }
  // Finite rows that the cells are of.
  double sample_rows() const { return cells != nullptr ? (*cells)->totals().count() : 0; }
  int measures() const { return cells != nullptr ? (*cells)->measures() : 0; }
};

class Sampler {
 public:
  struct Options {
    std::int64_t sample_rows = 0;  // >= 1: thinned to so many finite rows; 0: every row read
    std::uint64_t seed = 0;
    Chain chain = Chain::decimal;  // the column's
    int measures = 0;              // in [0, kMaxMeasures]
    int range_cells = 0;           // of Sample::ranges, at most
    // Of one of many groups of a scan's rows: blocks are told by number, those without a row of the
    // group not at all; fewer rows are drawn, and cells kept. sample_rows is 0.
    bool of_group = false;
  };

  explicit Sampler(const Options& options);

  // One value; -0 counts as 0. y: of each measure, NaN where NULL. Errors: out_of_memory (the
  // sampler must not be used further), invalid_argument for a measure that is infinite.
  Status add(double x, std::span<const double> y = {}) noexcept;
  // Values of one block, without measures; errors as above.
  Status add_rows(std::span<const double> x) noexcept;
  void add_null() { cells().add_null(); }
  // The rows to come lie in another block than those before, which are one if none was begun for
  // them; never called: they are independent.
  // Blocks without rows count. Errors: out_of_memory, as add().
  Status begin_block() noexcept;
  // Of a group: the block's number, which ascends.
  Status begin_block(std::uint32_t number) noexcept;

  // Of groups: adds another's rows, which is used up; neither gets more. Errors: out_of_memory.
  Status merge(Sampler* other) noexcept;

  // Ends the scan. The sampler is empty afterwards. Errors: out_of_memory, cancelled.
  // Of a group: blocks_read of the scan; some that follow each other are then taken for one.
  Status finish(Sample* out, const Control& control = {}, std::uint32_t blocks_read = 0) noexcept;

 private:
  template <typename Before>
  static void keep(double x, Before before, std::vector<double>* heap);
  void keep_outermost(double x);
  void draw(double x, std::span<const double> y);
  void push_block(std::uint32_t rows);
  void count_row(std::span<const double> y);
  bool estimate_ranges(const BlockRows& blocks, std::span<const double> drawn_y,
                       const Control& control, Sample* out) const;
  bool estimate_variances(const BlockRows& blocks, std::span<const double> drawn_y,
                          const Control& control, Sample* out) const;
  void gather_blocks(std::uint32_t blocks_read);
  GridCells& cells() { return **cells_; }
  std::size_t measures() const { return static_cast<std::size_t>(options_.measures); }

  Options options_;
  Reservoir reservoir_;
  SummaryTotals totals_;  // where rows are thinned
  std::unique_ptr<OwnedGridCells> cells_;
  std::vector<double> drawn_;
  std::vector<double> drawn_y_;  // row by row
  std::vector<std::uint32_t> drawn_block_, block_rows_;
  std::vector<std::uint32_t> block_number_;  // of a group
  // Rows of each block that have a value of each measure: block_rows_, measure by measure.
  std::vector<std::uint32_t> block_measured_;
  std::uint32_t measured_before_[kMaxMeasures] = {};
  std::uint32_t rows_before_ = 0;         // rows that are not NULL and came before the first block
  std::vector<double> least_, greatest_;  // heaps: the greatest first, and the least
  std::vector<double> batch_;             // of values whose totals are to be added
};

}  // namespace kde
