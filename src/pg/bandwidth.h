// What the functions that choose a bandwidth have in common.
#pragma once

#include "pg/pg.h"

#include "core/density/format.h"

namespace kde_pg {

// The kernel of that name. Error 22023 if there is none.
kde::Kernel read_kernel(const text* name);

}  // namespace kde_pg
