// The densities of a table, and which of them answers a question.
//
// A density answers if it is of the same table and filter and its columns contain all that are
// asked about. Of several the first by
//   a density of the one bounded column with the measure beside it,
//   fewest columns beyond those asked (so one of one column, where only one is asked about),
//   method auto, most points, fitted last.
#pragma once

#include "pg/answer/question.h"
#include "pg/catalog/catalog.h"
#include "pg/catalog/stale_answers.h"

namespace kde_pg {

// The density that answers: of one column or of several, valid until the next look-up (cache.h).
struct AnsweringDensity : kde::AnyDensity {
  // Asked column i is the density's column place[i]; of a density of one column those beyond it are
  // its measures.
  int place[kde::kMaxColumns] = {};
  AnsweringFit fit = {};
  // Rows of the table that each of one_column's stands for: of a margin (take_margin()) not 1.
  double scale = 1;
  // Of each side that is a category: the values asked for; null: all.
  const kde::WordSet* words[kde::kMaxColumns] = {};

  void take(const kde::AnyDensity& density) { static_cast<kde::AnyDensity&>(*this) = density; }
  // Of a density of several columns, that of the first one asked about by itself, as a fit of that
  // column would have it.
  void take_margin();
  // The density of an asked column by itself.
  const kde::Header* asked_column(int i) const { return column(place[i]); }
};

// A density that covers a question, or not.
struct Candidate {
  const DensityKey* key;
  TimestampTz fitted_at;
  bool outdated;  // before its definition changed, or under other settings: it answers nothing
  bool same_filter;
  int lacking;                  // of `asked`: the first that it has not; -1: it has all
  int place[kde::kMaxColumns];  // as AnsweringDensity::place

  bool covers() const { return same_filter && lacking < 0; }
  // Less than 0: the measure is one of a density of the bounded column.
  int beyond(const Question& q) const { return key->columns - q.asked.columns; }
};

// All densities of the table, best first, then those that do not cover the question. A palloc'ed
// list of Candidate*.
List* list_candidates(const Question& question);

// The density of a candidate that covers the question. Errors: 55000 if one of the columns has
// changed its type since; XX001 if what is stored is not of the columns it is stored for.
AnsweringDensity open_candidate(const Question& question, const Candidate& candidate);

// Which densities will do.
enum class Form { any, joint };

// The best of them, by name. Errors: 42704 if none covers the question (with the call that would
// help); as above.
AnsweringDensity find_density(const Question& question, Form wanted = Form::any);

// Whether bounds for one type mean the same for the other: any numbers, or the very same type.
bool same_meaning(kde::ValueType a, kde::ValueType b);

}  // namespace kde_pg
