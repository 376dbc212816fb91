// Densities a backend keeps at hand, so that an answer by name costs microseconds.
//
// An entry is a row version of the catalog, and is used only for snapshots that see that version:
//   * writers of the catalog send an invalidation; its callback only marks everything as old;
//   * a version whose inserter the snapshot sees as still running is not used (old cursors);
//   * a version that is not the newest (the snapshot of a REPEATABLE READ transaction, or of a
//     statement older than a commit) is used for that snapshot alone, since the invalidation that
//     would have told of the newer one has been consumed;
//   * a version written by the current transaction is used within it, after its command, and
//     forgotten at its end; a rollback to a savepoint sends its own invalidation.
// Least recently used entries go first when kde_aqp.cache_size is exceeded.
#pragma once

#include "pg/catalog.h"

namespace kde_pg {

// The stored density of a column, or of a key, as the active snapshot sees it, or null. Valid until
// the next call or the end of the statement's row, whichever is first: copy what must live longer.
const struct varlena* cached_density(TableColumn column);
const struct varlena* cached_density(const DensityKey& key);

// Registers the invalidation callback; once, from _PG_init.
void register_cache_callbacks();

}  // namespace kde_pg
