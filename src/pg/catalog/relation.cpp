// Names and privileges.
#include "pg/catalog/relation.h"

extern "C" {
#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/syscache.h"
#include "utils/varlena.h"
}

namespace kde_pg {

namespace {

// "a, b, c" of the columns that can have a density; at most ten of them.
char* fittable_columns(Oid relation) {
  StringInfoData out;
  initStringInfo(&out);
  int shown = 0;
  for (AttrNumber i = 1;
       SearchSysCacheExists2(ATTNUM, ObjectIdGetDatum(relation), Int16GetDatum(i)); ++i) {
    const TableColumn column{relation, i};
    kde::ValueType type;
    int32 typmod;
    if (!column_value_type(column, &type, &typmod)) continue;
    if (shown == 10) {
      appendStringInfoString(&out, ", ...");
      break;
    }
    appendStringInfo(&out, "%s\"%s\"", shown++ > 0 ? ", " : "", live_column_name(relation, i));
  }
  return out.data;
}

bool applies_row_security(Oid relation) {
  return check_enable_rls(relation, InvalidOid, true) == RLS_ENABLED;
}

void check_no_row_security(Oid relation) {
  if (applies_row_security(relation))
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                    errmsg("row-level security of table \"%s\" applies to the current user",
                           get_rel_name(relation)),
                    errdetail("A density describes all rows of the table.")));
}

// *missing, which is false before: whether table or column no longer exist; null: that is an error.
bool has_select(TableColumn column, bool* missing) {
  const Oid user = GetUserId();
  return pg_class_aclcheck_ext(column.relation, user, ACL_SELECT, missing) == ACLCHECK_OK ||
         pg_attribute_aclcheck_ext(column.relation, column.attnum, user, ACL_SELECT, missing) ==
             ACLCHECK_OK;
}

}  // namespace

TableColumn column_by_text(text* name) {
  List* names = textToQualifiedNameList(name);
  if (list_length(names) < 2)
    ereport(ERROR, (errcode(ERRCODE_INVALID_NAME),
                    errmsg("invalid density name \"%s\"", text_to_cstring(name)),
                    errhint("Write 'table.column' or 'schema.table.column'.")));
  const char* column = strVal(llast(names));
  RangeVar* table = makeRangeVarFromNameList(list_truncate(names, list_length(names) - 1));
  const Oid relation = RangeVarGetRelid(table, NoLock, true);
  if (!OidIsValid(relation))
    ereport(ERROR,
            (errcode(ERRCODE_UNDEFINED_TABLE),
             table->schemaname != nullptr
                 ? errmsg("relation \"%s.%s\" does not exist", table->schemaname, table->relname)
                 : errmsg("relation \"%s\" does not exist", table->relname),
             errhint("A density is named 'table.column'; kde_densities lists those fitted.")));
  const TableColumn found = column_by_name(relation, column);
  return found;
}

TableColumn column_by_name(Oid relation, const char* column_name) {
  const AttrNumber attnum = get_attnum(relation, column_name);
  if (attnum == InvalidAttrNumber) {
    char* table = get_rel_name(relation);
    if (table == nullptr)
      ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
                      errmsg("relation with OID %u does not exist", relation)));
    if (column_name[0] == '{')
      ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
                      errmsg("column \"%s\" of relation \"%s\" does not exist", column_name, table),
                      errhint("Several columns are an array: ARRAY['a', 'b'].")));
    char* columns = fittable_columns(relation);
    ereport(ERROR,
            (errcode(ERRCODE_UNDEFINED_COLUMN),
             errmsg("column \"%s\" of relation \"%s\" does not exist", column_name, table),
             columns[0] != '\0' ? errhint("Columns that can have a density: %s.", columns) : 0));
  }
  return {relation, attnum};
}

void check_readable(TableColumn column) {
  if (!has_select(column, nullptr))
    aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(get_rel_relkind(column.relation)),
                   get_rel_name(column.relation));
  check_no_row_security(column.relation);
}

void check_readable(const DensityKey& key) {
  for (int i = 0; i < key.columns; ++i) {
    if (key.column[i].attnum != 0) check_readable(TableColumn{key.relation, key.column[i].attnum});
  }
  for (int i = 0; i < key.references; ++i)
    check_readable(TableColumn{key.relation, key.reference[i]});
}

// A snapshot may show a density of a table that somebody has dropped meanwhile.
bool is_readable(TableColumn column) {
  bool missing = false;
  return has_select(column, &missing) && !applies_row_security(column.relation);
}

bool is_readable(const DensityKey& key) {
  bool readable = true;
  for (int i = 0; readable && i < key.columns; ++i) {
    const AttrNumber attnum = key.column[i].attnum;
    readable = attnum == 0 || is_readable(TableColumn{key.relation, attnum});
  }
  for (int i = 0; readable && i < key.references; ++i)
    readable = is_readable(TableColumn{key.relation, key.reference[i]});
  return readable && get_rel_name(key.relation) != nullptr;
}

bool is_owner(Oid relation) {
#if PG_VERSION_NUM >= 160000
  return object_ownercheck(RelationRelationId, relation, GetUserId());
#else
  return pg_class_ownercheck(relation, GetUserId());
#endif
}

void check_owner(Oid relation) {
  if (!is_owner(relation))
    aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(relation)),
                   get_rel_name(relation));
  check_no_row_security(relation);
}

bool may_maintain(Oid relation) {
#if PG_VERSION_NUM >= 170000
  // The members of pg_maintain have it on every table.
  if (pg_class_aclcheck(relation, GetUserId(), ACL_MAINTAIN) == ACLCHECK_OK) return true;
#endif
  return is_owner(relation);
}

void check_may_maintain(Oid relation) {
  if (!may_maintain(relation))
    aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(relation)),
                   get_rel_name(relation));
  check_no_row_security(relation);
}

char* display_name(TableColumn column) {
  const char* table = get_rel_name(column.relation);
  const char* name = live_column_name(column.relation, column.attnum);
  return psprintf("%s.%s", table != nullptr ? quote_identifier(table) : "?",
                  name != nullptr ? quote_identifier(name) : "?");
}

bool column_value_type(TableColumn column, kde::ValueType* type, int32* typmod) {
  HeapTuple tuple =
      SearchSysCache2(ATTNUM, ObjectIdGetDatum(column.relation), Int16GetDatum(column.attnum));
  if (!HeapTupleIsValid(tuple)) return false;
  const Form_pg_attribute attribute = reinterpret_cast<Form_pg_attribute>(GETSTRUCT(tuple));
  const bool ok = !attribute->attisdropped && value_type_of(attribute->atttypid, type);
  // A domain's modifier is that of the type it constrains.
  int32 modifier = attribute->atttypmod;
  if (ok) (void)getBaseTypeAndTypmod(attribute->atttypid, &modifier);
  *typmod = modifier;
  ReleaseSysCache(tuple);
  return ok;
}

}  // namespace kde_pg
