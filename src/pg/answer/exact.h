// The exact answer to what an answer function was asked, from the table.
#pragma once

#include "pg/answer/answer.h"

namespace kde_pg {

enum class Aggregate { count, sum, avg };

// What SQL answers over the rows of the target's table whose value lies in the range of arguments
// `next` and `next + 1` (range_arguments.h), as double precision: of dates, times and intervals, in
// seconds as everywhere here. Bounds are compared as SQL compares a column with a value of their
// type: 10.5 stays 10.5 for an integer column. Runs one read-only query under the active snapshot,
// as the current user, whose privileges apply; locks the table as it would, until the end of the
// transaction. Errors: 0A000 in a parallel worker, where a foreign table or one of the session's
// temporary tables is the table or a descendant of it, or its rows are elsewhere (planned_rows.h);
// 42P01, 42703 if the table, its schema or the column has been dropped.
Result exact_answer(FunctionCallInfo fcinfo, const Target& target, int next, Aggregate aggregate);

}  // namespace kde_pg
