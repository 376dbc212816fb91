// Who reads or writes the extension's own tables beside DROP EXTENSION.
//
// That locks the extension first, then all that is of it, in no order that others could follow. So
// writers lock the extension before any of its tables, and readers, who would wait for one of them
// while they hold what it still wants (a view, a table with a column of type kde), end by an error
// at once, instead of in a deadlock that may end either.
#pragma once

#include "pg/base/pg.h"

extern "C" {
#include "storage/lockdefs.h"
#include "utils/relcache.h"
}

namespace kde_pg {

// Locks the extension in AccessShareLock to the end of the transaction, if it is there. Waits for
// who drops it; error 55P03 where that waits for this transaction.
void hold_extension();

// The same without waiting: the extension, or InvalidOid where it is not there or being dropped.
Oid hold_extension_at_once();
// What hold_extension_at_once() gave, before the transaction's end.
void release_extension(Oid extension);

// The extension's tables: kde_aqp.fitted, which is the catalog, kde_aqp.fitted_stretches beside it,
// kde_aqp.upkeep, and kde_aqp.density, the catalog's door for dumps.
enum class OwnTable { fitted, fitted_stretches, upkeep, density };

// InvalidOid: it is not there.
Oid own_table_oid(OwnTable table);
inline Oid catalog_oid_or_invalid() { return own_table_oid(OwnTable::fitted); }
// Error 55000 if the extension is not installed in this database.
Oid catalog_oid();
// Whether the tables are the extension's. Where it is not installed, anybody who may create schemas
// can make others of their names, and who is called by none of its functions must not believe
// those.
bool catalog_is_installed();

// Opens a table, which must have so many columns: between the files of a new version and ALTER
// EXTENSION UPDATE it may be another. A writer (all but AccessShareLock) holds the extension first,
// and keeps its lock to the end of the transaction, as SQL does: VACUUM FULL, REINDEX and ALTER
// TABLE must not meet rows whose transaction still runs. Error 55000 where it is not installed or
// of another version, 55P03 as above.
Relation open_own_table(OwnTable table, int columns, LOCKMODE lock);

// Error 55000: the tables are not what this library was built for.
[[noreturn]] void raise_other_version();

}  // namespace kde_pg
