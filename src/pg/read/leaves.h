// The relations with rows of a table, or of a partition or inheritance tree.
#pragma once

#include "pg/base/pg.h"
#include "pg/catalog/density_key.h"

extern "C" {
#include "nodes/pg_list.h"
#include "utils/relcache.h"
}

namespace kde_pg {

// False for relations without rows of their own. Errors: 42809, 55000 for what cannot be read.
bool has_rows(Relation rel);

// The tables and foreign tables that have the rows of a relation, each a part that can be read by
// itself, as OIDs in their order; locked until the transaction ends. Errors: 0A000 for a table that
// has rows of its own beside its children's, or columns that are computed by the whole tree.
List* leaf_relations(Relation relation, const DensityKey& key);

}  // namespace kde_pg
