// The sum of many stored densities, as of a table's shards or partitions: their distribution
// functions added up on one grid, and how sure counts of all of it are.
//
// Sum. What is stored of a part is its distribution function F_k, known within its error e_k at
// every x, not at its cells' ends alone (histogram.h). So is the sum of all, within
//
//   sum_k e_k N_k  +  (sum_k (e_k N_k)^2)^(1/2)  +  max over the grid's cells of what the sum is
//   off the straight line there,
//
// the first of parts of which every row was read, a bound; the second of sampled ones, whose
// errors, each within its own, are as independent as their samples and lie to either side. The
// third term is added up part by part: a part without a step in a cell is straight there. Where the
// parts' steps are few, or all are points of few values, they are the grid, and nothing is lost.
// Where a part lies on a lattice its count stands still between two points, which a straight line
// does not: that is the rows of one point off, unless the sum is read on the same lattice.
// Else it is of ends of their blocks (HistogramBlock), of which there are some hundred a part,
// thinned and divided so that each of its cells has about as many rows, fewer in the tails.
//
// How sure counts of the sum are: strata.h.
#pragma once

#include "core/control.h"
#include "core/density/histogram_view.h"
#include "core/summary/measures.h"
#include "core/status.h"
#include "core/summary/summary.h"

#include <cstddef>
#include <span>
#include <vector>

namespace kde {

struct SumOfDensities {
  std::vector<HistogramCell> cells;  // a partition, as decode_histogram() gives them
  bool exact = false;                // the grid is of every step
  double error = 0;                  // of the parts themselves, at any x, in rows
  double within = 0;                 // of a count at any x, in rows; >= error
  MergedLattice lattice;             // of all parts, if they have one
  double steps = 0;                  // of error what parts on other lattices are off at ends
  std::vector<double> part_rows;     // of each part's cells
  SummarySampling sampling;
  std::vector<MeasureSampling> measured;  // of each measure, if all have as many
};

// densities: of one column each, valid. most_cells: about that many in the sum, but all values
// where these are at most most_points. Throws std::bad_alloc. Errors:
// cancelled; *out is then not to be used.
Status add_up_densities(std::span<const Header* const> densities, std::size_t most_cells,
                        std::size_t most_points, SumOfDensities* out, const Control& control = {});

}  // namespace kde
