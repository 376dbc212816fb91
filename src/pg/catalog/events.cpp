// What keeps the catalog in step with the rest of the database:
//
//   has_densities  asked first by the event triggers: whether there is anything to keep in step
//   follow_drop    of the event trigger kde_aqp_on_drop: removes the densities of dropped tables
//                  and columns
//   follow_alter   of the event trigger kde_aqp_on_alter: lets densities follow renamed columns,
//                  and takes in what a restore with triggers disabled left in the door
//   on_row         row trigger of kde_aqp.density, the door: puts the rows of a restore into the
//                  catalog, with the attribute numbers of this database, its canonical texts and a
//                  number of their own; none stays in the door. A row that means nothing here is
//                  passed over with a WARNING, as a restore brings all by one command
//
// The event triggers' own function, kde_aqp.on_ddl(), is PL/pgSQL, so that a missing library fails
// nobody's DDL. Nor does a catalog that somebody has locked: after kPatience the command passes
// with a WARNING. What is then left behind answers nobody (its names and numbers disagree, or its
// relation is gone), and goes at the next occasion.
//
// What fits and drops write by themselves passes none of these.
#include "pg/base/fault.h"
#include "pg/base/subtransaction.h"
#include "pg/catalog/changed_databases.h"
#include "pg/catalog/expression.h"
#include "pg/catalog/catalog.h"
#include "pg/catalog/column_name.h"
#include "pg/catalog/name_text.h"
#include "pg/catalog/own_row.h"
#include "pg/catalog/privileges.h"

extern "C" {
#include "access/genam.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_inherits.h"
#include "commands/event_trigger.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/varlena.h"
}

namespace kde_pg {

namespace {

void check_trigger(FunctionCallInfo fcinfo, const char* function) {
  if (!CALLED_AS_TRIGGER(fcinfo))
    ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                    errmsg("function \"%s\" was not called by trigger manager", function)));
}

// How long a command waits at most for what it needs of the catalog (a value of lock_timeout).
constexpr const char* kPatience = "2s";

bool is_lock_trouble(int sqlstate) {
  return sqlstate == ERRCODE_LOCK_NOT_AVAILABLE || sqlstate == ERRCODE_T_R_DEADLOCK_DETECTED;
}

// Runs work() with that patience. It is undone, with a WARNING, where it runs out.
template <typename Work>
void patiently(Work work) {
  const auto hurried = [&] {
    const int level = NewGUCNestLevel();
    if (LockTimeout == 0 || LockTimeout > 2000)
      (void)set_config_option("lock_timeout", kPatience, PGC_USERSET, PGC_S_SESSION,
                              GUC_ACTION_SAVE, true, 0, false);
    work();
    AtEOXact_GUC(true, level);
  };
  if (without_error(hurried, nullptr, is_lock_trouble)) return;
  ereport(
      WARNING,
      (errcode(ERRCODE_LOCK_NOT_AVAILABLE),
       errmsg("densities do not follow this command: the catalog of extension \"kde_aqp\" is "
              "locked"),
       errdetail("Densities of what it renamed are not found any more; those of what it dropped "
                 "are no longer used, and go with the next fit or kde_refresh_all()."),
       errhint("Fit what was renamed again, or run any ALTER TABLE on its table, when the lock "
               "is gone.")));
}

// Runs a query of the trigger's own and visits each row's values, at most kMostValues, none of them
// null. Nothing in it depends on the search path.
constexpr int kMostValues = 2;
template <typename Visit>
void for_objects(const char* query, SPIPlanPtr* plan, Visit visit) {
  if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "SPI_connect failed");
  if (*plan == nullptr) {
    *plan = SPI_prepare(query, 0, nullptr);
    if (*plan == nullptr || SPI_keepplan(*plan) != 0)
      elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
  }
  const int result = SPI_execute_plan(*plan, nullptr, nullptr, true, 0);
  if (result != SPI_OK_SELECT)
    elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(result));
  SPITupleTable* table = SPI_tuptable;
  for (uint64 i = 0; i < table->numvals; ++i) {
    Datum values[kMostValues];
    bool is_null;
    for (int k = 0; k < table->tupdesc->natts; ++k)
      values[k] = SPI_getbinval(table->vals[i], table->tupdesc, k + 1, &is_null);
    visit(values);
  }
  SPI_finish();
}

// The tables that are of a composite type, by the dependency catalog.
List* tables_of_type(Oid type) {
  List* tables = NIL;
  if (get_typtype(type) != TYPTYPE_COMPOSITE) return tables;
  ScanKeyData key[2];
  ScanKeyInit(&key[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
              ObjectIdGetDatum(TypeRelationId));
  ScanKeyInit(&key[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ,
              ObjectIdGetDatum(type));
  Relation depend = table_open(DependRelationId, AccessShareLock);
  SysScanDesc scan = systable_beginscan(depend, DependReferenceIndexId, true, nullptr, 2, key);
  HeapTuple tuple;
  while (HeapTupleIsValid(tuple = systable_getnext(scan))) {
    const auto* found = reinterpret_cast<Form_pg_depend>(GETSTRUCT(tuple));
    if (found->classid == RelationRelationId && found->objsubid == 0)
      tables = list_append_unique_oid(tables, found->objid);
  }
  systable_endscan(scan);
  table_close(depend, AccessShareLock);
  return tables;
}

// A rename reaches the children of a table.
void follow_renames(Oid relation) {
  for (const Oid oid : oids(find_all_inheritors(relation, NoLock, nullptr)))
    catalog_follow_renames(oid);
}

// pg_restore --disable-triggers enables them when it is through, and what it left in the door can
// pass. It enables them as ordinary ones, which a replica's session does not run.
void take_in_what_is_left() {
  Relation door = try_relation_open(own_table_oid(OwnTable::density), AccessShareLock);
  if (door == nullptr) return;  // dropped while we waited
  bool enabled = false, always = false;
  const TriggerDesc* triggers = door->trigdesc;
  for (int i = 0; triggers != nullptr && i < triggers->numtriggers; ++i) {
    if (strcmp(triggers->triggers[i].tgname, "on_row") != 0) continue;
    enabled = triggers->triggers[i].tgenabled != TRIGGER_DISABLED;
    always = triggers->triggers[i].tgenabled == TRIGGER_FIRES_ALWAYS;
  }
  const bool any = RelationGetNumberOfBlocks(door) > 0;
  relation_close(door, NoLock);
  if (!enabled || !any) return;
  if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "SPI_connect failed");
  if (SPI_execute("INSERT INTO kde_aqp.density SELECT * FROM kde_aqp.density", false, 0) !=
          SPI_OK_INSERT ||
      SPI_execute("TRUNCATE kde_aqp.density", false, 0) != SPI_OK_UTILITY ||
      (!always && SPI_execute("ALTER TABLE kde_aqp.density ENABLE ALWAYS TRIGGER on_row", false,
                              0) != SPI_OK_UTILITY))
    elog(ERROR, "could not take in the rows of kde_aqp.density");
  SPI_finish();
}

void follow_alter_of(Oid classid, Oid object) {
  if (classid == TypeRelationId) {
    for (const Oid oid : oids(tables_of_type(object))) follow_renames(oid);
    return;
  }
  if (classid != RelationRelationId) return;
  if (object == own_table_oid(OwnTable::density) && OidIsValid(catalog_oid_or_invalid()))
    return take_in_what_is_left();
  switch (get_rel_relkind(object)) {
    case RELKIND_RELATION:
    case RELKIND_MATVIEW:
    case RELKIND_PARTITIONED_TABLE:
    case RELKIND_FOREIGN_TABLE:
      return follow_renames(object);
    case RELKIND_COMPOSITE_TYPE:
      return follow_alter_of(TypeRelationId, get_rel_type_id(object));
    default:
      return;
  }
}

// What a row of a restore brought, and why it is not taken in.
struct Brought {
  const char* relation;  // its name
  NamedColumns columns, references;
  bool are_columns, are_references;  // else they are none
  int16 measures, groups;
  const char* filter;
  DensityKey key;
  const char* why;  // null: nothing speaks against it
};

Brought read_brought(HeapTuple tuple, TupleDesc desc) {
  using C = CatalogColumn;
  Brought row = {};
  RowReader read(tuple, desc);
  ArrayType *names, *numbers;
  const auto columns = [&](C names_at, C numbers_at, int most, NamedColumns* out) {
    return read(names_at, &names) && read(numbers_at, &numbers) &&
           read_named_columns(names, numbers, most, out);
  };
  read(C::relation, &row.relation);
  read(C::filter, &row.filter);
  read(C::measures, &row.measures);
  read(C::groups, &row.groups);
  row.are_columns =
      columns(C::column_names, C::attribute_numbers, kde::kMaxColumns, &row.columns) &&
      row.columns.count > 0;
  row.are_references =
      columns(C::reference_names, C::reference_numbers, MaxHeapAttributeNumber, &row.references);
  return row;
}

// The density by its names alone: the table or a column may not exist.
const char* label_of(const Brought& row) {
  StringInfoData out;
  initStringInfo(&out);
  appendStringInfoString(&out, row.relation);
  for (int i = 0; row.are_columns && i < row.columns.count; ++i)
    appendStringInfo(&out, "%s%s%s", i == 0 ? " (" : ", ", row.columns.name[i],
                     i + 1 == row.columns.count ? ")" : "");
  if (*row.filter != '\0') appendStringInfo(&out, " where %s", row.filter);
  return out.data;
}

// A name as regclass takes it, but for a missing table, which is no error.
Oid find_relation(const char* name) {
  Oid relation;
  if (is_number_of_table(name, &relation)) return relation;
  List* names = textToQualifiedNameList(cstring_to_text(name));
  return RangeVarGetRelid(makeRangeVarFromNameList(names), NoLock, true);
}

// The key as it was brought: which elements are expressions say the zeros among the attribute
// numbers. Null, or why it is none here.
const char* read_key(Brought* row) {
  DensityKey* key = &row->key;
  const NamedColumns& columns = row->columns;
  key->relation = find_relation(row->relation);
  if (!OidIsValid(key->relation)) return "the table does not exist";
  // The extension's owner may insert, but his expressions would be computed, and any table of
  // others read, with its owner's rights at the next refresh.
  if (!is_owner(key->relation)) return "the current user does not own the table";
  if (!row->are_columns || !divide_columns(columns.count, row->measures, row->groups, key))
    return "its columns make no density";
  for (int i = 0; i < columns.count; ++i) {
    const bool expression = columns.number[i] == 0;
    const AttrNumber attnum =
        expression ? InvalidAttrNumber : get_attnum(key->relation, columns.name[i]);
    if (!expression && attnum <= 0)
      return psprintf("column \"%s\" does not exist", columns.name[i]);
    key->column[i] = {attnum, columns.name[i], nullptr};
  }
  key->filter = row->filter;
  return nullptr;
}

// The references that a row brought, under this database's numbers. False if they do not exist.
bool take_references(Brought* row, DensityKey* key) {
  const NamedColumns& brought = row->references;
  if (!row->are_references) return false;
  for (int i = 0; i < brought.count; ++i) {
    brought.number[i] = get_attnum(key->relation, brought.name[i]);
    if (brought.number[i] <= 0) return false;
  }
  key->references = brought.count;
  key->reference = brought.number;
  return true;
}

// Gives the key this database's texts and references. A restore grants privileges last, so that the
// owner may not yet use a schema: then all is kept as it came. Other errors of the texts, which
// mean nothing here, are raised.
void complete_key(Brought* row) {
  DensityKey* key = &row->key;
  if (!key->has_texts()) return;
  const DensityKey brought = *key;
  const auto analyse = [key] {
    Relation rel = relation_open(key->relation, AccessShareLock);
    analyse_key(rel, nullptr, key);
    relation_close(rel, NoLock);
  };
  const auto lacks_privilege = [](int sqlstate) {
    return sqlstate == ERRCODE_INSUFFICIENT_PRIVILEGE;
  };
  if (without_error(analyse, nullptr, lacks_privilege, true, &row->why)) return;
  *key = brought;
  if (take_references(row, key)) row->why = nullptr;
}

// Whether an error is one of the row that is restored: the others are to come all the same.
bool is_of_the_row(int sqlstate) {
  return sqlstate != ERRCODE_LOCK_NOT_AVAILABLE &&
         (is_about_the_work(sqlstate) || sqlstate == ERRCODE_INTERNAL_ERROR);
}

bool has_null_column(HeapTuple tuple, TupleDesc desc) {
  for (int i = 0; i < desc->natts; ++i) {
    if (TupleDescAttr(desc, i)->attnotnull && heap_attisnull(tuple, i + 1, desc)) return true;
  }
  return false;
}

}  // namespace

}  // namespace kde_pg

KDE_EXPORT(kde_on_row);
Datum kde_on_row(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  check_trigger(fcinfo, "kde_aqp.on_row");
  const TriggerData* data = reinterpret_cast<TriggerData*>(fcinfo->context);
  if (!TRIGGER_FIRED_FOR_ROW(data->tg_event) || !TRIGGER_FIRED_BEFORE(data->tg_event))
    ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                    errmsg("function \"%s\" must be fired before each row", "kde_aqp.on_row")));
  HeapTuple tuple = data->tg_trigtuple;
  TupleDesc desc = RelationGetDescr(data->tg_relation);
  // Until ALTER EXTENSION UPDATE it may be of another version.
  if (data->tg_relation->rd_rel->relpersistence != RELPERSISTENCE_UNLOGGED ||
      desc->natts != kCatalogColumns ||
      TupleDescAttr(desc, static_cast<int>(CatalogColumn::relation) - 1)->atttypid != TEXTOID)
    raise_other_version();
  // The table's constraints speak of it.
  if (has_null_column(tuple, desc)) PG_RETURN_POINTER(tuple);

  Brought row = read_brought(tuple, desc);
  const char* error = "its texts cannot be read";
  const auto understand = [&] {
    row.why = read_key(&row);
    if (row.why == nullptr) complete_key(&row);
  };
  if (!without_error(understand, nullptr, is_of_the_row, true, &error)) row.why = error;
  if (row.why != nullptr) {
    ereport(WARNING, (errmsg("skipping a density of %s: %s", label_of(row), row.why)));
    PG_RETURN_POINTER(NULL);
  }
  const DensityKey& key = row.key;
  KDE_FAULT("row.completed");
  catalog_lock(key);
  if (!catalog_restore(key, tuple, desc))
    ereport(WARNING, (errmsg("skipping a density of %s: there is one already", display_name(key))));
  PG_RETURN_POINTER(NULL);
}

KDE_EXPORT(kde_has_densities);
Datum kde_has_densities(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  if (!catalog_seems_empty()) PG_RETURN_BOOL(true);
  const Oid door = own_table_oid(OwnTable::density);
  if (!OidIsValid(door) || !ConditionalLockRelationOid(door, AccessShareLock))
    PG_RETURN_BOOL(false);
  Relation relation = try_relation_open(door, NoLock);
  const bool any = relation != nullptr && RelationGetNumberOfBlocks(relation) > 0;
  if (relation != nullptr) relation_close(relation, NoLock);
  UnlockRelationOid(door, AccessShareLock);
  PG_RETURN_BOOL(any);
}

// kde_aqp.follow_drop().
KDE_EXPORT(kde_on_drop);
Datum kde_on_drop(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  // The extension itself may be what is being dropped.
  if (!OidIsValid(catalog_oid_or_invalid())) PG_RETURN_NULL();
  static SPIPlanPtr plan = nullptr;
  patiently([] {
    for_objects(
        "SELECT objid, objsubid FROM pg_catalog.pg_event_trigger_dropped_objects()"
        " WHERE classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass"
        " AND object_type OPERATOR(pg_catalog.=) ANY ('{table,table column,foreign table,"
        "foreign table column,materialized view}'::pg_catalog.text[])",
        &plan, [](const Datum* dropped) {
          catalog_remove_dropped(DatumGetObjectId(dropped[0]),
                                 static_cast<AttrNumber>(DatumGetInt32(dropped[1])));
        });
  });
  KDE_FAULT("drop.done");
  PG_RETURN_NULL();
}

// kde_aqp.follow_alter().
KDE_EXPORT(kde_on_alter);
Datum kde_on_alter(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  if (!OidIsValid(catalog_oid_or_invalid())) PG_RETURN_NULL();
  static SPIPlanPtr plan = nullptr;
  patiently([] {
    for_objects("SELECT classid, objid FROM pg_catalog.pg_event_trigger_ddl_commands()", &plan,
                [](const Datum* altered) {
                  follow_alter_of(DatumGetObjectId(altered[0]), DatumGetObjectId(altered[1]));
                });
  });
  PG_RETURN_NULL();
}
