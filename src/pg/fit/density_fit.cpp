// The road of a fit: lock the key, read the rows as their owner, choose the bandwidth and estimate
// (by a device where that is faster, anew where it fails), store, log.
#include "pg/fit/density_fit.h"

#include "pg/base/fault.h"
#include "pg/base/interrupts.h"
#include "pg/base/options.h"
#include "pg/type/density_datum.h"
#include "pg/device/device.h"
#include "pg/fit/column_fit.h"
#include "pg/fit/fit_log.h"
#include "pg/fit/joint_fit.h"

extern "C" {
#include "utils/memutils.h"
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

// Reads the rows into `estimate`.
RowsRead read_rows(const DensityRequest& request, Relation relation, const ColumnTypes& types,
                   Estimate* estimate) {
  const DensityKey& key = request.key;
  RowsRead read = {};
  INSTR_TIME_SET_CURRENT(read.start);
  // Before the first row is read: what changes meanwhile counts as changed since.
  read.counters = read_counters(RelationGetRelid(relation), AskPlanner::no);

  ScanOptions options;
  options.every_row = request.asked.sample_rows == -1;
  options.sample_blocks = option_sample_blocks;
  options.seed = static_cast<uint64>(request.asked.seed);
  const char* doing = psprintf("read %s", describe_columns(key));
  scan_as_owner(relation, key, types, options, doing, estimate, &read.scan);
  settle_counters(relation, read.scan, request.operation, &read.counters);
  return read;
}

// All that follows the reading: choose, estimate, store.
void fit_rows_read(const DensityRequest& request, Relation relation, const ColumnTypes& types,
                   const RowsRead& read, MemoryContext context, Estimate* estimate,
                   DensityFit* fit) {
  const DensityKey& key = request.key;
  const kde::Status finished = estimate->finish(begin_core_work(1));
  check_status(finished, psprintf("fit a density to %s", describe_columns(key)));
  const double scan_ms = elapsed_ms(read.start);
  if (const char* why = estimate->nothing_to_fit(key)) raise_nothing_to_fit(relation, key, why);
  KDE_FAULT("fit.scanned");

  // Choose the bandwidth and estimate.
  const kde::SumsWork sums = estimate->sums();
  kde::Engine engine = chosen_engine();
  DeviceChoice device;
  MemoryContext caller = MemoryContextSwitchTo(context);
  choose_device(sums, &engine, &device);
  MemoryContextSwitchTo(caller);
  kde::Control control;
  kde::Status status;
  do {
    control = begin_core_work(chosen_threads());
    status = estimate->fit(types, read.scan, engine, control);
  } while (begin_anew(status, sums, &engine, &device));
  estimate->check(status, key);
  KDE_FAULT("fit.estimated");
  report_device(device);

  // Store.
  *fit = {};
  FitRecord& record = fit->record;
  record.density =
      reinterpret_cast<struct varlena*>(DatumGetPointer(density_to_datum(estimate->density())));
  fit->bytes = estimate->density().size();
  estimate->describe(fit);
  record.request = request.asked;
  record.counters = read.counters;
  record.scan_ms = scan_ms;
  record.table_rows = table_rows(key, read.counters, record.table_rows);
  // Both are of the sums over pairs.
  const bool used_sums = record.bandwidth_rows > 0;
  record.threads = used_sums ? control.threads : 1;
  if (!used_sums) {
    record.engine = nullptr;
  } else if (record.engine == nullptr) {
    record.engine = used_engine_name(device);
  }
  progress_phase(Phase::storing);
  catalog_store(key, record, request.locked);
}

}  // namespace

Estimate* new_estimate(const DensityRequest& request, MemoryContext context) {
  if (request.key.columns == 1) return new_column_estimate(request, context);
  return new_joint_estimate(request, context);
}

void fit_density(const DensityRequest& request, Relation relation, DensityFit* fit) {
  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, "kde_fit", ALLOCSET_DEFAULT_SIZES);
  Estimate* estimate = new_estimate(request, context);
  const ColumnTypes types = check_types(request.key);
  instr_time begun;
  INSTR_TIME_SET_CURRENT(begun);
  progress_begin(request.key, request.operation);
  if (request.locked == nullptr) catalog_lock(request.key);
  KDE_FAULT("fit.locked");
  const RowsRead read = read_rows(request, relation, types, estimate);
  fit_rows_read(request, relation, types, read, context, estimate, fit);
  progress_end();
  log_long_fit(request.key, fit->record, fit->sample_rows, begun);
  MemoryContextDelete(context);
}

}  // namespace kde_pg
