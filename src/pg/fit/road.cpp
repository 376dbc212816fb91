// The steps of the road: what the columns of one scan share among threads, what is stored, and what
// is lost by that.
#include "pg/fit/road.h"

#include "pg/base/fault.h"
#include "pg/base/interrupts.h"
#include "pg/base/options.h"
#include "pg/catalog/read_counters.h"
#include "pg/catalog/shards.h"
#include "pg/fit/column_fit.h"
#include "pg/read/categories.h"
#include "pg/type/density_datum.h"

extern "C" {
#include "lib/stringinfo.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
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

// Rows of several columns, each for an estimate of its own. They are gathered by column, and handed
// on when there are many: then a column's summary stays in the processor's cache while its values
// go into it, and threads share the columns: so many that where there is more to run than there are
// processors, they seldom wait for each other's turn. Owns nothing: what it gathers lies in a
// memory context.
class FanOut final : public RowSink {
 public:
  static constexpr std::size_t kRows = 65536, kBlocks = 65536;

  FanOut(Estimate** estimates, int n, MemoryContext context) : estimates_(estimates), n_(n) {
    const auto allocate = [context](Size bytes) { return MemoryContextAlloc(context, bytes); };
    value_ = static_cast<double*>(allocate(sizeof(double) * kRows * static_cast<Size>(n)));
    nulls_ = static_cast<uint16*>(allocate(sizeof(uint16) * kRows));
    block_ = static_cast<uint32*>(allocate(sizeof(uint32) * kBlocks));
  }

  Categories* categories(int column) override { return estimates_[column]->categories(0); }
  void begin_rows(bool every_row) override {
    for (int k = 0; k < n_; ++k) estimates_[k]->begin_rows(every_row);
  }

  kde::Status add(const double* values, uint16 nulls) noexcept override {
    for (int k = 0; k < n_; ++k) value_[static_cast<std::size_t>(k) * kRows + rows_] = values[k];
    nulls_[rows_++] = nulls;
    return rows_ == kRows ? hand_on() : kde::Status::success();
  }
  kde::Status begin_block() noexcept override {
    if (blocks_ == kBlocks)
      if (const kde::Status s = hand_on(); !s.ok()) return s;
    block_[blocks_++] = static_cast<uint32>(rows_);
    return kde::Status::success();
  }
  // At the end of a scan: what is left.
  kde::Status hand_on() noexcept {
    kde::Status status[kde::kMaxColumns];
    kde::Control control = begin_core_work(chosen_threads());
    control.on_progress = nullptr;  // the scan is shown
    const kde::Status all = kde::share_items(
        control, n_,
        [this, &status](std::int64_t k, const kde::Control&) { status[k] = hand_on(k); });
    rows_ = blocks_ = 0;
    for (int k = 0; k < n_; ++k)
      if (!status[k].ok()) return status[k];
    return all;
  }

 private:
  kde::Status hand_on(std::int64_t k) const noexcept {
    Estimate* estimate = estimates_[k];
    const double* value = value_ + static_cast<std::size_t>(k) * kRows;
    const auto is_null = [this, k](std::size_t row) { return ((nulls_[row] >> k) & 1) != 0; };
    std::size_t block = 0;
    for (std::size_t row = 0;;) {
      for (; block < blocks_ && block_[block] == row; ++block)
        if (const kde::Status s = estimate->begin_block(); !s.ok()) return s;
      if (row == rows_) break;
      if (is_null(row)) {
        if (const kde::Status s = estimate->add(value + row++, 1); !s.ok()) return s;
        continue;
      }
      const std::size_t first = row;
      const std::size_t end = block < blocks_ ? block_[block] : rows_;
      while (row < end && !is_null(row)) ++row;
      if (const kde::Status s = estimate->add_rows({value + first, row - first}); !s.ok()) return s;
    }
    return kde::Status::success();
  }

  Estimate** estimates_;
  int n_;
  double* value_;  // column by column
  uint16* nulls_;  // as they came
  uint32* block_;  // before which of the rows each block begins
  std::size_t rows_ = 0, blocks_ = 0;
};

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
      !asked.incremental && asked.query == nullptr &&
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

bool has_exact_sums(const Estimate* estimate) { return estimate->sums().sums > 0; }

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
  options.seed = static_cast<uint64>(request.asked.seed);
  return options;
}

void Road::begin(const DensityRequest* requests, int n, Relation relation) {
  *this = Road();
  requests_ = requests;
  n_ = n;
  relation_ = relation;
  INSTR_TIME_SET_CURRENT(begun_);
  context_ = AllocSetContextCreate(CurrentMemoryContext, "kde_fit", ALLOCSET_DEFAULT_SIZES);
  Categories* first = nullptr;
  key_ = requests[0].key;
  key_.columns = n > 1 ? n : key_.columns;
  for (int k = 0; k < n; ++k) {
    if (n > 1) key_.column[k] = requests[k].key.column[0];
    estimate_[k] = new_estimate(requests[k], context_);
    types_[k] = check_types(requests[k].key);
    Categories* own = n > 1 ? estimate_[k]->categories(0) : nullptr;
    if (own == nullptr) continue;
    if (first != nullptr) own->share_limit(first);
    first = own;
  }
}

void Road::begin_again() {
  const instr_time begun = begun_;
  end();
  begin(requests_, n_, relation_);
  begun_ = begun;
}

void Road::read(const ScanOptions& options, bool to_store) {
  instr_time start;
  INSTR_TIME_SET_CURRENT(start);
  const Oid oid = RelationGetRelid(relation_);
  if (to_store) counters_ = is_of_shards(oid) ? shard_counters(oid) : read_counters(oid);
  if (n_ == 1) {
    scan_rows(relation_, key_, types_[0].value_type, options, estimate_[0], &scan_);
  } else {
    kde::ValueType type[kde::kMaxColumns];
    for (int k = 0; k < n_; ++k) type[k] = types_[k].value_type[0];
    FanOut sink(estimate_, n_, context_);
    scan_rows(relation_, key_, type, options, &sink, &scan_);
    check_status(sink.hand_on(), psprintf("read %s", describe_columns(key_)));
  }
  if (to_store) settle_counters(relation_, scan_, requests_[0].operation, &counters_);
  for (int k = 0; k < n_; ++k) estimate_[k]->scanned();
  finish();
  scan_ms_ = elapsed_ms(start) / n_;
  KDE_FAULT("fit.scanned");
}

void Road::finish() {
  kde::Status status[kde::kMaxColumns];
  kde::Control control = begin_core_work(n_ > 1 ? chosen_threads() : 1);
  control.on_progress = nullptr;  // the scan is shown
  const kde::Status all =
      kde::share_items(control, n_, [this, &status](std::int64_t k, const kde::Control& own) {
        status[k] = estimate_[k]->finish(own);
      });
  for (int k = 0; k < n_; ++k) {
    estimate_[k]->check(all);
    estimate_[k]->check(status[k]);
    why_[k] = estimate_[k]->nothing_to_fit();
  }
}

void Road::check_something_to_fit() const {
  if (why_[0] != nullptr) raise_nothing_to_fit(relation_, key_, why_[0]);
}

// By itself, by a device perhaps, which one at a time may ask.
void Road::fit_alone(int k) {
  Estimate* estimate = estimate_[k];
  Chosen& chosen = chosen_[k];
  const kde::SumsWork sums = estimate->sums();
  kde::Engine engine = chosen_engine();
  MemoryContext caller = MemoryContextSwitchTo(context_);
  choose_device(sums, &engine, &chosen.device);
  MemoryContextSwitchTo(caller);
  kde::Control control;
  kde::Status status;
  instr_time begun;
  INSTR_TIME_SET_CURRENT(begun);
  for (;;) {
    control = begin_core_work(chosen_threads());
    status = estimate->fit(types_[k], scan_, engine, control);
    if (!begin_anew(status, sums, &engine, &chosen.device)) break;
    chosen.abandoned_ms = elapsed_ms(begun);
  }
  estimate->check(status);
  report_device(chosen.device);
  chosen.threads = control.threads;
}

// Those without exact sums over pairs.
void Road::fit_side_by_side() {
  progress_phase(Phase::estimating);
  const kde::Engine engine = chosen_engine();
  kde::Status status[kde::kMaxColumns];
  const kde::Status all =
      kde::share_items(begin_core_work(chosen_threads()), n_,
                       [this, &engine, &status](std::int64_t k, const kde::Control& control) {
                         if (why_[k] == nullptr && !has_exact_sums(estimate_[k]))
                           status[k] = estimate_[k]->fit(types_[k], scan_, engine, control);
                       });
  check_status(all, "fit densities");
  for (int k = 0; k < n_; ++k) estimate_[k]->check(status[k]);
}

void Road::fit() {
  if (n_ > 1) fit_side_by_side();
  for (int k = 0; k < n_; ++k)
    if (n_ == 1 || (why_[k] == nullptr && has_exact_sums(estimate_[k]))) fit_alone(k);
  KDE_FAULT("fit.estimated");
}

void Road::store(int k, const DensityRequest& request, const Estimate& estimate,
                 DensityFit* fit) const {
  const DensityKey& key = request.key;
  const Chosen& chosen = chosen_[k];
  *fit = {};
  FitRecord& record = fit->record;
  record.density =
      reinterpret_cast<struct varlena*>(DatumGetPointer(density_to_datum(estimate.density())));
  estimate.describe(fit);
  fit->bytes = estimate.density().size();
  record.request = request.asked;
  record.proof = scan_.proof;
  record.counters = counters_;
  record.scan_ms = scan_ms_;
  record.select_ms += chosen.abandoned_ms;
  record.table_rows = table_rows(key, counters_, scan_.table_rows, record.table_rows);
  // Both are of the sums over pairs.
  const bool used_sums = record.bandwidth_rows > 0;
  record.threads = used_sums ? chosen.threads : 1;
  if (!used_sums) {
    record.engine = nullptr;
  } else if (record.engine == nullptr) {
    record.engine = used_engine_name(chosen.device);
  }
  progress_phase(Phase::storing);
  if (request.locked == nullptr) report_lost_measures(key);
  catalog_store(key, record, request.locked);
}

void Road::store(int k, DensityFit* fit) const {
  const DensityRequest& request = requests_[k];
  store(k, request, *estimate_[k], fit);
  const Estimate* of_column = estimate_[k]->of_column();
  // Not by a refresh: it may have been dropped, or have settings of its own. Nor if another session
  // is fitting it, or the one there is was asked for otherwise.
  if (of_column != nullptr && request.operation == Operation::fit) {
    DensityRequest column = request;
    column.key = ungrouped(request.key);
    renew_references(&column.key);
    column.locked = nullptr;
    column.asked.alias = nullptr;
    const bool locked = catalog_try_lock(column.key);
    const CatalogEntry* before = locked ? catalog_entry(column.key) : nullptr;
    DensityFit beside;
    if (locked && (before == nullptr || is_covered(*before, column)))
      store(k, column, *of_column, &beside);
  }
  log_long_fit(request.key, fit->record, fit->sample_rows, begun_);
}

}  // namespace kde_pg
