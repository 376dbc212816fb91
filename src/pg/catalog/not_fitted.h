// What is said where no density is fitted for what was asked about: the call that would fit it, and
// what is fitted that comes near it.
#pragma once

#include "pg/catalog/density_key.h"

namespace kde_pg {

// "Densities are fitted for t.a; t.a where (b > 1). ", or "" where nothing comes near: those of the
// key's columns, and others beside them, under any filter; where there are none, of any of its
// columns. At most five, and only what the current user may read. palloc'ed.
const char* fitted_nearby(const DensityKey& key);

// The measures of the density that the key finds: "'amount' or 'price * quantity'", as literals; ""
// where it has none, or may not be read. palloc'ed.
const char* measures_there(const DensityKey& key);

// The whole hint: fitted_nearby() and the call that would fit the key; with a measure, beside those
// that are there. palloc'ed.
const char* fitting_hint(const DensityKey& key);

// Error 42804 for a column or expression of a type no density can hold, with the columns of types
// that one can.
void check_can_be_fitted(const DensityKey& key);

// Error 42704 with that hint; 42804 as above.
[[noreturn]] void raise_not_fitted(const DensityKey& key);

}  // namespace kde_pg
