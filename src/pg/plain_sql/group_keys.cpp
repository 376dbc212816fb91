// See group_keys.h. Texts are read under the settings that they were printed with.
#include "pg/plain_sql/group_keys.h"

#include "pg/base/pinned.h"

namespace kde_pg {

namespace {

bool read_values(PlainState* state, const Datum* texts, const bool* nulls, int n, PlainRow* row) {
  const TupleDesc desc = state->desc();
  for (int i = 0; i < n; ++i) {
    row->nulls[i] = nulls[i];
    if (nulls[i]) continue;
    const Oid type = TupleDescAttr(desc, i)->atttypid;
    // It was renamed.
    if (type_is_enum(type) &&
        !SearchSysCacheExists2(ENUMTYPOIDNAME, ObjectIdGetDatum(type),
                               CStringGetDatum(TextDatumGetCString(texts[i]))))
      return state->refuse(PlainOutcome::other_shape);
    Oid input, io_param;
    getTypeInputInfo(type, &input, &io_param);
    row->values[i] = OidInputFunctionCall(input, TextDatumGetCString(texts[i]), io_param,
                                          TupleDescAttr(desc, i)->atttypmod);
  }
  return true;
}

// The values that the group's key stands for. False: they are not those of the query's types.
bool read_key(PlainState* state, const kde::GroupView& group, PlainRow* row) {
  const int n = state->plan.key.groups;
  Datum* texts = nullptr;
  bool* nulls = nullptr;
  Datum one = 0;
  bool none = !group.has_key();
  if (!none)
    one = PointerGetDatum(
        cstring_to_text_with_len(group.key().data(), static_cast<int>(group.key().size())));
  if (n == 1) {
    texts = &one;
    nulls = &none;
  } else {
    Oid input, io_param;
    getTypeInputInfo(TEXTARRAYOID, &input, &io_param);
    ArrayType* array =
        DatumGetArrayTypeP(OidInputFunctionCall(input, TextDatumGetCString(one), io_param, -1));
    int count;
    deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &texts, &nulls, &count);
    if (count != n)
      ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
                      errmsg("a group's key has %d values where there are %d", count, n)));
  }
  return read_values(state, texts, nulls, n, row);
}

}  // namespace

List* read_keys(PlainState* state, const kde::Header* density) {
  PinnedSettings settings;
  settings.begin();
  List* keys = NIL;
  kde::GroupsView groups(density);
  kde::GroupView group;
  while (groups.next(&group)) {
    PlainRow* key = state->new_row();
    if (!read_key(state, group, key)) break;
    keys = lappend(keys, key);
  }
  settings.end();
  return keys;
}

bool read_word_key(PlainState* state, std::string_view word, PlainRow* row) {
  Datum text =
      PointerGetDatum(cstring_to_text_with_len(word.data(), static_cast<int>(word.size())));
  bool is_null = false;
  PinnedSettings settings;
  settings.begin();
  const bool good = read_values(state, &text, &is_null, 1, row);
  settings.end();
  return good;
}

}  // namespace kde_pg
