// Entries by several values, as GROUP BY has them: hashes and equality of the types' own operators.
// Internal to src/pg/plain_sql.
#pragma once

#include "pg/base/pg.h"

extern "C" {
#include "common/hashfn.h"
#include "fmgr.h"
#include "nodes/pg_list.h"
}

namespace kde_pg {

// A value of an entry, and how it is compared.
struct HashedValue {
  int place;
  // Null: of a type without hashes, as bit is, whose values are compared one by one.
  FmgrInfo* hash;
  FmgrInfo* equal;
  Oid collation;
};

inline uint32 hash_of(const HashedValue* of, int n, const Datum* values, const bool* nulls) {
  uint32 hash = 0;
  for (int c = 0; c < n; ++c) {
    const int i = of[c].place;
    const bool has_none = nulls[i] || of[c].hash == nullptr;
    hash = hash_combine(
        hash,
        has_none ? 0 : DatumGetUInt32(FunctionCall1Coll(of[c].hash, of[c].collation, values[i])));
  }
  return murmurhash32(hash);
}

// NULLs are the same.
inline bool is_same(const HashedValue* of, int n, const Datum* a, const bool* a_nulls,
                    const Datum* b, const bool* b_nulls) {
  for (int c = 0; c < n; ++c) {
    const int i = of[c].place;
    if (a_nulls[i] != b_nulls[i]) return false;
    if (!a_nulls[i] && !DatumGetBool(FunctionCall2Coll(of[c].equal, of[c].collation, a[i], b[i])))
      return false;
  }
  return true;
}

// Entry: has a `hash`. Owns nothing; zeroed: has none.
template <typename Entry>
class HashedEntries {
 public:
  int size() const { return list_length(all_); }
  // In the order in which they came.
  List* all() const { return all_; }

  // Null: there is none. same(entry): of those of the hash.
  template <typename Same>
  Entry* find(uint32 hash, const Same& same) const {
    if (slots_ == 0) return nullptr;
    for (uint32 at = hash & (slots_ - 1); slot_[at] != nullptr; at = (at + 1) & (slots_ - 1))
      if (slot_[at]->hash == hash && same(*slot_[at])) return slot_[at];
    return nullptr;
  }

  void add(Entry* entry) {
    if (2 * static_cast<uint32>(size()) >= slots_) grow();
    put(entry);
    all_ = lappend(all_, entry);
  }

 private:
  void put(Entry* entry) {
    uint32 at = entry->hash & (slots_ - 1);
    while (slot_[at] != nullptr) at = (at + 1) & (slots_ - 1);
    slot_[at] = entry;
  }

  void grow() {
    slots_ = Max(2 * slots_, 64u);
    slot_ = static_cast<Entry**>(palloc0(sizeof(Entry*) * slots_));
    for (int i = 0; i < size(); ++i) put(static_cast<Entry*>(list_nth(all_, i)));
  }

  List* all_ = NIL;
  Entry** slot_ = nullptr;  // a power of two of them, half empty
  uint32 slots_ = 0;
};

}  // namespace kde_pg
