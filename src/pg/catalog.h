// The catalog table kde_aqp.density: finding, storing and removing densities.
//
// A row's key is the table and the column's name, so that a dump carries it. The attribute number
// beside it is this database's; an event trigger keeps both in step with RENAME, and a row in which
// they disagree is not used. Rows are written here, below SQL's privileges (callers check
// ownership), and every write tells all backends to drop what they have cached.
#pragma once

#include "pg/pg.h"

extern "C" {
#include "access/attnum.h"
#include "access/transam.h"
#include "storage/itemptr.h"
#include "utils/array.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"
#include "utils/timestamp.h"
}

namespace kde_pg {

// One column of a relation.
struct TableColumn {
  Oid relation = InvalidOid;
  AttrNumber attnum = InvalidAttrNumber;
};

// A density as found in the catalog.
struct StoredDensity {
  bool found = false;
  ItemPointerData tid;
  TransactionId xmin = InvalidTransactionId;  // of the row; Frozen if frozen
  CommandId cmin = 0;                         // meaningful if the row is this transaction's own
  bool own = false;                           // written by the current transaction
  struct varlena* value = nullptr;            // detoasted, in the caller's memory context
};

// What is stored beside a density; see the table's definition.
struct FitRecord {
  struct varlena* density;
  const char* requested_method;
  bool requested_exact;
  int64 requested_sample_rows;
  int64 seed;
  int64 rows_read;
  double design_effect;  // kde::Sample::design_effect
  int64 bandwidth_rows;
  const char* bandwidth_status;  // null: the method searches nothing
  const char* model;             // kde::FitReport::model; null: the method is the model
  const char* engine;            // null: no pair sums were needed
  int threads;
  double scan_ms, select_ms, estimate_ms;
};

// The OID of kde_aqp.density. Error 55000 if the extension is not installed in this database.
Oid catalog_oid();
// The same, InvalidOid if it is not installed.
Oid catalog_oid_or_invalid();

// The density of a column as `snapshot` sees it; the value is read only if wanted.
StoredDensity catalog_find(TableColumn column, Snapshot snapshot, bool want_value);

// Serializes fits and drops of one column until the transaction ends.
void catalog_lock_column(TableColumn column);

// Inserts or replaces. The caller holds the column's lock. Error 40001 if the transaction's own
// snapshot (REPEATABLE READ and up) does not see the version that would be replaced.
void catalog_store(TableColumn column, const FitRecord& record);

// Removes; false if there was none. The caller holds the column's lock.
bool catalog_remove(TableColumn column);

// Removes every density of a relation (attnum 0) or those with one column, which may be gone.
void catalog_remove_dropped(Oid relation, AttrNumber attnum);

// Gives the rows of a relation whose columns were renamed their present names.
void catalog_follow_renames(Oid relation);

// The attribute number of a row's column: that of its name, if the number stored agrees. 0 if there
// is no such column, or the two do not belong together (then the row is not to be trusted).
AttrNumber current_attnum(Oid relation, AttrNumber row_attnum, const char* row_name);

// The name of a column, palloc'ed; null if there is none or it was dropped.
const char* live_column_name(Oid relation, AttrNumber attnum);

// A palloc'ed name[] or smallint[] of one element, as in the catalog.
ArrayType* single_name_array(const char* name);
ArrayType* single_number_array(AttrNumber attnum);

// The element of an array of exactly one non-null name, or null.
const char* single_name(ArrayType* array);

// Columns of kde_aqp.density that triggers look at.
enum class CatalogColumn { relation = 1, column_names = 2, attribute_numbers = 3 };

}  // namespace kde_pg
