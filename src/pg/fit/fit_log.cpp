// The server's log of fits that took long (kde_aqp.log_min_duration): what was read, and what each
// step took.
#include "pg/fit/fit_log.h"

#include "pg/base/options.h"
#include "pg/fit/fit_steps.h"

extern "C" {
#include "utils/lsyscache.h"
}

namespace kde_pg {

void log_long_fit(const DensityKey& key, const FitRecord& record, int64 sample_rows,
                  instr_time begun) {
  const double total_ms = elapsed_ms(begun);
  if (option_log_min_duration < 0 || total_ms < option_log_min_duration) return;
  const char* name = get_rel_name(key.relation);
  const char* schema = get_namespace_name(get_rel_namespace(key.relation));
  const double known_ms = record.scan_ms + record.select_ms + record.estimate_ms;
  ereport(
      LOG,
      (errmsg("fitted a density to %s of \"%s.%s\": %lld rows read, sample of %lld; "
              "scan %.0f ms, selection %.0f ms, estimate %.0f ms, lock and storage %.0f ms, "
              "total %.0f ms; sums by %s, threads %d",
              describe_columns(key), schema != nullptr ? schema : "?", name != nullptr ? name : "?",
              static_cast<long long>(record.rows_read), static_cast<long long>(sample_rows),
              record.scan_ms, record.select_ms, record.estimate_ms, Max(total_ms - known_ms, 0.0),
              total_ms, record.engine != nullptr ? record.engine : "none", record.threads),
       errhidestmt(true), errhidecontext(true)));
}

}  // namespace kde_pg
