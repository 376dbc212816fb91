// Ranges that reach beyond the values that were fitted, of densities of tables that changed since:
// what came may lie there, as in a column that grows with time, and the answer is not that of an
// empty range. It is taken for stale (kde_aqp.stale) where the rows changed are too many for those
// that the density has in a range as wide that ends at its last value.
#pragma once

#include "pg/answer/candidates.h"

namespace kde_pg {

// To be called before the range is answered. Error 55000 with kde_aqp.stale = error.
// ranges: of the question's sides.
void check_beyond_fit(const Question& question, const AnsweringDensity& density,
                      const kde::Range* ranges);

}  // namespace kde_pg
