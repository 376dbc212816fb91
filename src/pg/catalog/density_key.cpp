// Keys of densities compared as sets of columns, whatever their order, and named for messages.
#include "pg/catalog/density_key.h"

#include "pg/base/text_list.h"

extern "C" {
#include "catalog/namespace.h"
#include "catalog/pg_attribute.h"
}

namespace kde_pg {

namespace {

bool precedes(const KeyColumn& a, const KeyColumn& b) {
  return a.attnum != b.attnum ? a.attnum < b.attnum : a.attnum == 0 && strcmp(a.text, b.text) < 0;
}

// "column, expression": so many of the key's, from `first` on.
void append_list(const DensityKey& key, int first, int count, StringInfo out) {
  for (int i = first; i < first + count; ++i) {
    const KeyColumn& column = key.column[i];
    const char* text = column.text == nullptr ? "?" : column.text;
    appendStringInfo(out, "%s%s", i > first ? ", " : "",
                     column.attnum != 0 ? quote_identifier(text) : text);
  }
}

// ".column", " (column, expression)", and " by (column, expression)" of groups.
void append_columns(const DensityKey& key, StringInfo out) {
  const bool one = key.columns == 1 && key.column[0].attnum != 0;
  appendStringInfoString(out, one ? "." : " (");
  append_list(key, 0, key.columns, out);
  if (!one) appendStringInfoChar(out, ')');
  if (key.groups == 0) return;
  appendStringInfoString(out, " by (");
  append_list(key, key.first_group(), key.groups, out);
  appendStringInfoChar(out, ')');
}

// Whether each of `count` columns from `first_a` on is one of those from first_b on.
bool same_columns(const DensityKey& a, int first_a, const DensityKey& b, int first_b, int count) {
  for (int i = 0; i < count; ++i) {
    bool found = false;
    for (int j = 0; j < count; ++j)
      found = found || same_column(a.column[first_a + i], b.column[first_b + j]);
    if (!found) return false;
  }
  return true;
}

// Lengths keep one text from being taken for two.
void append_identity(const DensityKey& key, int first, int count, StringInfo out) {
  int order[kde::kMaxColumns];
  for (int i = 0; i < count; ++i) {
    int at = i;
    for (; at > 0 && precedes(key.column[first + i], key.column[order[at - 1]]); --at)
      order[at] = order[at - 1];
    order[at] = first + i;
  }
  for (int i = 0; i < count; ++i) {
    const KeyColumn& column = key.column[order[i]];
    if (column.attnum != 0) {
      appendStringInfo(out, "%d,", column.attnum);
    } else {
      appendStringInfo(out, "%zu:%s,", strlen(column.text), column.text);
    }
  }
}

}  // namespace

const char* table_name(Oid relation) {
  const char* table = get_rel_name(relation);
  if (table == nullptr) return "?";
  const char* schema =
      RelationIsVisible(relation) ? nullptr : get_namespace_name(get_rel_namespace(relation));
  return quote_qualified_identifier(schema, table);
}

bool same_column(const KeyColumn& a, const KeyColumn& b) {
  return a.attnum == b.attnum && (a.attnum != 0 || strcmp(a.text, b.text) == 0);
}

int find_column(const DensityKey& key, const KeyColumn& wanted) {
  for (int i = 0; i < key.columns; ++i) {
    if (same_column(key.column[i], wanted)) return i;
  }
  return -1;
}

int find_measure(const DensityKey& key, const KeyColumn& wanted) {
  for (int k = 0; k < key.measures; ++k) {
    if (same_column(key.column[key.columns + k], wanted)) return k;
  }
  return -1;
}

namespace {

bool is_vector(ArrayType* array, Oid type) {
  return ARR_NDIM(array) <= 1 && !ARR_HASNULL(array) && ARR_ELEMTYPE(array) == type;
}

int length_of(ArrayType* array) { return ARR_NDIM(array) == 0 ? 0 : ARR_DIMS(array)[0]; }

}  // namespace

const char* live_column_name(Oid relation, AttrNumber attnum) {
  HeapTuple tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relation), Int16GetDatum(attnum));
  if (!HeapTupleIsValid(tuple)) return nullptr;
  const Form_pg_attribute attribute = reinterpret_cast<Form_pg_attribute>(GETSTRUCT(tuple));
  const char* name = attribute->attisdropped ? nullptr : pstrdup(NameStr(attribute->attname));
  ReleaseSysCache(tuple);
  return name;
}

bool read_named_columns(ArrayType* names, ArrayType* numbers, int most, NamedColumns* out) {
  if (!is_vector(names, TEXTOID) || !is_vector(numbers, INT2OID)) return false;
  const int n = length_of(names);
  if (n != length_of(numbers) || n > most) return false;
  List* texts = texts_of_array(names);
  out->count = n;
  out->name = static_cast<const char**>(palloc(sizeof(char*) * (n + 1)));
  out->number = static_cast<AttrNumber*>(palloc(sizeof(AttrNumber) * (n + 1)));
  for (int i = 0; i < n; ++i) {
    out->name[i] = static_cast<const char*>(list_nth(texts, i));
    out->number[i] = reinterpret_cast<int16*>(ARR_DATA_PTR(numbers))[i];
  }
  return true;
}

bool divide_columns(int count, int measures, int groups, DensityKey* key) {
  key->measures = measures;
  key->groups = groups;
  key->columns = count - measures - groups;
  return measures >= 0 && measures <= kde::kMaxMeasures && groups >= 0 &&
         groups <= kde::kMaxGroupBy && key->columns >= 1 &&
         (key->columns == 1 || (measures == 0 && groups == 0));
}

namespace {

// So many of a key's columns, from `first` on.
ArrayType* texts_of(const DensityKey& key, int first, int count) {
  const char* texts[kde::kMaxColumns];
  for (int i = 0; i < count; ++i) texts[i] = key.column[first + i].text;
  return array_of_texts(texts, count);
}

}  // namespace

ArrayType* measures_of(const DensityKey& key) {
  return key.measures > 0 ? texts_of(key, key.columns, key.measures) : nullptr;
}

ArrayType* groups_of(const DensityKey& key) {
  return key.groups > 0 ? texts_of(key, key.first_group(), key.groups) : nullptr;
}

ArrayType* column_names_of(const DensityKey& key) { return texts_of(key, 0, key.columns); }

Bitmapset* columns_read_by(const DensityKey& key) {
  Bitmapset* out = nullptr;
  for (int i = 0; i < key.all(); ++i)
    if (key.column[i].attnum != 0) out = bms_add_member(out, key.column[i].attnum);
  for (int i = 0; i < key.references; ++i) out = bms_add_member(out, key.reference[i]);
  return out;
}

DensityKey key_of(TableColumn column) {
  DensityKey key;
  key.relation = column.relation;
  key.columns = 1;
  key.column[0] = {column.attnum, live_column_name(column.relation, column.attnum), nullptr};
  return key;
}

DensityKey ungrouped(const DensityKey& key) {
  DensityKey all = key;
  all.groups = 0;
  // What groups alone used.
  if (!all.has_texts()) all.references = 0;
  return all;
}

bool same_key(const DensityKey& a, const DensityKey& b) {
  return a.relation == b.relation && a.columns == b.columns && a.groups == b.groups &&
         strcmp(a.filter, b.filter) == 0 && same_columns(a, 0, b, 0, a.columns) &&
         same_columns(a, a.first_group(), b, b.first_group(), a.groups);
}

bool same_texts(const DensityKey& a, const DensityKey& b) {
  bool same = a.columns == b.columns && a.groups == b.groups && strcmp(a.filter, b.filter) == 0;
  const auto compare = [&](int i, int j) {
    same = same && strcmp(a.column[i].text, b.column[j].text) == 0;
  };
  for (int i = 0; i < a.columns && same; ++i) compare(i, i);
  for (int i = 0; i < a.groups && same; ++i) compare(a.first_group() + i, b.first_group() + i);
  return same;
}

char* key_identity(const DensityKey& key) {
  StringInfoData out;
  initStringInfo(&out);
  append_identity(key, 0, key.columns, &out);
  appendStringInfoChar(&out, ';');
  append_identity(key, key.first_group(), key.groups, &out);
  appendStringInfo(&out, ";%s", key.filter);
  return out.data;
}

char* display_name(const DensityKey& key) {
  const char* table = get_rel_name(key.relation);
  StringInfoData out;
  initStringInfo(&out);
  appendStringInfoString(&out, table != nullptr ? quote_identifier(table) : "?");
  append_columns(key, &out);
  if (key.has_filter()) appendStringInfo(&out, " where %s", key.filter);
  return out.data;
}

char* density_name(const DensityKey& key) {
  StringInfoData out;
  initStringInfo(&out);
  appendStringInfoString(&out, table_name(key.relation));
  append_columns(key, &out);
  return out.data;
}

char* describe_column(const DensityKey& key, int column) {
  const KeyColumn& c = key.column[column];
  return psprintf("%s \"%s\"", c.attnum != 0 ? "column" : "expression", c.text);
}

char* describe_columns(const DensityKey& key) {
  if (key.columns == 1) return describe_column(key, 0);
  StringInfoData out;
  initStringInfo(&out);
  for (int k = 0; k < key.columns; ++k)
    appendStringInfo(&out, "%s\"%s\"", k == 0 ? "columns " : ", ", key.column[k].text);
  return out.data;
}

char* fit_call_by(const DensityKey& key, const char* group_by) {
  const char* name = table_name(key.relation);
  const bool one = key.columns == 1 && key.column[0].attnum != 0;
  StringInfoData out;
  initStringInfo(&out);
  appendStringInfo(&out, "kde_fit(%s, %s", quote_literal_cstr(name), one ? "" : "ARRAY[");
  for (int i = 0; i < key.columns; ++i) {
    const char* text = key.column[i].text == nullptr ? "?" : key.column[i].text;
    appendStringInfo(&out, "%s%s", i > 0 ? ", " : "", quote_literal_cstr(text));
  }
  if (!one) appendStringInfoChar(&out, ']');
  if (key.has_filter()) appendStringInfo(&out, ", filter => %s", quote_literal_cstr(key.filter));
  for (int k = 0; k < key.measures; ++k) {
    const char* text = key.column[key.columns + k].text;
    appendStringInfo(&out, "%s%s", k == 0 ? ", measures => ARRAY[" : ", ",
                     quote_literal_cstr(text == nullptr ? "?" : text));
  }
  if (key.measures > 0) appendStringInfoChar(&out, ']');
  if (group_by != nullptr) appendStringInfo(&out, ", group_by => %s", quote_literal_cstr(group_by));
  appendStringInfoChar(&out, ')');
  return out.data;
}

char* fit_call(const DensityKey& key) {
  if (key.groups == 0) return fit_call_by(key, nullptr);
  StringInfoData group_by;
  initStringInfo(&group_by);
  append_list(key, key.first_group(), key.groups, &group_by);
  return fit_call_by(key, group_by.data);
}

}  // namespace kde_pg
