// Tables and columns as users name them.
#pragma once

#include "pg/values/values.h"
#include "pg/catalog/density_key.h"

namespace kde_pg {

// 'table.column', 'schema.table.column' ..., quoting and search path as for any name.
// Errors: 42602 malformed; 42P01, 42703 no such table or column.
TableColumn column_by_text(text* name);

// Its parts, at least two. Error 42602.
List* qualified_names(text* name);

// 'table', 'schema.table' ... as above, as a text or in parts. Error 42P01; the hint is of a column
// whose name has a point, if the parts and `column`, what follows them, are those of one.
Oid relation_by_names(List* names, const char* column = nullptr);
Oid relation_by_text(text* name);

// The table of that name, or number, as regclass has it; InvalidOid: there is none. By text: error
// 42P01, 42602.
Oid find_table(text* name);
Oid table_by_text(text* name);

// The table of that name (attnum 0), also by its number; or where there is none, and what precedes
// the last point is a table, that one's column. Errors: as above; 42703.
TableColumn table_or_column(text* name);

// The number of a column by its exact name, InvalidAttrNumber if there is none. Every column that a
// caller names passes here: no row that is read has system columns. Error 0A000 for those.
AttrNumber column_number(Oid relation, const char* column_name);

// Error 0A000 as above, 42703 if the column does not exist (hint: the columns that could be meant,
// that of the nearest name first).
TableColumn column_by_name(Oid relation, const char* column_name);

// "Columns that can have a density: "a", "b".", at most ten of them; "" if there is none.
// Palloc'ed.
const char* fittable_columns(Oid relation);

// "table.column" as a user would write it, palloc'ed, for messages.
char* display_name(TableColumn column);

// The present type of a column. False if no density can hold it.
bool column_value_type(TableColumn column, kde::ValueType* type, int32* typmod);

}  // namespace kde_pg
