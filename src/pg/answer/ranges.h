// The bounds of a question as ranges: arguments `lower` and `upper`, both of the type that
// anycompatible resolved to.
//
//   one column       a value, inclusive as in BETWEEN, or NULL for no bound; or a range value as
//                    `lower`, which keeps its own bounds, with `upper` left NULL
//   several columns  arrays of an element for each column in the order of the density's name, or
//                    texts of such arrays; each element as above, but that a NULL range is no bound
// Text is read by each column's own type. lower > upper is an empty range.
#pragma once

#include "pg/answer/question.h"

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

  static SqlRange all() {
    return {false, {true, true, InvalidOid, 0}, {true, true, InvalidOid, 0}};
  }
};

// Arguments `lower` and `lower + 1` as they are, of each of the question's sides; ranges has room
// for kde::kMaxColumns. False if the answer is NULL (a NULL range). Errors: 22023 if a range comes
// with an upper bound; 2202E for an array of more dimensions or of another length; 42804 for bounds
// of several columns that are no arrays.
bool read_sql_ranges(FunctionCallInfo fcinfo, int lower, const Question& question,
                     SqlRange* ranges);

// A range of a column of that type as the core has it; of a category one without bounds. Errors:
// those of bound_to_double.
kde::Range core_range(kde::ValueType type, const SqlRange& sql);

// The ranges as the core has them. Errors: those of bound_to_double besides.
bool read_ranges(FunctionCallInfo fcinfo, int lower, const Question& question, kde::Range* ranges);

// An array of one dimension, its elements and their type.
struct Elements {
  int count;
  Oid type;
  Datum* values;
  bool* nulls;
};

// Argument `argument`, not NULL, of an array type, or the text of an array. Errors: 2202E for an
// array of more dimensions; 42804 for another type; `name` is what the message calls it.
Elements read_elements(FunctionCallInfo fcinfo, int argument, const char* name);

}  // namespace kde_pg
