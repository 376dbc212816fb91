// What answer functions share: each is written once over a target and its remaining arguments, and
// given to SQL in three forms.
#pragma once

#include "pg/answer/target.h"

#include "core/kde.h"

namespace kde_pg {

// A SQL result.
struct Result {
  bool is_null;
  Datum value;

  static Result null() { return {true, 0}; }
  static Result number(double x) { return {false, Float8GetDatum(x)}; }
};

// `next` is the index of the first argument after those that name the density.
using Answer = Result (*)(FunctionCallInfo fcinfo, const Target& target, int next);

// The three forms (target.h). A NULL density, by whatever name, has the answer NULL.
Datum answer_by_text(FunctionCallInfo fcinfo, Answer answer);
Datum answer_by_column(FunctionCallInfo fcinfo, Answer answer);
Datum answer_by_value(FunctionCallInfo fcinfo, Answer answer);

// The moments over the range that arguments `next` and `next + 1` give; false where the range is
// null or holds no row.
bool read_moments(FunctionCallInfo fcinfo, const Target& target, int next, kde::RangeMoments* m);

// The sum or mean of rows that are not all finite. True if it decides the answer.
bool special_values(const kde::RangeMoments& m, const char* what, Result* result);

// Error 22003 for a quantile's fraction outside [0, 1].
void check_fraction(double fraction);

}  // namespace kde_pg

// The three C functions behind a SQL function, from one Answer.
#define KDE_ANSWER(name, answer)                                                           \
  KDE_FUNCTION(name##_text) { return kde_pg::answer_by_text(fcinfo, kde_pg::answer); }     \
  KDE_FUNCTION(name##_column) { return kde_pg::answer_by_column(fcinfo, kde_pg::answer); } \
  KDE_FUNCTION(name##_kde) { return kde_pg::answer_by_value(fcinfo, kde_pg::answer); }
