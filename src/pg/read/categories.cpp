// A hash table of values, by their type's own functions.
#include "pg/read/categories.h"

extern "C" {
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
  context_ = context;
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
  entry_ = static_cast<Entry*>(MemoryContextAlloc(context, sizeof(Entry) * places_));
  place_ = static_cast<uint32*>(MemoryContextAllocZero(context, sizeof(uint32) * places_));
}

// Twice the places, which are at most half full.
void Categories::grow() {
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

// Asked once in a while.
bool Categories::has_room() {
  constexpr uint32 kOnceIn = 4096;
  if (most_bytes_ == 0 || size_ % kOnceIn != 0 ||
      MemoryContextMemAllocated(context_, true) <= most_bytes_)
    return true;
  if (raises_)
    ereport(ERROR,
            (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
             errmsg("\"%s\" has more different values than memory allows", name_),
             errdetail("After %u of them %zu MB are used.", size_, most_bytes_ >> 20),
             errhint("Raise maintenance_work_mem, or fit an expression of fewer values, such as "
                     "left(%s, 2).",
                     quote_identifier(name_))));
  given_up_ = true;
  return false;
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

double Categories::rank(Datum value) {
  const uint32 n = number(value);
  if (n <= ranks_) return rank_[n - 1];
  MemoryContext previous = MemoryContextSwitchTo(context_);
  if (ranks_ % kFirstPlaces == 0) {
    const Size bytes = sizeof(double) * (ranks_ + kFirstPlaces);
    rank_ = static_cast<double*>(rank_ == nullptr ? palloc(bytes) : repalloc_huge(rank_, bytes));
  }
  const char* text = word_type_->text(value);
  const int64 found = word_type_->find(*words_, value, text);
  rank_[ranks_++] = found < 0 ? words_->others_rank() : static_cast<double>(found);
  MemoryContextSwitchTo(previous);
  return rank_[n - 1];
}

uint32 Categories::number(Datum value) {
  if (given_up_) return 0;
  const uint32 hash = DatumGetUInt32(FunctionCall1Coll(&type_->hash_proc_finfo, collation_, value));
  uint32 at = hash & (places_ - 1);
  for (; place_[at] != 0; at = (at + 1) & (places_ - 1)) {
    const Entry& entry = entry_[place_[at] - 1];
    if (entry.hash == hash &&
        DatumGetBool(FunctionCall2Coll(&type_->eq_opr_finfo, collation_, entry.value, value)))
      return place_[at];
  }
  if (!has_room()) return 0;
  check_text(value);
  MemoryContext previous = MemoryContextSwitchTo(context_);
  if (type_->typlen == -1) value = PointerGetDatum(PG_DETOAST_DATUM(value));
  entry_[size_++] = {datumCopy(value, type_->typbyval, type_->typlen), hash};
  place_[at] = size_;
  if (2 * size_ > places_) grow();
  MemoryContextSwitchTo(previous);
  return size_;
}

}  // namespace kde_pg
