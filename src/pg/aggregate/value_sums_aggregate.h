// The aggregate kde_aqp.value_sums(measure ...), by which a fit of a category reads its measures: what
// the rows of one value have in sum of each. Its state is a bytea, which is small, as there is one a
// value, and which workers hand on as it is.
#pragma once

#include "pg/base/pg.h"

#include "core/kde.h"

#include <span>

namespace kde_pg {

// What the aggregate of so many measures gave, of unknown origin; in the current memory context.
// Errors: XX001.
std::span<const kde::ValueSums> read_value_sums(const bytea* bytes, int measures);

}  // namespace kde_pg
