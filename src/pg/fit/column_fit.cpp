// The fit of one column; see column_fit.h.
#include "pg/fit/column_fit.h"

#include "pg/fit/append.h"
#include "pg/fit/bandwidth.h"
#include "pg/type/density_datum.h"
#include "pg/device/device.h"
#include "pg/base/fault.h"
#include "pg/fit/fit_log.h"
#include "pg/base/interrupts.h"
#include "pg/base/options.h"
#include "pg/base/owned.h"

#include "core/density/text.h"
#include "core/sampling/sampler.h"

extern "C" {
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

namespace kde_pg {

namespace {

// What a fit makes; owned by the fit's memory context.
struct Work {
  kde::Sample sample;
  std::vector<std::uint64_t> words;
  std::size_t size = 0;
  kde::FitReport report;
};

// The sample, its sorted and its scaled copy, 16 bytes each, and what estimation makes of it.
constexpr Size kBytesPerSampleRow = 64;

// Header::sampling_variance: the finite population's correction, and what sampling by blocks adds,
// which is less the more of the blocks were read. Negative where every row was read.
double sampling_variance(const kde::Sample& sample, const ScanResult& scan) {
  if (scan.every_row_read) return -1;
  const double rows = static_cast<double>(sample.totals.finite) * scan.rows_per_row_read;
  const double share = rows > 0 ? static_cast<double>(sample.sample_rows) / rows : 0;
  return Max(1 - share, 0.0) + (sample.design_effect - 1) * (1 - scan.share_of_blocks());
}

void check_has_values(Relation relation, const DensityKey& key, const kde::Totals& totals) {
  if (totals.non_null() > 0) return;
  raise_nothing_to_fit(relation, key,
                       totals.rows() > 0  ? "Every value read is null."
                       : key.has_filter() ? "The scan found no rows that the filter accepts."
                                          : "The scan found no rows.");
}

// How rows are appended to the table, as the density that is to be replaced says; null: not at all.
const char* append_by_of(const DensityKey& key) {
  Snapshot latest = RegisterSnapshot(GetLatestSnapshot());
  int64 id;
  RefreshSettings settings;
  const bool found = catalog_settings(key, latest, &id, &settings);
  UnregisterSnapshot(latest);
  return found ? settings.append_by : nullptr;
}

}  // namespace

kde::Method read_column_method(const char* name) {
  kde::Method method;
  if (!kde::parse_method(name, &method))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown method \"%s\"", name),
                    errhint("The methods for one column are auto, plugin, lscv, sheather_jones, "
                            "smoothed_cv, silverman, normal_reference and scott.")));
  return method;
}

void check_sample_rows(int64 sample_rows) {
  if (sample_rows != -1 && sample_rows < 2)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("sample_rows must be at least 2, or -1 for every row"),
                    errdetail("The value given was %lld.", static_cast<long long>(sample_rows))));
  check_sample_fits(sample_rows, kBytesPerSampleRow,
                    "Use a smaller sample, raise maintenance_work_mem, or read every row with "
                    "sample_rows => -1, which takes bounded memory.");
}

kde::Sampler::Options sampler_options(const ColumnFitRequest& request) {
  kde::Sampler::Options options;
  options.sample_rows = request.sample_rows;
  options.bandwidth_rows = option_bandwidth_rows;
  options.seed = static_cast<uint64>(request.seed);
  // A dozen levels, each in the compactor and in its sorted and scaled copies.
  const Size capacity = memory_limit() / (12 * kBytesPerSampleRow);
  options.compactor_capacity = Min(Max(capacity & ~Size{1}, Size{4096}), kMostCompactorCapacity);
  return options;
}

void fit_one_column(const ColumnFitRequest& request, Relation relation, ColumnFit* fit) {
  const ColumnTypes types = check_types(request.key);
  instr_time begun;
  INSTR_TIME_SET_CURRENT(begun);
  progress_begin(request.key, request.operation);
  catalog_lock(request.key);
  KDE_FAULT("fit.locked");
  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, "kde_fit", ALLOCSET_DEFAULT_SIZES);
  ColumnRead read = {};
  read.sampler = Owned<kde::Sampler>::create(context, sampler_options(request));
  INSTR_TIME_SET_CURRENT(read.start);
  // Before the first row is read: what changes meanwhile counts as changed since.
  read.counters = read_counters(RelationGetRelid(relation), AskPlanner::no);
  KeepState keep;
  keep.begin(relation, request.key, append_by_of(request.key), display_name(request.key));

  ScanOptions scan_options;
  scan_options.every_row = request.sample_rows == -1;
  scan_options.sample_blocks = option_sample_blocks;
  scan_options.seed = static_cast<uint64>(request.seed);
  scan_options.up_to = keep.up_to();
  // The greatest key is of the rows that the sample is of: else those that come between would be
  // read now and, as they have greater ones, appended later.
  scan_options.active_snapshot = keep.is_on();
  ColumnSink sink(read.sampler);
  const char* doing = psprintf("read %s", describe_column(request.key, 0));
  scan_as_owner(relation, request.key, types, scan_options, doing, &sink, &read.scan);
  read.state = keep.end(*read.sampler, types.value_type[0], read.scan);
  settle_counters(relation, read.scan, request.operation, &read.counters);
  fit_column_read(request, relation, types, read, fit);
  progress_end();
  log_long_fit(request.key, fit->record, fit->report.sample_rows, begun);
  MemoryContextDelete(context);
}

void fit_column_read(const ColumnFitRequest& request, Relation relation, const ColumnTypes& types,
                     const ColumnRead& read, ColumnFit* fit) {
  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, "kde_fit column", ALLOCSET_DEFAULT_SIZES);
  Work* work = Owned<Work>::create(context);
  const char* doing = psprintf("fit a density to %s", describe_column(request.key, 0));
  check_status(read.sampler->finish(&work->sample, begin_core_work(1)), doing);
  const double scan_ms = elapsed_ms(read.start);
  check_has_values(relation, request.key, work->sample.totals);
  const ScanResult& scan = read.scan;
  KDE_FAULT("fit.scanned");

  kde::FitOptions options;
  options.method = request.method;
  options.value_type = types.value_type[0];
  options.lattice_step = types.lattice_step[0];
  options.rows_per_row_read = scan.rows_per_row_read;
  options.every_row_read = scan.every_row_read;
  options.sampling_variance = sampling_variance(work->sample, scan);
  options.kernel = request.kernel;
  options.exact = request.exact;
  options.engine = chosen_engine();
  MemoryContext caller = MemoryContextSwitchTo(context);
  DeviceChoice device;
  const kde::SumsWork sums = line_work(request.method, request.kernel, request.exact,
                                       static_cast<int64>(work->sample.bandwidth_values.size()));
  choose_device(sums, &options.engine, &device);
  MemoryContextSwitchTo(caller);
  kde::Control control;
  kde::Status status;
  do {
    control = begin_core_work(chosen_threads());
    status =
        kde::fit_column(work->sample, options, control, &work->words, &work->size, &work->report);
  } while (begin_anew(status, sums, &options.engine, &device));
  check_status(status, doing);
  KDE_FAULT("fit.estimated");
  fit->report = work->report;
  const kde::FitReport& report = fit->report;
  report_device(device);
  show_notice(report.notice);
  show_notice(report.estimate_notice);

  const bool used_sums = report.bandwidth_rows > 0;
  FitRecord& record = fit->record;
  record = {};
  record.density = reinterpret_cast<struct varlena*>(
      DatumGetPointer(density_to_datum(work->words.data(), work->size)));
  record.requested_method = request.method_name;
  record.requested_exact = request.exact;
  record.requested_sample_rows = request.sample_rows;
  record.seed = request.seed;
  record.seed_requested = request.seed_given;
  record.counters = read.counters;
  record.sampler = read.state;
  record.rows_read = work->sample.totals.rows();
  record.design_effect = work->sample.design_effect;
  record.bandwidth_rows = report.bandwidth_rows;
  record.bandwidth_status = report.status;
  if (report.model[0] != '\0') record.model = report.model;
  if (used_sums)
    record.engine = report.engine != nullptr ? report.engine : used_engine_name(device);
  record.threads = used_sums ? control.threads : 1;
  record.scan_ms = scan_ms;
  record.select_ms = report.select_ms;
  record.estimate_ms = report.estimate_ms;
  const auto* density = reinterpret_cast<const kde::Header*>(record.density);
  record.table_rows = table_rows(request.key, read.counters, density->rows + density->nulls);
  progress_phase(Phase::storing);
  catalog_store(request.key, record);

  fit->rows = reinterpret_cast<const kde::Header*>(record.density)->rows;
  fit->bytes = work->size;
  MemoryContextDelete(context);
}

}  // namespace kde_pg
