// How a density was made, in few words, for a screen.
#pragma once

#include "pg/base/pg.h"

namespace kde_pg {

// Of FitRecord::model, palloc'ed.
const char* short_model(const char* model);

}  // namespace kde_pg
