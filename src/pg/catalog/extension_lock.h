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

// Opens the table that find() (of catalog.h) finds. A writer (all but AccessShareLock) holds the
// extension first. Error 55000 where it is not installed or of another version, 55P03 as above.
Relation open_own_table(Oid (*find)(), LOCKMODE lock);

}  // namespace kde_pg
