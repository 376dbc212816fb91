// The counts behind the view kde_plain_sql.
#include "pg/plain_sql/outcome.h"

#include "pg/values/result_set.h"
#include "pg/base/shared_memory.h"

extern "C" {
#include "port/atomics.h"
}

#include <algorithm>
#include <cmath>

namespace kde_pg {

namespace {

int64 counts[kPlainOutcomes];
// Of all sessions since the server started; null: the library was not preloaded.
pg_atomic_uint64* counts_of_all = nullptr;

void attach(void* memory, LWLock*, bool is_new) {
  counts_of_all = static_cast<pg_atomic_uint64*>(memory);
  if (!is_new) return;
  for (int i = 0; i < kPlainOutcomes; ++i) pg_atomic_init_u64(&counts_of_all[i], 0);
}

}  // namespace

const char* describe(PlainOutcome outcome) {
  static const char* const kWords[kPlainOutcomes] = {
      "answered by a density",
      "kde_aqp.approximate is off",
      "the statement is within a function, or keeps its rows",
      "this session has just changed rows",
      "the density is gone",
      "the density is stale",
      "what changed since the fit is not known",
      "the question is of values that there were none of at the fit",
      "the density is of other columns or types",
      "the density is of other settings, such as the time zone",
      "the smallest groups share a density",
      "rows have changed, perhaps of new groups",
      "there may be groups that the sample did not meet",
      "there are values that are not finite",
      "not as accurate as required",
      "whether there is a row is not known",
      "there may be rows where the column is NULL",
      "buckets are too many, or clocks are put back in them",
      "values or bounds have more digits than double precision",
      "the answer is beyond its type",
      "the transaction is serializable",
      "a dimension has several rows of a key, or takes too much memory"};
  return kWords[static_cast<int>(outcome)];
}

void count_outcome(PlainOutcome outcome) {
  const int i = static_cast<int>(outcome);
  ++counts[i];
  if (counts_of_all != nullptr) pg_atomic_fetch_add_u64(&counts_of_all[i], 1);
}

char* percent_up(double error) {
  const double percent = 100 * error;
  if (!(percent > 0) || !std::isfinite(percent)) return psprintf("%g", percent);
  // Of the second digit, but that what is beyond 100 has all of the whole ones.
  const int exponent = std::min(static_cast<int>(std::floor(std::log10(percent))) - 1, 0);
  const double unit = std::pow(10.0, -exponent);
  // 10 % as a double may be a hair above.
  constexpr double kHair = 1e-12;
  return psprintf("%.15g", std::ceil(percent * unit * (1 - kHair)) / unit);
}

PlainCounts count_plain_answers() {
  PlainCounts out = {0, 0, PlainOutcome::answered};
  long long most = 0;
  for (int i = 0; i < kPlainOutcomes; ++i) {
    const auto n = counts_of_all != nullptr
                       ? static_cast<long long>(pg_atomic_read_u64(&counts_of_all[i]))
                       : static_cast<long long>(counts[i]);
    switch (static_cast<PlainOutcome>(i)) {
      case PlainOutcome::answered:
        out.answered = n;
        break;
      // No density was asked.
      case PlainOutcome::off:
      case PlainOutcome::nested:
      case PlainOutcome::own_changes:
        break;
      default:
        out.refused += n;
        if (n > most) {
          most = n;
          out.mostly = static_cast<PlainOutcome>(i);
        }
    }
  }
  return out;
}

void request_outcome_memory() {
  request_shared_memory({"kde_aqp outcomes", sizeof(pg_atomic_uint64) * kPlainOutcomes, attach});
}

}  // namespace kde_pg

// kde_aqp.plain_sql_outcomes()
KDE_EXPORT(kde_plain_sql_outcomes);
Datum kde_plain_sql_outcomes(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  constexpr int kResults = 3;
  const ResultRows rows = begin_rows(fcinfo, kResults);
  for (int i = 0; i < kPlainOutcomes; ++i) {
    const bool is_shared = counts_of_all != nullptr;
    const auto all =
        is_shared ? static_cast<int64>(pg_atomic_read_u64(&counts_of_all[i])) : counts[i];
    if (all == 0) continue;
    rows.put(describe(static_cast<PlainOutcome>(i)), counts[i], Field(is_shared, all));
  }
  PG_RETURN_NULL();
}
