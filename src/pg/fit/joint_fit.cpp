// The fit of several columns; see joint_fit.h.
#include "pg/fit/joint_fit.h"

#include "pg/fit/bandwidth.h"
#include "pg/type/density_datum.h"
#include "pg/device/device.h"
#include "pg/base/fault.h"
#include "pg/fit/fit_log.h"
#include "pg/base/interrupts.h"
#include "pg/base/options.h"
#include "pg/base/owned.h"

#include "core/density/text.h"
#include "core/joint/fit.h"

extern "C" {
#include "access/relation.h"
#include "catalog/pg_type.h"
#include "utils/memutils.h"
#include "utils/rel.h"
}

namespace kde_pg {

namespace {

// What a fit makes; owned by the fit's memory context.
struct Work {
  kde::JointSample sample;
  std::vector<std::uint64_t> words;
  std::size_t size = 0;
  kde::JointFitReport report;
};

class SeveralColumns final : public RowSink {
 public:
  explicit SeveralColumns(kde::JointSampler* sampler) : sampler_(sampler) {}
  kde::Status add(const double* values, uint16 nulls) noexcept override {
    return sampler_->add(values, nulls);
  }
  void begin_block() noexcept override { sampler_->begin_block(); }

 private:
  kde::JointSampler* sampler_;
};

kde::JointMethod read_joint_method(const char* name) {
  kde::JointMethod method;
  if (!kde::parse_joint_method(name, &method))
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown method \"%s\"", name),
             errhint("The methods for several columns are auto, lscv, lscv_matrix, lscv_diagonal, "
                     "plugin_product, normal_reference and scott.")));
  return method;
}

// A row of the sample in the sampler, in the sample, in axes' coordinates and whitened.
Size bytes_per_row(int columns) { return (4 * sizeof(double)) * (columns + 1); }

void check_joint_sample_rows(int64 sample_rows, int columns) {
  if (sample_rows == -1)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("a density of several columns is fitted to a sample"),
                    errdetail("sample_rows => -1 would keep every row."),
                    errhint("Use sample_rows of at least 2. The columns' own distributions are "
                            "taken from every row that is read; kde_aqp.sample_blocks says how "
                            "many are.")));
  if (sample_rows < 2)
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("sample_rows must be at least 2"),
             errdetail("The value given was %lld.", static_cast<long long>(sample_rows))));
  check_sample_fits(sample_rows, bytes_per_row(columns),
                    "Use a smaller sample or raise maintenance_work_mem.");
}

// Columns may be NULL in every row; a table without rows has no density.
void check_has_values(Relation relation, const DensityKey& key, const kde::JointSample& sample) {
  if (sample.rows_read == 0)
    raise_nothing_to_fit(relation, key,
                         key.has_filter() ? "The scan found no rows that the filter accepts."
                                          : "The scan found no rows.");
}

// JointFitOptions::reading_variance: rows that were read lie in the same blocks as the sample's, so
// the design effect's part is theirs in full, while the rest is divided by their number.
double reading_variance(const kde::JointSample& sample, const ScanResult& scan) {
  if (scan.every_row_read || sample.rows_read == 0) return 0;
  const double drawn = static_cast<double>(sample.rows) / static_cast<double>(sample.rows_read);
  return (1 - scan.share_of_blocks()) * (drawn + sample.design_effect - 1);
}

kde::SumsWork work_of(kde::JointMethod method, int64 n, int columns) {
  kde::MatrixMethod matrix_method;
  if (!kde::parse_matrix_method(kde::joint_method_name(method), &matrix_method)) return {};
  return matrix_work(matrix_method, n, columns);
}

// A column that stands in the way is named.
void check_fitted(const kde::Status& status, const JointFitRequest& request,
                  kde::JointMethod method, int column) {
  const char* doing = psprintf("fit a density to %s", describe_columns(request.key));
  const bool no_bandwidth =
      status.code == kde::Code::degenerate && method != kde::JointMethod::automatic;
  if (status.ok() || column < 0 || column >= request.key.columns) {
    check_status(status, doing, no_bandwidth ? "Method auto takes any columns." : nullptr);
    return;
  }
  const KeyColumn& c = request.key.column[column];
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("could not %s", doing),
                  errdetail_internal("%s \"%s\": %s.", c.attnum != 0 ? "Column" : "Expression",
                                     c.text, status.message),
                  errhint("Leave it out, or use method auto.")));
}

}  // namespace

ArrayType* matrix_array(const double* elements, int n) {
  Datum* values = static_cast<Datum*>(palloc(sizeof(Datum) * n * n));
  for (int i = 0; i < n * n; ++i) values[i] = Float8GetDatum(elements[i]);
  int dims[2] = {n, n};
  int lower[2] = {1, 1};
  return construct_md_array(values, nullptr, 2, dims, lower, FLOAT8OID, sizeof(float8),
                            FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
}

void fit_several_columns(const JointFitRequest& request, Relation relation, JointFit* fit) {
  const DensityKey& key = request.key;
  const kde::JointMethod method = read_joint_method(request.method_name);
  check_joint_sample_rows(request.sample_rows, key.columns);
  const ColumnTypes types = check_types(key);
  instr_time begun;
  INSTR_TIME_SET_CURRENT(begun);
  progress_begin(key, request.operation);
  catalog_lock(key);
  KDE_FAULT("fit.locked");
  Counters counters = read_counters(RelationGetRelid(relation), AskPlanner::no);

  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, "kde_fit", ALLOCSET_DEFAULT_SIZES);
  Work* work = Owned<Work>::create(context);
  kde::JointSampler::Options sampling;
  sampling.columns = key.columns;
  sampling.sample_rows = request.sample_rows;
  sampling.seed = static_cast<uint64>(request.seed);
  kde::JointSampler* sampler = Owned<kde::JointSampler>::create(context, sampling);

  instr_time start;
  INSTR_TIME_SET_CURRENT(start);
  ScanOptions scan_options;
  scan_options.sample_blocks = option_sample_blocks;
  scan_options.seed = static_cast<uint64>(request.seed);
  SeveralColumns sink(sampler);
  ScanResult scan;
  const char* doing = psprintf("read %s", describe_columns(key));
  scan_as_owner(relation, key, types, scan_options, doing, &sink, &scan);
  settle_counters(relation, scan, request.operation, &counters);
  check_status(sampler->finish(&work->sample, begin_core_work(1)), doing);
  const double scan_ms = elapsed_ms(start);
  const kde::JointSample& sample = work->sample;
  check_has_values(relation, key, sample);
  KDE_FAULT("fit.scanned");

  kde::JointFitOptions options;
  options.method = method;
  for (int k = 0; k < key.columns; ++k) {
    options.value_type[k] = types.value_type[k];
    options.lattice_step[k] = types.lattice_step[k];
  }
  options.rows_per_row_read = scan.rows_per_row_read;
  options.every_row_read = scan.every_row_read;
  options.reading_variance = reading_variance(sample, scan);
  options.budget = static_cast<Size>(option_joint_bytes) * 1024;
  options.bandwidth_rows = option_bandwidth_rows;
  options.seed = static_cast<uint64>(request.seed);
  options.engine = chosen_engine();
  MemoryContext caller = MemoryContextSwitchTo(context);
  DeviceChoice device;
  const kde::SumsWork sums = work_of(method, Min(sample.rows, options.bandwidth_rows), key.columns);
  choose_device(sums, &options.engine, &device);
  MemoryContextSwitchTo(caller);
  kde::Control control;
  kde::Status status;
  int column = -1;
  do {
    control = begin_core_work(chosen_threads());
    status = kde::fit_joint(sample, *sampler, options, control, &work->words, &work->size,
                            &work->report, &column);
  } while (begin_anew(status, sums, &options.engine, &device));
  check_fitted(status, request, method, column);
  KDE_FAULT("fit.estimated");
  const kde::JointFitReport& report = work->report;
  report_device(device);
  show_notice(report.notice);

  const bool used_sums = report.bandwidth_rows > 0;
  FitRecord& record = fit->record;
  record = {};
  record.density = reinterpret_cast<struct varlena*>(
      DatumGetPointer(density_to_datum(work->words.data(), work->size)));
  record.requested_method = request.method_name;
  record.requested_sample_rows = request.sample_rows;
  record.seed = request.seed;
  record.seed_requested = request.seed_given;
  record.counters = counters;
  record.rows_read = sample.rows_read;
  record.design_effect = sample.design_effect;
  record.bandwidth_rows = report.bandwidth_rows;
  record.bandwidth_status = report.status;
  if (report.model[0] != '\0') record.model = report.model;
  if (used_sums) record.engine = used_engine_name(device);
  record.threads = control.threads;
  record.scan_ms = scan_ms;
  record.select_ms = report.select_ms;
  record.estimate_ms = report.estimate_ms;
  const Size cells = static_cast<Size>(key.columns) * key.columns;
  if (report.bandwidth.size() == cells)
    record.bandwidth_matrix = matrix_array(report.bandwidth.data(), key.columns);
  record.stored_rows = report.points;
  fit->rows = reinterpret_cast<const kde::JointHeader*>(record.density)->rows;
  record.table_rows = table_rows(key, counters, fit->rows);
  progress_phase(Phase::storing);
  catalog_store(key, record);
  progress_end();
  log_long_fit(key, record, report.sample_rows, begun);

  fit->method = kde::joint_method_name(report.method);
  fit->sample_rows = report.sample_rows;
  fit->bytes = work->size;
  MemoryContextDelete(context);
}

}  // namespace kde_pg
