// Values of categories as text: word_type.h.
#include "pg/type/word_type.h"

extern "C" {
#include "access/transam.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_enum.h"
#include "common/hashfn.h"
#include "utils/catcache.h"
}

namespace kde_pg {

namespace {

bool is_text_type(Oid type) { return type == TEXTOID || type == VARCHAROID || type == BPCHAROID; }

// Types whose text no setting changes, and whose values are the same exactly if their texts are.
bool is_simple(Oid type) {
  switch (type) {
    case BOOLOID:
    case CHAROID:
    case NAMEOID:
    case OIDOID:
    case UUIDOID:
    case INETOID:
    case CIDROID:
    case MACADDROID:
    case MACADDR8OID:
    case PG_LSNOID:
    case XIDOID:
    case XID8OID:
    case CIDOID:
    case TIDOID:
      return true;
    default:
      return false;
  }
}

// By which values are the same; whatever its name.
uint32 hash_of_collation(Oid collation) {
#if PG_VERSION_NUM >= 170000
  constexpr AttrNumber kLocale = Anum_pg_collation_colllocale;
#else
  constexpr AttrNumber kLocale = Anum_pg_collation_colliculocale;
#endif
  HeapTuple tuple = SearchSysCache1(COLLOID, ObjectIdGetDatum(collation));
  if (!HeapTupleIsValid(tuple)) elog(ERROR, "cache lookup failed for collation %u", collation);
  bool is_null;
  const Datum locale = SysCacheGetAttr(COLLOID, tuple, kLocale, &is_null);
  uint32 hash = 0;
  if (!is_null) {
    const char* name = TextDatumGetCString(locale);
    hash = hash_bytes(reinterpret_cast<const unsigned char*>(name), static_cast<int>(strlen(name)));
  }
  ReleaseSysCache(tuple);
  return hash;
}

int compare_labels(const ListCell* a, const ListCell* b) {
  const auto order = [](const ListCell* cell) {
    return reinterpret_cast<Form_pg_enum>(GETSTRUCT(static_cast<HeapTuple>(lfirst(cell))))
        ->enumsortorder;
  };
  const float4 x = order(a), y = order(b);
  return x < y ? -1 : x > y ? 1 : 0;
}

}  // namespace

List* enum_labels(Oid type) {
  CatCList* members = SearchSysCacheList1(ENUMTYPOIDNAME, ObjectIdGetDatum(type));
  List* tuples = NIL;
  for (int i = 0; i < members->n_members; ++i)
    tuples = lappend(tuples, &members->members[i]->tuple);
  list_sort(tuples, compare_labels);
  List* labels = NIL;
  for (HeapTupleData* tuple : of_list<HeapTupleData>(tuples)) {
    const auto* label = reinterpret_cast<Form_pg_enum>(GETSTRUCT(tuple));
    labels = lappend(labels, pstrdup(NameStr(label->enumlabel)));
  }
  list_free(tuples);
  ReleaseCatCacheList(members);
  return labels;
}

void WordType::begin(Oid type, Oid collation) {
  base_ = getBaseType(type);
  collation_ = collation;
  type_ = lookup_type_cache(base_, TYPECACHE_HASH_PROC | TYPECACHE_EQ_OPR_FINFO);
  is_text_ = is_text_type(base_);
  const bool collated = OidIsValid(collation) && !get_collation_isdeterministic(collation);
  plain_ = is_text_ || is_simple(base_) || is_enum();
  direct_ = plain_ && !collated;
  const bool foreign = base_ >= FirstNormalObjectId;
  folded_ = collated || (foreign && !plain_);
  number_ = foreign ? 0 : base_ == VARCHAROID ? TEXTOID : base_;
  // No type of the system has such a number.
  if (collated) number_ = 0x80000000U | hash_combine(number_, hash_of_collation(collation)) >> 2;
  if (is_text_) return;
  Oid output;
  bool is_varlena;
  getTypeOutputInfo(base_, &output, &is_varlena);
  fmgr_info(output, &output_);
}

bool WordType::is_enum() const { return type_->typtype == TYPTYPE_ENUM; }

char* WordType::text(Datum value) {
  char* out;
  if (is_text_) {
    // The macro names the type, which this function's name hides.
    out = text_to_cstring(reinterpret_cast<struct varlena*>(DatumGetPointer(value)));
    Size length = base_ == BPCHAROID ? strlen(out) : 0;
    while (length > 0 && out[length - 1] == ' ') out[--length] = '\0';
    return out;
  }
  PinnedSettings settings;
  if (!plain_) settings.begin();
  out = OutputFunctionCall(&output_, value);
  if (!plain_) settings.end();
  return out;
}

Datum WordType::read(const char* text) const {
  if (is_text_) return CStringGetTextDatum(text);
  Oid input;
  Oid io_param;
  getTypeInputInfo(base_, &input, &io_param);
  return OidInputFunctionCall(input, const_cast<char*>(text), io_param, -1);
}

bool WordType::same(Datum a, Datum b) {
  return DatumGetBool(FunctionCall2Coll(&type_->eq_opr_finfo, collation_, a, b));
}

const char* WordType::why_outdated(const kde::WordsView& words) {
  const kde::WordsHeader& h = words.header();
  if (h.type != number() || ((h.flags & kde::kFolded) != 0) != folded_ ||
      ((h.flags & kde::kPlaced) != 0) != is_enum())
    return "Its column has another type now, or a collation by which other values are the same.";
  if (!is_enum()) return nullptr;
  // Those that there were must be there, in the order that they had: a label that was renamed is
  // not, or has another's place.
  int64 last = -1;
  uint32 seen = 0;
  List* labels = enum_labels(base_);
  for (const char* entry : of_list<const char>(labels)) {
    const int64 rank = words.find(entry);
    if (rank < 0) continue;
    const int64 place = words.place(static_cast<uint32>(rank));
    if (place <= last) return "Labels of its type were renamed.";
    last = place;
    ++seen;
  }
  list_free_deep(labels);
  return seen == words.words() ? nullptr : "Labels of its type were renamed.";
}

}  // namespace kde_pg
