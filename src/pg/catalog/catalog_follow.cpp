// Keeps kde_aqp.fitted in step with others' DDL: what goes with its table or column, and what
// follows a column's new name (events.cpp); and removes what was left behind.
#include "pg/base/fault.h"
#include "pg/base/subtransaction.h"
#include "pg/catalog/catalog.h"
#include "pg/catalog/catalog_rows.h"
#include "pg/catalog/expression.h"
#include "pg/catalog/stretches.h"

extern "C" {
#include "access/tableam.h"
#include "catalog/indexing.h"
}

#include <algorithm>

namespace kde_pg {

namespace {

// For event triggers, which must not fail all DDL until ALTER EXTENSION UPDATE. Null: it is of
// another version, or the extension was dropped, perhaps while we waited.
Relation open_catalog_to_follow() {
  hold_extension();
  const Oid oid = catalog_oid_or_invalid();
  Relation catalog = OidIsValid(oid) ? try_table_open(oid, RowExclusiveLock) : nullptr;
  if (catalog != nullptr && RelationGetNumberOfAttributes(catalog) != kCatalogColumns) {
    table_close(catalog, RowExclusiveLock);
    return nullptr;
  }
  return catalog;
}

bool uses(const NamedColumns& columns, AttrNumber attnum) {
  for (int i = 0; i < columns.count; ++i) {
    if (columns.number[i] == attnum) return true;
  }
  return false;
}

// Who drops a column may not know what else uses it: measures, groups, expressions and filters.
void report_dropped_user(const CatalogRow& row, AttrNumber attnum) {
  for (int i = 0; i < row.key.columns; ++i)
    if (row.key.column[i].attnum == attnum) return;
  const char* name = nullptr;
  for (const NamedColumns* of : {&row.columns, &row.references})
    for (int i = 0; i < of->count; ++i)
      if (of->number[i] == attnum) name = of->name[i];
  if (name == nullptr) return;
  ereport(NOTICE, (errmsg("the density of %s is dropped, as it uses column \"%s\"",
                          display_name(row.key), name),
                   errhint("Fit it again without that column.")));
}

}  // namespace

void catalog_remove_dropped(Oid relation, AttrNumber attnum) {
  Relation catalog = open_catalog_to_follow();
  if (catalog == nullptr) return;
  bool any = false;
  for_rows_of(catalog, relation, nullptr, [&](HeapTuple tuple, const CatalogRow& row) {
    if (attnum != 0 && !uses(row.columns, attnum) && !uses(row.references, attnum)) return true;
    delete_whole(catalog, tuple);
    if (attnum != 0) report_dropped_user(row, attnum);
    any = true;
    KDE_FAULT("drop.deleted");
    return true;
  });
  table_close(catalog, NoLock);
  if (any) CommandCounterIncrement();
}

namespace {

bool relation_exists(Oid relation) {
  ScanKeyData key;
  ScanKeyInit(&key, Anum_pg_class_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relation));
  Relation classes = table_open(RelationRelationId, AccessShareLock);
  Snapshot latest = RegisterSnapshot(GetLatestSnapshot());
  SysScanDesc scan = systable_beginscan(classes, ClassOidIndexId, true, latest, 1, &key);
  const bool exists = HeapTupleIsValid(systable_getnext(scan));
  systable_endscan(scan);
  UnregisterSnapshot(latest);
  table_close(classes, AccessShareLock);
  return exists;
}

}  // namespace

namespace {

// Another session that removes it at this moment is not waited for, nor is that an error.
bool try_delete(Relation table, HeapTuple tuple) {
  TM_FailureData failure;
  return delete_at(table, &tuple->t_self, false, &failure) == TM_Ok;
}

// Rows of a table, whose first column is a density's number, of those that are none of `known`,
// which ascend.
bool remove_unknown(Relation table, const int64* known, Size count) {
  bool any = false;
  for_rows(table, nullptr, nullptr, [&](HeapTuple tuple) {
    int64 id = 0;
    (void)RowReader(tuple, RelationGetDescr(table))(1, &id);
    if (!std::binary_search(known, known + count, id) && try_delete(table, tuple)) any = true;
    return true;
  });
  return any;
}

}  // namespace

void catalog_remove_gone() {
  Relation catalog = open_catalog(RowExclusiveLock);
  bool any = false;
  const auto look = [&](HeapTuple tuple) {
    Oid relation = InvalidOid;
    (void)RowReader(tuple, RelationGetDescr(catalog))(CatalogColumn::relation, &relation);
    const int64 id = id_of(tuple, RelationGetDescr(catalog));
    // The cache may not have heard yet of what another transaction made and fitted.
    if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relation)) || relation_exists(relation) ||
        !try_delete(catalog, tuple))
      return true;
    remove_beside(id);
    return any = true;
  };
  for_rows(catalog, nullptr, nullptr, look, false);
  table_close(catalog, NoLock);
  if (any) CommandCounterIncrement();
}

void catalog_remove_orphans() {
  catalog_remove_gone();
  Relation stretches = open_stretches(RowExclusiveLock);
  Relation upkeep = open_upkeep(RowExclusiveLock);
  Relation catalog = open_catalog(AccessShareLock);
  Size count = 0, room = 64;
  auto* known = static_cast<int64*>(palloc(sizeof(int64) * room));
  // Also of rows that are not current.
  for_rows(catalog, nullptr, nullptr, [&](HeapTuple tuple) {
    if (count == room) known = static_cast<int64*>(repalloc(known, sizeof(int64) * (room *= 2)));
    known[count++] = id_of(tuple, RelationGetDescr(catalog));
    return true;
  });
  std::sort(known, known + count);
  bool any = remove_unknown(upkeep, known, count);
  any = remove_unknown(stretches, known, count) || any;
  table_close(catalog, AccessShareLock);
  table_close(upkeep, NoLock);
  table_close(stretches, NoLock);
  if (any) CommandCounterIncrement();
}

namespace {

enum class Names { same, changed, unclear, gone };

// What has become of a row's columns. Where an old name is another column's now, none was renamed
// (a command renames one): the row's numbers are not this table's.
Names look_at_names(Oid relation, const NamedColumns& columns) {
  Names found = Names::same;
  for (int i = 0; i < columns.count; ++i) {
    if (columns.number[i] == 0) continue;
    const char* name = live_column_name(relation, columns.number[i]);
    if (name == nullptr) return Names::gone;
    if (strcmp(name, columns.name[i]) == 0 || found == Names::unclear) continue;
    const bool taken = get_attnum(relation, columns.name[i]) != InvalidAttrNumber;
    found = taken ? Names::unclear : Names::changed;
  }
  return found;
}

// The key under the columns' present names. False if its texts can no longer be read.
bool renamed_key(Oid relation, const CatalogRow& row, DensityKey* key) {
  *key = row.key;
  if (row.references.count == 0) {
    for (int i = 0; i < key->all(); ++i)
      key->column[i].text = live_column_name(relation, key->column[i].attnum);
    return true;
  }
  const OldNames names{row.references.count, row.references.number, row.references.name};
  return without_error([&] {
    Relation rel = table_open(relation, NoLock);
    analyse_key(rel, &names, key);
    table_close(rel, NoLock);
    if (!fits_catalog(*key))
      ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("the texts are too long")));
  });
}

// The row under the columns' present names; null, with a NOTICE, if its texts can no longer be
// read.
HeapTuple renamed_row(Relation catalog, HeapTuple tuple, const CatalogRow& row) {
  DensityKey key;
  if (!renamed_key(row.key.relation, row, &key)) {
    ereport(NOTICE, (errmsg("dropping the density of %s", display_name(row.key)),
                     errdetail("Its expressions or its filter could not be renamed.")));
    return nullptr;
  }
  CatalogWriter renamed;
  put_key(&renamed, key);
  return renamed.change(tuple, RelationGetDescr(catalog));
}

// Whether the key of a row that is to be inserted is another's: of a fit since a rename that the
// row could not follow.
bool is_taken(Relation catalog, Oid relation, HeapTuple tuple) {
  CatalogRow wanted;
  if (!read_row(tuple, RelationGetDescr(catalog), &wanted)) return true;
  bool taken = false;
  for_rows_of(catalog, relation, nullptr, [&](HeapTuple, const CatalogRow& row) {
    taken = same_texts(row.key, wanted.key);
    return !taken;
  });
  return taken;
}

void insert_renamed(Relation catalog, Oid relation, List* rows) {
  for (HeapTupleData* tuple : of_list<HeapTupleData>(rows)) {
    if (is_taken(catalog, relation, tuple)) {
      remove_beside(id_of(tuple, RelationGetDescr(catalog)));
    } else {
      insert_row(catalog, tuple);
    }
    CommandCounterIncrement();
  }
}

}  // namespace

void catalog_follow_renames(Oid relation) {
  Relation catalog = open_catalog_to_follow();
  if (catalog == nullptr) return;
  List* changed = NIL;
  bool any = false;
  for_rows_of(catalog, relation, nullptr, [&](HeapTuple tuple, const CatalogRow& row) {
    const Names columns = look_at_names(relation, row.columns);
    const Names references = look_at_names(relation, row.references);
    if (columns == Names::gone || references == Names::gone) {
      delete_whole(catalog, tuple);
      any = true;
      return true;
    }
    if (columns == Names::unclear || references == Names::unclear ||
        (columns == Names::same && references == Names::same))
      return true;
    any = true;
    HeapTuple follows = renamed_row(catalog, tuple, row);
    if (follows == nullptr) {
      delete_whole(catalog, tuple);
    } else {
      changed = lappend(changed, follows);
      delete_row(catalog, tuple);
    }
    return true;
  });
  if (any) {
    // All are deleted before one is inserted: columns may have swapped their names.
    CommandCounterIncrement();
    KDE_FAULT("rename.deleted");
    insert_renamed(catalog, relation, changed);
    KDE_FAULT("rename.inserted");
    CommandCounterIncrement();
    KDE_FAULT("rename.done");
  }
  table_close(catalog, NoLock);
}

}  // namespace kde_pg
