// Who may do what with a density: who may read a table's columns may ask it, who may maintain the
// table may fit and refresh it, its owner may drop it. docs/operations.md has the table.
#pragma once

#include "pg/values/values.h"
#include "pg/catalog/density_key.h"

namespace kde_pg {

// The caller must have SELECT on the column (42501), and row-level security must not apply to it.
// Of a key on all its columns, those of its expressions and those of its filter.
void check_readable(TableColumn column);
void check_readable(const DensityKey& key);
bool is_readable(TableColumn column);
// The same where rows are read that the policies let through: whether some apply.
bool check_selectable(TableColumn column);
bool is_readable(const DensityKey& key);
// Of all columns of a table, also those to come.
bool is_readable(Oid relation);

// Whether the caller owns the relation, which exists, himself or as a member of the role that does.
bool is_owner(Oid relation);

// The caller must own the table (42501), and row-level security must not apply to him.
void check_owner(Oid relation);
// The same, but from PostgreSQL 17 on the privilege MAINTAIN on the table is enough.
bool may_maintain(Oid relation);
void check_may_maintain(Oid relation);

}  // namespace kde_pg
