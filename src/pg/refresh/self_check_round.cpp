// Which densities a visit checks, and what becomes of errors: an exact query that its budget ends
// is kept as a check that did not finish; whoever waits for its locks, or cancels it, ends the
// round; what else fails is a refresh's to report, and told at DEBUG1.
#include "pg/refresh/self_check_round.h"

#include "pg/base/options.h"
#include "pg/base/pinned.h"
#include "pg/device/device_program.h"
#include "pg/fit/fit_steps.h"
#include "pg/refresh/refresh_shared.h"
#include "pg/refresh/refresh_worker.h"
#include "pg/refresh/self_check.h"

extern "C" {
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/lmgr.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"
}

namespace kde_pg {

namespace {

constexpr TimestampTz kDrawEvery = INT64CONST(3600) * USECS_PER_SEC;
// Any number of them: they take turns.
constexpr int kMostShapes = 1000;

// A question of a density to check.
struct Due {
  int64 density_id;
  Oid relation;
  const NotedQuestion* noted;  // null: one is drawn
  TimestampTz last;
};

class Round {
 public:
  void run() {
    context_ =
        AllocSetContextCreate(TopMemoryContext, "kde_aqp self-checks", ALLOCSET_DEFAULT_SIZES);
    each_ = AllocSetContextCreate(context_, "kde_aqp self-check", ALLOCSET_DEFAULT_SIZES);
    ends_at_ = now_ms() + option_self_check_budget;
    List* due = find_due();
    ListCell* cell;
    foreach (cell, due) {
      if (now_ms() >= ends_at_) break;
      const bool go_on = check(*static_cast<const Due*>(lfirst(cell)));
      MemoryContextReset(each_);
      if (!go_on) break;
    }
    MemoryContextDelete(context_);
  }

 private:
  static int compare(const ListCell* a, const ListCell* b) {
    const auto* x = static_cast<const Due*>(lfirst(a));
    const auto* y = static_cast<const Due*>(lfirst(b));
    if ((x->noted != nullptr) != (y->noted != nullptr)) return x->noted != nullptr ? -1 : 1;
    if (x->last != y->last) return x->last < y->last ? -1 : 1;
    return x->density_id < y->density_id ? -1 : x->density_id > y->density_id ? 1 : 0;
  }

  // Due*, in the order in which they are asked.
  List* find_due() {
    List* due = NIL;
    HOLD_CANCEL_INTERRUPTS();
    begin_worker_transaction("looking for densities to check");
    MemoryContext old = MemoryContextSwitchTo(context_);
    if (catalog_hold()) {
      const int count = take_questions(noted_);
      Snapshot latest = RegisterSnapshot(GetLatestSnapshot());
      ListCell* cell;
      List* entries = catalog_list_all(latest);
      foreach (cell, entries) {
        const auto* entry = static_cast<const CatalogEntry*>(lfirst(cell));
        // At one that fails, a worker may have died.
        if (upkeep_find(entry->id, latest).failures == 0) due = add(due, *entry, count, latest);
      }
      UnregisterSnapshot(latest);
    }
    MemoryContextSwitchTo(old);
    end_worker_transaction();
    RESUME_CANCEL_INTERRUPTS();
    list_sort(due, compare);
    return due;
  }

  List* add(List* due, const CatalogEntry& entry, int noted, Snapshot snapshot) {
    const SelfCheckHistory history = self_check_history(entry.id, entry.fitted_at, snapshot);
    const TimestampTz last = history.since_fit.last;
    const Due drawn = {entry.id, entry.key.relation, nullptr, last};
    const auto append = [&](const NotedQuestion* question) {
      auto* one = static_cast<Due*>(palloc(sizeof(Due)));
      *one = drawn;
      one->noted = question;
      due = lappend(due, one);
    };
    bool asked = false;
    for (int i = 0; i < noted; ++i) {
      if (noted_[i].density_id != entry.id) continue;
      append(&noted_[i]);
      asked = true;
    }
    // What did not finish is asked again, within a budget that may have grown.
    if (history.asked < kFirstChecks || history.since_fit.last_unfinished ||
        (!asked && GetCurrentTimestamp() - last > kDrawEvery))
      append(nullptr);
    return due;
  }

  // False: the round is over.
  bool check(const Due& due) {
    SelfCheck result;
    ErrorData* volatile error = nullptr;
    const double left = Max(ends_at_ - now_ms(), 1.0);
    begin_density(due.density_id, due.relation, now_ms() + left, true);
    QueryCancelPending = false;
    PG_TRY();
    {
      begin_worker_transaction("checking a density");
      pgstat_report_activity(STATE_RUNNING,
                             psprintf("checking a density of %s", full_table_name(due.relation)));
      MemoryContextSwitchTo(each_);
      enable_timeout_after(STATEMENT_TIMEOUT, static_cast<int>(left) + 1);
      check_in_transaction(due, &result);
      disable_timeout(STATEMENT_TIMEOUT, false);
      end_worker_transaction();
    }
    PG_CATCH();
    {
      HOLD_INTERRUPTS();
      disable_timeout(STATEMENT_TIMEOUT, false);
      MemoryContextSwitchTo(each_);
      error = CopyErrorData();
      FlushErrorState();
      AbortOutOfAnyTransaction();
      QueryCancelPending = false;
      RESUME_INTERRUPTS();
    }
    PG_END_TRY();
    const bool yields = asked_to_yield();
    end_density(false);
    if (error == nullptr) return !yields;
    if (error->sqlerrcode != ERRCODE_QUERY_CANCELED) {
      ereport(DEBUG1, (errmsg_internal("a self-check failed: %s", error->message)));
      return true;
    }
    if (!yields && now_ms() >= ends_at_ && result.question != nullptr) {
      result.ms = left;
      note_unfinished(due, result);
    }
    return false;
  }

  void check_in_transaction(const Due& due, SelfCheck* result) {
    if (!ConditionalLockRelationOid(due.relation, AccessShareLock)) return;
    Relation relation = try_relation_open(due.relation, NoLock);
    if (relation == nullptr) return;
    const CatalogEntry* entry = catalog_entry(due.relation, due.density_id);
    if (entry != nullptr && lock_leaves(due.relation) && catalog_try_lock(entry->key)) {
      kde::Random random(static_cast<std::uint64_t>(random_seed()));
      AsOwner owner;
      owner.begin(relation);
      const auto shape = static_cast<int>(random.below(kMostShapes));
      if (why_unchecked(relation) == nullptr &&
          ask_and_count(*entry, relation, due.noted, &random, shape, result))
        self_check_note(entry->id, entry->fitted_at, *result);
      owner.end();
    }
    relation_close(relation, NoLock);
  }

  static void note_unfinished(const Due& due, const SelfCheck& result) {
    HOLD_CANCEL_INTERRUPTS();
    begin_worker_transaction("noting a self-check");
    const CatalogEntry* entry =
        catalog_hold() ? catalog_entry(due.relation, due.density_id) : nullptr;
    if (entry != nullptr && catalog_try_lock(entry->key))
      self_check_note(entry->id, entry->fitted_at, result);
    end_worker_transaction();
    RESUME_CANCEL_INTERRUPTS();
  }

  MemoryContext context_ = nullptr, each_ = nullptr;
  double ends_at_ = 0;
  NotedQuestion noted_[kMostNotedQuestions];
};

}  // namespace

void self_check_round() {
  if (option_self_check_budget == 0) return;
  // In pg_stat_statements the exact queries would be the table's owner's own, for kde_advise(),
  // too.
  SetConfigOption("compute_query_id", "off", PGC_SUSET, PGC_S_OVERRIDE);
  Round round;
  round.run();
}

}  // namespace kde_pg
