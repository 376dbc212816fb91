// When a density is stale or due: see staleness.h.
#include "pg/catalog/staleness.h"

#include "pg/base/options.h"
#include "pg/catalog/as_fitted.h"
#include "pg/catalog/read_counters.h"

namespace kde_pg {

ChangeLimit change_limit(const RefreshSettings& settings) {
  return {
      static_cast<double>(settings.threshold >= 0 ? settings.threshold : option_refresh_threshold),
      settings.scale_factor >= 0 ? settings.scale_factor : option_refresh_scale_factor};
}

namespace {

// A refresh takes no more than a hundredth of the time, if it takes as long as the fit; of what is
// stale a fifth.
constexpr double kUsecsPerCost = 100 * 1000.0, kUsecsPerCostOfStale = 4 * 1000.0;

// The reason, and what its text says.
bool say(Staleness* out, StaleFor why, double much = 0, double of = 0,
         const char* detail = nullptr) {
  out->why = why;
  out->much = much;
  out->of = of;
  out->detail = detail;
  return true;
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
  if (now.elsewhere && !upkeep.counters.elsewhere) return say(out, StaleFor::elsewhere);
  if (const char* column = expression_changed(upkeep.counters.generated, now.generated))
    return say(out, StaleFor::generated, 0, 0, column);
  if (const char* why = changed_since_fit(density.key, density.fitted))
    return say(out, StaleFor::redefined, 0, 0, why);
  return false;
}

// More changed than may. `of`: the table's rows at the fit. is_counted: since the fit, not since a
// crash or a restore.
bool has_changed(const CatalogEntry& density, double of, bool is_counted, Staleness* out) {
  const ChangeLimit limit = change_limit(density.settings);
  const Judgement& judgement = out->judgement;
  const double most = limit.of(of);
  if (judgement.changed == Changed::nothing) return false;
  const auto changed = static_cast<double>(out->changed);
  if (changed > most) return say(out, StaleFor::changes, changed, of);
  if (judgement.changed != Changed::at_most || judgement.rows <= most) return false;
  // Twice, as few blocks grow by large steps.
  if (judgement.new_share > 2 * limit.scale_factor)
    return say(out, StaleFor::growth, 100 * judgement.new_share);
  // Where nothing was counted since the fit, but of blocks that are few.
  const double share = Max(judgement.unproven_share, judgement.new_share);
  return !is_counted && share > 2 * limit.scale_factor &&
         say(out, StaleFor::uncounted, judgement.rows);
}

// ALTER TABLE may write a column anew and count nothing, as where it makes an index again with it.
bool is_rewritten(const CatalogEntry& density, Staleness* out) {
  return out->judgement.changed == Changed::unknown &&
         is_written_anew(density.key.relation, density.proof) && say(out, StaleFor::rewriting);
}

bool is_old(const CatalogEntry& density, TimestampTz now, Staleness* out) {
  const RefreshSettings& settings = density.settings;
  const double most = settings.max_age >= 0 ? settings.max_age : option_refresh_max_age;
  const double age = static_cast<double>(now - density.fitted_at) / USECS_PER_SEC;
  return most > 0 && age > most && say(out, StaleFor::age, age, most);
}

bool has_drifted(const Upkeep& upkeep, Staleness* out) {
  return upkeep.drift > option_refresh_drift && upkeep.drift_p_value < kSureDriftPValue &&
         say(out, StaleFor::drift, upkeep.drift, upkeep.drift_p_value);
}

// Whether hardly a block is proven, as where the first VACUUM came after the fit, and nearly all
// would be after another fit.
bool is_worth_proving(const CatalogEntry& density, const Judgement& judgement) {
  constexpr double kHardly = 0.5, kNearly = 0.9;
  if (judgement.unproven_share < kHardly) return false;
  const ClearBits bits = clear_bits(density.key.relation);
  return bits.blocks > 0 && bits.clear < (1 - kNearly) * bits.blocks;
}

// Whether what plain SQL reads beside a density nears the most that it may, or a good part of that is
// now marked as visible to all, so that it would be proven after another fit.
bool is_much_to_read(const CatalogEntry& density, const Judgement& judgement) {
  constexpr double kMuch = 0.5, kSome = 1.0 / 16, kFewClear = 0.1;
  const double blocks = judgement.unproven + judgement.added;
  if (blocks > kMuch * option_approximate_scan_blocks) return true;
  return blocks > kSome * option_approximate_scan_blocks &&
         clear_bits(density.key.relation).clear < kFewClear * blocks;
}

// Whether plain SQL would be answered again after a refresh, or longer.
bool promises_less(const CatalogEntry& density, double of, TimestampTz now, Staleness* out) {
  const RefreshSettings& settings = density.settings;
  const Judgement& judgement = out->judgement;
  if (judgement.changed == Changed::nothing || density.request.query != nullptr) return false;
  const bool was_provable = density.proof.known;
  const bool was_restored = !density.proof.was_stored;
  if (judgement.changed == Changed::unknown &&
      (was_provable || (was_restored && settings.plain_sql)))
    return say(out, StaleFor::lost_proof);
  if (judgement.changed == Changed::at_most && is_worth_proving(density, judgement))
    return say(out, StaleFor::vacuum);
  if (!settings.plain_sql) return false;
  if (settings.plain_sql_age >= 0) {
    const double age = static_cast<double>(now - density.proof.as_of) / USECS_PER_SEC;
    return age > settings.plain_sql_age / 2 && say(out, StaleFor::old_answers, age);
  }
  if (judgement.changed != Changed::at_most) return false;
  const double changed =
      of > 0 ? judgement.rows / of : Max(judgement.unproven_share, judgement.new_share);
  if (!density.has_stretches || option_approximate_scan_blocks == 0)
    return changed > option_approximate_error && say(out, StaleFor::no_answers);
  return (changed > option_approximate_error || is_much_to_read(density, judgement)) &&
         say(out, StaleFor::rest, judgement.unproven + judgement.added);
}

}  // namespace

const char* staleness_text(const Staleness& s, bool in_short) {
  const char* head = nullptr;
  const char* rest = "";
  const auto at_most = [&s] { return psprintf("at most %.0f rows changed", s.judgement.rows); };
  switch (s.why) {
    case StaleFor::nothing:
      return nullptr;
    case StaleFor::elsewhere:
      head = "its rows are elsewhere";
      rest = ": queries no longer read the table that was fitted";
      break;
    case StaleFor::generated:
      head = psprintf("the generation expression of column \"%s\" changed", s.detail);
      break;
    case StaleFor::redefined:
      head = s.detail;
      break;
    case StaleFor::changes:
      head = "rows changed";
      rest = psprintf(": %.0f, of %.0f", s.much, s.of);
      break;
    case StaleFor::growth:
      head = "its table has grown";
      rest = psprintf(": %.0f %% of the blocks are new", s.much);
      break;
    case StaleFor::uncounted:
      head = "rows changed";
      rest = psprintf(": at most %.0f, and none were counted", s.much);
      break;
    case StaleFor::rewriting:
      head = "the table was written anew since";
      rest = ", and a column was altered";
      break;
    case StaleFor::age:
      head = psprintf("fitted %.0f s ago", s.much);
      rest = psprintf(", more than %.0f s", s.of);
      break;
    case StaleFor::drift:
      head = psprintf("drift %.3f", s.much);
      rest = psprintf(", p %.2g", s.of);
      break;
    case StaleFor::lost_proof:
      head = "what changed since the fit is not known";
      rest = psprintf(": %s", s.judgement.why);
      break;
    case StaleFor::vacuum:
      head = at_most();
      rest = ", as a VACUUM came after the fit";
      break;
    case StaleFor::old_answers:
      head = psprintf("plain SQL is answered as of %.0f s ago", s.much);
      break;
    case StaleFor::rest:
      head = psprintf("plain SQL reads %.0f changed blocks", s.much);
      break;
    case StaleFor::no_answers:
      head = "plain SQL is not answered";
      rest = psprintf(": %s", at_most());
      break;
    case StaleFor::unknown:
      head = "changes unknown";
      rest = psprintf(": %s", s.judgement.why);
      break;
    case StaleFor::few_changes:
      head = at_most();
      break;
  }
  return in_short ? pstrdup(head) : psprintf("%s%s", head, rest);
}

Staleness staleness_of(const CatalogEntry& density, const Upkeep& upkeep, const Counters& now,
                       Pace pace) {
  Staleness out;
  const TimestampTz time = GetCurrentTimestamp();
  if (is_other(density, upkeep, now, &out)) return out;
  out.judgement = judge(density.key.relation, density.proof);
  if (upkeep.counters.known && now.known) out.changed = changed_rows(upkeep.counters, now);
  if (out.judgement.changed == Changed::nothing) out.changed = 0;
  const double of = rows_of_table(density.key.relation, upkeep);
  const bool is_counted = out.changed >= 0 && upkeep.table_rows > 0;
  const auto may_rest = [&](double usecs_per_cost) {
    return pace == Pace::rested &&
           static_cast<double>(time - density.fitted_at) <= usecs_per_cost * density.cost_ms;
  };
  if (has_changed(density, of, is_counted, &out)) {
    out.rests = may_rest(kUsecsPerCostOfStale);
    return out;
  }
  if (is_rewritten(density, &out) || is_old(density, time, &out) || has_drifted(upkeep, &out))
    return out;
  if (!may_rest(kUsecsPerCost) && promises_less(density, of, time, &out)) return out;
  if (out.judgement.changed == Changed::unknown) {
    out.unknown = out.changed < 0;
    (void)say(&out, StaleFor::unknown);
  } else if (out.judgement.rows > change_limit(density.settings).of(of)) {
    out.unknown = !is_counted;
    (void)say(&out, StaleFor::few_changes);
  }
  return out;
}

const Counters& CountersInTurn::of(Oid relation) {
  if (relation == relation_) return counters_;
  MemoryContext caller = MemoryContextSwitchTo(context_);
  counters_ = read_counters(relation, AskPlanner::built_in_functions);
  relation_ = relation;
  MemoryContextSwitchTo(caller);
  return counters_;
}

}  // namespace kde_pg
