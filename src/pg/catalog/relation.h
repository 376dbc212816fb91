// Tables and columns as users name them, and who may do what with their densities.
#pragma once

#include "pg/base/values.h"
#include "pg/catalog/catalog.h"

namespace kde_pg {

// 'table.column', 'schema.table.column' ..., quoting and search path as for any name.
// Errors: 42602 malformed; 42P01, 42703 no such table or column.
TableColumn column_by_text(text* name);

// Error 42703 if the column does not exist (hint: the columns that could be meant).
TableColumn column_by_name(Oid relation, const char* column_name);

// The caller must have SELECT on the column (42501), and row-level security must not apply to it.
// Of a key on all its columns, those of its expressions and those of its filter.
void check_readable(TableColumn column);
void check_readable(const DensityKey& key);
bool is_readable(TableColumn column);
bool is_readable(const DensityKey& key);

// Whether the caller owns the relation, which exists, himself or as a member of the role that does.
bool is_owner(Oid relation);

// The caller must own the table (42501), and row-level security must not apply to him.
void check_owner(Oid relation);
// The same, but from PostgreSQL 17 on the privilege MAINTAIN on the table is enough.
bool may_maintain(Oid relation);
void check_may_maintain(Oid relation);

// "table.column" as a user would write it, palloc'ed, for messages.
char* display_name(TableColumn column);

// The present type of a column. False if no density can hold it.
bool column_value_type(TableColumn column, kde::ValueType* type, int32* typmod);

}  // namespace kde_pg
