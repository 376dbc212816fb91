// The reports of progress.h: what is begun in this process, and its copy in shared memory.
//
// PostgreSQL clears a backend's entry when a transaction or a subtransaction aborts. What was begun
// in it has then ended; what was begun outside of it goes on (a function that the scan calls may
// catch errors) and is shown again.
#include "pg/progress.h"

#include "pg/fit_steps.h"

extern "C" {
#include "access/xact.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
}

#include <cstring>

namespace kde_pg {

namespace {

// "kde1" as a number. The enumeration has no such value, so it is written and read as the integer
// that it is stored as, and no function of PostgreSQL is given it.
constexpr int kCommand = 0x6b646531;
static_assert(sizeof(ProgressCommandType) == sizeof(int));

// What lies where in st_progress_param.
enum Slot {
  kOperation,
  kPhase,
  kUnit,
  kDone,
  kTotal,
  kStartedAt,
  kSums,
  kColumns,
  kAttnums,  // four to a slot
  kSlots = kAttnums + kde::kMaxColumns / 4
};
static_assert(kSlots <= PGSTAT_NUM_PROGRESS_PARAM);

enum SumsBits { kSumsComputed = 1, kSumsOnDevice = 2 };

struct Level {
  SubTransactionId owner;
  Oid relation;
  const char* what;  // for messages; in the memory context it began in
  ErrorContextCallback context;
  int64 slot[kSlots];
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

int shown_command() {
  int command;
  memcpy(&command, &MyBEEntry->st_progress_command, sizeof command);
  return command;
}

bool may_show() {
  if (MyBEEntry == nullptr || !pgstat_track_activities) return false;
  const int command = shown_command();
  return command == kCommand || command == static_cast<int>(PROGRESS_COMMAND_INVALID);
}

void publish(Level* level) {
  if (!may_show()) return;
  PgBackendStatus* entry = MyBEEntry;
  PGSTAT_BEGIN_WRITE_ACTIVITY(entry);
  memcpy(&entry->st_progress_command, &kCommand, sizeof kCommand);
  entry->st_progress_command_target = level->relation;
  memcpy(entry->st_progress_param, level->slot, sizeof level->slot);
  PGSTAT_END_WRITE_ACTIVITY(entry);
  level->shown = level->slot[kDone];
}

void unpublish() {
  if (MyBEEntry != nullptr && shown_command() == kCommand) pgstat_progress_end_command();
}

void begin_count(Level* level, Unit unit, int64 total) {
  level->slot[kUnit] = static_cast<int64>(unit);
  level->slot[kTotal] = total;
  level->slot[kDone] = 0;
  level->piece = {};
  level->piece_done = level->pieces_before = 0;
  level->step = Max(total / 1000, 1);
}

// Core work, told by the main thread.
void work_done(void*, kde::WorkAmount piece, std::int64_t done) {
  Level* level = innermost();
  if (level == nullptr) return;
  const bool pairs = piece.unit == kde::WorkUnit::pairs;
  const Unit unit = pairs ? Unit::pairs : Unit::steps;
  if (level->slot[kUnit] != static_cast<int64>(unit)) {
    begin_count(level, unit, pairs ? level->expected_pairs : 0);
    publish(level);
  } else if (done < level->piece_done || piece.total != level->piece.total) {
    level->pieces_before += level->piece_done;
  }
  level->piece = piece;
  level->piece_done = done;
  const int64 at_least = level->pieces_before + piece.total;
  level->slot[kTotal] = Max(level->slot[kTotal], at_least);
  level->step = Max(piece.total / 1000, 1);
  progress_done(level->pieces_before + done);
}

void stage_begun(void*, kde::Stage stage) {
  progress_phase(stage == kde::Stage::selecting ? Phase::selecting : Phase::estimating);
}

void describe(void* arg) {
  const Level* level = static_cast<const Level*>(arg);
  const char* phase = phase_name(static_cast<Phase>(level->slot[kPhase]));
  switch (static_cast<Operation>(level->slot[kOperation])) {
    case Operation::fit:
      errcontext("fitting a density to %s (%s)", level->what, phase);
      break;
    case Operation::refresh:
      errcontext("refreshing the density of %s (%s)", level->what, phase);
      break;
    case Operation::append:
      errcontext("adding rows to the density of %s (%s)", level->what, phase);
      break;
    case Operation::drift:
      errcontext("measuring the drift of %s (%s)", level->what, phase);
      break;
  }
}

// The transaction or subtransaction `owner` has ended, with all that began in it.
void forget(SubTransactionId owner) {
  while (depth > 0 && (depth > kMostLevels || levels[depth - 1].owner >= owner)) --depth;
}

void on_transaction(XactEvent event, void*) {
  if (event != XACT_EVENT_ABORT && event != XACT_EVENT_COMMIT && event != XACT_EVENT_PREPARE)
    return;
  if (depth == 0) return;
  depth = 0;
  unpublish();
}

void on_subtransaction(SubXactEvent event, SubTransactionId mine, SubTransactionId, void*) {
  if (event != SUBXACT_EVENT_ABORT_SUB || depth == 0) return;
  forget(mine);
  if (Level* level = innermost(); level != nullptr) publish(level);
}

}  // namespace

const char* operation_name(Operation operation) {
  switch (operation) {
    case Operation::fit:
      return "fit";
    case Operation::refresh:
      return "refresh";
    case Operation::append:
      return "append";
    case Operation::drift:
      return "drift";
  }
  return "unknown";
}

const char* phase_name(Phase phase) {
  switch (phase) {
    case Phase::waiting_for_lock:
      return "waiting for lock";
    case Phase::scanning:
      return "scanning";
    case Phase::selecting:
      return "selecting bandwidth";
    case Phase::estimating:
      return "estimating";
    case Phase::storing:
      return "storing";
  }
  return "unknown";
}

const char* unit_name(Unit unit) {
  switch (unit) {
    case Unit::none:
      return nullptr;
    case Unit::blocks:
      return "blocks";
    case Unit::rows:
      return "rows";
    case Unit::pairs:
      return "pairs";
    case Unit::steps:
      return "steps";
  }
  return nullptr;
}

void progress_begin(const DensityKey& key, Operation operation) {
  if (depth >= kMostLevels) {
    ++depth;
    return;
  }
  // What may raise an error comes first.
  const char* name = get_rel_name(key.relation);
  const char* schema = get_namespace_name(get_rel_namespace(key.relation));
  const char* what = psprintf("%s of \"%s.%s\"", describe_columns(key),
                              schema != nullptr ? schema : "?", name != nullptr ? name : "?");
  Level* level = &levels[depth++];
  *level = {};
  level->owner = GetCurrentSubTransactionId();
  level->relation = key.relation;
  level->what = what;
  int64* slot = level->slot;
  slot[kOperation] = static_cast<int64>(operation);
  slot[kPhase] = static_cast<int64>(Phase::waiting_for_lock);
  slot[kStartedAt] = GetCurrentTimestamp();
  slot[kColumns] = key.columns;
  for (int k = 0; k < key.columns; ++k) {
    const auto number = static_cast<uint64>(static_cast<uint16>(key.column[k].attnum));
    slot[kAttnums + k / 4] =
        static_cast<int64>(static_cast<uint64>(slot[kAttnums + k / 4]) | number << (16 * (k % 4)));
  }
  begin_count(level, Unit::none, 0);
  level->context.callback = describe;
  level->context.arg = level;
  level->context.previous = error_context_stack;
  error_context_stack = &level->context;
  publish(level);
}

void progress_end() {
  if (depth == 0) return;
  Level* level = innermost();
  --depth;
  if (level == nullptr) return;
  error_context_stack = level->context.previous;
  if (depth > 0) {
    publish(innermost());
  } else {
    unpublish();
  }
}

void progress_phase(Phase phase, Unit unit, int64 total) {
  Level* level = innermost();
  if (level == nullptr) return;
  level->slot[kPhase] = static_cast<int64>(phase);
  begin_count(level, unit, total);
  publish(level);
}

void progress_done(int64 done) {
  Level* level = innermost();
  if (level == nullptr) return;
  level->slot[kDone] = done;
  if (done - level->shown >= level->step || done < level->shown ||
      (done == level->slot[kTotal] && done != level->shown))
    publish(level);
}

void progress_sums(bool on_device, int64 pairs) {
  Level* level = innermost();
  if (level == nullptr) return;
  level->slot[kSums] = kSumsComputed | (on_device ? kSumsOnDevice : 0);
  level->expected_pairs = pairs;
  publish(level);
}

void watch_work(kde::Control* control) {
  if (innermost() == nullptr) return;
  control->on_progress = work_done;
  control->on_stage = stage_begun;
}

int progress_backends() { return pgstat_fetch_stat_numbackends(); }

bool read_progress(int n, ProgressReport* report) {
#if PG_VERSION_NUM >= 160000
  const LocalPgBackendStatus* local = pgstat_get_local_beentry_by_index(n + 1);
#else
  const LocalPgBackendStatus* local = pgstat_fetch_stat_local_beentry(n + 1);
#endif
  if (local == nullptr) return false;
  const PgBackendStatus& entry = local->backendStatus;
  int command;
  memcpy(&command, &entry.st_progress_command, sizeof command);
  if (entry.st_procpid == 0 || command != kCommand) return false;
  const int64* slot = entry.st_progress_param;
  *report = {};
  report->pid = entry.st_procpid;
  report->database = entry.st_databaseid;
  report->user = entry.st_userid;
  report->relation = entry.st_progress_command_target;
  report->columns = static_cast<int>(Min(Max(slot[kColumns], 0), int64{kde::kMaxColumns}));
  for (int k = 0; k < report->columns; ++k)
    report->attnum[k] = static_cast<AttrNumber>(
        static_cast<uint16>(static_cast<uint64>(slot[kAttnums + k / 4]) >> (16 * (k % 4))));
  report->operation = static_cast<Operation>(slot[kOperation]);
  report->phase = static_cast<Phase>(slot[kPhase]);
  report->unit = static_cast<Unit>(slot[kUnit]);
  report->done = slot[kDone];
  report->total = slot[kTotal];
  report->sums = (slot[kSums] & kSumsComputed) != 0;
  report->on_device = (slot[kSums] & kSumsOnDevice) != 0;
  report->started_at = slot[kStartedAt];
  return true;
}

void register_progress_callbacks() {
  RegisterXactCallback(on_transaction, nullptr);
  RegisterSubXactCallback(on_subtransaction, nullptr);
}

}  // namespace kde_pg
