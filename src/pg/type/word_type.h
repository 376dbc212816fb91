// The type of a category: from its values to text and back, and where a density's words have them.
//
// Values are the same where the type's default hash operator class says so, under the column's
// collation. Most types print values that differ differently and those that are the same alike: a
// look-up by text is then all. Of others (nondeterministic collations, jsonb, arrays of numbers)
// values that are the same may differ in text: word_finder.h.
#pragma once

#include "pg/base/pg.h"
#include "pg/base/pinned.h"

#include "core/kde.h"

extern "C" {
#include "utils/typcache.h"
}

namespace kde_pg {

// Trivially destructible. What it gives is palloc'ed.
class WordType {
 public:
  // Domains are looked through.
  void begin(Oid type, Oid collation);

  Oid base() const { return base_; }
  Oid collation() const { return collation_; }
  // WordsHeader::type and kFolded: of a type that has its number everywhere that number, or, where
  // a collation says what is the same, one of both. Other types, but enums, may have any equality.
  uint32 number() const { return number_; }
  bool folded() const { return folded_; }
  bool is_enum() const;
  // Whether values are the same exactly if they are printed alike.
  bool direct() const { return direct_; }

  // As the type prints it, whatever the session's settings; blanks at the end of a character(n) are
  // none.
  char* text(Datum value);
  // A text as the type reads it. Errors: those of its input function.
  Datum read(const char* text) const;
  bool same(Datum a, Datum b);

  // Why the words are not of this type as it is now: null, or for an error's detail.
  const char* why_outdated(const kde::WordsView& words);

 private:
  Oid base_, collation_;
  uint32 number_;
  TypeCacheEntry* type_;
  FmgrInfo output_;
  bool is_text_;  // a text as it is
  bool plain_;    // no setting has a say in how it is printed
  bool direct_;
  bool folded_;
};

// The labels of an enum type in its order, palloc'ed char*.
List* enum_labels(Oid type);

}  // namespace kde_pg
