// Parts of a density's name: the relation, the list of columns in parentheses, and what groups are
// by.
#include "pg/catalog/density_name.h"

#include "pg/catalog/catalog.h"
#include "pg/catalog/column_name.h"
#include "pg/catalog/expression.h"
#include "pg/catalog/name_text.h"
#include "pg/catalog/privileges.h"

extern "C" {
#include "catalog/namespace.h"
#include "parser/scansup.h"
#include "utils/varlena.h"
}

#include <algorithm>
#include <cstring>
#include <string_view>

namespace kde_pg {

namespace {

[[noreturn]] void raise_malformed(const char* name) {
  ereport(ERROR, (errcode(ERRCODE_INVALID_NAME), errmsg("invalid density name \"%s\"", name),
                  errhint("Write 'table.column' or 'table (column, ...)'.")));
  pg_unreachable();
}

constexpr const char* kSpace = " \t\n\r\v\f";

// Neither a table with its column nor with a list of them.
bool is_alias(const char* whole) { return *whole != '\0' && find_outside(whole, ".(") == nullptr; }

// Where a name's columns end, before the word that says what its groups are by, and where that
// word ends; null: there is none. In quotes and brackets it is a name's.
const char* find_by(const char* whole, const char** after) {
  const char* at = whole;
  while ((at = find_outside(at, kSpace)) != nullptr) {
    const char* word = at + strspn(at, kSpace);
    *after = word + 2;
    if (pg_strncasecmp(word, "by", 2) == 0 && (scanner_isspace(**after) || **after == '('))
      return at;
    at = word;
  }
  return nullptr;
}

}  // namespace

void check_words(Oid relation, ArrayType* columns) {
  Datum* values;
  bool* nulls;
  int n;
  deconstruct_array(columns, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, &n);
  for (int i = 0; i < n; ++i) {
    if (nulls[i]) continue;
    const char* word = TextDatumGetCString(values[i]);
    if (!is_word(word) || column_number(relation, word) != InvalidAttrNumber) continue;
    // The parser's folding of what is not quoted.
    const char* folded = downcase_truncate_identifier(word, static_cast<int>(strlen(word)), false);
    if (column_number(relation, folded) == InvalidAttrNumber) (void)column_by_name(relation, word);
  }
}

bool names_more(text* name) {
  // Most names have a dot, and neither parentheses nor spaces nor quotes.
  const std::string_view given(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
  const auto is_plain = [](unsigned char c) { return c > ' ' && c != '(' && c != '"'; };
  if (given.find('.') != std::string_view::npos &&
      std::all_of(given.begin(), given.end(), is_plain))
    return false;
  const char* whole = text_to_cstring(name);
  const char* after;
  return find_outside(whole, "(") != nullptr || find_by(whole, &after) != nullptr ||
         is_alias(whole);
}

namespace {

// Of what follows "by", in parentheses or not.
ArrayType* groups_of_name(const char* whole, const char* begin) {
  while (scanner_isspace(*begin)) ++begin;
  const char* end = begin + strlen(begin);
  while (end > begin && scanner_isspace(end[-1])) --end;
  if (*begin == '(' && find_outside(begin + 1, ")") == end - 1) {
    ++begin;
    --end;
  }
  ArrayType* elements = elements_of(begin, end);
  if (elements == nullptr) raise_malformed(whole);
  return elements;
}

// As SQL reads it; of what is no identifier, such as two words, the text as it is, as a fit stores it.
const char* alias_of(const char* whole) {
  List* parts;
  return SplitIdentifierString(pstrdup(whole), '.', &parts) && parts != NIL
             ? static_cast<const char*>(linitial(parts))
             : whole;
}

// As the active snapshot sees it; null: there is none. Whoever may neither read what it is of nor
// maintain its table hears what he would if there were none.
const CatalogEntry* entry_of_alias(const char* alias) {
  const bool push = !ActiveSnapshotSet();
  if (push) PushActiveSnapshot(GetTransactionSnapshot());
  const CatalogEntry* entry = catalog_entry_by_alias(alias, GetActiveSnapshot());
  if (push) PopActiveSnapshot();
  const bool told = entry != nullptr && get_rel_name(entry->key.relation) != nullptr &&
                    (is_readable(entry->key) || may_maintain(entry->key.relation));
  return told ? entry : nullptr;
}

// whole: as it was written, which a fit stores as it is.
[[noreturn]] void raise_no_alias(const char* whole, const char* alias) {
  const bool quoted = entry_of_alias(whole) != nullptr;
  const bool table = OidIsValid(RelnameGetRelid(alias));
  ereport(ERROR,
          (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("no density is named \"%s\"", alias),
           quoted  ? errhint("There is one whose name needs quotes: %s.",
                             quote_literal_cstr(quote_identifier(whole)))
           : table ? errhint("Of a table's column, write %s.",
                             quote_literal_cstr(psprintf("%s.column", quote_identifier(alias))))
                   : errhint("Write 'table.column' or 'table (column, ...)', or the name that a "
                             "fit was given.")));
  pg_unreachable();
}

// The texts of the density of that name, which are canonical.
NameParts parts_of_alias(text* name) {
  const char* whole = text_to_cstring(name);
  const char* alias = alias_of(whole);
  const CatalogEntry* entry = entry_of_alias(alias);
  if (entry == nullptr) raise_no_alias(whole, alias);
  const DensityKey& key = entry->key;
  return {key.relation, column_names_of(key), true, groups_of(key),
          key.has_filter() ? cstring_to_text(key.filter) : nullptr};
}

}  // namespace

bool is_missing_alias(text* name) {
  const char* whole = text_to_cstring(name);
  return is_alias(whole) && entry_of_alias(alias_of(whole)) == nullptr;
}

NameParts parts_of_name(text* name) {
  const char* whole = text_to_cstring(name);
  if (is_alias(whole)) return parts_of_alias(name);
  NameParts parts = {InvalidOid, nullptr, false, nullptr, nullptr};
  const char* end = whole + strlen(whole);
  const char* after;
  if (const char* by = find_by(whole, &after); by != nullptr) {
    parts.group_by = groups_of_name(whole, after);
    end = by;
  }
  const char* open = find_outside(whole, "(");
  if (open == nullptr || open >= end) {
    List* names = qualified_names(cstring_to_text_with_len(whole, end - whole));
    Datum column = CStringGetTextDatum(strVal(llast(names)));
    parts.columns = construct_array(&column, 1, TEXTOID, -1, false, TYPALIGN_INT);
    const char* last = strVal(llast(names));
    parts.relation = relation_by_names(list_truncate(names, list_length(names) - 1), last);
    return parts;
  }
  const char* close = find_outside(open + 1, ")");
  if (close == nullptr) raise_malformed(whole);
  for (const char* c = close + 1; c < end; ++c) {
    if (!scanner_isspace(*c)) raise_malformed(whole);
  }
  parts.relation = relation_by_text(cstring_to_text_with_len(whole, open - whole));
  parts.columns = elements_of(open + 1, close);
  if (parts.columns == nullptr) raise_malformed(whole);
  parts.listed = true;
  return parts;
}

DensityKey key_of_parts(const NameParts& parts, text* filter) {
  if (parts.filter != nullptr) {
    if (filter != nullptr)
      ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                      errmsg("the density has a filter of its own"), errhint("Leave filter out.")));
    filter = parts.filter;
  }
  if (parts.group_by != nullptr) check_words(parts.relation, parts.group_by);
  if (!parts.listed) {
    Datum* column;
    int n;
    deconstruct_array(parts.columns, TEXTOID, -1, false, TYPALIGN_INT, &column, nullptr, &n);
    const char* name = TextDatumGetCString(column[0]);
    return filter == nullptr && parts.group_by == nullptr
               ? key_of(column_by_name(parts.relation, name))
               : key_by_name(parts.relation, name, filter, nullptr, parts.group_by);
  }
  check_words(parts.relation, parts.columns);
  return key_by_arrays(parts.relation, parts.columns, filter, nullptr, parts.group_by);
}

DensityKey key_by_text(text* name, text* filter) {
  return key_of_parts(parts_of_name(name), filter);
}

}  // namespace kde_pg
