// Between which values every row's value of a column lies, whoever writes it: by its type
// (smallint, numeric(p, s), a date's calendar), and by CHECK constraints that are enforced and
// validated, its own or those of its type's domains: comparisons with constants, BETWEEN and IN of
// it alone, ANDed. Of a table with descendants, all of theirs.
//
// Rows that changed since a fit are bounded by nothing else (core/answer/changed_rows.h). A
// column that is NULL is not added up. NaN and the infinities, where the type has them, lie beyond
// every bound: only constraints keep them out. An upper bound keeps out NaN, which sorts above all;
// numeric(p, s) bounds nothing without one.
//
// A constraint counts if the active snapshot sees it as validated: rows that an older one sees may
// be against it.
#pragma once

#include "pg/answer/question.h"

#include "core/kde.h"

namespace kde_pg {

// The options with bounds for a column of that type, by its type alone where no row changed, and of
// an expression (attnum 0) or a value of type kde (no relation).
// A snapshot must be active. Kept in the backend until the catalog changes.
kde::IntervalOptions with_value_bounds(Oid relation, AttrNumber attnum, kde::ValueType type,
                                       kde::IntervalOptions options);
// Of a column of the question; of column -1 they are as they were.
inline kde::IntervalOptions with_value_bounds(const Question& q, int column,
                                              const kde::IntervalOptions& options) {
  return column < 0 ? options
                    : with_value_bounds(q.asked.relation, q.asked.column[column].attnum,
                                        q.type[column], options);
}

}  // namespace kde_pg
