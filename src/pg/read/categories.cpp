// A hash table of values, by their type's own functions.
#include "pg/read/categories.h"

#include "pg/base/pinned.h"

extern "C" {
#include "access/detoast.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
}

namespace kde_pg {

namespace {

constexpr uint32 kFirstPlaces = 256;  // a power of two

}  // namespace

void Categories::begin(Oid type, Oid collation, const char* name, MemoryContext context) {
  context_ = AllocSetContextCreate(context, "kde_aqp values", ALLOCSET_DEFAULT_SIZES);
  each_ = AllocSetContextCreate(context, "kde_aqp value", ALLOCSET_DEFAULT_SIZES);
  name_ = name;
  collation_ = collation;
  type_ = lookup_type_cache(type, TYPECACHE_HASH_PROC_FINFO | TYPECACHE_EQ_OPR_FINFO);
  if (!OidIsValid(type_->hash_proc_finfo.fn_oid) || !OidIsValid(type_->eq_opr_finfo.fn_oid))
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_FUNCTION),
                    errmsg("\"%s\" is of type %s, which cannot be grouped by hashing", name,
                           format_type_be(type)),
                    errhint("Cast it to a type that can be, such as text.")));
  Oid output;
  bool is_varlena;
  getTypeOutputInfo(type, &output, &is_varlena);
  fmgr_info_cxt(output, &output_, context);
  size_ = 0;
  places_ = kFirstPlaces;
  entry_ = static_cast<Entry*>(MemoryContextAlloc(context_, sizeof(Entry) * places_));
  place_ = static_cast<uint32*>(MemoryContextAllocZero(context_, sizeof(uint32) * places_));
  bytes_ = (sizeof(Entry) + sizeof(uint32)) * places_;
}

// Twice the places, which are at most half full.
void Categories::grow() {
  bytes_ += (sizeof(Entry) + sizeof(uint32)) * places_;
  places_ *= 2;
  entry_ = static_cast<Entry*>(repalloc_huge(entry_, sizeof(Entry) * places_));
  pfree(place_);
  place_ = static_cast<uint32*>(MemoryContextAllocExtended(context_, sizeof(uint32) * places_,
                                                           MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO));
  for (uint32 i = 0; i < size_; ++i) {
    uint32 at = entry_[i].hash & (places_ - 1);
    while (place_[at] != 0) at = (at + 1) & (places_ - 1);
    place_[at] = i + 1;
  }
}

bool Categories::has_room(Size bytes) {
  if (most_bytes_ == 0) return true;
  Categories* largest = this;
  for (Categories* c = this;; c = c->next_) {
    bytes += c->bytes_;
    if (c->bytes_ > largest->bytes_) largest = c;
    if (c->next_ == this) break;
  }
  if (bytes <= most_bytes_) return true;
  if (raises_)
    ereport(ERROR,
            (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
             errmsg("\"%s\" has more different values than memory allows", name_),
             errdetail("After %u of them %zu MB are used.", size_, bytes_ >> 20),
             errhint("Raise maintenance_work_mem, or fit an expression of fewer values, such as "
                     "left(%s, 2).",
                     quote_identifier(name_))));
  largest->give_up();
  return largest != this;
}

void Categories::give_up() {
  given_up_ = true;
  bytes_ = 0;
  MemoryContextReset(context_);
}

// Before it is held in memory with all that are like it.
void Categories::check_text(Datum value) const {
  // Others are short.
  if (most_text_ == 0 || type_->typlen > 0) return;
  PinnedSettings settings;
  settings.begin();
  char* text = print(value);
  settings.end();
  if (strlen(text) > most_text_)
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                    errmsg("\"%s\" has a value of more than %zu bytes, too long for a group's key",
                           name_, most_text_),
                    errhint("Group by an expression that gives shorter values.")));
  pfree(text);
}

Datum Categories::detoasted(Datum value) const {
  MemoryContextReset(each_);
  return type_->typlen == -1 ? PointerGetDatum(PG_DETOAST_DATUM_PACKED(value)) : value;
}

uint32 Categories::hash_of(Datum value) const {
  return DatumGetUInt32(FunctionCall1Coll(&type_->hash_proc_finfo, collation_, value));
}

uint32 Categories::place_of(Datum value, uint32 hash) const {
  uint32 at = hash & (places_ - 1);
  for (; place_[at] != 0; at = (at + 1) & (places_ - 1)) {
    const Entry& entry = entry_[place_[at] - 1];
    if (entry.hash == hash &&
        DatumGetBool(FunctionCall2Coll(&type_->eq_opr_finfo, collation_, entry.value, value)))
      break;
  }
  return at;
}

uint32 Categories::find(Datum value) {
  MemoryContext caller = MemoryContextSwitchTo(each_);
  value = detoasted(value);
  const uint32 number = place_[place_of(value, hash_of(value))];
  MemoryContextSwitchTo(caller);
  return number;
}

uint32 Categories::number(Datum value) {
  if (given_up_) return 0;
  MemoryContext caller = MemoryContextSwitchTo(each_);
  value = detoasted(value);
  const uint32 hash = hash_of(value);
  const uint32 at = place_of(value, hash);
  uint32 number = place_[at];
  if (number == 0 && has_room(datumGetSize(value, type_->typbyval, type_->typlen))) {
    check_text(value);
    // Functions take it fastest as it is here.
    if (type_->typlen == -1) value = PointerGetDatum(PG_DETOAST_DATUM(value));
    MemoryContextSwitchTo(context_);
    const Datum own = datumCopy(value, type_->typbyval, type_->typlen);
    if (!type_->typbyval) bytes_ += GetMemoryChunkSpace(DatumGetPointer(own));
    entry_[size_++] = {own, hash};
    number = place_[at] = size_;
    if (2 * size_ > places_) grow();
  }
  MemoryContextSwitchTo(caller);
  return number;
}

}  // namespace kde_pg
