// A fit of every row, or of densities that were added up, by method auto: nothing is estimated, as counts
// at round ends are the rows' own (grid/grid_encode.h). The kernel acts in pdf() alone, with the plug-in's
// bandwidth. By name it acts in every answer.
//
// The bandwidth is selected from the cells, each a weighted value in its middle, so it can be selected
// again whenever rows were added, without going back to them. Cells hold at most a few thousandths of a
// percent of the rows, and a pilot bandwidth some percent of their spread: what binning in cells of
// width w does to a bandwidth's functionals is of the order (w/g)^2 (M. P. Wand, J. Comp. Graph. Stat. 3,
// 1994).
#pragma once

#include "core/fit/fit.h"
#include "core/grid/grid_encode.h"

#include <cstddef>

namespace kde {

// options: the method, the value's type and its lattice, the measures' types, and whether it is added up. Errors:
// invalid_argument (no value at all, or too many rows), cancelled, out_of_memory, out_of_range of a
// measure.
Status fit_cells(GridCells* cells, const FitOptions& options, const GridBytes& bytes,
                 const Control& control, DensityBytes* density, FitReport* report) noexcept;

// The bandwidth of a density of cells that were changed (grid/splice.h). report: its model where each value
// has a cell. Errors: cancelled, out_of_memory. May throw std::bad_alloc.
Status select_again(const FitOptions& options, const Control& control, DensityBytes* density,
                    FitReport* report);

// What the ends of a cut's cells are: "exact at each hour", "exact at steps of 0.01".
void describe_ends(const RoundEnds& ends, const GridList& list, const GridCut& cut, char* out,
                   std::size_t size);

// The header of that, without a bandwidth. Settles the cells. Errors: invalid_argument (too
// many rows), out_of_memory.
Status describe_cells(GridCells* cells, const FitOptions& options, Header* header);

}  // namespace kde
