// A fit of every row by method auto: nothing is estimated, as counts at round ends are the rows' own
// (grid/grid_encode.h). The kernel acts in pdf() alone, with the plug-in's bandwidth.
#pragma once

#include "core/fit/fit.h"
#include "core/grid/grid_encode.h"

#include <cstddef>

namespace kde {

// options: the value's type and its lattice, the measures' types, and whether it is added up. Errors:
// invalid_argument (no value at all, or too many rows), cancelled, out_of_memory, out_of_range of a
// measure.
Status fit_cells(GridCells* cells, const FitOptions& options, const GridBytes& bytes,
                 const Control& control, DensityBytes* density, FitReport* report) noexcept;

// What the ends of a cut's cells are: "exact at each hour", "exact at steps of 0.01".
void describe_ends(const RoundEnds& ends, const GridList& list, const GridCut& cut, char* out,
                   std::size_t size);

// The header of that, without a bandwidth. Settles the cells. Errors: invalid_argument (too
// many rows), out_of_memory.
Status describe_cells(GridCells* cells, const FitOptions& options, Header* header);

}  // namespace kde
