// The catalog of densities, kde_aqp.fitted: finding, storing and removing them.
//
// It is a materialized view so that no publication can take it: what a server has fitted is its own
// affair, and a subscriber may not even have the extension. Nothing else about it is a view's: it
// is written here alone, below SQL, which writes to no materialized view; and what REFRESH computes
// is what it holds (kde_aqp.stored()). SQL reads and restores densities by a door, the empty table
// kde_aqp.density (events.cpp, densities.cpp).
//
// A row's key is the table, the columns' names and expressions and the filter, so that a dump
// carries it. Attribute numbers beside the names, also beside those that expressions and the filter
// use, are this database's; an event trigger keeps both, and the texts, in step with RENAME, and a
// row in which they disagree is not used. Rows are written below SQL's privileges (callers check
// ownership), under a lock that lasts to the end of the transaction, as SQL's does.
#pragma once

#include "pg/catalog/density_key.h"
#include "pg/catalog/extension_lock.h"
#include "pg/catalog/upkeep.h"
#include "pg/proof/proof.h"

extern "C" {
#include "access/transam.h"
#include "nodes/pg_list.h"
#include "storage/itemptr.h"
#include "utils/array.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"
}

namespace kde_pg {

// Tells a version of a row from every other: while a version can be seen, no other takes its place
// in the file, and what comes there later is another transaction's (unless all transaction numbers
// have come round between two looks).
struct RowVersion {
  Oid file;  // of the catalog; VACUUM FULL and TRUNCATE give it a new one
  ItemPointerData tid;
  TransactionId xmin;  // as inserted, also when frozen since
};

// A density as found in the catalog.
struct StoredDensity {
  struct varlena* value = nullptr;  // detoasted, palloc'ed; null: there is none
  RowVersion version;
  int64 id = 0;  // ties it to its row of kde_aqp.upkeep
  TimestampTz fitted_at = 0;
  Proof proof;  // palloc'ed
  // In the density's order, then its measures and what its groups are by; palloc'ed.
  ArrayType* column_names = nullptr;
  const char* settings = nullptr;  // DensityKey::settings
};

// Settings of a density; negative: the option's.
struct RefreshSettings {
  bool enabled = true;
  double scale_factor = -1;
  int64 threshold = -1;
  double max_age = -1;  // seconds; 0: any age will do
  // Whether plain SQL may be answered by it (plan/), which refreshes have no part in.
  bool plain_sql = false;
  // Its owner's consent to answers as of a time, in plain SQL, where rows may have changed since:
  // so many seconds ago at most. Negative: none.
  double plain_sql_age = -1;
};

// How many rows may change before what holds `rows` is stale.
struct ChangeLimit {
  double threshold, scale_factor;

  double of(double rows) const { return threshold + scale_factor * rows; }
};
ChangeLimit change_limit(const RefreshSettings& settings);

// How a fit was asked for, as far as it is not in the density: what a refresh asks for again.
// Every row that the scan reads counts.
inline constexpr int64 kAllRowsRead = 0;

struct FitRequest {
  const char* method;
  bool exact;         // of one column
  int64 sample_rows;  // -1: every row of the table; kAllRowsRead
  bool seed_given;    // a refresh then takes the same
  int64 seed;
  double max_error;   // of one column: of counts of 1 % of the rows; 0: none is asked for
  const char* alias;  // a name of the density's own; null: the one it has
  bool incremental;   // the densities of its parts are kept (parts.h)
  // What gives it, of one that was stored as a value, or kNoRefresh; null: the table's rows.
  const char* query;
};

// The query of a value that nothing gives anew.
inline constexpr char kNoRefresh[] = "";

// A density of a relation, without its value.
struct CatalogEntry {
  DensityKey key;  // without analysed trees
  TimestampTz fitted_at;
  ItemPointerData tid;
  int64 id;
  double cost_ms;  // of the fit
  FitRequest request;
  RefreshSettings settings;
  Proof proof;        // noted at the fit
  ArrayType* fitted;  // as_fitted.h; null: not known
};

// What is stored beside a density; see the table's definition.
struct FitRecord {
  struct varlena* density;
  FitRequest request;  // its seed is the one used
  int64 rows_read;
  double design_effect;  // kde::Sample::design_effect
  int64 bandwidth_rows;
  const char* bandwidth_status;  // null: the method searches nothing
  const char* model;             // kde::FitReport::model; null: the method is the model
  const char* engine;            // of the pair sums; null: none were needed
  int threads;                   // in them; 1: none were needed
  double scan_ms, select_ms, estimate_ms;
  // Of several columns: H, a double precision[][] (null: none), and the points that are stored.
  ArrayType* bandwidth_matrix;
  int64 stored_rows;  // 0: does not apply
  Proof proof;        // of the rows that were read
  // For kde_aqp.upkeep: the table's statistics before the rows were read.
  Counters counters;
  double table_rows;
};

// Locks both in AccessShareLock until the transaction ends, so that they are not dropped meanwhile.
// False, without waiting, if they are not there, being dropped, or locked as a whole.
bool catalog_hold();

// Whether there is no density, told by a look that waits for nobody: false where the catalog is
// locked as a whole.
bool catalog_seems_empty();

// The density of a key as `snapshot` sees it.
StoredDensity catalog_find(const DensityKey& key, Snapshot snapshot);

// Whether `snapshot` sees a version that catalog_find() found, now or earlier in this session.
bool catalog_sees(const RowVersion& version, Snapshot snapshot);

// The densities of a relation, or (InvalidOid) of all, as `snapshot` sees them; null: in their
// newest state (in parallel mode, where no snapshot can be taken, as the active one sees them). A
// palloc'ed list of CatalogEntry*; those of one relation follow each other.
List* catalog_list(Oid relation, Snapshot snapshot = nullptr);
// Calls visit for each whose row is current, in the order of the relations. `entry` is gone after
// the call. The tuple and its values are those of the catalog.
using CatalogVisitor = void (*)(HeapTuple tuple, TupleDesc desc, const CatalogEntry& entry,
                                void* state);
void catalog_visit(Snapshot snapshot, CatalogVisitor visit, void* state);
// Calls visit for each row, current or not.
using RowVisitor = void (*)(HeapTuple tuple, TupleDesc desc, void* state);
void catalog_copy(Snapshot snapshot, RowVisitor visit, void* state);
// Those that are nobody's: of relations that are gone, a number; and of relations whose columns
// were renamed while densities could not follow, the relations' OIDs, each once.
struct UnusableDensities {
  int gone;
  List* renamed;
};
UnusableDensities catalog_unusable(Snapshot snapshot);

// The density of a key, or of a relation and a number, in its newest state; null: there is none.
CatalogEntry* catalog_entry(const DensityKey& key);
CatalogEntry* catalog_entry(Oid relation, int64 id);
// The one of a version that `snapshot` sees; null: it is not there any more.
CatalogEntry* catalog_entry_at(const RowVersion& version, int64 id, Snapshot snapshot);
// That of an alias as `snapshot` sees it; null: there is none.
CatalogEntry* catalog_entry_by_alias(const char* alias, Snapshot snapshot);

// What its row holds beside an entry, read where the row lies; the caller holds the key's lock.
// Error 40001 if it is gone.
struct varlena* catalog_value(const CatalogEntry& entry);  // detoasted, palloc'ed
// The kernel of a density of one column, from the first bytes alone.
kde::Kernel catalog_kernel(const CatalogEntry& entry);

// Replaces the settings. The caller holds the key's lock.
void catalog_set(const CatalogEntry& entry, const RefreshSettings& settings);

// Replaces the proof. The caller holds the key's lock.
void catalog_prove(const CatalogEntry& entry, const Proof& proof);

// Serializes fits and drops of one key until the transaction ends (and, rarely, of others).
void catalog_lock(const DensityKey& key);
// The same without waiting: false if another session holds it.
bool catalog_try_lock(const DensityKey& key);
// Of several, a list of DensityKey*, in the one order in which everybody takes them: so no two who
// lock several densities of a table wait for each other. Whoever works on more than one in a
// statement locks them all by this first.
void catalog_lock_all(List* keys);

// A density and its upkeep in their newest state, read under the key's lock.
struct LockedDensity {
  CatalogEntry* entry;
  Upkeep upkeep;
};

// Inserts or replaces. The caller holds the key's lock; locked: what he has read under it, which is
// replaced where it lies, or null. Error 40001 if the transaction's own snapshot (REPEATABLE READ
// and up) does not see the version that would be replaced. Returns the density's number.
int64 catalog_store(const DensityKey& key, const FitRecord& record, LockedDensity* locked);

// Inserts a row of kde_aqp.density, which has the catalog's columns, none of them null that may not
// be, under the key's numbers and texts and a number of its own. The caller holds the key's lock.
// False if there is one already: a restore with triggers disabled must be able to enable them
// again.
bool catalog_restore(const DensityKey& key, HeapTuple row, TupleDesc desc);

// Removes; false if there was none. The caller holds the key's lock.
bool catalog_remove(const DensityKey& key);

// Removes every density of a relation (attnum 0) or those that use one column, which may be gone.
void catalog_remove_dropped(Oid relation, AttrNumber attnum);

// Removes every density whose relation is gone: one that went while the catalog was locked, or the
// library's file was missing. Every kde_fit() and every round of refreshes does.
void catalog_remove_gone();

// Gives the rows of a relation whose columns were renamed their present names, also in expressions
// and filters. A row whose texts no longer mean anything is removed with a NOTICE, one whose
// columns are gone without. The relation is locked.
void catalog_follow_renames(Oid relation);

// Removes, with catalog_remove_gone(), what kde_aqp.upkeep and kde_aqp.part have of densities that
// are not there any more.
void catalog_remove_orphans();

// The columns of the catalog and of kde_aqp.density, as the install script has them. Those of the
// key are the first.
enum class CatalogColumn {
  relation = 1,
  column_names,
  attribute_numbers,
  filter,
  reference_names,
  reference_numbers,
  density,
  requested_method,
  requested_exact,
  requested_sample_rows,
  seed,
  rows_read,
  design_effect,
  bandwidth_rows,
  bandwidth_status,
  model,
  engine,
  threads,
  scan_ms,
  select_ms,
  estimate_ms,
  bandwidth_matrix,
  stored_rows,
  fitted_at,
  id,
  requested_seed,
  refresh_enabled,
  refresh_scale_factor,
  refresh_threshold,
  refresh_max_age,
  requested_error,
  measures,
  groups,
  alias,
  plain_sql,
  incremental,
  refresh_query,
  plain_sql_age,
  as_fitted,
  as_of,
  proof
};
inline constexpr int kCatalogColumns = static_cast<int>(CatalogColumn::proof);

}  // namespace kde_pg
