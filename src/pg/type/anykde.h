// The SQL type `anykde`: a density as functions take it, by name or by value.
//
// A datum is a varlena of either
//   the bytes of a `kde` (density_datum.h), the first of which is its version, at most 31, or
//   a name as text, whose first byte is greater.
// So a `kde` is an `anykde` as it stands. A text is not: it is let in by a function that looks at
// its first byte, lest bytes that nobody validated be read as a density.
#pragma once

#include "pg/base/pg.h"

namespace kde_pg {

// The name in a non-null `anykde` datum; null if it is a value.
text* name_in(Datum datum);

}  // namespace kde_pg
