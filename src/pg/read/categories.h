// Values of a type that need not be numbers, numbered as they are met: 1, 2, ... Values are the
// same where the type's default hash operator class says so, under the column's collation, as in
// GROUP BY.
#pragma once

#include "pg/read/word_type.h"

#include "core/kde.h"

extern "C" {
#include "utils/typcache.h"
}

namespace kde_pg {

// Trivially destructible: what it holds is its context's.
class Categories {
 public:
  // Error 42883 for a type without equality that can be hashed. name: of the column, for messages.
  void begin(Oid type, Oid collation, const char* name, MemoryContext context);

  // Of a non-null value. Errors: those of the type's functions.
  uint32 number(Datum value);
  uint32 size() const { return size_; }

  // Where a density's words have the value, as they come: its rank, or words.words(). Both outlive
  // it; before the first value.
  void rank_by(const kde::WordsView* words, WordType* type) {
    words_ = words;
    word_type_ = type;
  }
  // What a sink gets of a non-null value: its number, or its rank.
  double take(Datum value) { return words_ == nullptr ? number(value) : rank(value); }

  // Values take no more memory than so many bytes (0: any). Beyond it error 54000; or, where none
  // is to be raised, values are no longer told apart: all are number 0.
  void limit(Size bytes, bool raise) {
    most_bytes_ = bytes;
    raises_ = raise;
  }
  // A value whose text has more than so many bytes is error 54000.
  void limit_text(Size bytes) { most_text_ = bytes; }
  // No value is told apart from now on.
  void give_up() { given_up_ = true; }
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

  void grow();
  bool has_room();
  void check_text(Datum value) const;
  double rank(Datum value);
  char* print(Datum value) const {
    return OutputFunctionCall(const_cast<FmgrInfo*>(&output_), value);
  }

  const kde::WordsView* words_ = nullptr;
  WordType* word_type_ = nullptr;
  double* rank_ = nullptr;               // of each number
  uint32 ranks_ = 0;                     // numbers that have one
  Size most_bytes_ = 0, most_text_ = 0;  // 0: any
  bool raises_ = true, given_up_ = false;
  const char* name_;
  MemoryContext context_;
  TypeCacheEntry* type_;
  Oid collation_;
  FmgrInfo output_;
  Entry* entry_;   // number n at n - 1
  uint32* place_;  // open addressing: numbers, 0 where free
  uint32 size_, places_;
};

}  // namespace kde_pg
