// What a call of an answer function is about: columns of a table, bounded or measured, under a
// filter; or the columns of a value of type kde.
#pragma once

#include "pg/values/values.h"
#include "pg/catalog/density_key.h"

namespace kde_pg {

struct Question {
  // The bounded columns first, in the order of the name, then the measure unless it is one of them.
  // Its relation is InvalidOid for a value. Else with expressions and the filter analysed; of a
  // column by itself without its name.
  DensityKey asked;
  int named = 0;     // columns that the density's name has, or the value
  int sides = 0;     // those with a range: `named`, or one more: a measure that must not be NULL
  int measure = -1;  // index in `asked`; -1: none was given, and there are several
  kde::ValueType type[kde::kMaxColumns] = {};  // present ones

  // Of a density with groups: its key, with what they are by; null: there are none, or of a value.
  const DensityKey* grouped = nullptr;

  bool is_value() const { return !OidIsValid(asked.relation); }
};

// What a measure is for: to add up its values, or to count the rows where it is not NULL.
enum class Measured { values, rows };

// A measure as a column or an expression of the relation; checks privileges.
KeyColumn measured_column(Oid relation, text* measure);

// name: 'table.column' or 'table (column, expression, ...)'; measure: a column or an expression,
// null for none; filter: null or '' for all rows. Checks privileges: SELECT on all columns asked
// about, in expressions and the filter too. Errors: those of key_by_text() and key_by_arrays();
// 42501; 42804 for a column of a type no density can hold; 54000 for more columns than a density
// has.
Question question_by_name(text* name, text* measure, text* filter, Measured what);

}  // namespace kde_pg
