// What is wrong with densities: of each kind of problem one line, with the worst of them by name.
// What a user may not read is not looked at, and what a refresh's error says is its table's
// owner's.
#include "pg/check/findings.h"

#include "pg/base/options.h"
#include "pg/catalog/staleness.h"
#include "pg/catalog/not_fitted.h"
#include "pg/catalog/privileges.h"

extern "C" {
#include "access/xlog.h"
#include "pgstat.h"
}

#include <algorithm>
#include <cmath>

namespace kde_pg {

namespace {

enum Kind { kFailed, kStale, kUnknown, kUnproven, kUnmarked, kKinds };

// The problems of one kind.
struct Group {
  int count = 0;
  int plain_sql = 0;  // of those which plain SQL may be answered by
  int as_fitted = 0;  // of these, with their owner's consent to answers as old as they are
  int left = 0;       // that kde_refresh_all() leaves as they are
  double worst = -1;
  const char* problem = nullptr;  // of the worst alone: "density "x" is stale: reason"
  const char* action = nullptr;
  Severity severity = Severity::notice;
};

struct Look {
  MemoryContext context;
  Group group[kKinds];
  int densities;
  TimestampTz oldest_fit;  // of those that may be refreshed
  bool background;
  CountersInTurn counters;
};

char* describe(const DensityKey& key) {
  const char* name = density_name(key);
  return key.has_filter() ? psprintf("density \"%s\" where %s", name, key.filter)
                          : psprintf("density \"%s\"", name);
}

// As a regclass literal.
const char* table_of(const DensityKey& key) { return quote_literal_cstr(table_name(key.relation)); }

const char* as_owner(bool may) { return may ? "" : " -- as the owner of the table"; }

const char* refresh_call(const DensityKey& key, bool force) {
  return psprintf("SELECT * FROM kde_refresh(%s%s);%s", table_of(key),
                  force ? ", force => true" : "", as_owner(may_maintain(key.relation)));
}

// That of a density which no refresh fits anew, as its value was stored.
const char* fitting_call(const DensityKey& key) {
  return psprintf("SELECT * FROM %s;%s", fit_call(key), as_owner(is_owner(key.relation)));
}

const char* setting_call(const DensityKey& key, const char* setting) {
  const char* filter =
      key.has_filter() ? psprintf(", filter => %s", quote_literal_cstr(key.filter)) : "";
  return psprintf("SELECT kde_set_refresh(%s%s, %s);%s", quote_literal_cstr(density_name(key)),
                  filter, setting, as_owner(is_owner(key.relation)));
}

// A problem of one; the texts of the worst are kept. `how_bad`: 0 or more.
void note(Look* look, Kind kind, Severity severity, double how_bad, bool plain_sql, bool as_fitted,
          bool left, const char* problem, const char* action) {
  Group* g = &look->group[kind];
  ++g->count;
  if (plain_sql) ++g->plain_sql;
  if (plain_sql && as_fitted) ++g->as_fitted;
  if (left) ++g->left;
  g->severity = std::max(g->severity, severity);
  if (how_bad <= g->worst) return;
  g->worst = how_bad;
  MemoryContext each = MemoryContextSwitchTo(look->context);
  g->problem = pstrdup(problem);
  g->action = pstrdup(action);
  MemoryContextSwitchTo(each);
}

class Density {
 public:
  Density(const CatalogEntry& entry, const Upkeep& upkeep, const Staleness& staleness, Look* look)
      : entry_(entry), key_(entry.key), upkeep_(upkeep), staleness_(staleness), look_(look) {
    const char* query = entry.request.query;
    stored_ = query != nullptr && strcmp(query, kNoRefresh) == 0;
  }

  bool is_refreshed() const { return entry_.settings.enabled && !stored_; }

  void look_at_all() {
    look_at_refreshes();
    look_at_proof();
  }

 private:
  void add(Kind kind, Severity severity, double how_bad, const char* problem, const char* action) {
    note(look_, kind, severity, how_bad, entry_.settings.plain_sql, may_be_as_old(),
         !is_refreshed(), psprintf("%s %s", describe(key_), problem), action);
  }

  const char* mend(bool force) const {
    if (stored_) return fitting_call(key_);
    if (!entry_.settings.enabled)
      return psprintf("%s %s", setting_call(key_, "enabled => true"), refresh_call(key_, force));
    return refresh_call(key_, force);
  }

  void look_at_refreshes() {
    if (RecoveryInProgress()) return;
    if (upkeep_.failures > 0) {
      const bool tells = upkeep_.last_error != nullptr && is_owner(key_.relation);
      // Who has set a density aside knows that it ages.
      add(kFailed, entry_.settings.enabled ? Severity::warning : Severity::notice, upkeep_.failures,
          psprintf("could not be refreshed, %d %s: %s", upkeep_.failures,
                   upkeep_.failures == 1 ? "time" : "times",
                   tells ? upkeep_.last_error : "its table's owner may see the error"),
          mend(true));
    } else if (staleness_.stale()) {
      const bool comes = (look_->background && is_refreshed()) || !entry_.settings.enabled;
      add(kStale, comes ? Severity::notice : Severity::warning, how_stale(),
          psprintf("is stale: %s", staleness_text(staleness_)), mend(false));
    } else if (staleness_.changed < 0 && pgstat_track_counts && is_refreshed() && !has_age()) {
      // After a crash or a restore the next look begins to count.
      const bool begins = look_->counters.of(key_.relation).known && !upkeep_.counters.known;
      add(kUnknown, Severity::notice, 0,
          psprintf("is not seen to be stale: %s", staleness_text(staleness_)),
          begins ? mend(false) : setting_call(key_, "max_age => '1 day'"));
    }
  }

  // What a VACUUM would make provable: of what plain SQL is to be answered by, and of a table that none has
  // come to, of which nothing is for longer than its blocks' headers are read.
  void look_at_proof() {
    if (RecoveryInProgress()) return;
    const Judgement judgement = judge(key_.relation, entry_.proof);
    const bool changed = entry_.settings.plain_sql && judgement.changed == Changed::at_most;
    if (!changed && (judgement.changed == Changed::unknown || stored_)) return;
    const ClearBits bits = clear_bits(key_.relation);
    // Fewer are soon read, as are those that came since.
    constexpr double kFewBlocks = 128;
    if (bits.clear - judgement.added < kFewBlocks) return;
    const char* mending =
        psprintf("VACUUM %s; %s", table_name(key_.relation), refresh_call(key_, true));
    if (bits.clear == bits.blocks) {
      add(kUnmarked, Severity::notice, bits.clear,
          psprintf("is of a table that no VACUUM has come to: none of %.0f blocks is marked as "
                   "visible to all",
                   bits.blocks),
          mending);
    } else if (changed) {
      add(kUnproven, Severity::notice, bits.clear,
          psprintf("cannot be proven to be unchanged: %.0f of %.0f blocks are not marked as "
                   "visible to all",
                   bits.clear, bits.blocks),
          mending);
    }
  }

  // Whether its owner consents to plain SQL's answers as of its fit, as old as that is now.
  bool may_be_as_old() const {
    if (entry_.settings.plain_sql_age < 0 || entry_.proof.as_of == 0) return false;
    const auto age = static_cast<double>(GetCurrentStatementStartTimestamp() - entry_.proof.as_of);
    return age / USECS_PER_SEC <= entry_.settings.plain_sql_age;
  }

  bool has_age() const {
    return entry_.settings.max_age >= 0 ? entry_.settings.max_age > 0 : option_refresh_max_age > 0;
  }

  // Changes over those that make it stale; 0: for another reason.
  double how_stale() const {
    const double most = change_limit(entry_.settings).of(upkeep_.table_rows);
    return staleness_.changed > 0 ? static_cast<double>(staleness_.changed) / std::max(most, 1.0)
                                  : 0;
  }

  const CatalogEntry& entry_;
  const DensityKey& key_;
  const Upkeep& upkeep_;
  const Staleness& staleness_;
  Look* look_;
  bool stored_;
};

void look_at(HeapTuple, TupleDesc, const CatalogEntry& entry, void* state) {
  if (!is_readable(entry.key)) return;
  auto* look = static_cast<Look*>(state);
  ++look->densities;
  const Upkeep upkeep = upkeep_find(entry.id, GetActiveSnapshot());
  const Staleness staleness = staleness_of(entry, upkeep, look->counters.of(entry.key.relation));
  Density density(entry, upkeep, staleness, look);
  if (density.is_refreshed()) look->oldest_fit = Min(look->oldest_fit, entry.fitted_at);
  density.look_at_all();
}

// What is said of several, after their number.
constexpr const char* kSeveral[kKinds] = {
    "densities could not be refreshed",
    "densities are stale",
    "densities are not seen to be stale",
    "densities cannot be proven to be unchanged",
    "densities are of tables that no VACUUM has come to",
};

void put(Kind kind, const Group& g, Findings* findings) {
  if (g.count == 0) return;
  const int exact = g.plain_sql - g.as_fitted;
  const char* plain = "";
  if (kind == kStale && exact > 0)
    plain =
        psprintf("; plain SQL is answered exactly where they would answer it (%d of them)", exact);
  if (kind == kStale && g.as_fitted > 0)
    plain = psprintf(
        "%s; plain SQL is answered as of their fit, until the age that is allowed is "
        "over (%d of them)",
        plain, g.as_fitted);
  if (g.count == 1) {
    findings->add(g.severity, psprintf("%s%s", g.problem, plain), g.action);
    return;
  }
  const bool all = kind == kStale && g.left == 0;
  findings->add(g.severity,
                psprintf("%d %s, the worst: %s%s", g.count, kSeveral[kind], g.problem, plain),
                all ? "CALL kde_refresh_all();" : psprintf("%s -- and so on", g.action));
}

}  // namespace

int find_in_densities(Snapshot snapshot, Findings* findings, TimestampTz* oldest_fit) {
  Look look = {};
  look.context = CurrentMemoryContext;
  look.oldest_fit = DT_NOEND;
  look.background = has_background_refreshes();
  catalog_visit(snapshot, look_at, &look);
  for (int kind = 0; kind < kKinds; ++kind)
    put(static_cast<Kind>(kind), look.group[kind], findings);
  *oldest_fit = look.oldest_fit;
  return look.densities;
}

}  // namespace kde_pg
