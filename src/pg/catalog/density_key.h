// What a density is of, and by which it is found again: a relation, the set of its columns and
// expressions, the filter its rows passed, and what its groups are by.
#pragma once

#include "pg/base/pg.h"

#include "core/kde.h"

extern "C" {
#include "access/attnum.h"
#include "nodes/bitmapset.h"
#include "nodes/nodes.h"
}

namespace kde_pg {

// One column of a relation.
struct TableColumn {
  Oid relation = InvalidOid;
  AttrNumber attnum = InvalidAttrNumber;
};

// A column of the relation, or (attnum 0) a scalar expression over its columns.
struct KeyColumn {
  AttrNumber attnum;
  const char* text;  // the column's name as it is, or the expression in canonical form
  Node*
      expression;  // analysed, its Vars of varno 1; null for a column, and in keys from the catalog
};

// Columns lie in the order in which they were asked for. Two keys with the same columns in another
// order name the same density.
struct DensityKey {
  Oid relation = InvalidOid;
  int columns = 0;
  // Of one column so many measures follow it: they are no part of what the density is found by.
  int measures = 0;
  // Then so many by which it has groups, each a density: of one column alone.
  int groups = 0;
  KeyColumn column[kde::kMaxColumns] = {};
  const char* filter = "";    // canonical; "": all rows
  Node* condition = nullptr;  // the filter analysed; null as KeyColumn::expression
  // Columns of the relation that the expressions and the filter use, ascending.
  int references = 0;
  const AttrNumber* reference = nullptr;
  // Of a stored density what its rows are evaluated under (as_fitted.h); null: as the session has.
  const char* settings = nullptr;

  // With the measures, and what its groups are by.
  int all() const { return columns + measures + groups; }
  int first_group() const { return columns + measures; }
  bool has_filter() const { return filter[0] != '\0'; }
  // An expression or a filter.
  bool has_texts() const {
    bool any = has_filter();
    for (int i = 0; i < all(); ++i) any = any || column[i].attnum == 0;
    return any;
  }
  // A column of the table by itself, over all rows.
  bool is_plain() const {
    return columns == 1 && column[0].attnum != 0 && !has_filter() && groups == 0;
  }
  TableColumn plain() const { return {relation, column[0].attnum}; }
};

bool same_column(const KeyColumn& a, const KeyColumn& b);

// Which of a key's columns that is; -1: none.
int find_column(const DensityKey& key, const KeyColumn& wanted);

// Which of its measures that is; -1: none.
int find_measure(const DensityKey& key, const KeyColumn& wanted);

// Attribute numbers of all columns that it reads.
Bitmapset* columns_read_by(const DensityKey& key);

// The name of a column, palloc'ed; null if there is none or it was dropped.
const char* live_column_name(Oid relation, AttrNumber attnum);

// Columns of a relation by name and by number, as two arrays of the catalog have them.
struct NamedColumns {
  int count = 0;
  const char** name = nullptr;
  AttrNumber* number = nullptr;
};
// False unless both are arrays of one dimension (or empty), of one length and without nulls; at
// most `most` elements.
bool read_named_columns(ArrayType* names, ArrayType* numbers, int most, NamedColumns* out);

// A key's columns and expressions, its measures, and what its groups are by, as a text[] each; null
// for no measures, no groups.
ArrayType* column_names_of(const DensityKey& key);
ArrayType* measures_of(const DensityKey& key);
ArrayType* groups_of(const DensityKey& key);
// Reads how many of a key's columns[0 .. count - 1] are what. False if they cannot be.
bool divide_columns(int count, int measures, int groups, DensityKey* key);

// The key of a column by itself. Its text is palloc'ed; null if the column is gone.
DensityKey key_of(TableColumn column);

// Whether the columns, whatever their order, and the filters are the same.
bool same_key(const DensityKey& a, const DensityKey& b);

// Whether their columns, in their order, what groups are by, and the filters are written alike.
bool same_texts(const DensityKey& a, const DensityKey& b);

// A palloc'ed string that two keys of a relation share exactly if same_key() says so.
char* key_identity(const DensityKey& key);

// Without its groups.
DensityKey ungrouped(const DensityKey& key);

// A table as a regclass literal reads it, with its schema where the search path needs it.
const char* table_name(Oid relation);

// "table.column", "table (column, expression)", "table (column) by (column) where filter",
// palloc'ed, for messages.
char* display_name(const DensityKey& key);

// The density's name as functions take it, without its filter: as display_name(), the table with
// its schema where the search path needs it. palloc'ed.
char* density_name(const DensityKey& key);

// "column \"x\"", "expression \"x + 1\"", of a key for messages; palloc'ed.
char* describe_column(const DensityKey& key, int column);
// The same of all its columns: "column \"x\"", "columns \"x\", \"y\"".
char* describe_columns(const DensityKey& key);

// The call that would fit it, e.g. kde_fit('t', ARRAY['a', 'b'], filter => '(c > 0)'), palloc'ed.
char* fit_call(const DensityKey& key);
// The same with groups by something else; null: none.
char* fit_call_by(const DensityKey& key, const char* group_by);

}  // namespace kde_pg
