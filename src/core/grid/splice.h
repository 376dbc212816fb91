// A stored density of which parts are replaced by others, without a look at the rest of it: lists are copied
// but for the blocks whose cells change.
//
//   where a part's cell lies in one of the density    its rows are taken from that, or added to it
//   where it lies in none                             it is one as wide as the cells beside it, or as its own
//   a cell without rows                               is none
//
// So cells that stay are those of the density, and so is all that is exact at their ends. What that does
// not hold is for GridCells::add().
#pragma once

#include "core/density/bytes.h"
#include "core/grid/grid_cells.h"

#include <cstddef>
#include <span>

namespace kde {

// Of a density with its measures, without its groups. without: as of GridCells::add(), of which the
// others have what came, too. most: bytes. Errors: too_large where it cannot be told so, or takes more
// bytes; invalid_format of what no fit writes. Throws std::bad_alloc.
Status splice(const Header& density, const GridCells::Without& without,
              std::span<const Header* const> came, std::size_t most, DensityBytes* out);

}  // namespace kde
