// Densities as users name them.
#pragma once

#include "pg/catalog/density_key.h"

extern "C" {
#include "utils/array.h"
}

namespace kde_pg {

// What a name says: 'table.column', or 'table (column, expression, ...)' of one or more columns,
// each of which is read as in key_by_arrays(). Quoting and search path are as for any name. Errors:
// 42602 malformed; 42P01, 42703 no such table or column; those of key_by_arrays().
DensityKey key_by_text(text* name);

// A word of columns[] (text[]) that is no column's name is no expression either: it is reported as
// a misspelt column is everywhere (42703, with those that could be meant), before the parser does.
void check_words(Oid relation, ArrayType* columns);

}  // namespace kde_pg
