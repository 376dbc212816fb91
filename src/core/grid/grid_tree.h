// The tree that the grid's levels make of some cells, and cuts through it (grid_encode.h): the cells
// of all levels that hold several of them, each once, at the finest level.
#pragma once

#include "core/density/round_ends.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace kde {

// One cell, or one value.
struct GridEntry {
  double x;     // the value, or where the cell begins
  double rows;  // >= 0
  int level;    // the open cell's; < 0: a value
};

// Which cells are divided: all coarser than the floor, and of the others those with more rows than the
// limit.
struct GridCut {
  int floor = 0;
  double limit = std::numeric_limits<double>::infinity();
  bool tails = true;  // those of the tails by their own rule

  bool operator==(const GridCut&) const = default;
};

class GridTree {
 public:
  struct Entry {
    double x;  // as of GridEntry
    double rows, below;
    int own;       // the finest level at which it is within a cell
    int together;  // and is so with the entry before
    bool inside;   // a cell of its own level
  };
  // Some entries that lie in one cell, which no others do; or one by itself.
  struct Node {
    std::uint32_t begin, end;
    std::uint32_t next;   // node that is not within it
    std::uint32_t parts;  // 0: one entry
    // The finest cell's that holds them, and the coarsest's that holds no others; where the first is
    // the coarser one, no cell does.
    std::int16_t level, widest;

    bool is_in_a_cell() const { return level <= widest; }
  };

  // cells: by x; a value before the cells that begin at it, of these the coarser first. Throws
  // std::bad_alloc.
  GridTree(const RoundEnds& ends, std::span<const GridEntry> cells);

  const std::vector<Entry>& entries() const { return entries_; }
  // Each after the one that holds it.
  const std::vector<Node>& nodes() const { return nodes_; }
  double rows() const { return entries_.empty() ? 0 : through(entries_.size() - 1); }
  double rows_of(std::size_t begin, std::size_t end) const {
    return through(end - 1) - entries_[begin].below;
  }

  bool is_divided(const GridCut& cut, const Node& node) const;
  // The least limit, about, of those with which there are so many cells, where without one there are
  // `cells`: what is divided becomes as many as it has parts. limits: in steps of 2^(1/8); a
  // number of these, of which `none` divides nothing.
  class Limits {
   public:
    Limits(const GridTree& tree, int floor);
    int none() const { return static_cast<int>(more_.size()); }
    int least(double cells, double wanted) const;
    double limit(int steps) const { return unit_ * std::exp2(steps / 8.0); }

   private:
    double unit_;
    std::vector<double> more_;  // cells that are more where those of so many rows are divided
  };

 private:
  double through(std::size_t i) const { return entries_[i].below + entries_[i].rows; }
  int first_level_within(double x) const;
  void list_entries(std::span<const GridEntry> cells);
  void list_nodes();

  const RoundEnds& ends_;
  std::vector<Entry> entries_;
  std::vector<Node> nodes_;
};

}  // namespace kde
