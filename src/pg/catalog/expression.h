// Expressions and filters of densities: from the text a user writes to an analysed tree and back to
// a canonical text.
//
// The canonical text is what PostgreSQL prints of the analysed expression with every name outside
// pg_catalog qualified and with the settings that literals depend on fixed (pinned.h); a filter is
// put in one order before (canonical_filter.h). It is what a
// density is found by, and what a dump carries; the catalog keeps beside it which columns it uses,
// by number and by name, so that it can follow RENAME.
#pragma once

#include "pg/catalog/density_key.h"

extern "C" {
#include "utils/relcache.h"
}

namespace kde_pg {

// The key of columns[]: an element that is the exact name of a column is that column, any other is
// read as an expression, whose names are looked up as in any query of the caller's. filter: may be
// null or "" for all rows. Locks the relation (AccessShareLock, until the transaction ends) only
// where there are expressions or a filter. Nothing is executed.
// Errors: 22023 for no column, 54000 for more than kMaxColumns or texts too long for the catalog,
// 22004 for a null, 2202E for an array of more dimensions, 42701 for a column twice; of an
// expression or a filter: those of the parser; 0A000 for subqueries, sets, system columns and whole
// rows; 42803, 42P20 for aggregates and window functions; 42P17 for an expression of no column;
// 42804 for a filter that is no boolean.
// measures, group_by (null: none): of one column its measures, and what its groups are by, each
// read as an element of columns[]. Errors: 54000 for more than kMaxMeasures, kMaxGroupBy; 42701 for
// one twice, or a measure that is the column itself; 0A000 of several columns.
DensityKey key_by_arrays(Oid relation, ArrayType* columns, text* filter,
                         ArrayType* measures = nullptr, ArrayType* group_by = nullptr);

// The same for one column, which must be a name (42703).
DensityKey key_by_name(Oid relation, const char* column_name, text* filter,
                       ArrayType* measures = nullptr, ArrayType* group_by = nullptr);

// Texts as they stand in the catalog, to an analysed key: attnum of column[] says which are
// expressions; texts, and names in them, are looked up as they were written there. With `names`
// (null for the present ones) columns have these names: names[i] is that of number[i]; others have
// none. The key has canonical texts under the present names. Done as the relation's owner, who
// wrote the texts: to read a literal of an array, range or row of a domain runs the domain's
// constraints.
struct OldNames {
  int count;
  const AttrNumber* number;
  const char* const* name;
};
void analyse_key(Relation relation, const OldNames* names, DensityKey* key);

// Of an analysed key some columns of which were left out: its references are those of the rest.
void renew_references(DensityKey* key);

// The texts that a planner's trees of the key's columns and filter have, in place of its own:
// constants are folded. Not those of expressions with functions of users, or others that are not
// immutable, which may have been others at the fit. False: an error says that they have none; the
// key is then of no use. Not in parallel mode.
bool fold_key(Relation relation, DensityKey* key);

// What a user wrote as one expression, parsed and no more; for the analysis, which has to be called
// between begin() and end(), `source` is the text that places of errors are in. Errors: 42601.
class UserExpression {
 public:
  Node* begin(const char* text);
  const char* source() const { return source_; }
  void end();

 private:
  const char* source_ = nullptr;
  ErrorContextCallback callback_ = {};
};

// The type of a key's column. typmod: of the type that a domain constrains.
Oid key_column_type(const DensityKey& key, int column, int32* typmod);

// And its collation; InvalidOid: none.
Oid key_column_collation(const DensityKey& key, int column);

// Whether the catalog's primary key can hold the texts.
bool fits_catalog(const DensityKey& key);

}  // namespace kde_pg
