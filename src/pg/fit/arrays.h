// What functions of arrays have in common with fits.
#pragma once

#include "pg/base/pg.h"

#include "core/kde.h"

namespace kde_pg {

// A NOTICE of what a core function found worth telling; nothing if it is empty.
void show_notice(const char* notice);

}  // namespace kde_pg
