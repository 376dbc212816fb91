// Where a density's words have values of its category: by their text, and where the type calls
// values the same that are printed differently, by the words' own values. Those are read once, into
// a hash table.
#pragma once

#include "pg/read/categories.h"
#include "pg/type/word_type.h"

#include "core/kde.h"

namespace kde_pg {

// Trivially destructible: what it holds is of contexts below the one that was current at begin().
class WordFinder {
 public:
  // Both outlive it.
  void begin(const kde::WordsView* words, WordType* type);

  // The rank of a value, -1: it is none of the words.
  int64 find(Datum value);
  // What a sink gets of a value: its rank, or that of the others.
  double rank(Datum value) {
    const int64 found = find(value);
    return found < 0 ? words_->others_rank() : static_cast<double>(found);
  }
  // Whether words were looked through that the type, as it is now, cannot read.
  bool outdated() const { return outdated_; }

 private:
  void read();

  const kde::WordsView* words_;
  WordType* type_;
  MemoryContext context_, each_;
  Categories values_;
  uint32* rank_of_;  // each number
  bool read_, outdated_;
};

}  // namespace kde_pg
