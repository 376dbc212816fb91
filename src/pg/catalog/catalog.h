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
#include "pg/catalog/staleness.h"
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

// The OID of kde_aqp.fitted. Error 55000 if the extension is not installed in this database.
Oid catalog_oid();
// The same, InvalidOid if it is not there.
Oid catalog_oid_or_invalid();
Oid upkeep_oid_or_invalid();  // of kde_aqp.upkeep
Oid parts_oid_or_invalid();   // of kde_aqp.part
Oid door_oid_or_invalid();    // of kde_aqp.density
// Whether the catalog's relations are the extension's. Where it is not installed, anybody who may
// create schemas can make others of their names, and who is called by none of its functions must
// not believe those.
bool catalog_is_installed();

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

// The densities of a relation as `snapshot` sees them: a palloc'ed list of CatalogEntry*, in no
// particular order.
List* catalog_list(Oid relation, Snapshot snapshot);
// The same of all relations.
List* catalog_list_all(Snapshot snapshot);
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
// Their numbers, an int64* each.
List* catalog_ids(Snapshot snapshot);

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

// The index of a catalog relation's key.
Oid key_index_of(Relation table);
// Error 55000: the catalog is not what this library was built for.
[[noreturn]] void raise_other_version();
[[noreturn]] void raise_not_installed();
// A number for a density that is new here.
int64 new_density_id();

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

// The name of a column, palloc'ed; null if there is none or it was dropped.
const char* live_column_name(Oid relation, AttrNumber attnum);

// The columns of the catalog and of kde_aqp.density. Those of the key are the first.
enum class CatalogColumn {
  relation = 1,
  column_names,
  attribute_numbers,
  filter,
  reference_names,
  reference_numbers,
  density,
  model = 16,
  measures = 32,
  groups = 33,
  alias = 34,
  plain_sql = 35,
  incremental = 36,
  refresh_query = 37,
  plain_sql_age = 38,
  as_fitted = 39,
  as_of = 40,
  proof = 41
};
inline constexpr int kCatalogKeyColumns = 6;
inline constexpr int kCatalogColumns = 41;

// The columns above as datums, from a key with its analysed references.
void catalog_key_datums(const DensityKey& key, Datum values[kCatalogKeyColumns]);

// A key's measures, and what its groups are by, as a text[]; null: there are none.
ArrayType* measures_of(const DensityKey& key);
ArrayType* groups_of(const DensityKey& key);
// Reads how many of a key's columns[0 .. count - 1] are what. False if they cannot be.
bool divide_columns(int count, int measures, int groups, DensityKey* key);
// A key's columns and expressions as a text[].
ArrayType* column_names_of(const DensityKey& key);

// Columns of a relation by name and by number, as two arrays of the catalog have them.
struct NamedColumns {
  int count = 0;
  const char** name = nullptr;
  AttrNumber* number = nullptr;
};

// False unless both are arrays of one dimension (or empty), of one length and without nulls; at
// most `most` elements.
bool read_named_columns(ArrayType* names, ArrayType* numbers, int most, NamedColumns* out);

// Whether every name is the present one of its number; number 0 (an expression) is not looked at.
bool are_current(Oid relation, const NamedColumns& columns);

}  // namespace kde_pg
