// The counts behind the view kde_plain_sql.
#include "pg/plan/plain_outcome.h"

#include "pg/base/result_set.h"

namespace kde_pg {

namespace {

int64 counts[kPlainOutcomes];

}  // namespace

const char* describe(PlainOutcome outcome) {
  static const char* const kWords[kPlainOutcomes] = {
      "answered by a density",
      "kde_aqp.approximate is off",
      "the statement is within a function, or keeps its rows",
      "this session has just changed rows",
      "the density is gone",
      "the density is stale",
      "the density is of other columns or types",
      "the smallest groups share a density",
      "rows have changed, perhaps of new groups",
      "there may be groups that the sample did not meet",
      "there are values that are not finite",
      "not as accurate as required",
      "whether there is a row is not known",
      "there may be rows where the column is NULL",
      "buckets are too many, or clocks are put back in them",
      "values or bounds have more digits than double precision",
      "the answer is beyond its type"};
  return kWords[static_cast<int>(outcome)];
}

void count_outcome(PlainOutcome outcome) { ++counts[static_cast<int>(outcome)]; }

}  // namespace kde_pg

// kde_aqp.plain_sql_outcomes()
KDE_FUNCTION(kde_plain_sql_outcomes) {
  using namespace kde_pg;
  TupleDesc desc;
  Tuplestorestate* rows = begin_rows(fcinfo, 2, &desc);
  for (int i = 0; i < kPlainOutcomes; ++i) {
    if (counts[i] == 0) continue;
    const Datum values[2] = {CStringGetTextDatum(describe(static_cast<PlainOutcome>(i))),
                             Int64GetDatum(counts[i])};
    const bool nulls[2] = {};
    tuplestore_putvalues(rows, desc, const_cast<Datum*>(values), const_cast<bool*>(nulls));
  }
  PG_RETURN_NULL();
}
