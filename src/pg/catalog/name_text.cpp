// See name_text.h.
#include "pg/catalog/name_text.h"

extern "C" {
#include "parser/scansup.h"
#include "utils/builtins.h"
#include "utils/varlena.h"
}

#include <cstring>

namespace kde_pg {

namespace {

// A text between begin and end without the spaces around it.
char* trimmed(const char* begin, const char* end) {
  while (begin < end && scanner_isspace(*begin)) ++begin;
  while (end > begin && scanner_isspace(end[-1])) --end;
  return pnstrdup(begin, static_cast<Size>(end - begin));
}

// An identifier that is all of it as SQL reads it, without quotes or in lower case.
char* element_of(const char* begin, const char* end) {
  char* text = trimmed(begin, end);
  const auto length = static_cast<int>(strlen(text));
  if (length < 2 || *text != '"' || text[length - 1] != '"')
    return is_word(text) ? downcase_truncate_identifier(text, length, false) : text;
  StringInfoData out;
  initStringInfo(&out);
  for (const char* c = text + 1; c < text + length - 1; ++c) {
    if (*c == '"' && *++c != '"') return text;  // "a" + "b"
    appendStringInfoChar(&out, *c);
  }
  return out.data;
}

// As SQL has it, where a part is no identifier without quotes.
const char* in_quotes(const char* name) {
  StringInfoData out;
  initStringInfo(&out);
  for (const char* begin = name;;) {
    const char* point = find_outside(begin, ".");
    const char* end = point != nullptr ? point : begin + strlen(begin);
    const char* part = trimmed(begin, end);
    appendStringInfoString(&out, is_word(part) || *part == '"' ? part : quote_identifier(part));
    if (point == nullptr) return out.data;
    appendStringInfoChar(&out, '.');
    begin = point + 1;
  }
}

}  // namespace

bool is_word(const char* text) {
  constexpr const char* kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  return *text != '\0' && text[strspn(text, kLetters)] == '\0';
}

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

ArrayType* elements_of(const char* begin, const char* end) {
  ArrayBuildState* elements = nullptr;
  while (begin <= end) {
    const char* comma = find_outside(begin, ",");
    const char* last = comma != nullptr && comma < end ? comma : end;
    const char* element = element_of(begin, last);
    if (*element == '\0') return nullptr;
    elements = accumArrayResult(elements, CStringGetTextDatum(element), false, TEXTOID,
                                CurrentMemoryContext);
    begin = last + 1;
  }
  return DatumGetArrayTypeP(makeArrayResult(elements, CurrentMemoryContext));
}

List* identifiers_of(text* name) {
  const char* whole = text_to_cstring(name);
  List* parts;
  if (!SplitIdentifierString(pstrdup(whole), '.', &parts) || parts == NIL) {
    // A part that is empty, or quotes that are not closed, no quotes mend.
    const char* quoted = in_quotes(whole);
    List* ignored;
    const bool mended = SplitIdentifierString(pstrdup(quoted), '.', &ignored) && ignored != NIL &&
                        strstr(quoted, "\"\"") == nullptr;
    ereport(ERROR, (errcode(ERRCODE_INVALID_NAME), errmsg("invalid name syntax: \"%s\"", whole),
                    mended ? errhint("A name with blanks or other signs needs double quotes: %s.",
                                     quote_literal_cstr(quoted))
                           : errhint("Write 'table.column', with double quotes around a name with "
                                     "blanks or other signs.")));
  }
  List* out = NIL;
  for (char* part : of_list<char>(parts)) out = lappend(out, makeString(part));
  return out;
}

ArrayType* names_list(text* list, const char* argument) {
  const char* whole = text_to_cstring(list);
  const char* begin = whole;
  while (scanner_isspace(*begin)) ++begin;
  if (*begin == '{') {
    Oid input, parameter;
    getTypeInputInfo(TEXTARRAYOID, &input, &parameter);
    return DatumGetArrayTypeP(OidInputFunctionCall(input, const_cast<char*>(begin), parameter, -1));
  }
  ArrayType* elements = elements_of(whole, whole + strlen(whole));
  if (elements == nullptr)
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_NAME), errmsg("invalid list for %s: \"%s\"", argument, whole),
             errhint("Write it as in GROUP BY: 'column, expression'.")));
  return elements;
}

bool is_number_of_table(const char* text, Oid* relation) {
  if (*text == '\0' || strspn(text, "0123456789") != strlen(text)) return false;
  const Oid oid = static_cast<Oid>(strtoul(text, nullptr, 10));
  *relation = get_rel_name(oid) != nullptr ? oid : InvalidOid;
  return true;
}

}  // namespace kde_pg
