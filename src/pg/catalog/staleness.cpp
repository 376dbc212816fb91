// When a density is stale: more rows changed than threshold + scale_factor rows (autovacuum's rule
// for ANALYZE), its rows elsewhere, its age, its drift.
#include "pg/catalog/staleness.h"

#include "pg/base/options.h"
#include "pg/catalog/as_fitted.h"
#include "pg/catalog/catalog.h"

extern "C" {
#include "mb/pg_wchar.h"
#include "utils/lsyscache.h"
}

#include <cmath>
#include <cstdio>

namespace kde_pg {

double seconds_of(const Interval* interval) {
  return static_cast<double>(interval->time) / USECS_PER_SEC +
         (interval->day + static_cast<double>(interval->month) * DAYS_PER_MONTH) * SECS_PER_DAY;
}

Interval* interval_of(double seconds) {
  auto* interval = static_cast<Interval*>(palloc0(sizeof(Interval)));
  // Rows that came by SQL may hold more than the functions let pass.
  seconds = Min(seconds, 1e6 * SECS_PER_DAY);
  interval->day = static_cast<int32>(seconds / SECS_PER_DAY);
  interval->time = static_cast<TimeOffset>(
      (seconds - static_cast<double>(interval->day) * SECS_PER_DAY) * USECS_PER_SEC);
  return interval;
}

ChangeLimit change_limit(const RefreshSettings& settings) {
  return {
      static_cast<double>(settings.threshold >= 0 ? settings.threshold : option_refresh_threshold),
      settings.scale_factor >= 0 ? settings.scale_factor : option_refresh_scale_factor};
}

Staleness staleness_of(const CatalogEntry& entry, const Upkeep& upkeep, const Counters* counters) {
  const Oid relation = entry.key.relation;
  const TimestampTz fitted_at = entry.fitted_at;
  const RefreshSettings& settings = entry.settings;
  Staleness out;
  if (TIMESTAMP_IS_NOBEGIN(fitted_at)) {
    out.stale = out.anew = true;
    strlcpy(out.reason, "fitted by an older version", sizeof out.reason);
    return out;
  }
  const Counters now = counters != nullptr ? *counters : read_counters(relation);
  if (now.elsewhere && !upkeep.counters.elsewhere) {
    out.stale = out.elsewhere = out.anew = true;
    strlcpy(out.reason, "its rows are elsewhere: queries no longer read the table that was fitted",
            sizeof out.reason);
    return out;
  }
  if (upkeep.counters.known && now.known) out.changed = changed_rows(upkeep.counters, now);
  if (const char* column = expression_changed(upkeep.counters.generated, now.generated)) {
    out.stale = out.anew = true;
    std::snprintf(out.reason, sizeof out.reason,
                  "the generation expression of column \"%s\" changed", column);
    return out;
  }
  if (const char* why = changed_since_fit(entry.key, entry.fitted)) {
    out.stale = out.anew = true;
    const int length = pg_mbcliplen(why, static_cast<int>(strlen(why)), sizeof out.reason - 1);
    memcpy(out.reason, why, static_cast<Size>(length));
    out.reason[length] = '\0';
    return out;
  }
  if (out.changed >= 0) {
    // Of a density that came by a restore, as many as there were when counting began.
    const double of =
        upkeep.table_rows > 0 ? upkeep.table_rows : static_cast<double>(upkeep.counters.live());
    if (static_cast<double>(out.changed) > change_limit(settings).of(of)) {
      out.stale = true;
      std::snprintf(out.reason, sizeof out.reason, "rows changed: %lld, of %.0f",
                    static_cast<long long>(out.changed), of);
      return out;
    }
  }
  const double most = settings.max_age >= 0 ? settings.max_age : option_refresh_max_age;
  const double age = static_cast<double>(GetCurrentTimestamp() - fitted_at) / USECS_PER_SEC;
  if (most > 0 && age > most) {
    out.stale = true;
    std::snprintf(out.reason, sizeof out.reason, "fitted %.0f s ago, more than %.0f s", age, most);
    return out;
  }
  if (upkeep.drift > option_refresh_drift && upkeep.drift_p_value < kSureDriftPValue) {
    out.stale = out.anew = true;
    std::snprintf(out.reason, sizeof out.reason, "drift %.3f, p %.2g", upkeep.drift,
                  upkeep.drift_p_value);
    return out;
  }
  if (out.changed < 0)
    std::snprintf(out.reason, sizeof out.reason, "changes unknown: %s",
                  now.known ? "not counted since the fit" : now.why);
  return out;
}

}  // namespace kde_pg
