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

#include "pg/catalog/catalog_entry.h"
#include "pg/catalog/extension_lock.h"

extern "C" {
#include "access/htup.h"
#include "utils/snapshot.h"
}

namespace kde_pg {

// Locks both in AccessShareLock until the transaction ends, so that they are not dropped meanwhile.
// False, without waiting, if they are not there, being dropped, or locked as a whole.
bool catalog_hold();

// Whether there is no density, told by a look that waits for nobody: false where the catalog is
// locked as a whole.
bool catalog_seems_empty();

// The density of a key as `snapshot` sees it. value: where its bytes are put; null: where all else is.
StoredDensity catalog_find(const DensityKey& key, Snapshot snapshot, MemoryContext value = nullptr);

// Whether `snapshot` sees a version that catalog_find() found, now or earlier in this session.
bool catalog_sees(const RowVersion& version, Snapshot snapshot);

// The densities of a relation, or (InvalidOid) of all, as `snapshot` sees them; null: in their
// newest state. A palloc'ed list of CatalogEntry*; those of one relation follow each other.
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

// Removes, with catalog_remove_gone(), what other tables have of densities that are not there any more.
void catalog_remove_orphans();

}  // namespace kde_pg
