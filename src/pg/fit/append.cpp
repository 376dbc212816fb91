// The rules of append.h: when a state is kept, when it may be gone on from, and how.
#include "pg/fit/append.h"

#include "pg/read/append_scan.h"
#include "pg/fit/fit_log.h"
#include "pg/fit/fit_steps.h"
#include "pg/base/interrupts.h"
#include "pg/base/options.h"
#include "pg/base/owned.h"
#include "pg/base/pinned.h"
#include "pg/progress/progress.h"
#include "pg/read/row_reader.h"

extern "C" {
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

namespace kde_pg {

namespace {

constexpr const char* kKeyPrefix = "key:";

// The bytes of a sampler; owned by a memory context.
struct SavedSampler {
  std::vector<std::uint8_t> bytes;
};

// Null, or why rows cannot be appended so. *key: of mode key.
const char* read_mode(Relation relation, const char* append_by, AppendMode* mode, AttrNumber* key) {
  *key = InvalidAttrNumber;
  if (strcmp(append_by, "block") == 0) {
    *mode = AppendMode::block;
    return nullptr;
  }
  if (strncmp(append_by, kKeyPrefix, strlen(kKeyPrefix)) != 0)
    return psprintf("\"%s\" is no way to append rows", append_by);
  *mode = AppendMode::key;
  const char* name = append_by + strlen(kKeyPrefix);
  *key = get_attnum(RelationGetRelid(relation), name);
  if (*key <= 0) return psprintf("it has no column \"%s\"", name);
  kde::ValueType type;
  const Oid type_oid = getBaseType(get_atttype(RelationGetRelid(relation), *key));
  if (!value_type_of(type_oid, &type) || type == kde::ValueType::interval)
    return psprintf("column \"%s\" is of type %s, which is no key", name, format_type_be(type_oid));
  return nullptr;
}

// The leaves of a relation as `mode` can read them, locked; of mode block their marks as of
// `snapshot`. Null, or why they cannot be read so.
const char* read_leaves(Relation relation, const DensityKey& key, AppendMode mode,
                        Snapshot snapshot, HighWater* marks) {
  List* members = find_all_inheritors(RelationGetRelid(relation), AccessShareLock, nullptr);
  marks->leaf = static_cast<LeafMark*>(palloc0(sizeof(LeafMark) * list_length(members)));
  ListCell* cell;
  foreach (cell, members) {
    Relation rel = table_open(lfirst_oid(cell), NoLock);
    const char* why = nullptr;
    if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE) {
      table_close(rel, NoLock);
      continue;
    }
    if (has_new_file(rel)) {
      // Another TRUNCATE in this transaction would empty it in place and leave no trace.
      why = psprintf("\"%s\" was created, truncated or rewritten in this transaction",
                     RelationGetRelationName(rel));
    } else if (rel->rd_rel->relkind != RELKIND_RELATION) {
      why = psprintf("\"%s\" is no table", RelationGetRelationName(rel));
    } else if (mode == AppendMode::block && rel->rd_rel->relam != HEAP_TABLE_AM_OID) {
      why = psprintf("\"%s\" is no heap table", RelationGetRelationName(rel));
    } else if (mode == AppendMode::block && RowReader::needs_query(relation, key, rel)) {
      why = "virtual generated columns are not read by block";
    } else if (mode == AppendMode::block) {
      read_mark(rel, snapshot, &marks->leaf[marks->leaves++]);
    }
    table_close(rel, NoLock);
    if (why != nullptr) return why;
  }
  return nullptr;
}

// Statistics as they are, not as this transaction first saw them.
Counters fresh_counters(Oid relation) {
  pgstat_clear_snapshot();
  return read_counters(relation);
}

// What a fit and an append do before they read: the statistics, then how far the leaves go, then
// the snapshot, which is left active. So what the statistics count and what lies below the marks
// was there before the snapshot: it sees it, but for what is not committed. Null, or why not; then
// no snapshot is pushed.
const char* look_ahead(Relation relation, const DensityKey& key, AppendMode mode,
                       Counters* counters, HighWater* marks) {
  if (IsolationUsesXactSnapshot()) return "the transaction reads as of its beginning";
  *counters = fresh_counters(RelationGetRelid(relation));
  if (!counters->known) return psprintf("changes are not counted: %s", counters->why);
  Snapshot before = RegisterSnapshot(GetLatestSnapshot());
  const char* why = read_leaves(relation, key, mode, before, marks);
  UnregisterSnapshot(before);
  if (why == nullptr) PushActiveSnapshot(GetLatestSnapshot());
  return why;
}

bool greatest_as_owner(Relation relation, AttrNumber key, const char** greatest) {
  AsOwner owner;
  owner.begin(relation);
  const bool no_nulls = read_greatest(relation, key, greatest);
  owner.end();
  return no_nulls;
}

bytea* pack(AppendState* state, const kde::Sampler& sampler) {
  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, "kde_aqp sampler", ALLOCSET_SMALL_SIZES);
  auto* saved = Owned<SavedSampler>::create(context);
  check_status(sampler.save(&saved->bytes), "keep the sample's state");
  state->sampler = saved->bytes.data();
  state->sampler_size = saved->bytes.size();
  bytea* out = append_state_to_bytea(*state);
  MemoryContextDelete(context);
  return out;
}

// ------------------------------------------------------------------- what speaks against an append

const LeafCounters* find_leaf(const Counters& counters, Oid relation) {
  for (int i = 0; i < counters.leaves; ++i) {
    if (counters.leaf[i].relation == relation) return &counters.leaf[i];
  }
  return nullptr;
}

const char* leaf_name(Oid relation) {
  const char* name = get_rel_name(relation);
  return name != nullptr ? name : psprintf("table with OID %u", relation);
}

// Null, or what happened to the leaves since the fit beside rows that came.
const char* check_leaves(const AppendState& state, const Counters& now) {
  int64 changed = 0;
  for (int i = 0; i < state.counters.leaves; ++i) {
    const LeafCounters& then = state.counters.leaf[i];
    const LeafCounters* leaf = find_leaf(now, then.relation);
    if (leaf == nullptr)
      return psprintf("partition \"%s\" was detached or dropped", leaf_name(then.relation));
    if (leaf->file != then.file)
      return psprintf("\"%s\" was truncated or rewritten", leaf_name(then.relation));
    if (leaf->inserts < then.inserts || leaf->updates < then.updates ||
        leaf->deletes < then.deletes)
      return "statistics were reset";
    changed += leaf->updates - then.updates + leaf->deletes - then.deletes;
  }
  if (changed > 0)
    return psprintf("rows were updated or deleted: %lld", static_cast<long long>(changed));
  if (const char* column = expression_changed(state.counters.generated, now.generated))
    return psprintf("the generation expression of column \"%s\" changed", column);
  return nullptr;
}

// The same of mode block, by what was found on disk.
const char* check_marks(const AppendState& state, const HighWater& now) {
  for (int i = 0; i < state.marks.leaves; ++i) {
    const LeafMark& then = state.marks.leaf[i];
    const LeafMark* mark = find_mark(now, then.relation);
    if (mark == nullptr)
      return psprintf("partition \"%s\" was detached or dropped", leaf_name(then.relation));
    if (mark->file != then.file)
      return psprintf("\"%s\" was truncated or rewritten", leaf_name(then.relation));
    if (mark->blocks < then.blocks)
      return psprintf("\"%s\" has become shorter", leaf_name(then.relation));
  }
  return nullptr;
}

uint64 blocks_of(const HighWater& marks) {
  uint64 blocks = 0;
  for (int i = 0; i < marks.leaves; ++i) blocks += marks.leaf[i].blocks;
  return blocks;
}

uint64 blocks_of(const Counters& counters) {
  uint64 blocks = 0;
  for (int i = 0; i < counters.leaves; ++i) {
    Relation rel = try_table_open(counters.leaf[i].relation, AccessShareLock);
    if (rel == nullptr) continue;
    blocks += RelationGetNumberOfBlocks(rel);
    table_close(rel, NoLock);
  }
  return blocks;
}

// Null, or why the rate of a fit that sampled blocks is not kept: what would have been read of the
// table as it is now is twice what a fit reads, or half.
const char* check_rate(const AppendState& state, uint64 blocks) {
  if (state.every_row()) return nullptr;
  const double read = static_cast<double>(blocks) * static_cast<double>(state.blocks_read) /
                      static_cast<double>(state.blocks_total);
  const double fit = Min(static_cast<double>(option_sample_blocks), static_cast<double>(blocks));
  if (read > 2 * fit) return "the sample is of twice as many blocks as a fit reads";
  if (2 * read < fit) return "the sample is of half as many blocks as a fit reads";
  return nullptr;
}

// What a sampler must have been made with to be one of this request.
const char* check_options(const ColumnFitRequest& request, const kde::Sampler::Options& kept) {
  const kde::Sampler::Options asked = sampler_options(request);
  if (kept.sample_rows != asked.sample_rows || kept.bandwidth_rows != asked.bandwidth_rows ||
      (request.seed_given && kept.seed != asked.seed) ||
      kept.compactor_capacity > kMostCompactorCapacity)
    return "its settings have changed";
  return nullptr;
}

// New leaves are counted from now on; where all their rows are found by a key, from their
// beginning.
void add_new_leaves(AppendState* state, const Counters& now) {
  Counters all = state->counters;
  all.generated = now.generated;
  all.leaf = static_cast<LeafCounters*>(
      palloc0(sizeof(LeafCounters) * (state->counters.leaves + now.leaves + 1)));
  memcpy(all.leaf, state->counters.leaf, sizeof(LeafCounters) * state->counters.leaves);
  for (int i = 0; i < now.leaves; ++i) {
    if (find_leaf(state->counters, now.leaf[i].relation) != nullptr) continue;
    LeafCounters leaf = now.leaf[i];
    // Its rows may be more than the statistics count as inserted, which they forget.
    if (state->mode == AppendMode::key)
      leaf.inserts = Min(leaf.inserts - Max(leaf.live, leaf.counted), INT64CONST(0));
    all.leaf[all.leaves++] = leaf;
  }
  state->counters = all;
}

// Rows that the statistics count as inserted since the fit and that were not found; negative: more
// were found.
int64 missing_rows(const AppendState& state, const Counters& now) {
  int64 inserted = 0;
  for (int i = 0; i < state.counters.leaves; ++i) {
    const LeafCounters& then = state.counters.leaf[i];
    if (const LeafCounters* leaf = find_leaf(now, then.relation))
      inserted += leaf->inserts - then.inserts;
  }
  return inserted - state.found;
}

// Rows a block, as they were appended or as the statistics have it of the fit.
int64 rows_a_block(const AppendState& state) {
  const int64 rows = Max(state.block_rows, state.counters.live() / state.blocks_total);
  return rows > 0 ? Min(rows, static_cast<int64>(MaxHeapTuplesPerPage)) : MaxHeapTuplesPerPage;
}

int64 tolerated_rows(const AppendState& state) {
  int64 tolerated = state.found / kToleratedShare;
  // By blocks chosen, what was found is an estimate: of two strata the rows may be missing.
  if (!state.every_row() && state.mode == AppendMode::block)
    tolerated += 2 * rows_a_block(state) * (state.blocks_total / state.blocks_read + 1);
  return tolerated;
}

Appended not_done(const char* reason) { return {false, false, 0, reason}; }

const char* missing_reason(int64 missing) {
  return psprintf("rows were inserted elsewhere than rows are appended: %lld",
                  static_cast<long long>(missing));
}

}  // namespace

void KeepState::begin(Relation relation, const DensityKey& key, const char* append_by,
                      const char* name) {
  on_ = false;
  state_ = {};
  if (append_by == nullptr) return;
  const char* why = read_mode(relation, append_by, &state_.mode, &state_.key);
  if (why == nullptr) why = look_ahead(relation, key, state_.mode, &state_.counters, &state_.marks);
  if (why == nullptr && state_.mode == AppendMode::key &&
      !greatest_as_owner(relation, state_.key, &state_.greatest)) {
    PopActiveSnapshot();
    why = "there are keys that are null";
  }
  on_ = why == nullptr;
  if (!on_)
    ereport(NOTICE, (errmsg("rows appended later will not be added to the density of %s", name),
                     errdetail_internal("%s", why)));
}

bytea* KeepState::end(const kde::Sampler& sampler, kde::ValueType value_type,
                      const ScanResult& scan) {
  if (!on_) return nullptr;
  PopActiveSnapshot();
  state_.value_type = value_type;
  if (!scan.every_row_read) {
    state_.blocks_read = scan.blocks_read;
    state_.blocks_total = scan.blocks_total;
  }
  return pack(&state_, sampler);
}

namespace {

// What append_rows() does; what it needs for as long goes into `context`.
Appended append_in(MemoryContext context, const ColumnFitRequest& request, Relation relation,
                   const char* append_by, bytea* stored, ColumnFit* fit) {
  instr_time start;
  INSTR_TIME_SET_CURRENT(start);
  AppendState state;
  AppendMode mode;
  AttrNumber key;
  if (request.key.columns != 1) return not_done("a density of several columns is fitted anew");
  if (const char* why = read_mode(relation, append_by, &mode, &key)) return not_done(why);
  if (stored == nullptr) return not_done("no state was kept by the last fit");
  const ColumnTypes types = check_types(request.key);
  if (!append_state_from_bytea(stored, &state)) return not_done("its state cannot be read");
  if (state.mode != mode || state.key != key || state.value_type != types.value_type[0])
    return not_done("its settings have changed");

  auto* sampler = Owned<kde::Sampler>::create(context, kde::Sampler::Options{});
  if (!sampler->load({state.sampler, state.sampler_size}).ok())
    return not_done("its state cannot be read");
  if (const char* why = check_options(request, sampler->options())) return not_done(why);

  Counters now;
  HighWater marks;
  if (const char* why = look_ahead(relation, request.key, mode, &now, &marks)) return not_done(why);
  const char* why = check_leaves(state, now);
  if (why == nullptr) why = check_marks(state, marks);
  if (why == nullptr)
    why = check_rate(state, mode == AppendMode::block ? blocks_of(marks) : blocks_of(now));
  if (why != nullptr) {
    PopActiveSnapshot();
    return not_done(why);
  }

  progress_phase(Phase::scanning);
  const int64 before = sampler->totals().rows();
  const uint64 seed = sampler->options().seed;
  const char* doing = psprintf("read %s", describe_columns(request.key));
  ColumnSink sink(sampler);
  AsOwner owner;
  owner.begin(relation);
  check_not_volatile(request.key);
  if (mode == AppendMode::block) {
    read_beyond(relation, request.key, types.value_type[0], marks, seed, doing, &sink, &state);
  } else if (!read_greater(relation, request.key, types.value_type[0], seed, doing, &sink,
                           &state)) {
    why = "there are keys that are null";
  }
  owner.end();
  PopActiveSnapshot();
  if (why != nullptr) return not_done(why);
  add_new_leaves(&state, now);
  const int64 missing = missing_rows(state, now);
  if (missing > tolerated_rows(state)) return not_done(missing_reason(missing));
  state.marks = marks;

  ColumnFitRequest same = request;
  same.seed = static_cast<int64>(seed);
  ColumnRead read = {};
  read.sampler = sampler;
  read.scan.every_row_read = state.every_row();
  read.scan.blocks_read = state.blocks_read;
  read.scan.blocks_total = state.blocks_total;
  read.scan.rows_per_row_read =
      static_cast<double>(state.blocks_total) / static_cast<double>(state.blocks_read);
  read.counters = now;
  const int64 rows = sampler->totals().rows() - before;
  read.state = pack(&state, *sampler);
  read.start = start;
  fit_column_read(same, relation, types, read, fit);

  const bool exact = state.every_row() && missing == 0;
  const char* note = nullptr;
  if (!state.every_row()) {
    note = "the table was sampled by block";
  } else if (missing > 0) {
    note = missing_reason(missing);
  } else if (missing < 0) {
    note = psprintf("rows that the statistics do not count yet: %lld",
                    static_cast<long long>(-missing));
  }
  return {true, exact, rows, note};
}

}  // namespace

Appended append_rows(const ColumnFitRequest& request, Relation relation, const char* append_by,
                     bytea* stored, ColumnFit* fit) {
  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, "kde_append", ALLOCSET_DEFAULT_SIZES);
  instr_time begun;
  INSTR_TIME_SET_CURRENT(begun);
  progress_begin(request.key, Operation::append);
  const Appended result = append_in(context, request, relation, append_by, stored, fit);
  progress_end();
  if (result.done) log_long_fit(request.key, fit->record, fit->report.sample_rows, begun);
  MemoryContextDelete(context);
  return result;
}

}  // namespace kde_pg
