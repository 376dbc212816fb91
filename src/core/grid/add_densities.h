// Many stored densities of one column, added up at once: of sampled ones, with a variance that knows them
// as strata (summary/strata.h).
#pragma once

#include "core/control.h"
#include "core/grid/grid_cells.h"

#include <span>

namespace kde {

// densities: valid, each of the cells' chain and measures. Errors: those of GridCells::add(); cancelled.
// The cells must not be used further then.
Status add_densities(std::span<const Header* const> densities, const Control& control,
                     GridCells* cells) noexcept;

}  // namespace kde
