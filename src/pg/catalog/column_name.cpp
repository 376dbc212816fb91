// Columns by name, and what those that could be meant are called.
#include "pg/catalog/column_name.h"

extern "C" {
#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_attribute.h"
#include "lib/stringinfo.h"
#include "nodes/makefuncs.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/varlena.h"
}

namespace kde_pg {

Oid relation_by_names(List* names) {
  RangeVar* table = makeRangeVarFromNameList(names);
  const Oid relation = RangeVarGetRelid(table, NoLock, true);
  if (!OidIsValid(relation))
    ereport(ERROR,
            (errcode(ERRCODE_UNDEFINED_TABLE),
             table->schemaname != nullptr
                 ? errmsg("relation \"%s.%s\" does not exist", table->schemaname, table->relname)
                 : errmsg("relation \"%s\" does not exist", table->relname),
             errhint("A density is named 'table.column'; kde_densities lists those fitted.")));
  return relation;
}

Oid relation_by_text(text* name) { return relation_by_names(textToQualifiedNameList(name)); }

const char* fittable_columns(Oid relation) {
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
  return shown > 0 ? psprintf("Columns that can have a density: %s.", out.data) : "";
}

List* qualified_names(text* name) {
  List* names = textToQualifiedNameList(name);
  if (list_length(names) < 2)
    ereport(ERROR, (errcode(ERRCODE_INVALID_NAME),
                    errmsg("invalid density name \"%s\"", text_to_cstring(name)),
                    errhint("Write 'table.column', 'schema.table.column' or 'table (column, "
                            "...)'.")));
  return names;
}

TableColumn column_by_text(text* name) {
  List* names = qualified_names(name);
  const char* column = strVal(llast(names));
  return column_by_name(relation_by_names(list_truncate(names, list_length(names) - 1)), column);
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
    const char* columns = fittable_columns(relation);
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
                    errmsg("column \"%s\" of relation \"%s\" does not exist", column_name, table),
                    columns[0] != '\0' ? errhint("%s", columns) : 0));
  }
  return {relation, attnum};
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
