// Tables without a density that plain SQL may be answered by, remembered by each backend so that
// planning queries of theirs costs no look-up in the catalog. kde_set_plain_sql() and restores send
// a relcache invalidation of the table, which forgets it.
#pragma once

#include "pg/base/pg.h"

namespace kde_pg {

bool has_no_consent(Oid relation);
// Invalidations so far: to be taken before the catalog is looked at, by the latest snapshot.
uint64 consent_invalidations();
// Nothing is noted if there were more meanwhile.
void note_no_consent(Oid relation, uint64 invalidations);

// Once, from _PG_init.
void register_consent_callback();

}  // namespace kde_pg
