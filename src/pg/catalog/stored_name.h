// The density that a name means, also where what it was written with is gone: its function was
// dropped, a label renamed. Such texts can no longer be read; they can still be compared.
#pragma once

#include "pg/catalog/density_name.h"

extern "C" {
#include "utils/relcache.h"
}

namespace kde_pg {

// The key that a name and a filter mean: that of a stored density with exactly these texts; else as
// key_of_parts() reads them; else that of the only density that cannot be read either and has the
// same words, in whatever order, with or without schemas. False if the texts cannot be read and
// there is none. The caller holds the relation's lock.
// Errors: those of key_of_parts(), but for what the texts name; 42P09 for several densities alike.
bool find_stored_key(Relation relation, const NameParts& parts, text* filter, DensityKey* key);

// The same; the error of key_of_parts() if there is none.
DensityKey stored_key(Relation relation, const NameParts& parts, text* filter);

}  // namespace kde_pg
