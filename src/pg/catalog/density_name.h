// Densities as users name them.
#pragma once

#include "pg/catalog/density_key.h"

namespace kde_pg {

// The parts of a name: 'table.column', or 'table (column, expression, ...)' of one or more columns;
// of a density with groups followed by what they are by: 'table.column by (column, expression)'. Or
// a density's alias, what has neither point nor bracket: then the parts are that density's.
// Quoting and search path are as for any name. Errors: 42602 malformed; 42P01 no such table; 42704
// no such alias, or of a density that the caller may neither read nor maintain.
struct NameParts {
  Oid relation;
  ArrayType* columns;   // text[]: identifiers as SQL reads them, and expressions
  bool listed;          // else there is one, which must be a column's name
  ArrayType* group_by;  // as columns; null: no groups
  text* filter;         // of an alias; null: none
};
NameParts parts_of_name(text* name);
// Whether it is an alias that no density has.
bool is_missing_alias(text* name);

// The key that they mean, of rows that pass the filter (null: all, or the alias's). Each listed
// column is read as in key_by_arrays(). Errors: 42703 no such column; 22023 a filter beside an
// alias's; those of key_by_arrays().
DensityKey key_of_parts(const NameParts& parts, text* filter);

// Both in one.
DensityKey key_by_text(text* name, text* filter);

// Whether a name is not 'table.column': lists its columns in parentheses, has groups, or is an
// alias.
bool names_more(text* name);

// A word of columns[] (text[]) that is no column's name is no expression either: it is reported as
// a misspelt column is everywhere (42703, with those that could be meant), before the parser does.
void check_words(Oid relation, ArrayType* columns);

}  // namespace kde_pg
