// What a question is about: ranges (ranges.h), and of categories which values: arguments `lower`
// and `upper`, both of the type that anycompatible resolved to.
//
//   a value as `lower`, `upper` left NULL or the same     equality
//   an array as `lower`                                   any of its elements (IN); NULLs are none,
//                                                         and of a NULL array the answer is NULL
//   neither                                               every value
//
// Among several columns, whose bounds are arrays, a category's element is as the first or the last.
//
// Text is read by the column's type; a value of another type has to be one of the column's.
#pragma once

#include "pg/answer/candidates.h"

namespace kde_pg {

// Values for a query, of the column's own type.
struct WordValues {
  Oid type, collation;
  int count;
  Datum* values;
};

struct AskedWords {
  bool all = true;    // no value is asked for
  bool null = false;  // the answer is NULL
  kde::WordSet set = {};
  WordValues values = {};
};

// Whether a question is of a category by itself, with a measure or without.
inline bool is_category(const Question& q) {
  return q.named == 1 && q.type[0] == kde::ValueType::category;
}

// Whether one of the columns named is a category.
bool names_category(const Question& q);

// The words of the question's first column. Errors: 22023 where the density has none; 55000 where
// the column's type has changed since the fit.
kde::WordsView words_of(const Question& question, const kde::Header* density);

// The ranges of the question's sides, and of the categories that are named the values asked for,
// which *density then has; ranges has room for kde::kMaxColumns. The values of each side,
// palloc'ed; null where no category is named. False if the answer is NULL. Errors: those of
// read_ranges() and words_of(); 0A000 for two values that differ, or a range, or for one that a
// value of type kde cannot tell from its words; 42804 for a value of another type; those of the
// type's input function.
bool read_asked(FunctionCallInfo fcinfo, int lower, const Question& question,
                AnsweringDensity* density, kde::Range* ranges, AskedWords** words);
// One value of a question's side, which is a category. Errors: as above.
AskedWords read_word(const Question& question, const AnsweringDensity& density, int side, Oid type,
                     Datum value);

// Whether the words still are values of that type and collation, told apart by it as at the fit.
bool are_words_of(Oid type, Oid collation, const kde::Header* density);

// The ranks of values that plain SQL compares with a category of that type and collation; `given`
// is theirs, and NULLs are none. False: the type has changed its meaning since the fit.
bool find_words(Oid type, Oid collation, const kde::Header* density, Oid given,
                const NullableDatum* values, int count, kde::WordSet* out);

}  // namespace kde_pg
