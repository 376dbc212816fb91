// What is being done to densities in this process, a stack of which the innermost is shown.
//
// A transaction or a subtransaction that aborts ends what was begun in it; what was begun outside
// of it goes on (a function that the scan calls may catch errors) and is shown.
#include "pg/progress/progress.h"

#include "pg/base/interrupts.h"
#include "pg/base/shared_memory.h"

extern "C" {
#include "access/parallel.h"
#include "storage/proc.h"
#include "utils/backend_status.h"
}

namespace kde_pg {

namespace {

struct Level {
  SubTransactionId owner;
  ProgressReport report;
  const char* what;  // for messages; in the memory context it began in
  ErrorContextCallback context;
  int64 expected_pairs;
  // Of core work: the piece it is at, and what the phase's pieces before it came to.
  kde::WorkAmount piece;
  int64 piece_done, pieces_before;
  int64 shown, step;  // `done` as last published, and how much more is worth it
};

constexpr int kMostLevels = 4;
Level levels[kMostLevels];
int depth = 0;  // may be more than there is room for

Level* innermost() { return depth > 0 && depth <= kMostLevels ? &levels[depth - 1] : nullptr; }

void publish(Level* level) {
  if (MyBEEntry != nullptr && pgstat_track_activities) show_progress(level->report);
  level->shown = level->report.done;
}

void begin_count(Level* level, Unit unit, int64 total) {
  level->report.unit = unit;
  level->report.total = total;
  level->report.done = 0;
  level->piece = {};
  level->piece_done = level->pieces_before = 0;
  level->step = Max(total / 1000, 1);
  forget_workers();
}

// Core work, told by the main thread.
void work_done(void*, kde::WorkAmount piece, std::int64_t done) {
  Level* level = innermost();
  if (level == nullptr) return;
  const bool pairs = piece.unit == kde::WorkUnit::pairs;
  const Unit unit = pairs ? Unit::pairs : Unit::steps;
  if (level->report.unit != unit) {
    begin_count(level, unit, pairs ? level->expected_pairs : 0);
    publish(level);
  } else if (done < level->piece_done || piece.total != level->piece.total) {
    level->pieces_before += level->piece_done;
  }
  level->piece = piece;
  level->piece_done = done;
  const int64 at_least = level->pieces_before + piece.total;
  level->report.total = Max(level->report.total, at_least);
  level->step = Max(piece.total / 1000, 1);
  progress_done(level->pieces_before + done);
}

void stage_begun(void*, kde::Stage stage) {
  progress_phase(stage == kde::Stage::selecting ? Phase::selecting : Phase::estimating);
}

// Makes core work report here, if something has begun.
void watch_work(kde::Control* control) {
  if (innermost() == nullptr) return;
  control->on_progress = work_done;
  control->on_stage = stage_begun;
}

// Of work on a relation.
void describe(void* arg) {
  constexpr const char* kDoing[] = {"fitting a density to", "refreshing the density of",
                                    "measuring the drift of"};
  const Level* level = static_cast<const Level*>(arg);
  errcontext("%s %s (%s)", kDoing[static_cast<int>(level->report.operation)], level->what,
             phase_name(level->report.phase));
}

// A new innermost level, not yet shown; null where there is no room for it.
Level* begin(Operation operation, Phase phase) {
  if (depth++ >= kMostLevels) return nullptr;
  Level* level = innermost();
  *level = {};
  level->owner = GetCurrentSubTransactionId();
  ProgressReport* report = &level->report;
  report->pid = MyProcPid;
  report->database = MyDatabaseId;
  // As pg_stat_activity has it, whatever the session has become since.
  report->user = MyBEEntry != nullptr ? MyBEEntry->st_userid : InvalidOid;
  report->operation = operation;
  report->phase = phase;
  report->started_at = GetCurrentTimestamp();
  begin_count(level, Unit::none, 0);
  level->context.previous = error_context_stack;
  return level;
}

// The transaction or subtransaction `owner` has ended, with all that began in it.
void forget(SubTransactionId owner) {
  while (depth > 0 && (depth > kMostLevels || levels[depth - 1].owner >= owner)) --depth;
}

void show_innermost() {
  if (depth == 0) return hide_progress();
  if (Level* level = innermost(); level != nullptr) publish(level);
}

void on_transaction(XactEvent event, void*) {
  if (event != XACT_EVENT_ABORT && event != XACT_EVENT_COMMIT && event != XACT_EVENT_PREPARE)
    return;
  if (depth == 0) return;
  depth = 0;
  hide_progress();
}

void on_subtransaction(SubXactEvent event, SubTransactionId mine, SubTransactionId, void*) {
  if (event != SUBXACT_EVENT_ABORT_SUB || depth == 0) return;
  forget(mine);
  show_innermost();
}

}  // namespace

const char* operation_name(Operation operation) {
  constexpr const char* kNames[] = {"fit", "refresh", "drift", "bandwidth", "evaluate"};
  return kNames[static_cast<int>(operation)];
}

const char* phase_name(Phase phase) {
  constexpr const char* kNames[] = {"waiting for lock", "scanning", "selecting bandwidth",
                                    "estimating", "storing"};
  return kNames[static_cast<int>(phase)];
}

const char* unit_name(Unit unit) {
  constexpr const char* kNames[] = {nullptr, "blocks", "rows", "pairs", "steps"};
  return kNames[static_cast<int>(unit)];
}

void progress_begin(const DensityKey& key, Operation operation) {
  // What may raise an error comes first.
  attach_progress();
  const char* name = get_rel_name(key.relation);
  const char* schema = get_namespace_name(get_rel_namespace(key.relation));
  const char* what = psprintf("%s of \"%s.%s\"", describe_columns(key),
                              schema != nullptr ? schema : "?", name != nullptr ? name : "?");
  Level* level = begin(operation, Phase::waiting_for_lock);
  if (level == nullptr) return;
  level->what = what;
  ProgressReport* report = &level->report;
  report->relation = key.relation;
  report->columns = key.columns;
  for (int k = 0; k < key.columns; ++k) report->attnum[k] = key.column[k].attnum;
  level->context.callback = describe;
  level->context.arg = level;
  error_context_stack = &level->context;
  publish(level);
}

void progress_begin(Operation operation, Phase phase) {
  attach_progress();
  if (Level* level = begin(operation, phase); level != nullptr) publish(level);
}

void progress_end() {
  if (depth == 0) return;
  Level* level = innermost();
  --depth;
  if (level == nullptr) return;
  error_context_stack = level->context.previous;
  show_innermost();
}

void progress_phase(Phase phase, Unit unit, int64 total) {
  Level* level = innermost();
  if (level == nullptr) return;
  level->report.phase = phase;
  begin_count(level, unit, total);
  publish(level);
}

void progress_done(int64 done) {
  Level* level = innermost();
  if (level == nullptr) return;
  level->report.done = done;
  if (done - level->shown >= level->step || done < level->shown ||
      (done == level->report.total && done != level->shown))
    publish(level);
}

void progress_add(int64 done) {
  if (IsParallelWorker()) {
    add_for_leader(MyProc->lockGroupLeader->pid, done);
  } else if (const Level* level = innermost(); level != nullptr) {
    progress_done(level->report.done + done);
  }
}

void progress_sums(bool on_device, int64 pairs) {
  Level* level = innermost();
  if (level == nullptr) return;
  level->report.sums = true;
  level->report.on_device = on_device;
  level->expected_pairs = pairs;
  publish(level);
}

void register_progress_callbacks() {
  RegisterXactCallback(on_transaction, nullptr);
  RegisterSubXactCallback(on_subtransaction, nullptr);
  at_core_work(watch_work);
}

void request_progress_memory() {
  request_shared_memory({"kde_aqp progress", progress_memory(), nullptr});
}

}  // namespace kde_pg
