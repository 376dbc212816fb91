// Internal to src/core/joint: which rows of a sample are in a box, by whole numbers.
//
// The finite values of each column are numbered in their order, equal ones alike (ranks), so that
// a side of a box is a stretch of ranks, and one comparison tells whether a row is in it. The rows
// lie in blocks of near neighbours (density/compact_order.h) whose least and greatest ranks are
// known: only in the blocks that the border of a box cuts are rows looked at.
#pragma once

#include "core/function_ref.h"
#include "core/joint/joint_sampler.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kde {

inline constexpr std::size_t kRankBlock = 64;

// Of rows the ranks in [first, last] of a column; none if first > last.
struct RankSide {
  int column;
  std::uint32_t first, last;
};

// Ranks of rows, column by column, in whole blocks: what fills up the last has none.
class RankTable {
 public:
  // Of what has no finite value.
  static constexpr std::uint32_t kNone = 0xffffffff;

  // Throws std::bad_alloc.
  RankTable(int columns, std::size_t rows);

  std::size_t rows() const { return rows_; }
  std::size_t blocks() const { return stride_ / kRankBlock; }
  std::uint32_t* column(int k) { return rank_.data() + static_cast<std::size_t>(k) * stride_; }
  const std::uint32_t* column(int k) const {
    return rank_.data() + static_cast<std::size_t>(k) * stride_;
  }
  std::size_t count(std::span<const RankSide> sides) const;
  // Bit i: row i of block b is in the box.
  std::uint64_t inside(std::size_t b, std::span<const RankSide> sides) const;

 private:
  std::size_t rows_, stride_;
  std::vector<std::uint32_t> rank_;
};

class RankedRows {
 public:
  // rows: numbers of the sample's rows, each once. Throws std::bad_alloc.
  RankedRows(const JointSample& sample, std::span<const std::uint32_t> rows);

  // The rows in an order in which neighbours are near, which depends on which they are alone.
  std::span<const std::uint32_t> order() const { return order_; }
  std::size_t blocks() const { return table_.blocks(); }
  // Those whose values are in [lower, upper].
  RankSide side(int column, double lower, double upper) const;
  // Calls visit(b, bits) for the blocks that have rows in the box; bit i: row i of order()'s block.
  void visit(std::span<const RankSide> sides,
             FunctionRef<void(std::size_t b, std::uint64_t bits)> visit) const;
  // Some of the rows, in that order.
  RankTable table_of(std::span<const std::uint32_t> rows) const;

 private:
  struct Stretch {
    std::uint32_t least, greatest;
  };

  std::vector<std::uint32_t> order_;
  std::vector<std::vector<double>> value_;        // of each column, distinct, ascending
  std::vector<std::vector<std::uint32_t>> rank_;  // of the sample's rows by number
  RankTable table_;                               // in order()
  std::vector<std::vector<Stretch>> block_;       // of each column
};

}  // namespace kde
