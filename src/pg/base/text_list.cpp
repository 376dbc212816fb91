// Texts between arrays and lists.
#include "pg/base/text_list.h"

namespace kde_pg {

List* texts_of_array(ArrayType* array, const char* null_is_error) {
  if (array == nullptr || ARR_NDIM(array) > 1 || ARR_ELEMTYPE(array) != TEXTOID) return NIL;
  Datum* values;
  bool* nulls;
  int n;
  deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, &n);
  List* out = NIL;
  for (int i = 0; i < n; ++i) {
    if (nulls[i] && null_is_error != nullptr)
      ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                      errmsg("%s must have no null elements", null_is_error)));
    out = lappend(out, nulls[i] ? pstrdup("") : TextDatumGetCString(values[i]));
  }
  return out;
}

ArrayType* array_of_texts(const char* const* texts, int count) {
  Datum* values = static_cast<Datum*>(palloc(sizeof(Datum) * static_cast<Size>(count + 1)));
  for (int i = 0; i < count; ++i) values[i] = CStringGetTextDatum(texts[i]);
  return construct_array(values, count, TEXTOID, -1, false, TYPALIGN_INT);
}

ArrayType* array_of_texts(const List* texts) {
  const int n = list_length(texts);
  const char** out = static_cast<const char**>(palloc(sizeof(char*) * static_cast<Size>(n + 1)));
  for (int i = 0; i < n; ++i) out[i] = static_cast<const char*>(list_nth(texts, i));
  return array_of_texts(out, n);
}

}  // namespace kde_pg
