// The densities of a table, and which of them answers a question.
//
// A density answers if it is of the same table and filter and its columns contain all that are
// asked about. Of several the first by
//   fewest columns beyond those asked (so one of one column, where only one is asked about),
//   method auto, most points, fitted last.
#pragma once

#include "pg/answer/question.h"
#include "pg/catalog/catalog.h"
#include "pg/catalog/stale_answers.h"

namespace kde_pg {

// The density that answers: of one column or of several, valid until the next look-up (cache.h).
struct AnsweringDensity {
  const kde::Header* one_column = nullptr;  // fit for kde::DensityView, or null
  const kde::JointHeader* joint = nullptr;  // fit for kde::JointView, or null
  kde::BlockSums sums = {};                 // of one column
  int place[kde::kMaxColumns] = {};         // asked column i is the density's column place[i]
  AnsweringFit fit = {};

  kde::DensityView view() const { return kde::DensityView(one_column, sums); }
  bool automatic() const;  // of several columns by method auto
  double points() const;   // of a density of one column, rows of its sample
  const char* method() const;
};

// A density that covers a question, or not.
struct Candidate {
  const DensityKey* key;
  TimestampTz fitted_at;
  bool outdated;  // by an older version, whose densities answer nothing
  bool same_filter;
  int lacking;                  // of `asked`: the first that it has not; -1: it has all
  int place[kde::kMaxColumns];  // as AnsweringDensity::place

  bool covers() const { return same_filter && lacking < 0; }
  int beyond(const Question& q) const { return key->columns - q.asked.columns; }
};

// All densities of the table, best first, then those that do not cover the question. A palloc'ed
// list of Candidate*.
List* list_candidates(const Question& question);

// The density of a candidate that covers the question. Errors: 55000 if one of the columns has
// changed its type since; XX001 if what is stored is not of the columns it is stored for.
AnsweringDensity open_candidate(const Question& question, const Candidate& candidate);

// The best of them, by name. Errors: 42704 if none covers the question (with the call that would
// help); as above.
AnsweringDensity find_density(const Question& question);

// Whether bounds for one type mean the same for the other: any numbers, or the very same type.
bool same_meaning(kde::ValueType a, kde::ValueType b);

}  // namespace kde_pg
