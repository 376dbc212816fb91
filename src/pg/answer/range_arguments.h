// The two bound arguments of an answer function as a range of the core.
#pragma once

#include "pg/base/pg.h"

#include "core/kde.h"

namespace kde_pg {

// One end of a range as SQL has it.
struct Bound {
  bool unbounded;
  bool inclusive;
  Oid type;  // of `value`; domains are not looked through
  Datum value;
};

struct SqlRange {
  bool empty;
  Bound lower, upper;
};

// The two arguments as they are; see read_range. Errors: 22023 if a range comes with an upper
// bound.
bool read_sql_range(FunctionCallInfo fcinfo, int first, SqlRange* range);

// Arguments `first` and `first + 1` of the call, both of the type that anycompatible resolved to:
//   * a value, inclusive as in BETWEEN, or NULL for no bound; text is read by the column's type;
//   * or a range value as the first with the second left NULL: it keeps its own bounds.
// False if the answer is NULL (a NULL range). lower > upper is an empty range.
// Errors: those of bound_to_double; 22023 if a range comes with an upper bound.
bool read_range(FunctionCallInfo fcinfo, int first, kde::ValueType type, kde::Range* range);

}  // namespace kde_pg
