// What became of statements of plain SQL that a density might have answered, counted in this
// session and, where shared_preload_libraries names the library, in all: the view kde_plain_sql.
#pragma once

namespace kde_pg {

enum class PlainOutcome {
  answered,        // by a density
  off,             // kde_aqp.approximate is off since the statement was planned
  nested,          // not what the client sent, where it is "top", or CREATE TABLE AS
  own_changes,     // rows changed by the session
  gone,            // the density
  stale,           // the density is not of what the columns are now
  unproven,        // what changed since the fit is not known
  beyond,          // as of the fit: values that there were none of then
  other_shape,     // the density is of other columns, or of types that have changed
  other_settings,  // its expressions are of another time zone, or the like
  rest,            // groups that share a density
  new_groups,      // rows changed, perhaps of new groups
  unseen,          // groups that the sample did not meet
  not_finite,      // NaN or infinities
  inaccurate,
  unsure,        // whether there is any row
  nulls,         // rows where a column of the density is NULL
  buckets,       // too many, or where clocks are put back
  digits,        // more than double precision has, or a bound hardly beside a value
  out_of_type,   // beyond bigint
  serializable,  // the transaction, in which an answer would take no part
  dimension      // a table that is joined has several rows of a key, or takes too much memory
};
inline constexpr int kPlainOutcomes = 22;

// Words for messages and the view. Static storage.
const char* describe(PlainOutcome outcome);
void count_outcome(PlainOutcome outcome);

// A relative error as per cent for messages: two digits, rounded up, as it is a bound. palloc'ed.
char* percent_up(double error);

// Of the statements counted, in all sessions where that is known, those that a density answered,
// and those that it was asked and did not answer, by what most of them failed.
struct PlainCounts {
  long long answered, refused;
  PlainOutcome mostly;
};
PlainCounts count_plain_answers();

// From _PG_init, while shared_preload_libraries are loaded.
void request_outcome_memory();

}  // namespace kde_pg
