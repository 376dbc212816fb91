// The densities of tables by which plain SQL may be answered, kept by each backend from one
// statement to the next, as its planner asks of each: to read the catalog anew, and to analyse and
// fold each key, takes far longer than to plan.
//
// Who writes to the catalog sends a relcache invalidation of it, which forgets all. What changes a
// table, as a column's new type does, sends one of the table.
#pragma once

#include "pg/catalog/catalog_entry.h"

namespace kde_pg {

// What is kept beside an entry.
struct KnownDensity {
  MemoryContext memory;
  // By attribute number, from FirstLowInvalidHeapAttributeNumber on as the planner's are: of all
  // that its key reads, and of its filter; of_filter: null where that is not known, or none.
  const Bitmapset *columns, *of_filter;
  // The key as a planner's trees have it; null: as it is written, or not known yet.
  const DensityKey* folded;
  bool is_folded;
};

// Those of a table, CatalogEntry*, which last as long as the current memory context; NIL: none.
// any: also those whose owner has not allowed plain SQL, and then nothing is kept beside them.
List* known_densities(Oid relation, bool any);

// Whether none was found when it was looked at last.
bool is_known_to_have_none(Oid relation);

// The key of an entry as a planner's trees have it, looked up once; null: as it is written, or it
// cannot be.
const DensityKey* folded_key(Relation relation, const CatalogEntry& entry);

// Once, from _PG_init.
void register_known_densities();

}  // namespace kde_pg
