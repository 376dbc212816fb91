// The cells of the line on which automatic estimates: narrow enough that nothing is lost by
// counting in them, few enough (kMaxCells) that every candidate costs a millisecond.
//
//   lattice   a cell for each lattice point, half a step to either side
//   else      a cell for each value of the sample, with ends halfway between values, or for each
//             cell of its summary; where they are many, neighbouring ones are joined; and for each
//             atom (clumps.h) a cell of its own without width; a void beside an atom is a cell
//             without rows
#pragma once

#include "core/density/histogram.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kde {

inline constexpr std::size_t kMaxCells = 8192;

struct Cells {
  // Cell i is [edge[i], edge[i + 1]]; edges do not decrease.
  std::vector<double> edge;
  std::vector<double> centre;  // mean of the sample's values in it; its middle where there are none
  std::vector<double> count;   // observations of the sample
  std::vector<std::size_t> points;  // cells without width (atoms)
  // Of cell 0, modulo anything, for patterns that repeat along a lattice; cells are lattice points.
  bool lattice = false;
  std::int64_t first_point = 0;

  std::size_t size() const { return count.size(); }
};

// What the line is cut by, as a summary has it: ascending, the first a point or of no rows; a point
// is at its value, others are even between the value before and theirs. low, high: the support's
// ends; low < high, and all are within.
struct Line {
  std::span<const HistogramCell> rows;
  double low = 0, high = 0;
};

// first, last: lattice points by number, the first at `first_value`; step > 0. Values off the
// lattice count for the nearest point.
Cells lattice_cells(const Line& line, double first_value, double step, std::int64_t first,
                    std::int64_t last);

// atoms: numbers of points of the line, ascending.
Cells value_cells(const Line& line, std::span<const std::size_t> atoms);

}  // namespace kde
