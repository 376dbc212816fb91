// The aggregate kde_aqp.cells(chain, column, measure ...), by which a fit reads every row: what a row has is
// counted into cells with round ends (core/grid/grid_cells.h), by as many workers as the planner
// takes. Its result is its state, for the fit to go on with.
#pragma once

#include "pg/base/pg.h"

#include "core/kde.h"

namespace kde_pg {

// The cells of such a result, in the current memory context, of a column of that chain with so many
// measures. Error XX001 for others.
kde::GridCells* read_cells(Datum result, kde::Chain chain, int measures);

}  // namespace kde_pg
