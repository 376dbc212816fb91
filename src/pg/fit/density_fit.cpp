// The road of a fit: lock the key, read the rows as their owner, choose the bandwidth and estimate
// (by a device where that is faster, anew where it fails), store, log.
#include "pg/fit/density_fit.h"

#include "pg/base/fault.h"
#include "pg/base/interrupts.h"
#include "pg/base/options.h"
#include "pg/base/pinned.h"
#include "pg/catalog/as_fitted.h"
#include "pg/catalog/expression.h"
#include "pg/catalog/shards.h"
#include "pg/type/density_datum.h"
#include "pg/device/device.h"
#include "pg/fit/column_fit.h"
#include "pg/fit/fit_log.h"
#include "pg/fit/group_fit.h"
#include "pg/fit/joint_fit.h"
#include "pg/fit/part_fit.h"
#include "pg/fit/word_fit.h"
#include "pg/read/categories.h"

extern "C" {
#include "lib/stringinfo.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/rel.h"
}

namespace kde_pg {

namespace {

// What was read, and how.
struct RowsRead {
  ScanResult scan;
  instr_time start;   // of the reading
  Counters counters;  // before it
};

// Measures and what groups are by are columns to a scan.
DensityKey columns_read(const DensityKey& key) {
  DensityKey all = key;
  all.columns = key.all();
  all.measures = all.groups = 0;
  return all;
}

// Reads the rows, of at most so many blocks (0: as the option says), into `sink`. key: the columns
// that it takes.
RowsRead read_rows(const DensityRequest& request, const DensityKey& key, Relation relation,
                   const ColumnTypes& types, int64 blocks, RowSink* sink) {
  RowsRead read = {};
  INSTR_TIME_SET_CURRENT(read.start);
  read.counters = counters_before(relation);

  ScanOptions options;
  options.every_row = request.asked.sample_rows == -1;
  options.sample_blocks = blocks > 0 ? blocks : option_sample_blocks;
  options.least_blocks = Max(blocks, INT64CONST(1));
  options.seed = static_cast<uint64>(request.asked.seed);
  const char* doing = psprintf("read %s", describe_columns(key));
  scan_as_owner(relation, columns_read(key), types, options, doing, sink, &read.scan);
  settle_counters(relation, read.scan, request.operation, &read.counters);
  return read;
}

// How the bandwidth was chosen.
struct Chosen {
  double scan_ms;
  double abandoned_ms;  // of a selection that began anew: what had been spent on it
  DeviceChoice device;
  int threads;
};

// Ends the reading. Null, or why there is nothing to fit a density to.
const char* end_reading(const DensityKey& key, Estimate* estimate) {
  estimate->scanned();
  const kde::Status finished = estimate->finish(begin_core_work(1));
  check_status(finished, psprintf("fit a density to %s", describe_columns(key)));
  return estimate->nothing_to_fit(key);
}

// Chooses the bandwidth and estimates, of rows that have been read.
Chosen fit_rows_read(const DensityRequest& request, const ColumnTypes& types, const RowsRead& read,
                     double scan_ms, MemoryContext context, Estimate* estimate) {
  const DensityKey& key = request.key;
  Chosen chosen = {};
  chosen.scan_ms = scan_ms;
  KDE_FAULT("fit.scanned");

  const kde::SumsWork sums = estimate->sums();
  kde::Engine engine = chosen_engine();
  MemoryContext caller = MemoryContextSwitchTo(context);
  choose_device(sums, &engine, &chosen.device);
  MemoryContextSwitchTo(caller);
  kde::Control control;
  kde::Status status;
  instr_time begun;
  INSTR_TIME_SET_CURRENT(begun);
  for (;;) {
    control = begin_core_work(chosen_threads());
    status = estimate->fit(types, read.scan, engine, control);
    if (!begin_anew(status, sums, &engine, &chosen.device)) break;
    chosen.abandoned_ms = elapsed_ms(begun);
  }
  estimate->check(status, key);
  KDE_FAULT("fit.estimated");
  report_device(chosen.device);
  chosen.threads = control.threads;
  return chosen;
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

void store(const DensityRequest& request, const RowsRead& read, const Chosen& chosen,
           const Estimate* estimate, DensityFit* fit) {
  const DensityKey& key = request.key;
  *fit = {};
  FitRecord& record = fit->record;
  record.density =
      reinterpret_cast<struct varlena*>(DatumGetPointer(density_to_datum(estimate->density())));
  estimate->describe(fit);
  fit->bytes = estimate->density().size();
  record.request = request.asked;
  record.proof = read.scan.proof;
  record.counters = read.counters;
  record.scan_ms = chosen.scan_ms;
  record.select_ms += chosen.abandoned_ms;
  record.table_rows = table_rows(key, read.counters, read.scan.table_rows, record.table_rows);
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

// Whether nothing of a density is lost if a fit takes its place.
bool is_covered(const CatalogEntry& entry, const DensityRequest& request) {
  const FitRequest& asked = entry.request;
  bool covered =
      strcmp(asked.method, request.asked.method) == 0 && asked.max_error == 0 && !asked.exact &&
      asked.sample_rows == request.asked.sample_rows &&
      (!asked.seed_given || (request.asked.seed_given && asked.seed == request.asked.seed));
  for (int k = 0; covered && k < entry.key.measures; ++k)
    covered = find_measure(request.key, entry.key.column[entry.key.columns + k]) >= 0;
  return covered;
}

// The column's own density beside that of its groups, where a fit is asked for: not by a refresh,
// as it may have been dropped, or have settings of its own. Nor if another session is fitting it,
// or the one there is was asked for otherwise.
void store_column(const DensityRequest& request, const RowsRead& read, const Chosen& chosen,
                  const Estimate* estimate) {
  if (estimate->of_column() == nullptr || request.operation != Operation::fit) return;
  DensityRequest column = request;
  column.key = ungrouped(request.key);
  renew_references(&column.key);
  column.locked = nullptr;
  column.asked.alias = nullptr;
  if (!catalog_try_lock(column.key)) return;
  const CatalogEntry* before = catalog_entry(column.key);
  if (before != nullptr && !is_covered(*before, column)) return;
  DensityFit fit;
  store(column, read, chosen, estimate->of_column(), &fit);
}

// Blocks of which the error asked for may be expected, as errors fall with the root of what is
// read; 0: what was read will do, or is all.
int64 blocks_to_read(const DensityRequest& request, const ScanResult& scan, double error) {
  constexpr double kSomeMore = 1.1;
  const double wanted = request.asked.max_error;
  if (wanted == 0 || !(error > wanted) || scan.every_row_read || scan.blocks_total == 0) return 0;
  const double blocks =
      kSomeMore * static_cast<double>(scan.blocks_read) * (error / wanted) * (error / wanted);
  return blocks < static_cast<double>(scan.blocks_total) ? static_cast<int64>(ceil(blocks))
                                                         : scan.blocks_total;
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
  // To be called at the end: what is left.
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

bool has_exact_sums(const Estimate* estimate) { return estimate->sums().sums > 0; }

// Of several columns whose rows have been read: ends the reading and, but of those with exact sums
// over pairs, chooses the bandwidth and estimates. skipped: of each, as end_reading().
void fit_side_by_side(const DensityRequest* requests, int n, const ColumnTypes* types,
                      const RowsRead& read, Estimate** estimates, const char** skipped) {
  KDE_FAULT("fit.scanned");
  progress_phase(Phase::estimating);
  const kde::Engine engine = chosen_engine();
  kde::Status finished[kde::kMaxColumns], fitted[kde::kMaxColumns];
  const kde::Status all = kde::share_items(
      begin_core_work(chosen_threads()), n, [&](std::int64_t k, const kde::Control& control) {
        finished[k] = estimates[k]->finish(control);
        if (!finished[k].ok()) return;
        skipped[k] = estimates[k]->nothing_to_fit(requests[k].key);
        if (skipped[k] == nullptr) skipped[k] = estimates[k]->not_worth();
        if (skipped[k] == nullptr && !has_exact_sums(estimates[k]))
          fitted[k] = estimates[k]->fit(types[k], read.scan, engine, control);
      });
  check_status(all, "fit densities");
  for (int k = 0; k < n; ++k) {
    estimates[k]->check(finished[k], requests[k].key);
    estimates[k]->check(fitted[k], requests[k].key);
  }
  KDE_FAULT("fit.estimated");
}

}  // namespace

Estimate* new_estimate(const DensityRequest& request, MemoryContext context) {
  if (request.key.columns > 1) return new_joint_estimate(request, context);
  int32 typmod;
  kde::ValueType type;
  const bool is_category = value_type_of(key_column_type(request.key, 0, &typmod), &type) &&
                           type == kde::ValueType::category;
  if (is_category && request.key.groups > 0)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("groups of %s are not supported, as it is a category",
                           describe_column(request.key, 0)),
                    errhint("Fit it without group_by, or a number or a date with groups.")));
  if (is_category) return new_word_estimate(request, context);
  if (request.key.groups > 0) return new_group_estimate(request, context);
  return new_column_estimate(request, context);
}

PartFit fit_leaf(const DensityRequest& request, Relation relation, const ColumnTypes& types,
                 const PartRequest& part) {
  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, "kde_fit part", ALLOCSET_DEFAULT_SIZES);
  DensityRequest own = request;
  own.asked.seed = part.seed;
  own.bytes = part.bytes;
  Estimate* estimate = new_estimate(own, context);
  RowsRead read = {};
  INSTR_TIME_SET_CURRENT(read.start);
  ScanOptions options;
  options.leaf = part.leaf;
  options.every_row = request.asked.sample_rows == -1;
  options.sample_blocks = part.blocks;
  options.least_blocks = part.least_blocks;
  options.seed = static_cast<uint64>(part.seed);
  const char* doing = psprintf("read %s", describe_columns(request.key));
  if (part.as_owner) {
    scan_as_owner(relation, columns_read(request.key), types, options, doing, estimate, &read.scan);
  } else {
    scan_rows(relation, columns_read(request.key), types.value_type, options, doing, estimate,
              &read.scan);
  }
  PartFit out = {};
  out.elsewhere = read.scan.elsewhere;
  out.proof = read.scan.proof;
  if (end_reading(request.key, estimate) != nullptr) {
    out.nulls = estimate->nulls_read() * read.scan.rows_per_row_read;
  } else {
    (void)fit_rows_read(own, types, read, elapsed_ms(read.start), context, estimate);
    out.density = density_to_datum(estimate->density());
  }
  MemoryContextDelete(context);
  return out;
}

namespace {

// Before anything is read. Nodes of shards have settings of their own.
void check_computable(const DensityRequest& request, Relation relation) {
  const DensityKey& key = request.key;
  bool plain = !key.has_filter();
  for (int i = 0; i < key.all(); ++i) plain = plain && key.column[i].attnum != 0;
  if (plain) return;
  AsOwner owner;
  owner.begin(relation);
  check_not_volatile(key);
  const char* settings = settings_of(key);
  owner.end();
  if (*settings != '\0' && is_of_shards(RelationGetRelid(relation)))
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("expressions and filters that depend on settings are not computed by "
                           "shards"),
                    errdetail("They depend on %s.", settings),
                    errhint("Name the zone, as in sold_at AT TIME ZONE 'UTC', or fit a column.")));
}

}  // namespace

void fit_density(const DensityRequest& request, Relation relation, DensityFit* fit) {
  check_computable(request, relation);
  if (request.asked.query != nullptr) return fit_by_query(request, relation, fit);
  if (request.asked.incremental || is_read_by_shard(request)) {
    const char* why = fit_by_parts(request, relation, fit);
    if (why != nullptr) raise_nothing_to_fit(relation, request.key, why);
    return;
  }
  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, "kde_fit", ALLOCSET_DEFAULT_SIZES);
  if (request.asked.max_error > 0 && request.key.columns > 1)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("max_relative_error is of densities of one column"),
                    errhint("Pass sample_rows instead.")));
  Estimate* estimate = new_estimate(request, context);
  const ColumnTypes types = check_types(request.key);
  instr_time begun;
  INSTR_TIME_SET_CURRENT(begun);
  progress_begin(request.key, request.operation);
  if (request.locked == nullptr) catalog_lock(request.key);
  KDE_FAULT("fit.locked");
  RowsRead read;
  Chosen chosen;
  int64 blocks = 0;
  for (;;) {
    read = read_rows(request, request.key, relation, types, blocks, estimate);
    const char* why = end_reading(request.key, estimate);
    if (why != nullptr) raise_nothing_to_fit(relation, request.key, why);
    chosen = fit_rows_read(request, types, read, elapsed_ms(read.start), context, estimate);
    blocks = blocks_to_read(request, read.scan, estimate->expected_error());
    if (blocks == 0) break;
    MemoryContextReset(context);
    estimate = new_estimate(request, context);
  }
  store(request, read, chosen, estimate, fit);
  store_column(request, read, chosen, estimate);
  progress_end();
  log_long_fit(request.key, fit->record, fit->sample_rows, begun);
  MemoryContextDelete(context);
}

Datum sample_density(const DensityRequest& request, Relation relation, bool by_query) {
  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, "kde_sample", ALLOCSET_DEFAULT_SIZES);
  const DensityKey& key = request.key;
  Estimate* estimate = new_estimate(request, context);
  const ColumnTypes types = check_types(key);
  progress_begin(key, request.operation);
  RowsRead read = {};
  INSTR_TIME_SET_CURRENT(read.start);
  ScanOptions options;
  options.sample_blocks = option_sample_blocks;
  options.seed = static_cast<uint64>(request.asked.seed);
  options.by_query = by_query;
  const char* doing = psprintf("read %s", describe_columns(key));
  scan_rows(relation, columns_read(key), types.value_type, options, doing, estimate, &read.scan);
  const char* why = end_reading(key, estimate);
  if (why != nullptr) raise_nothing_to_fit(relation, key, why);
  (void)fit_rows_read(request, types, read, elapsed_ms(read.start), context, estimate);
  const Datum density = density_to_datum(estimate->density());
  progress_end();
  MemoryContextDelete(context);
  return density;
}

void fit_columns_together(const DensityRequest* requests, int n, Relation relation,
                          const char** skipped, DensityFit* fits) {
  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, "kde_fit", ALLOCSET_DEFAULT_SIZES);
  DensityKey key;
  key.relation = RelationGetRelid(relation);
  key.columns = n;
  Estimate* estimates[kde::kMaxColumns];
  Categories* first = nullptr;
  for (int k = 0; k < n; ++k) {
    key.column[k] = requests[k].key.column[0];
    estimates[k] = new_estimate(requests[k], context);
    Categories* own = estimates[k]->categories(0);
    if (own == nullptr) continue;
    if (first != nullptr) own->share_limit(first);
    first = own;
  }
  const ColumnTypes types = check_types(key);
  instr_time begun;
  INSTR_TIME_SET_CURRENT(begun);
  progress_begin(key, requests[0].operation);
  for (int k = 0; k < n; ++k) catalog_lock(requests[k].key);
  FanOut sink(estimates, n, context);
  const RowsRead read = read_rows(requests[0], key, relation, types, 0, &sink);
  check_status(sink.hand_on(), psprintf("read %s", describe_columns(key)));
  for (int k = 0; k < n; ++k) estimates[k]->scanned();
  const double scan_ms = elapsed_ms(read.start) / n;
  ColumnTypes own[kde::kMaxColumns];
  for (int k = 0; k < n; ++k) own[k] = {{types.value_type[k]}, {types.lattice_step[k]}};
  fit_side_by_side(requests, n, own, read, estimates, skipped);
  for (int k = 0; k < n; ++k) {
    if (skipped[k] != nullptr) continue;
    // By itself, by a device perhaps, which one at a time may ask.
    const Chosen chosen =
        has_exact_sums(estimates[k])
            ? fit_rows_read(requests[k], own[k], read, scan_ms, context, estimates[k])
            : Chosen{scan_ms, 0, {}, 1};
    store(requests[k], read, chosen, estimates[k], &fits[k]);
    log_long_fit(requests[k].key, fits[k].record, fits[k].sample_rows, begun);
  }
  progress_end();
  MemoryContextDelete(context);
}

}  // namespace kde_pg
