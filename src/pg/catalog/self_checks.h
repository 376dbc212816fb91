// The catalog table kde_aqp.self_check: answers of a density beside what its table's rows said at
// the same time, the last kMostSelfChecks of each. A question that is asked again of the same fit
// takes the place of its earlier answer, so that one that is asked all day is one of many.
//
// Unlogged, as kde_aqp.upkeep. Rows are written here, below SQL's privileges, under the density's
// lock. What was asked is nobody's to see but who may read the table: superusers, and members of
// pg_read_all_data.
#pragma once

#include "core/kde.h"

#include "pg/base/pg.h"

extern "C" {
#include "datatype/timestamp.h"
#include "storage/lockdefs.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"
}

namespace kde_pg {

inline constexpr int kMostSelfChecks = 100;

struct SelfCheck {
  const char* question = nullptr;  // as plain SQL
  kde::Interval answer;            // NaN for NULL
  double exact = 0;                // NaN for NULL; of no meaning unless it finished
  bool finished = false;
  bool held = false;
  double ms = 0;  // of the exact query

  // Of the estimate, relative to the exact answer; NaN where there is none, or it is 0.
  double error() const;
  // How many half widths of the interval the exact answer is beyond its end; 0: it held.
  double beyond() const;
};

// What became of a density's checks.
struct SelfCheckCounts {
  int64 checks = 0, held = 0, unfinished = 0;
  int64 far = 0;  // that did not hold, by more than the interval's half width
  TimestampTz last = 0;
  bool last_unfinished = false;
  double error_sum = 0, worst_error = 0;
  int64 errors = 0;  // in error_sum

  void add(const SelfCheck& check, TimestampTz at);
};

// Of all that are kept, and of those since the fit.
struct SelfCheckHistory {
  SelfCheckCounts all, since_fit;
  int64 asked = 0;  // since the fit, those too whose place another has taken
};
SelfCheckHistory self_check_history(int64 density_id, TimestampTz fitted_at, Snapshot snapshot);

// The caller holds the key's lock.
void self_check_note(int64 density_id, TimestampTz fitted_at, const SelfCheck& check);

void self_checks_remove(int64 density_id);

// Opens the table. Writers keep their lock to the end of the transaction. Error 55000 if it is not
// that of this version.
Relation open_self_checks(LOCKMODE lock);

}  // namespace kde_pg
