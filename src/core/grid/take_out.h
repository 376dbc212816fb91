// Cells of a density less those of a part of it: of both the same grid (round_ends.h), so that two
// cells are equal, one lies in the other, or they do not meet.
//
//   where a part's cell lies in one of the whole    its rows are taken from that
//   where it holds several of the whole             these become one, of which they are taken
#pragma once

#include "core/density/round_ends.h"
#include "core/grid/grid_tree.h"
#include "core/summary/measure_sums.h"

#include <vector>

namespace kde {

// In the order of x, none within another.
struct CellList {
  std::vector<GridEntry> entries;
  std::vector<MeasureSums> sums;  // of each entry each measure's, in the same units everywhere
};

// False where it is no part of it; then *whole is of no use.
bool take_out(const RoundEnds& ends, int measures, const CellList& part, CellList* whole);

}  // namespace kde
