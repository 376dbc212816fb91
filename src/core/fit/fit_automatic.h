// Internal to src/core/fit: the cells that `auto` stores of a sample (fit.h).
#pragma once

#include "core/density/histogram.h"
#include "core/fit/fit.h"
#include "core/status.h"

#include <span>
#include <vector>

namespace kde {

// The rows of a sample that are smoothed, in the table's rows and the sample's, and those beyond
// them, which are stored one by one.
struct SampledRows {
  std::vector<HistogramCell> cells;         // of the sample, in its rows
  double seen = 0;                          // their rows
  double stand_for = 0;                     // finite rows of the table
  double low = 0, high = 0;                 // all of them lie between
  std::vector<HistogramCell> below, above;  // points, in rows read
};

// Whether the rows drawn are all that the summary is of.
inline bool all_drawn(const Sample& sample) {
  return static_cast<double>(sample.drawn.size()) == sample.sample_rows();
}

// What a bandwidth is selected from: the values themselves where all rows of a summary that joined
// some of them were drawn; else its cells. Throws std::bad_alloc.
std::vector<HistogramCell> values_of(const Sample& sample, std::span<const HistogramCell> cells);

// At most bandwidth_rows of the rows drawn, ascending, for exact sums over pairs. Throws
// std::bad_alloc.
std::vector<double> draw_rows(const Sample& sample, const FitOptions& options);

// The lattice of a column's type: whole numbers, or decimals of the type's scale.
void place_on_type_lattice(double step, Header* header);
// Whether x is a point of the header's lattice to the last bit.
bool is_lattice_point(const Header& header, double x);

// header: totals are set, min < max; the lattice, the bandwidth and
// the error of counts within joined cells are written here.
// cells: of the table's rows.
// Errors: cancelled, what the bandwidth's sums report. Throws std::bad_alloc.
Status fit_automatically(const Sample& sample, const SampledRows& rows, const FitOptions& options,
                         const Control& control, Header* header, std::vector<HistogramCell>* cells,
                         FitReport* report);

}  // namespace kde
