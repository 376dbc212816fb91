// What answers to come may be off by, in words.
#pragma once

#include "pg/base/pg.h"

#include "core/kde.h"

namespace kde_pg {

// Of the column of a density, or with groups the worst of the largest of them; palloc'ed or a
// literal; null where it is not known. In full: counts of 1 % and of 10 % of the rows, with two
// ends and beyond a bound, and means of 10 %.
const char* expected_errors_text(const kde::Header* density);
// The share of a count of 1 % of the rows ("0.36 %"), or "exact".
const char* expected_error_text(const kde::Header* density);

}  // namespace kde_pg
