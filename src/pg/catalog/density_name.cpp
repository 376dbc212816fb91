// Parts of a density's name: the relation, and the list of columns in parentheses.
#include "pg/catalog/density_name.h"

#include "pg/catalog/column_name.h"
#include "pg/catalog/expression.h"

extern "C" {
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "parser/scansup.h"
#include "utils/lsyscache.h"
}

#include <cstring>

namespace kde_pg {

namespace {

// An identifier that needs no quotes.
bool is_word(const char* text) {
  constexpr const char* kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  return *text != '\0' && text[strspn(text, kLetters)] == '\0';
}

[[noreturn]] void raise_malformed(const char* name) {
  ereport(ERROR, (errcode(ERRCODE_INVALID_NAME), errmsg("invalid density name \"%s\"", name),
                  errhint("Write 'table.column' or 'table (column, ...)'.")));
  pg_unreachable();
}

// The first of `wanted` outside quotes and, of a comma or the end, outside brackets; null if there
// is none. Strings with backslash escapes and dollar quotes are not looked into: an expression with
// a bracket or comma in one can be written with a plain string.
const char* find_outside(const char* from, const char* wanted) {
  int depth = 0;
  char quote = '\0';
  for (const char* c = from; *c != '\0'; ++c) {
    if (quote != '\0') {
      if (*c == quote) quote = '\0';  // doubled ones open again at once
    } else if (depth == 0 && strchr(wanted, *c) != nullptr) {
      return c;
    } else if (*c == '\'' || *c == '"') {
      quote = *c;
    } else if (*c == '(' || *c == '[') {
      ++depth;
    } else if (*c == ')' || *c == ']') {
      --depth;
    }
  }
  return nullptr;
}

// An element without the spaces around it; an identifier that is all of it as SQL reads it, without
// quotes or in lower case.
char* element_of(const char* begin, const char* end) {
  while (begin < end && scanner_isspace(*begin)) ++begin;
  while (end > begin && scanner_isspace(end[-1])) --end;
  const auto length = static_cast<int>(end - begin);
  if (length < 2 || *begin != '"' || end[-1] != '"') {
    char* text = pnstrdup(begin, length);
    return is_word(text) ? downcase_truncate_identifier(text, length, false) : text;
  }
  StringInfoData out;
  initStringInfo(&out);
  for (const char* c = begin + 1; c < end - 1; ++c) {
    if (*c == '"' && *++c != '"') return pnstrdup(begin, length);  // "a" + "b"
    appendStringInfoChar(&out, *c);
  }
  return out.data;
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
    if (!is_word(word) || get_attnum(relation, word) != InvalidAttrNumber) continue;
    // The parser's folding of what is not quoted.
    const char* folded = downcase_truncate_identifier(word, static_cast<int>(strlen(word)), false);
    if (get_attnum(relation, folded) == InvalidAttrNumber) (void)column_by_name(relation, word);
  }
}

bool names_several(text* name) {
  // Most names have no parenthesis at all.
  if (memchr(VARDATA_ANY(name), '(', VARSIZE_ANY_EXHDR(name)) == nullptr) return false;
  return find_outside(text_to_cstring(name), "(") != nullptr;
}

NameParts parts_of_name(text* name) {
  const char* whole = text_to_cstring(name);
  const char* open = find_outside(whole, "(");
  if (open == nullptr) {
    List* names = qualified_names(name);
    Datum column = CStringGetTextDatum(strVal(llast(names)));
    ArrayType* columns = construct_array(&column, 1, TEXTOID, -1, false, TYPALIGN_INT);
    return {relation_by_names(list_truncate(names, list_length(names) - 1)), columns, false};
  }
  const char* close = find_outside(open + 1, ")");
  if (close == nullptr) raise_malformed(whole);
  for (const char* c = close + 1; *c != '\0'; ++c) {
    if (!scanner_isspace(*c)) raise_malformed(whole);
  }
  const Oid relation = relation_by_text(cstring_to_text_with_len(whole, open - whole));
  ArrayBuildState* elements = nullptr;
  for (const char* begin = open + 1; begin <= close;) {
    const char* end = find_outside(begin, ",)");
    const char* element = element_of(begin, end);
    if (*element == '\0') raise_malformed(whole);
    elements = accumArrayResult(elements, CStringGetTextDatum(element), false, TEXTOID,
                                CurrentMemoryContext);
    begin = end + 1;
  }
  return {relation, DatumGetArrayTypeP(makeArrayResult(elements, CurrentMemoryContext)), true};
}

DensityKey key_of_parts(const NameParts& parts, text* filter) {
  if (!parts.listed) {
    Datum* column;
    int n;
    deconstruct_array(parts.columns, TEXTOID, -1, false, TYPALIGN_INT, &column, nullptr, &n);
    const char* name = TextDatumGetCString(column[0]);
    return filter == nullptr ? key_of(column_by_name(parts.relation, name))
                             : key_by_name(parts.relation, name, filter);
  }
  check_words(parts.relation, parts.columns);
  return key_by_arrays(parts.relation, parts.columns, filter);
}

DensityKey key_by_text(text* name, text* filter) {
  return key_of_parts(parts_of_name(name), filter);
}

}  // namespace kde_pg
