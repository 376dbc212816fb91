// What all answer functions take: a density, and by name what is asked of its answer.
//
//   density anykde, ..., by_name_only, [measure,] filter,
//   max_relative_error, otherwise, confidence, changed_rows
//
// The answer is NULL where the density is, whatever else was asked.
#pragma once

#include "pg/answer/candidates.h"
#include "pg/type/density_datum.h"

#include "core/kde.h"

namespace kde_pg {

enum class Otherwise { error, null, exact };

// How sure the answer is to be.
struct Accuracy {
  kde::IntervalOptions interval;
  bool required = false;  // whether max_relative_error was given
  double most_error = 0;
  Otherwise otherwise = Otherwise::error;
};

struct Call {
  Question question;
  AnsweringDensity density;
  Accuracy accuracy;
};

// What the answer needs.
enum class Needs {
  values,  // moments of the measure
  rows,    // counts; where there is a measure, of the rows where it is not NULL
  column,  // the density of one column, or its margin; there is no argument `measure`
  order,   // the same of a column whose values have one
  joint,   // a density of several columns
  groups,  // a density with groups
};

// Argument 0 and those from `by_name_only` on; false where the density is NULL. Errors:
//   22023  arguments after by_name_only that are not given by name; values that make no sense, an
//          `otherwise` without max_relative_error; a filter of a value, or a measure that it has
//          not; a density of several columns where one is needed
//   22004  a NULL confidence, changed_rows or otherwise
//   42704  no density with groups, or with the measure, where one is needed; 42P09 several
//   0A000  'exact' of a value of type kde
//   and those of question_by_name() and find_density().
bool read_call(FunctionCallInfo fcinfo, int by_name_only, Needs needs, Call* call);

// Arguments max_relative_error, otherwise, confidence, changed_rows, the first of them `first`.
// Errors: those above.
Accuracy read_accuracy(FunctionCallInfo fcinfo, int first);

// For functions that answer no number, and take a density, a measure and a filter at most:
// arguments `measure` and `filter`, -1 where there is none.
bool read_density(FunctionCallInfo fcinfo, int measure, int filter, Needs needs, Call* call);

// Of a value of type kde that is no argument.
void read_value(Datum density, Needs needs, Call* call);

// The interval's options with the rows that are known to have changed since the fit
// (kde_aqp.changed_rows); where the call says of more, those. Of a margin in its rows.
kde::IntervalOptions interval_options(const Call& call);

// Errors: 22004, 22023.
double read_confidence(FunctionCallInfo fcinfo, int argument);
double read_changed_rows(FunctionCallInfo fcinfo, int argument);

// The density of a column by itself. Valid until the next look-up, here and below.
const kde::Header* density_of_column(TableColumn column);
// The stored density that a name says, or the value, of a non-null argument of type anykde. Errors:
// those of read_density().
AnyDensity density_by_text(text* name);
AnyDensity density_argument(FunctionCallInfo fcinfo, int argument);

}  // namespace kde_pg
