// What a question about several columns is about, and the density that answers it.
//
// A density answers if it is of the same table and filter and its columns contain all that are
// asked about. Of several the first by
//   fewest columns beyond those asked (so one of one column, where only one is asked about),
//   method auto, most points, fitted last.
#pragma once

#include "pg/base/values.h"
#include "pg/catalog/catalog.h"
#include "pg/catalog/stale_answers.h"

namespace kde_pg {

// Columns, bounded or averaged, of a table under a filter.
struct Question {
  // The bounded columns first, in the order in which they were asked, then the target unless it is
  // one of them. With expressions and the filter analysed.
  DensityKey asked;
  int sides = 0;    // bounded columns, 0 where only a target is asked about
  int target = -1;  // index in `asked`; -1: none
  kde::ValueType type[kde::kMaxColumns] = {};  // present ones
};

// Reads the arguments relation, target (name; its index -1: there is none), columns (text[]) and
// filter (text); only the filter may be NULL. Checks privileges: SELECT on all columns asked about,
// in expressions and the filter too. Errors: 22023, 2202E, 42701, 42703, and
// those of expression.h for arrays that name no columns; 42501; 42804 for a column of a type no
// density can hold.
Question read_question(FunctionCallInfo fcinfo, int relation, int target, int columns, int filter);

// The same from target and on, both names: `on` is asked column 0, the only side; the target is
// another column. Errors: 22023 if they are one.
Question read_pair(FunctionCallInfo fcinfo, int relation, int target, int on, int filter);

// A density that covers a question, or not.
struct Candidate {
  const DensityKey* key;
  TimestampTz fitted_at;
  bool outdated;  // by an older version, whose densities answer nothing
  bool same_filter;
  int lacking;                  // of `asked`: the first that it has not; -1: it has all
  int place[kde::kMaxColumns];  // asked column i is the density's column place[i]

  bool covers() const { return same_filter && lacking < 0; }
  int beyond(const Question& q) const { return key->columns - q.asked.columns; }
};

// All densities of the table, best first, then those that do not cover the question. A palloc'ed
// list of Candidate*.
List* list_candidates(const Question& question);

// The density that answers.
struct JointTarget {
  const kde::Header* one_column;  // or null
  const kde::JointHeader* joint;  // or null; valid until the next look-up, see cache.h
  int place[kde::kMaxColumns];    // as Candidate::place
  AnsweringFit fit;

  bool automatic() const;  // of several columns by method auto
  double points() const;   // of a density of one column, rows of its sample
  const char* method() const;
};

// Errors: 42704 if none covers the question (with the call that would help); 55000 if one of its
// columns has changed its type since.
JointTarget find_joint_target(const Question& question);

// The density of a candidate that covers the question. Error 55000 as above; XX001 if what is
// stored is not of the columns it is stored for.
JointTarget open_candidate(const Question& question, const Candidate& candidate);

}  // namespace kde_pg
