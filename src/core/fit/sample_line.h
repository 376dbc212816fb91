// A sample's rows along the line, for what estimates from them: cells of the grid (grid_cells.h), and
// at both ends rows that are known one by one, which are not smoothed.
#pragma once

#include "core/density/histogram.h"
#include "core/grid/grid_cells.h"
#include "core/sampling/sampler.h"

#include <cstddef>
#include <vector>

namespace kde {

struct SampledRows {
  // All finite rows read that lie below `low` or above `high` are known: points, in rows read.
  std::vector<HistogramCell> below, above;
  double low = 0, high = 0;
  double seen = 0;       // rows of the sample's cells between these
  double stand_for = 0;  // those of the table
  // Values between them that occurred, with their rows: all of the cells', or where cells hold several
  // (is_joined) those that were drawn.
  std::vector<WeightedValue> values;
  bool is_joined = false;
  // A partition, in rows of the sample; by take_cells().
  std::vector<HistogramCell> cells;
};

// Whether the rows drawn are all that the cells are of.
inline bool all_drawn(const Sample& sample) {
  return static_cast<double>(sample.drawn.size()) == sample.sample_rows();
}

// Of rows that were drawn, ascending: each value once. Throws std::bad_alloc, as what follows.
std::vector<WeightedValue> distinct_values(std::vector<double> drawn);

// The sample without, at each end, at most so many rows. list: of its cells.
SampledRows divide_rows(const Sample& sample, const GridList& list, std::size_t outermost);

// lattice: all values lie on it; without a step they lie on none that is known.
void take_cells(const Sample& sample, const GridList& list, const Header& lattice,
                SampledRows* rows);

}  // namespace kde
