// What a density's values meant when it was fitted, kept beside it as text, which a dump carries:
//
//   of each column, expression and reference, in the order of the catalog's row, its type with what
//   a domain is over, its typmod and its collation;
//   "setting NAME=VALUE"      what STABLE parts of expressions and filters depend on
//   "labels TYPE=ARRAY"       of each enum, in order; and "numbers TYPE=ARRAY", theirs here
//   "type TYPE=ATTRIBUTES"    of each composite type; of each range its subtype
//   "domain TYPE=CONSTRAINTS" of each domain that a value is cast to
//   "function SIGNATURE=HASH" of each function that is not the server's own
//   "collation NAME=VERSION"  where the order of texts, or which are the same, depends on it
//
// Every look at it goes this way: a density whose columns mean something else by now answers
// nothing and is stale. Its rows are evaluated under its own settings always, and it answers the
// sessions that have the same.
#pragma once

#include "pg/catalog/density_key.h"
#include "pg/catalog/meaning.h"

namespace kde_pg {

// "NAME=VALUE" lines of what the key's STABLE parts depend on: as the key has them, else as the
// session has; "": nothing. Analysed, palloc'ed.
const char* settings_of(const DensityKey& key);

// As above, of an analysed key. palloc'ed.
ArrayType* as_fitted(const DensityKey& key);

// The settings of what as_fitted() made, palloc'ed; "": none. null: none.
const char* settings_in(ArrayType* fitted);

// What has changed since, for users, palloc'ed; null: nothing. key: of the catalog or analysed.
// fitted: null if it is not known.
const char* changed_since_fit(const DensityKey& key, ArrayType* fitted);

// Whether its table or a column of it was dropped after the catalog was read: there is no density.
bool is_gone(const DensityKey& key);

// Whether the session's settings are these lines. Cheap.
bool has_settings(const char* settings);

// Error 55000: of a density that has changed, for that reason; of one with other settings.
[[noreturn]] void raise_changed_meaning(const DensityKey& key, const char* why);
[[noreturn]] void raise_other_settings(const DensityKey& key, const char* settings);

// What a dump brought, for a row whose references are in another order. Null if it is not of as
// many columns and references as there are names.
ArrayType* reorder_fitted(ArrayType* fitted, int columns, const NamedColumns& brought,
                          const DensityKey& key);

}  // namespace kde_pg
