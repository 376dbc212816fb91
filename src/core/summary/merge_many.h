// The sum of many stored densities, as of a table's shards or partitions: their distribution
// functions added up on one grid, and how sure counts of all of it are.
//
// Sum. What is stored of a part is its distribution function F_k, known within its error e_k at
// every x, not at its cells' ends alone (histogram.h). So is the sum of all, within
//
//   sum_k e_k N_k  +  max over the grid's cells of what the sum is off the straight line there,
//
// whose second term is added up part by part: a part without a step in a cell is straight there.
// Where the parts' steps are few, or all are points of few values, they are the grid, and nothing
// is lost. Else it is of ends of their blocks (HistogramBlock), of which there are some hundred a
// part, thinned and divided so that each of its cells has about as many rows, fewer in the tails.
//
// Sampling. Parts are strata, each sampled by itself: the variance of a count is the sum of theirs
// (W. G. Cochran, Sampling Techniques, 3rd ed. 1977, sections 5.3 and 5.9),
//
//   V(R) = sum_k N_k^2 p_k (1 - p_k) v_k(p_k) / n_k  +  sum_k p_k^2 V(N_k),
//
// p_k the share of the part's rows in R, v_k what the part has of its scale and shape there, V(N_k)
// of its number of rows, where that was estimated. It is computed of ranges R of each shape and
// scale all over the rows, and about the middle of those parts whose counts are the least sure; a
// merged density has the largest over N p (1 - p) of its scale. Where parts are alike their v_k,
// each from few blocks, are averaged so; where they have values of their own those remain apart. The
// largest N_k v_k / n_k of all parts (SummarySampling::add), which bounds V(R) as p (1 - p) is
// concave, takes the largest of many noisy numbers in the first case and in the second, of v_k by
// the scale of p where p_k is larger, is none.
#pragma once

#include "core/density/histogram_view.h"
#include "core/summary/summary.h"

#include <cstddef>
#include <span>
#include <vector>

namespace kde {

struct SumOfDensities {
  std::vector<HistogramCell> cells;  // a partition, as decode_histogram() gives them
  bool exact = false;  // the grid is of every step
  double error = 0;                  // of the parts themselves, at any x, in rows
  double within = 0;                 // of a count at any x, in rows; >= error
  std::vector<double> part_rows;  // of each part's cells
  SummarySampling sampling;
};

// densities: of one column each, valid. most_cells: about that many in the sum, but all values
// where these are at most most_points. Throws std::bad_alloc.
void add_up_densities(std::span<const Header* const> densities, std::size_t most_cells,
                      std::size_t most_points, SumOfDensities* out);

}  // namespace kde
