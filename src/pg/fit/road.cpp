// The steps of the road: what the densities of one scan share among threads, what is stored, and
// what is lost by that.
#include "pg/fit/road.h"

#include "pg/base/fault.h"
#include "pg/base/interrupts.h"
#include "pg/base/options.h"
#include "pg/catalog/read_counters.h"
#include "pg/catalog/shards.h"
#include "pg/fit/column_fit.h"
#include "pg/fit/stretch_fit.h"
#include "pg/read/categories.h"
#include "pg/type/density_datum.h"

#include <algorithm>

extern "C" {
#include "utils/snapmgr.h"
}

namespace kde_pg {

namespace {

// The estimate that a request asks for, in `context`.
Estimate* new_estimate(const DensityRequest& request, MemoryContext context) {
  if (request.key.columns > 1) return new_joint_estimate(request, context);
  const bool words = is_category(request.key, 0);
  if (words && request.key.groups > 0)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("groups of %s are not supported, as it is a category",
                           describe_column(request.key, 0)),
                    errhint("Fit it without group_by, or a number or a date with groups.")));
  if (words) return new_word_estimate(request, context);
  if (request.key.groups > 0) return new_group_estimate(request, context);
  return new_column_estimate(request, context);
}

// Whoever asks for fewer than there were may not know that there were some.
void report_lost_measures(const DensityKey& key) {
  const CatalogEntry* before = catalog_entry(key);
  if (before == nullptr || before->key.measures == 0) return;
  StringInfoData lost;
  initStringInfo(&lost);
  for (int k = 0; k < before->key.measures; ++k) {
    const KeyColumn& measure = before->key.column[before->key.columns + k];
    if (find_measure(key, measure) < 0)
      appendStringInfo(&lost, "%s\"%s\"", lost.len > 0 ? ", " : "", measure.text);
  }
  if (lost.len == 0) return;
  ereport(NOTICE, (errmsg("the density of %s no longer has the measures it had: %s",
                          display_name(key), lost.data),
                   errhint("Name them in measures to keep them.")));
}

// Whether nothing of a density is lost if a fit takes its place.
bool is_covered(const CatalogEntry& entry, const DensityRequest& request) {
  const FitRequest& asked = entry.request;
  bool covered =
      strcmp(asked.method, request.asked.method) == 0 && asked.max_error == 0 && !asked.exact &&
      asked.query == nullptr && (asked.steps == nullptr) == (request.asked.steps == nullptr) &&
      (asked.steps == nullptr || strcmp(asked.steps, request.asked.steps) == 0) &&
      asked.sample_rows == request.asked.sample_rows &&
      (!asked.seed_given || (request.asked.seed_given && asked.seed == request.asked.seed));
  for (int k = 0; covered && k < entry.key.measures; ++k)
    covered = find_measure(request.key, entry.key.column[entry.key.columns + k]) >= 0;
  return covered;
}

// After the rows were read: counters of rows that the scan found elsewhere are none. Tells by a
// NOTICE, of a fit that was asked for, that changes will not be counted where nobody expects it.
void settle_counters(Relation relation, const ScanResult& scan, Operation operation,
                     Counters* counters) {
  if (scan.elsewhere && !counters->of_shards && !counters->has_beneath()) count_elsewhere(counters);
  if (counters->known || !counters->tell || operation != Operation::fit) return;
  ereport(NOTICE, (errmsg("changes of \"%s\" are not counted: %s",
                          RelationGetRelationName(relation), counters->why),
                   errdetail("A density of it becomes stale by its age and by drift alone."),
                   errhint("Set max_age with kde_set_refresh().")));
}

}  // namespace

void begin_to_store(const DensityRequest& request) {
  progress_begin(request.key, request.operation);
  if (request.locked == nullptr) catalog_lock(request.key);
  KDE_FAULT("fit.locked");
}

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

ScanOptions scan_options(const DensityRequest& request, int64 blocks) {
  ScanOptions options;
  options.every_row = request.asked.sample_rows == -1;
  options.sample_blocks = blocks > 0 ? blocks : option_sample_blocks;
  options.least_blocks = Max(blocks, INT64CONST(1));
  options.seed = request.seed();
  return options;
}

void Road::begin(const DensityRequest& request) {
  *this = Road();
  request_ = &request;
  INSTR_TIME_SET_CURRENT(begun_);
  context_ = AllocSetContextCreate(CurrentMemoryContext, "kde_fit", ALLOCSET_DEFAULT_SIZES);
  estimate_ = new_estimate(request, context_);
  types_ = check_types(request.key);
  reading_.key = &request.key;
  reading_.options = scan_options(request);
  reading_.sink = estimate_;
  reading_.chain = chain_of(request.key, request.asked);
}

void Road::begin_again() {
  const instr_time begun = begun_;
  end();
  begin(*request_);
  begun_ = begun;
}

void Road::end() {
  if (context_ != nullptr) MemoryContextDelete(context_);
  context_ = nullptr;
}

void Road::share_memory(const Road& other) {
  Categories* own = estimate_->categories(0);
  Categories* with = other.estimate_->categories(0);
  if (own != nullptr && with != nullptr) own->share_limit(with);
}

DensityKey Road::key_of(Road* const* roads, int n) {
  DensityKey key;
  key.relation = roads[0]->request_->key.relation;
  for (int k = 0; k < n; ++k) {
    const DensityKey& own = roads[k]->request_->key;
    for (int i = 0; i < own.columns && key.columns < kde::kMaxColumns; ++i)
      if (find_column(key, own.column[i]) < 0) key.column[key.columns++] = own.column[i];
  }
  return key;
}

void Road::read(Road* const* roads, int n, Relation relation, bool to_store) {
  auto** left = static_cast<Road**>(palloc(sizeof(Road*) * n));
  auto** reading = static_cast<Reading**>(palloc(sizeof(Reading*) * n));
  const Oid oid = RelationGetRelid(relation);
  for (;;) {
    int size = 0;
    for (int k = 0; k < n; ++k) {
      if (roads[k]->is_read()) continue;
      roads[k]->reading_.value_types = roads[k]->types_.value_type;
      roads[k]->reading_.keep_snapshot = to_store && may_have_stretches(*roads[k]->request_);
      reading[size] = &roads[k]->reading_;
      left[size++] = roads[k];
    }
    if (size == 0) break;
    instr_time start;
    INSTR_TIME_SET_CURRENT(start);
    Counters counters;
    if (to_store) counters = is_of_shards(oid) ? shard_counters(oid) : read_counters(oid);
    scan_rows(relation, reading, size);
    const auto end = std::partition(left, left + size, [](Road* road) { return road->is_read(); });
    if (to_store)
      settle_counters(relation, left[0]->scan(), left[0]->request_->operation, &counters);
    fit_last_blocks(left, static_cast<int>(end - left), relation);
    const double each_ms = elapsed_ms(start) / static_cast<double>(end - left);
    std::for_each(left, end, [&](Road* road) {
      road->counters_ = counters;
      road->scan_ms_ = each_ms;
    });
  }
  pfree(reading);
  pfree(left);
}

void Road::fit_stretch(Road* const* roads, int n, Relation relation, const KeptStretch& stretch) {
  auto* part = static_cast<Road*>(palloc(sizeof(Road) * n));
  auto** parts = static_cast<Road**>(palloc(sizeof(Road*) * n));
  for (int k = 0; k < n; ++k) {
    parts[k] = new (&part[k]) Road;
    DensityRequest* own = new (palloc(sizeof(DensityRequest))) DensityRequest(*roads[k]->request_);
    own->bytes = finer_bytes_of(stretch);
    own->level = is_coarse(stretch) ? roads[k]->level_ : -1;
    own->level_of_groups = is_coarse(stretch) ? roads[k]->level_of_groups_ : -1;
    part[k].begin(*own);
    ScanOptions& options = part[k].reading_.options;
    options.every_row = true;
    options.leaf = stretch.leaf;
    options.snapshot = roads[k]->scan().snapshot;
    options.first_block = stretch.first;
    options.end_block = stretch.end;
    part[k].reading_.seed = stretch.seed;
    const auto new_hashes = [&] {
      return static_cast<uint64*>(MemoryContextAllocZero(
          roads[k]->context_, sizeof(uint64) * (stretch.end - stretch.first)));
    };
    part[k].reading_.hash = new_hashes();
    if (part[k].stores_column()) part[k].reading_.hash_of_column = new_hashes();
  }
  read(parts, n, relation, false);
  finish(parts, n);
  // NULLs are taken out, too. Of words there is no density of those alone.
  for (int k = 0; k < n; ++k) {
    if (part[k].why_ == nullptr || part[k].estimate_->nulls_read() == 0) continue;
    if (is_category(roads[k]->request_->key, 0))
      roads[k]->has_no_stretches_ = true;
    else
      part[k].why_ = nullptr;
  }
  const auto has_values = [](const Road* road) { return road->nothing_to_fit() == nullptr; };
  const auto full = static_cast<int>(std::partition(parts, parts + n, has_values) - parts);
  if (full > 0) fit(parts, full);
  for (int k = 0; k < n; ++k) {
    MemoryContext caller = MemoryContextSwitchTo(roads[k]->context_);
    const bool is_empty = part[k].why_ != nullptr;
    const Reading& reading = part[k].reading_;
    const auto keep = [&](const Estimate* estimate, const uint64* hash, List** in) {
      auto* kept = static_cast<KeptStretch*>(palloc(sizeof(KeptStretch)));
      *kept = stretch;
      kept->hash = hash;
      if (estimate != nullptr)
        kept->density = reinterpret_cast<struct varlena*>(
            DatumGetPointer(density_to_datum(estimate->density())));
      *in = lappend(*in, kept);
    };
    keep(is_empty ? nullptr : part[k].estimate_, reading.hash, &roads[k]->stretches_);
    if (part[k].stores_column())
      keep(is_empty ? nullptr : part[k].estimate_->of_column(), reading.hash_of_column,
           &roads[k]->stretches_of_column_);
    MemoryContextSwitchTo(caller);
    part[k].end();
  }
  pfree(parts);
  pfree(part);
}

int Road::fit_stretches(Road** roads, int n, Relation relation, const Proof& proof,
                        BlockNumber longest) {
  bool may_be_large = longest < largest_leaf(proof);
  const auto is_good = [](const Road* road) {
    return road->stretches_ == NIL ||
           !is_large(*static_cast<const KeptStretch*>(llast(road->stretches_)));
  };
  for (const KeptStretch* stretch : of_list<const KeptStretch>(stretches_of(proof, longest))) {
    fit_stretch(roads, n, relation, *stretch);
    if (!may_be_large || !is_coarse(*stretch)) continue;
    may_be_large = false;
    Road** const end = std::partition(roads, roads + n, is_good);
    for (Road** large = end; large < roads + n; ++large) {
      (*large)->stretches_ = (*large)->stretches_of_column_ = NIL;
      (*large)->has_long_stretches_ = true;
    }
    n = static_cast<int>(end - roads);
    if (n == 0) break;
  }
  return n;
}

// All of a scan, which have its snapshot. Those whose rows cannot be fitted to are not read again.
void Road::fit_last_blocks(Road* const* roads, int n, Relation relation) {
  auto** with = static_cast<Road**>(palloc(sizeof(Road*) * n));
  Road** const end = std::copy_if(
      roads, roads + n, with, [](const Road* road) { return road->scan().snapshot != nullptr; });
  const auto good = static_cast<int>(
      std::partition(with, end, [](const Road* road) { return road->reading_.status.ok(); }) -
      with);
  for (int k = 0; k < good; ++k) {
    with[k]->level_ = with[k]->estimate_->level();
    with[k]->level_of_groups_ = with[k]->estimate_->level_of_groups();
  }
  const Proof* proof = good > 0 ? &with[0]->scan().proof : nullptr;
  BlockNumber longest = good > 0 ? longest_stretch(blocks_of(*proof)) : 0;
  for (int done = 0; done < good; longest *= 2)
    done += fit_stretches(with + done, good - done, relation, *proof, longest);
  for (Road** road = with; road < end; ++road) {
    UnregisterSnapshot((*road)->scan().snapshot);
    (*road)->reading_.result.snapshot = nullptr;
  }
  pfree(with);
}

void Road::read(Relation relation, const ScanOptions& options, bool to_store) {
  reading_.options = options;
  Road* const roads[] = {this};
  read(roads, 1, relation, to_store);
  finish(roads, 1);
}

void Road::finish(Road* const* roads, int n) {
  instr_time start;
  INSTR_TIME_SET_CURRENT(start);
  for (int k = 0; k < n; ++k) {
    const Road& road = *roads[k];
    if (!road.reading_.status.ok())
      road.estimate_->raise(road.reading_.status,
                            psprintf("read %s", describe_columns(road.request_->key)));
    road.estimate_->scanned();
  }
  auto* status = static_cast<kde::Status*>(palloc(sizeof(kde::Status) * n));
  for (int k = 0; k < n; ++k) status[k] = kde::Status();
  kde::Control control = begin_core_work(n > 1 ? chosen_threads() : 1);
  control.on_progress = nullptr;  // the scan is shown
  const kde::Status all =
      kde::share_items(control, n, [roads, status](std::int64_t k, const kde::Control& own) {
        status[k] = roads[k]->estimate_->finish(own);
      });
  for (int k = 0; k < n; ++k) {
    Road* road = roads[k];
    road->estimate_->check(all);
    road->estimate_->check(status[k]);
    road->why_ = road->estimate_->nothing_to_fit();
    road->scan_ms_ += elapsed_ms(start) / n;
  }
  pfree(status);
  KDE_FAULT("fit.scanned");
}

void Road::check_something_to_fit(Relation relation) const {
  if (why_ != nullptr) raise_nothing_to_fit(relation, request_->key, why_);
}

// By itself, by a device perhaps, which one at a time may ask.
void Road::fit_alone() {
  const kde::SumsWork sums = estimate_->sums();
  kde::Engine engine = chosen_engine();
  MemoryContext caller = MemoryContextSwitchTo(context_);
  choose_device(sums, &engine, &chosen_.device);
  MemoryContextSwitchTo(caller);
  kde::Control control;
  kde::Status status;
  instr_time begun;
  INSTR_TIME_SET_CURRENT(begun);
  for (;;) {
    control = begin_core_work(chosen_threads());
    status = estimate_->fit(types_, scan(), engine, control);
    if (!begin_anew(status, sums, &engine, &chosen_.device)) break;
    chosen_.abandoned_ms = elapsed_ms(begun);
  }
  estimate_->check(status);
  report_device(chosen_.device);
  chosen_.threads = control.threads;
}

// Those without exact sums over pairs.
void Road::fit_side_by_side(Road* const* roads, int n) {
  progress_phase(Phase::estimating);
  const kde::Engine engine = chosen_engine();
  auto* status = static_cast<kde::Status*>(palloc(sizeof(kde::Status) * n));
  for (int k = 0; k < n; ++k) status[k] = kde::Status();
  const kde::Status all = kde::share_items(
      begin_core_work(chosen_threads()), n,
      [=, &engine](std::int64_t k, const kde::Control& control) {
        Road* road = roads[k];
        if (road->why_ == nullptr && !road->has_exact_sums())
          status[k] = road->estimate_->fit(road->types_, road->scan(), engine, control);
      });
  check_status(all, "fit densities");
  for (int k = 0; k < n; ++k) roads[k]->estimate_->check(status[k]);
  pfree(status);
}

void Road::fit(Road* const* roads, int n) {
  if (n > 1) fit_side_by_side(roads, n);
  for (int k = 0; k < n; ++k)
    if (n == 1 || (roads[k]->why_ == nullptr && roads[k]->has_exact_sums())) roads[k]->fit_alone();
  KDE_FAULT("fit.estimated");
}

void Road::fit() {
  Road* const roads[] = {this};
  fit(roads, 1);
}

void Road::store(const DensityRequest& request, const Estimate& estimate, List* stretches,
                 DensityFit* fit) const {
  const DensityKey& key = request.key;
  *fit = {};
  FitRecord& record = fit->record;
  record.density =
      reinterpret_cast<struct varlena*>(DatumGetPointer(density_to_datum(estimate.density())));
  estimate.describe(fit);
  fit->bytes = estimate.density().size();
  fit->blocks_read = scan().blocks_read;
  record.request = request.asked;
  record.proof = scan().proof;
  if (!has_no_stretches_ && list_length(stretches) <= kMostStretches) record.stretches = stretches;
  if (record.stretches != NIL)
    record.hash_seed = static_cast<const KeptStretch*>(linitial(record.stretches))->seed;
  record.counters = counters_;
  record.scan_ms = scan_ms_;
  record.select_ms += chosen_.abandoned_ms;
  record.table_rows = table_rows(key, counters_, scan().table_rows, record.table_rows);
  // Both are of the sums over pairs.
  const bool used_sums = record.bandwidth_rows > 0;
  record.threads = used_sums ? chosen_.threads : 1;
  if (!used_sums) {
    record.engine = nullptr;
  } else if (record.engine == nullptr) {
    record.engine = used_engine_name(chosen_.device);
  }
  progress_phase(Phase::storing);
  if (request.locked == nullptr) report_lost_measures(key);
  catalog_store(key, record, request.locked);
}

void Road::store(DensityFit* fit) const {
  const DensityRequest& request = *request_;
  store(request, *estimate_, stretches_, fit);
  // Not if another session is fitting it, or the one there is was asked for otherwise.
  if (stores_column()) {
    const Estimate* of_column = estimate_->of_column();
    DensityRequest column = request;
    column.key = ungrouped(request.key);
    renew_references(&column.key);
    column.locked = nullptr;
    column.asked.alias = nullptr;
    const bool locked = catalog_try_lock(column.key);
    const CatalogEntry* before = locked ? catalog_entry(column.key) : nullptr;
    DensityFit beside;
    const bool is_better = has_long_stretches_ && before != nullptr && before->has_stretches &&
                           before->key.measures == column.key.measures &&
                           judge(column.key.relation, before->proof).changed == Changed::nothing;
    if (locked && !is_better && (before == nullptr || is_covered(*before, column)))
      store(column, *of_column, stretches_of_column_, &beside);
  }
  log_long_fit(request.key, fit->record, fit->sample_rows, begun_);
}

}  // namespace kde_pg
