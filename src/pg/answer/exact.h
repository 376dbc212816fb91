// Exact answers to what answer functions were asked, from the table.
#pragma once

#include "pg/answer/call.h"
#include "pg/answer/moments.h"
#include "pg/answer/ranges.h"
#include "pg/answer/asked_words.h"

namespace kde_pg {

// What SQL answers over the rows of the question's table that pass its filter and whose values lie
// in its ranges, as double precision: of dates, times and intervals, in seconds as everywhere here.
// Bounds are compared as SQL compares a column with a value of their type: 10.5 stays 10.5 for an
// integer column. Runs one read-only query under the active snapshot, as the current user, whose
// privileges apply; locks the table as it would, until the end of the transaction. Errors: 0A000 in
// a parallel worker, where a foreign table or one of the session's temporary tables is the table or
// a descendant of it, or its rows are elsewhere (planned_rows.h); 42P01, 42703 if the table, its
// schema or a column has been dropped; 22023 where an aggregate but count has no measure.
// words: of each side, or null: the values of a category that are asked for, as the column compares
// them; its range is not looked at then.
NullableDatum exact_answer(Aggregate aggregate, const Question& question, const SqlRange* ranges,
                           const WordValues* const* words);

// The same by any density beside which what changed is read, where that is as accurate, or the exact
// plan may answer; a NULL is all NaN. False: neither.
bool answer_with_rest(Aggregate aggregate, const Question& question, const SqlRange* ranges,
                      const WordValues* const* words, const Accuracy& accuracy, kde::Interval* out);
// What that asks of plain_sql/, which registers it.
struct ExactQuery {
  const char* sql;
  int parameters;
  const Oid* types;
  const Datum* values;
};
extern bool (*ask_with_rest)(const ExactQuery& query, const Accuracy& accuracy, kde::Interval* out);

// The condition that a row is of a group of a density's: by: its key; group: as the density has it,
// null for NULL. palloc'ed; to be put into DensityKey::filter of a question for exact_answer(). It
// prints values: call it and exact_answer() with PinnedSettings.
char* group_condition(const DensityKey& by, const char* group);

// The exact percentile_disc of the question's only column.
NullableDatum exact_quantile(const Question& question, double fraction);

// Exact answers of each group of the question's `grouped`: count, sum and mean of its measure, NULL
// as NaN; put() is called for each, most rows first. key: as the density has it, null for NULL.
struct ExactGroup {
  const char* key;
  double count, sum, mean;
};
void exact_groups(const Question& question, const SqlRange* ranges,
                  void (*put)(const ExactGroup& group, void* state), void* state);

}  // namespace kde_pg
