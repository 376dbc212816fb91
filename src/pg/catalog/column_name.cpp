// Columns by name, and what those that could be meant are called.
#include "pg/catalog/column_name.h"

#include "pg/catalog/name_text.h"

extern "C" {
#include "catalog/namespace.h"
#include "catalog/pg_attribute.h"
#include "commands/dbcommands.h"
#include "utils/varlena.h"
}

namespace kde_pg {

namespace {

constexpr char kDensitiesAreNamed[] =
    "A density is named 'table.column'; kde_densities lists those fitted.";

// Of 'table.a.b' where there is no schema of that name, but a table with a column "a.b".
const char* no_relation_hint(const RangeVar* table, const char* column) {
  if (table->schemaname == nullptr || table->catalogname != nullptr || column == nullptr)
    return kDensitiesAreNamed;
  const Oid relation = RelnameGetRelid(table->schemaname);
  const char* name = psprintf("%s.%s", table->relname, column);
  if (!OidIsValid(relation) || get_attnum(relation, name) == InvalidAttrNumber)
    return kDensitiesAreNamed;
  return psprintf("A name with a point is quoted: %s.%s.", quote_identifier(table->schemaname),
                  quote_identifier(name));
}

// The column whose name is like that but for the case of letters, or else is nearest by
// Levenshtein's distance: at most three, and at most half of the letters. Null if there is none.
const char* nearest_column(Oid relation, const char* name) {
  constexpr int kFarthest = 3;
  const int length = static_cast<int>(strlen(name));
  if (length == 0 || length >= NAMEDATALEN) return nullptr;
  int least = Min(kFarthest, length / 2) + 1;
  const char* nearest = nullptr;
  for (AttrNumber i = 1;
       SearchSysCacheExists2(ATTNUM, ObjectIdGetDatum(relation), Int16GetDatum(i)); ++i) {
    const char* column = live_column_name(relation, i);
    if (column == nullptr) continue;
    if (pg_strcasecmp(name, column) == 0) return column;
    const int apart = varstr_levenshtein_less_equal(
        name, length, column, static_cast<int>(strlen(column)), 1, 1, 1, least, true);
    if (apart >= least) continue;
    least = apart;
    nearest = column;
  }
  return nearest;
}

// What to do about a name that no column has.
const char* no_column_hint(Oid relation, const char* name) {
  constexpr char kOfExpressions[] = "()+*/|<>=,{";
  const char* columns = fittable_columns(relation);
  const char* nearest = nearest_column(relation, name);
  const bool is_name = strpbrk(name, kOfExpressions) == nullptr;
  // 'amount*2' is not a slip of "amount".
  if (nearest != nullptr && (is_name || strpbrk(nearest, kOfExpressions) != nullptr))
    return psprintf("Perhaps you mean \"%s\".%s%s", nearest, columns[0] != '\0' ? " " : "",
                    columns);
  if (is_name) return columns;
  if (name[0] == '{' || (strchr(name, ',') != nullptr && strchr(name, '(') == nullptr))
    return "Several columns are an array: ARRAY['a', 'b'].";
  return psprintf("An expression is given as an array: ARRAY[%s].", quote_literal_cstr(name));
}

}  // namespace

Oid relation_by_names(List* names, const char* column) {
  RangeVar* table = makeRangeVarFromNameList(names);
  const Oid relation = RangeVarGetRelid(table, NoLock, true);
  if (!OidIsValid(relation))
    ereport(ERROR,
            (errcode(ERRCODE_UNDEFINED_TABLE),
             table->schemaname != nullptr
                 ? errmsg("relation \"%s.%s\" does not exist", table->schemaname, table->relname)
                 : errmsg("relation \"%s\" does not exist", table->relname),
             errhint("%s", no_relation_hint(table, column))));
  return relation;
}

Oid relation_by_text(text* name) { return relation_by_names(identifiers_of(name)); }

namespace {

// InvalidOid: there is none. A catalog before the schema must be this database.
Oid find_relation(List* names) {
  constexpr int kMost = 3;
  if (list_length(names) > kMost) return InvalidOid;
  const RangeVar* table = makeRangeVarFromNameList(names);
  if (table->catalogname != nullptr &&
      strcmp(table->catalogname, get_database_name(MyDatabaseId)) != 0)
    return InvalidOid;
  return RangeVarGetRelid(table, NoLock, true);
}

[[noreturn]] void raise_no_table(const char* name) {
  ereport(ERROR,
          (errcode(ERRCODE_UNDEFINED_TABLE), errmsg("relation \"%s\" does not exist", name)));
  pg_unreachable();
}

}  // namespace

Oid find_table(text* name) {
  const char* whole = text_to_cstring(name);
  Oid relation;
  List* parts;
  if (is_number_of_table(whole, &relation)) return relation;
  if (!SplitIdentifierString(pstrdup(whole), '.', &parts) || parts == NIL) return InvalidOid;
  return find_relation(identifiers_of(name));
}

Oid table_by_text(text* name) {
  Oid relation = find_table(name);
  if (OidIsValid(relation)) return relation;
  const char* whole = text_to_cstring(name);
  if (is_number_of_table(whole, &relation))
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
                    errmsg("relation with OID %s does not exist", whole)));
  raise_no_table(NameListToString(identifiers_of(name)));
}

TableColumn table_or_column(text* name) {
  Oid relation = find_table(name);
  if (OidIsValid(relation)) return {relation, 0};
  List* names = identifiers_of(name);
  const char* whole = NameListToString(names);
  const char* column = strVal(llast(names));
  names = list_truncate(names, list_length(names) - 1);
  if (names != NIL) relation = find_relation(names);
  if (!OidIsValid(relation))
    raise_no_table(list_length(names) > 1 ? NameListToString(names) : whole);
  return column_by_name(relation, column);
}

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
  List* names = identifiers_of(name);
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
  names = list_truncate(names, list_length(names) - 1);
  return column_by_name(relation_by_names(names, column), column);
}

AttrNumber column_number(Oid relation, const char* column_name) {
  const AttrNumber attnum = get_attnum(relation, column_name);
  if (attnum >= 0) return attnum;
  const char* columns = fittable_columns(relation);
  ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                  errmsg("cannot fit a density to system column \"%s\"", column_name),
                  columns[0] != '\0' ? errhint("%s", columns)
                                     : errhint("Fit a column of the table that holds the value.")));
  pg_unreachable();
}

TableColumn column_by_name(Oid relation, const char* column_name) {
  const AttrNumber attnum = column_number(relation, column_name);
  if (attnum == InvalidAttrNumber) {
    char* table = get_rel_name(relation);
    if (table == nullptr)
      ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
                      errmsg("relation with OID %u does not exist", relation)));
    const char* hint = no_column_hint(relation, column_name);
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
                    errmsg("column \"%s\" of relation \"%s\" does not exist", column_name, table),
                    hint[0] != '\0' ? errhint("%s", hint) : 0));
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
