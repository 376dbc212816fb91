// See group_keys.h. Texts are read under the settings that they were printed with.
#include "pg/plain_sql/group_keys.h"

#include "pg/base/pinned.h"

extern "C" {
#include "executor/executor.h"
#include "utils/typcache.h"
}

#include <algorithm>

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

// How values of what the query is by are compared.
struct Comparing {
  int columns = 0;
  int column[kde::kMaxGroupBy];
  FmgrInfo* function[kde::kMaxGroupBy];
  Oid collation[kde::kMaxGroupBy];
};

struct Numbered {
  const PlainRow* key;
  int number;
};

int compare_keys(const void* a, const void* b, void* context) {
  const auto* by = static_cast<const Comparing*>(context);
  const PlainRow& left = *static_cast<const Numbered*>(a)->key;
  const PlainRow& right = *static_cast<const Numbered*>(b)->key;
  for (int c = 0; c < by->columns; ++c) {
    const int i = by->column[c];
    if (left.nulls[i] || right.nulls[i]) {
      if (left.nulls[i] != right.nulls[i]) return left.nulls[i] ? 1 : -1;
      continue;
    }
    const int order = DatumGetInt32(
        FunctionCall2Coll(by->function[c], by->collation[c], left.values[i], right.values[i]));
    if (order != 0) return order;
  }
  return 0;
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

bool is_wanted(const PlainAsked& asked, const PlainRow* row) {
  if (asked.conditions == nullptr) return true;
  TupleTableSlot* slot = asked.slot;
  ExecClearTuple(slot);
  const int n = slot->tts_tupleDescriptor->natts;
  std::copy_n(row->values, n, slot->tts_values);
  std::copy_n(row->nulls, n, slot->tts_isnull);
  ExecStoreVirtualTuple(slot);
  ResetExprContext(asked.context);
  asked.context->ecxt_scantuple = slot;
  return ExecQual(asked.conditions, asked.context);
}

const int* kinds_of(const PlainState& state, List* keys, List** kinds) {
  Comparing by;
  for (int i = 0; i < state.plan.groups; ++i) {
    if ((state.plan.by_groups >> i & 1) == 0) continue;
    const Form_pg_attribute of = TupleDescAttr(state.desc(), i);
    TypeCacheEntry* type = lookup_type_cache(of->atttypid, TYPECACHE_CMP_PROC_FINFO);
    by.column[by.columns] = i;
    by.function[by.columns] = &type->cmp_proc_finfo;
    by.collation[by.columns++] = of->attcollation;
  }
  const auto n = static_cast<Size>(list_length(keys));
  auto* sorted = static_cast<Numbered*>(palloc(sizeof(Numbered) * (n + 1)));
  auto* kind = static_cast<int*>(palloc(sizeof(int) * (n + 1)));
  for (int k = 0; k < static_cast<int>(n); ++k)
    sorted[k] = {static_cast<const PlainRow*>(list_nth(keys, k)), k};
  qsort_arg(sorted, n, sizeof(Numbered), compare_keys, &by);
  for (Size k = 0; k < n; ++k) {
    if (k == 0 || compare_keys(&sorted[k - 1], &sorted[k], &by) != 0)
      *kinds = lappend(*kinds, const_cast<PlainRow*>(sorted[k].key));
    kind[sorted[k].number] = list_length(*kinds) - 1;
  }
  // All together, also of no group.
  if (*kinds == NIL && state.plan.by_groups == 0) *kinds = list_make1(state.new_row());
  return kind;
}

}  // namespace kde_pg
