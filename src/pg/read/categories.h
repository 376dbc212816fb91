// Values of a type that need not be numbers, numbered as they are met: 1, 2, ... Values are the
// same where the type's default hash operator class says so, under the column's collation, as in
// GROUP BY.
#pragma once

#include "pg/base/pg.h"

extern "C" {
#include "utils/typcache.h"
}

#include <utility>

namespace kde_pg {

// Trivially destructible: what it holds is its context's.
class Categories {
 public:
  // Error 42883 for a type without equality that can be hashed. name: of the column, for messages.
  void begin(Oid type, Oid collation, const char* name, MemoryContext context);

  // Of a non-null value. Errors: those of the type's functions.
  uint32 number(Datum value);
  // The same of one that was met; 0: it was not.
  uint32 find(Datum value);
  uint32 size() const { return size_; }

  // In the place of begin(): values are not numbered, but have the ranks of a WordFinder's words.
  void rank_by(double (*rank)(void* finder, Datum value), void* finder) {
    rank_ = rank;
    finder_ = finder;
  }
  // What a sink gets of a non-null value: its number, or its rank.
  double take(Datum value) { return rank_ != nullptr ? rank_(finder_, value) : number(value); }

  // Values take no more memory than so many bytes (0: any). Beyond it error 54000; or, where none
  // is to be raised, values are no longer told apart: all are number 0.
  void limit(Size bytes, bool raise) {
    most_bytes_ = bytes;
    raises_ = raise;
  }
  // A value whose text has more than so many bytes is error 54000.
  void limit_text(Size bytes) { most_text_ = bytes; }
  // One limit is of both, and of all that they share theirs with: beyond it the largest gives up.
  void share_limit(Categories* other) { std::swap(next_, other->next_); }
  // No value is told apart from now on, nor held.
  void give_up();
  bool given_up() const { return given_up_; }

  // By which values are the same.
  Oid equality() const { return type_->eq_opr; }
  Oid collation() const { return collation_; }

  Datum value(uint32 number) const { return entry_[number - 1].value; }
  // As the type's output function prints it; palloc'ed. To be called with settings pinned, so that
  // it reads back in any session.
  char* text(uint32 number) const { return print(entry_[number - 1].value); }

 private:
  struct Entry {
    Datum value;
    uint32 hash;
  };

  // In each_, from which it is gone at the next call.
  Datum detoasted(Datum value) const;
  // The place of a value that has that hash, or the free one where it would be.
  uint32 place_of(Datum value, uint32 hash) const;
  uint32 hash_of(Datum value) const;
  void grow();
  bool has_room(Size bytes);
  void check_text(Datum value) const;
  char* print(Datum value) const {
    return OutputFunctionCall(const_cast<FmgrInfo*>(&output_), value);
  }

  double (*rank_)(void* finder, Datum value) = nullptr;
  void* finder_ = nullptr;
  Size most_bytes_ = 0, most_text_ = 0;  // 0: any
  bool raises_ = true, given_up_ = false;
  Size bytes_ = 0;           // used
  Categories* next_ = this;  // of those that share a limit, in a ring
  const char* name_;
  MemoryContext context_, each_;
  TypeCacheEntry* type_;
  Oid collation_;
  FmgrInfo output_;
  Entry* entry_;   // number n at n - 1
  uint32* place_;  // open addressing: numbers, 0 where free
  uint32 size_, places_;
};

}  // namespace kde_pg
