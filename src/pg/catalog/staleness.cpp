// When a density is stale or due: see staleness.h.
#include "pg/catalog/staleness.h"

#include "pg/base/options.h"
#include "pg/catalog/as_fitted.h"
#include "pg/catalog/catalog.h"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "mb/pg_wchar.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
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

namespace {

// A refresh takes no more than a hundredth of the time, if it takes as long as the fit.
constexpr double kUsecsPerCost = 100 * 1000.0;

template <typename... Values>
void say(Staleness* out, const char* format, Values... values) {
  std::snprintf(out->reason, sizeof out->reason, format, values...);
}

// At the fit; of a density that came by a restore, as many as there were when counting began; after
// a crash as ANALYZE saw them. 0: unknown.
double rows_of_table(Oid relation, const Upkeep& upkeep) {
  if (upkeep.table_rows > 0) return upkeep.table_rows;
  const auto live = static_cast<double>(upkeep.counters.live());
  if (live > 0) return live;
  HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
  if (!HeapTupleIsValid(tuple)) return 0;
  const double rows = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple))->reltuples;
  ReleaseSysCache(tuple);
  return Max(rows, 0);
}

// That the density is not of what the columns are now.
bool is_other(const CatalogEntry& density, const Upkeep& upkeep, const Counters& now,
              Staleness* out) {
  if (now.elsewhere && !upkeep.counters.elsewhere) {
    out->elsewhere = true;
    say(out, "%s", "its rows are elsewhere: queries no longer read the table that was fitted");
  } else if (const char* column = expression_changed(upkeep.counters.generated, now.generated)) {
    out->other = true;
    say(out, "the generation expression of column \"%s\" changed", column);
  } else if (const char* why = changed_since_fit(density.key, density.fitted)) {
    out->other = true;
    const int length = pg_mbcliplen(why, static_cast<int>(strlen(why)), sizeof out->reason - 1);
    memcpy(out->reason, why, static_cast<Size>(length));
    out->reason[length] = '\0';
  }
  return out->other || out->elsewhere;
}

// More changed than may. `of`: the table's rows at the fit. is_counted: since the fit, not since a
// crash or a restore.
bool has_changed(const CatalogEntry& density, double of, bool is_counted, Staleness* out) {
  const ChangeLimit limit = change_limit(density.settings);
  const Judgement& judgement = out->judgement;
  const double most = limit.of(of);
  if (judgement.changed == Changed::nothing) return false;
  if (static_cast<double>(out->changed) > most) {
    say(out, "rows changed: %lld, of %.0f", static_cast<long long>(out->changed), of);
    return true;
  }
  if (judgement.changed != Changed::at_most || judgement.rows <= most) return false;
  // Twice, as few blocks grow by large steps.
  if (judgement.new_share > 2 * limit.scale_factor) {
    say(out, "its table has grown: %.0f %% of the blocks are new", 100 * judgement.new_share);
    return true;
  }
  // Where nothing was counted since the fit, but of blocks that are few.
  const double share = Max(judgement.unproven_share, judgement.new_share);
  if (is_counted || share <= 2 * limit.scale_factor) return false;
  say(out, "rows changed: at most %.0f, and none were counted", judgement.rows);
  return true;
}

// ALTER TABLE may write a column anew and count nothing, as where it makes an index again with it.
bool is_rewritten(const CatalogEntry& density, Staleness* out) {
  if (out->judgement.changed != Changed::unknown ||
      !is_written_anew(density.key.relation, density.proof))
    return false;
  say(out, "%s", "the table was written anew since, and a column was altered");
  return true;
}

bool is_old(const CatalogEntry& density, TimestampTz now, Staleness* out) {
  const RefreshSettings& settings = density.settings;
  const double most = settings.max_age >= 0 ? settings.max_age : option_refresh_max_age;
  const double age = static_cast<double>(now - density.fitted_at) / USECS_PER_SEC;
  if (!(most > 0 && age > most)) return false;
  say(out, "fitted %.0f s ago, more than %.0f s", age, most);
  return true;
}

bool has_drifted(const Upkeep& upkeep, Staleness* out) {
  if (!(upkeep.drift > option_refresh_drift && upkeep.drift_p_value < kSureDriftPValue))
    return false;
  say(out, "drift %.3f, p %.2g", upkeep.drift, upkeep.drift_p_value);
  return true;
}

// Whether hardly a block is proven, as where the first VACUUM came after the fit, and nearly all
// would be after another fit.
bool is_worth_proving(const CatalogEntry& density, const Judgement& judgement) {
  constexpr double kHardly = 0.5, kNearly = 0.9;
  if (judgement.unproven_share < kHardly) return false;
  const ClearBits bits = clear_bits(density.key.relation);
  return bits.blocks > 0 && bits.clear < (1 - kNearly) * bits.blocks;
}

// Whether plain SQL would be answered again after a refresh, or longer.
bool promises_less(const CatalogEntry& density, double of, TimestampTz now, Staleness* out) {
  const RefreshSettings& settings = density.settings;
  const Judgement& judgement = out->judgement;
  if (judgement.changed == Changed::nothing || density.request.query != nullptr) return false;
  const bool was_provable = density.proof.known;
  const bool was_restored = !density.proof.was_stored;
  const bool is_lost = judgement.changed == Changed::unknown &&
                       (was_provable || (was_restored && settings.plain_sql));
  if (is_lost) {
    say(out, "what changed since the fit is not known: %s", judgement.why);
    return true;
  }
  if (judgement.changed == Changed::at_most && is_worth_proving(density, judgement)) {
    say(out, "at most %.0f rows changed, as a VACUUM came after the fit", judgement.rows);
    return true;
  }
  if (!settings.plain_sql) return false;
  if (settings.plain_sql_age >= 0) {
    const double age = static_cast<double>(now - density.proof.as_of) / USECS_PER_SEC;
    if (age <= settings.plain_sql_age / 2) return false;
    say(out, "plain SQL is answered as of %.0f s ago", age);
    return true;
  }
  if (judgement.changed != Changed::at_most) return false;
  const double changed =
      of > 0 ? judgement.rows / of : Max(judgement.unproven_share, judgement.new_share);
  if (changed <= option_approximate_error) return false;
  say(out, "plain SQL is not answered: at most %.0f rows changed", judgement.rows);
  return true;
}

}  // namespace

Staleness staleness_of(const CatalogEntry& density, const Upkeep& upkeep, const Counters* counters,
                       Pace pace) {
  Staleness out;
  const TimestampTz time = GetCurrentTimestamp();
  const Counters now = counters != nullptr ? *counters : read_counters(density.key.relation);
  if (is_other(density, upkeep, now, &out)) {
    out.stale = out.due = out.anew = true;
    return out;
  }
  out.judgement = judge(density.key.relation, density.proof);
  if (upkeep.counters.known && now.known) out.changed = changed_rows(upkeep.counters, now);
  if (out.judgement.changed == Changed::nothing) out.changed = 0;
  const double of = rows_of_table(density.key.relation, upkeep);
  const bool is_counted = out.changed >= 0 && upkeep.table_rows > 0;
  const bool changed = has_changed(density, of, is_counted, &out);
  out.anew = !changed && (is_rewritten(density, &out) ||
                          (!is_old(density, time, &out) && has_drifted(upkeep, &out)));
  out.stale = out.due = out.reason[0] != '\0';
  if (out.stale) return out;
  const bool has_rested =
      static_cast<double>(time - density.fitted_at) > kUsecsPerCost * density.cost_ms;
  out.due = (has_rested || pace == Pace::at_once) && promises_less(density, of, time, &out);
  if (out.due) return out;
  if (out.judgement.changed == Changed::unknown) {
    out.unknown = out.changed < 0;
    say(&out, "changes unknown: %s", out.judgement.why);
  } else if (out.judgement.rows > change_limit(density.settings).of(of)) {
    out.unknown = !is_counted;
    say(&out, "at most %.0f rows changed", out.judgement.rows);
  }
  return out;
}

}  // namespace kde_pg
