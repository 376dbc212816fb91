// An estimate's distribution function in cells of the grid, as they are stored (grid_encode.h): a cell
// is divided until it is even but for what it may be off by. Beside measures it has no more than a share
// of the rows besides, in the tails of those beyond it.
#pragma once

#include "core/density/histogram.h"
#include "core/grid/grid_cells.h"

#include <span>

namespace kde {

// cells: the estimate's, a partition of the line, in the table's rows. header: the lattice.
// counted: the cells that the sample was counted in, `list` theirs: what measures have in them goes
// where their rows are. off: rows that a cell may be off by. Throws std::bad_alloc.
GridList list_estimate(std::span<const HistogramCell> cells, const Header& header,
                       const GridCells& counted, const GridList& list, double off);

}  // namespace kde
