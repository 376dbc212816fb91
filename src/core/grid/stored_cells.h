// Internal to src/core/grid: the cells of a stored list (histogram.h), and those of the grid that they are.
#pragma once

#include "core/density/histogram_view.h"
#include "core/first_true.h"
#include "core/grid/grid_tree.h"

#include <cmath>
#include <cstdint>
#include <vector>

namespace kde {

struct ListCell {
  std::int64_t begin, end;  // keys; of a value equal
  double weight;
};

// Whether, of cells that end alike, they are one.
inline bool is_same(const ListCell& a, const ListCell& b) {
  return a.end == b.end && (a.begin == a.end) == (b.begin == b.end);
}

// By their ends; a cell before the value there.
inline bool is_before(const ListCell& a, const ListCell& b) {
  return a.end != b.end ? a.end < b.end : a.begin < a.end && b.begin == b.end;
}

inline ListCell list_cell(const StoredCell& cell, double row_unit) {
  const std::int64_t end = cell.point ? cell.key : cell.key + 1;
  return {cell.point ? end : cell.begin, end, static_cast<double>(cell.units) * row_unit};
}

// Ends as they are stored, for the cells of the grid that they are of.
class CellFinder {
 public:
  CellFinder(const RoundEnds& ends, const Header& header, bool is_of_atoms)
      : ends_(ends), header_(header), is_of_atoms_(is_of_atoms) {}

  double value(std::int64_t key) const {
    if (is_of_atoms_) return value_of_key(key);
    if (header_.grid_level > 0) return ends_.end(header_.grid_level - 1, key >> 1);
    if (header_.lattice_step > 0) return header_.lattice_point(static_cast<double>(key));
    return value_of_key(key);
  }

  // The finest cell with that range in it; the outermost are stored no wider than the column. False
  // if there is none.
  bool find(const ListCell& cell, GridEntry* out) {
    out->rows = cell.weight;
    out->x = value(cell.begin);
    out->level = -1;
    if (cell.begin == cell.end) return std::isfinite(out->x);
    const double low = out->x;
    const double high = value(cell.end);
    const double inside = low / 2 + high / 2;
    if (!(inside > low && inside < high)) return false;
    const auto holds = [&](int level) {
      if (!(std::fabs(inside) < kMostIndex * ends_.step(level))) return false;
      const std::int64_t k = ends_.cell(level, inside);
      return ends_.end(level, k) <= low && ends_.end(level, k + 1) >= high;
    };
    // Mostly as wide as the one before.
    if (!holds(level_) || (level_ > 0 && holds(level_ - 1)))
      level_ = first_true(0, ends_.levels(), holds);
    if (level_ == ends_.levels()) {
      level_ = 0;
      return false;
    }
    out->level = level_;
    out->x = ends_.begin(level_, ends_.cell(level_, inside));
    return true;
  }

 private:
  const RoundEnds& ends_;
  const Header& header_;
  bool is_of_atoms_;
  int level_ = 0;
};

}  // namespace kde
