// A density of which parts are replaced by others (grid/splice.h), list by list: of groups that have none of
// those the bytes are copied.
#pragma once

#include "core/fit/grid_groups.h"
#include "core/grid/grid_cells.h"

#include <span>

namespace kde {

// density: of every row, with groups or without. without, came: as of splice(). bytes: of it without
// groups. options: method, of the bandwidth, which is selected as of fit_cells(). report: model: null
// characters where it is that of the density before. Errors: those of splice(), too_large also for groups
// that come or go, or share a list; cancelled, out_of_memory.
Status splice_density(const Header& density, const GridCells::Without& without,
                      std::span<const Header* const> came, const FitOptions& options,
                      const GridBytes& bytes, const Control& control, DensityBytes* out,
                      FitReport* report) noexcept;

}  // namespace kde
