// See stored_name.h. Where nothing can be analysed, texts are compared by their words: names
// without their schemas, literals and numbers, without the types that the canonical text adds.
#include "pg/catalog/stored_name.h"

#include "pg/base/subtransaction.h"
#include "pg/base/text_list.h"
#include "pg/catalog/catalog.h"
#include "pg/catalog/expression.h"

extern "C" {
#include "parser/scansup.h"
}

#include <cctype>

namespace kde_pg {

namespace {

List* texts_of(const DensityKey& key, int first, int count) {
  List* out = NIL;
  for (int i = 0; i < count; ++i) out = lappend(out, pstrdup(key.column[first + i].text));
  return out;
}

// What a density is found by, as texts.
struct Texts {
  List* columns;
  List* groups;
  const char* filter;
};

Texts texts_of(const NameParts& parts, text* filter) {
  if (filter == nullptr) filter = parts.filter;
  return {texts_of_array(parts.columns), texts_of_array(parts.group_by),
          filter == nullptr ? "" : text_to_cstring(filter)};
}

Texts texts_of(const DensityKey& key) {
  return {texts_of(key, 0, key.columns), texts_of(key, key.first_group(), key.groups), key.filter};
}

bool are_same(List* a, List* b) {
  if (list_length(a) != list_length(b)) return false;
  for (int i = 0; i < list_length(a); ++i) {
    if (strcmp(static_cast<char*>(list_nth(a, i)), static_cast<char*>(list_nth(b, i))) != 0)
      return false;
  }
  return true;
}

bool are_same(const Texts& a, const Texts& b) {
  return are_same(a.columns, b.columns) && are_same(a.groups, b.groups) &&
         strcmp(a.filter, b.filter) == 0;
}

// --------------------------------------------------------------------------------------- words

bool begins_name(char c) { return isalpha(static_cast<unsigned char>(c)) || c == '_' || c < 0; }
bool is_of_name(char c) {
  return begins_name(c) || isdigit(static_cast<unsigned char>(c)) || c == '$';
}

// The end of what stands in quotes at `c`.
const char* after_quotes(const char* c) {
  const char quote = *c++;
  for (; *c != '\0'; ++c) {
    if (*c != quote) continue;
    if (c[1] != quote) return c + 1;
    ++c;
  }
  return c;
}

const char* after_name(const char* c) {
  if (*c == '"') return after_quotes(c);
  while (is_of_name(*c)) ++c;
  return c;
}

const char* after_spaces(const char* c) {
  while (scanner_isspace(*c)) ++c;
  return c;
}

// As it is compared: folded unless it is quoted, without quotes.
char* name_at(const char* c, const char* end) {
  if (*c == '"') return pnstrdup(c + 1, Max(end - c - 2, 0));
  return downcase_truncate_identifier(c, static_cast<int>(end - c), false);
}

// What the canonical text writes in other words, or not at all.
bool is_syntax(const char* word) {
  for (const char* other : {"and", "any", "array", "between", "in", "operator", "pg_catalog"})
    if (strcmp(word, other) == 0) return true;
  return false;
}

// A type's name after "::".
const char* after_type(const char* c) {
  for (;;) {
    c = after_name(after_spaces(c));
    if (*after_spaces(c) != '.') break;
    c = after_spaces(c) + 1;
  }
  for (;;) {
    const char* next = after_spaces(c);
    const char* end = after_name(next);
    const auto length = static_cast<size_t>(end - next);
    bool more = false;
    for (const char* word : {"precision", "varying", "with", "without", "time", "zone"})
      more = more || (strlen(word) == length && pg_strncasecmp(next, word, length) == 0);
    if (!more) break;
    c = end;
  }
  if (*c == '(')
    while (*c != '\0' && *c++ != ')') continue;
  while (*c == '[' || *c == ']') ++c;
  return c;
}

int compare_words(const ListCell* a, const ListCell* b) {
  return strcmp(static_cast<char*>(lfirst(a)), static_cast<char*>(lfirst(b)));
}

// Each once, sorted: arms and sides may stand in another order.
List* words_of(const char* text) {
  List* words = NIL;
  const auto add = [&](char* word) {
    for (char* entry : of_list<char>(words))
      if (strcmp(entry, word) == 0) return;
    words = lappend(words, word);
  };
  for (const char* c = text; *c != '\0';) {
    if (*c == ':' && c[1] == ':') {
      c = after_type(c + 2);
    } else if (*c == '\'') {
      const char* end = after_quotes(c);
      add(pnstrdup(c, end - c));
      c = end;
    } else if (*c == '"' || begins_name(*c)) {
      const char* end = after_name(c);
      char* word = name_at(c, end);
      c = after_spaces(end);
      if (*c == '.') {
        ++c;  // a schema's, or a table's
      } else if (!is_syntax(word)) {
        add(word);
      }
    } else if (isdigit(static_cast<unsigned char>(*c))) {
      const char* end = c;
      while (isdigit(static_cast<unsigned char>(*end)) || *end == '.' || is_of_name(*end)) ++end;
      add(pnstrdup(c, end - c));
      c = end;
    } else {
      ++c;
    }
  }
  list_sort(words, compare_words);
  return words;
}

bool are_alike(const char* a, const char* b) { return are_same(words_of(a), words_of(b)); }

// As sets: each has one that is like it.
bool are_alike(List* a, List* b) {
  if (list_length(a) != list_length(b)) return false;
  for (char* one : of_list<char>(a)) {
    bool found = false;
    for (char* other : of_list<char>(b)) found = found || are_alike(one, other);
    if (!found) return false;
  }
  return true;
}

bool are_alike(const Texts& a, const Texts& b) {
  return (*a.filter == '\0') == (*b.filter == '\0') && are_alike(a.filter, b.filter) &&
         are_alike(a.columns, b.columns) && are_alike(a.groups, b.groups);
}

// ------------------------------------------------------------------------------------ densities

// Of what a text names, rather than of how it is written.
bool is_of_names(int sqlstate) {
  switch (sqlstate) {
    case ERRCODE_UNDEFINED_FUNCTION:  // operators, too
    case ERRCODE_AMBIGUOUS_FUNCTION:
    case ERRCODE_UNDEFINED_OBJECT:
    case ERRCODE_UNDEFINED_SCHEMA:
    case ERRCODE_INVALID_TEXT_REPRESENTATION:  // a label
    case ERRCODE_CANNOT_COERCE:
      return true;
    default:
      return false;
  }
}

bool can_be_read(Relation relation, const DensityKey& key) {
  DensityKey copy = key;
  return without_error([&] { analyse_key(relation, nullptr, &copy); });
}

// The only one of those that cannot be read; null: none.
const DensityKey* alike_one(Relation relation, const Texts& wanted, List* stored) {
  const DensityKey* found = nullptr;
  StringInfoData names;
  initStringInfo(&names);
  int n = 0;
  for (CatalogEntry* item : of_list<CatalogEntry>(stored)) {
    const DensityKey& key = item->key;
    if (!are_alike(texts_of(key), wanted) || can_be_read(relation, key)) continue;
    found = &key;
    appendStringInfo(&names, "%s%s", n++ > 0 ? "; " : "", display_name(key));
  }
  if (n > 1)
    ereport(ERROR, (errcode(ERRCODE_AMBIGUOUS_ALIAS),
                    errmsg("several densities of \"%s\" have these words",
                           RelationGetRelationName(relation)),
                    errdetail("They are those of %s.", names.data),
                    errhint("Pass name and filter as kde_densities shows them.")));
  return found;
}

}  // namespace

bool find_stored_key(Relation relation, const NameParts& parts, text* filter, DensityKey* key) {
  List* stored = catalog_list(parts.relation);
  const Texts wanted = texts_of(parts, filter);
  for (CatalogEntry* entry : of_list<CatalogEntry>(stored)) {
    const DensityKey& candidate = entry->key;
    if (!are_same(texts_of(candidate), wanted)) continue;
    *key = candidate;
    return true;
  }
  if (without_error([&] { *key = key_of_parts(parts, filter); }, nullptr, is_of_names)) return true;
  const DensityKey* alike = alike_one(relation, wanted, stored);
  if (alike != nullptr) *key = *alike;
  return alike != nullptr;
}

DensityKey stored_key(Relation relation, const NameParts& parts, text* filter) {
  DensityKey key;
  return find_stored_key(relation, parts, filter, &key) ? key : key_of_parts(parts, filter);
}

}  // namespace kde_pg
