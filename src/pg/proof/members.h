// Whose rows a relation's are: its own, its descendants', or none of this server's.
#pragma once

#include "pg/base/pg.h"

namespace kde_pg {

// The relation and its descendants, in the order of their numbers. Nothing is locked, so any of
// them may go meanwhile, which find_all_inheritors() takes for an error.
List* members_of(Oid relation);

// Whether a relation is one of Citus's: distributed, reference, local but managed.
bool is_of_shards(Oid relation);

}  // namespace kde_pg
