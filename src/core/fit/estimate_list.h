// An estimate's distribution function in cells of the grid, as they are stored (grid_encode.h): a cell
// is divided as long as it has more than a share of the rows, in the tails of those beyond it.
#pragma once

#include "core/density/histogram.h"
#include "core/grid/grid_cells.h"

#include <span>

namespace kde {

// cells: the estimate's, a partition of the line, in the table's rows. header: the lattice.
// counted: the cells that the sample was counted in, `list` theirs: what measures have in them goes
// where their rows are. A cell has at most that share of the rows; no less than `least` are divided.
// Throws std::bad_alloc.
GridList list_estimate(std::span<const HistogramCell> cells, const Header& header,
                       const GridCells& counted, const GridList& list, double off, double share);

}  // namespace kde
