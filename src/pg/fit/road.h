// The road of every fit: read the rows once, end the reading, choose the bandwidth and estimate (by
// a device where that is faster, anew where it fails), and store. One scan serves a density, or one
// of each of several columns.
#pragma once

#include "pg/device/device.h"
#include "pg/fit/estimate.h"

extern "C" {
#include "portability/instr_time.h"
#include "utils/memutils.h"
}

namespace kde_pg {

// Shows that a density is being fitted, to be ended by progress_end(), and locks its key, unless who
// asks has done so.
void begin_to_store(const DensityRequest& request);

// The line that the server's log keeps of a fit that took long (kde_aqp.log_min_duration): what was
// read, and what each step took. begun: when it asked for its lock.
void log_long_fit(const DensityKey& key, const FitRecord& record, int64 sample_rows,
                  instr_time begun);

// What a request reads. blocks: at most; 0: as the option says.
ScanOptions scan_options(const DensityRequest& request, int64 blocks = 0);

// Trivially destructible: what it holds goes with its memory context, of the one that was current at
// begin().
class Road {
 public:
  // n requests (at most kde::kMaxColumns), of one column each where there are several; they outlive
  // it. relation: of open_maintained_relation(), checked by check_kind(). Errors: 22023 for a method
  // or a sample's size, 54000 for one beyond maintenance_work_mem, 42804 for a type of column that
  // no density can hold.
  void begin(const DensityRequest* requests, int n, Relation relation);
  // For another reading of the same.
  void begin_again();
  void end() { MemoryContextDelete(context_); }

  // Reads the rows, and ends the reading. to_store: notes what counts as changed since. Errors:
  // those of reading.
  void read(const ScanOptions& options, bool to_store);
  // Why there is nothing to fit the k-th density to; null: there is. By read().
  const char* nothing_to_fit(int k = 0) const { return why_[k]; }
  // The error 55000 that says so.
  void check_something_to_fit() const;
  // Fits to what was read, of each where there is something to fit to.
  void fit();
  // The k-th, and beside one with groups the column's own where it is fitted for the first time or
  // in place of what was asked for alike.
  void store(int k, DensityFit* fit) const;

  const Estimate& estimate(int k = 0) const { return *estimate_[k]; }
  const ScanResult& scan() const { return scan_; }

 private:
  // How the bandwidth was chosen.
  struct Chosen {
    double abandoned_ms = 0;  // of a selection that began anew: what had been spent on it
    DeviceChoice device;
    int threads = 1;
  };

  void finish();
  void fit_side_by_side();
  void fit_alone(int k);
  void store(int k, const DensityRequest& request, const Estimate& estimate, DensityFit* fit) const;

  const DensityRequest* requests_;
  int n_;
  Relation relation_;
  MemoryContext context_;
  DensityKey key_;  // of all columns
  Estimate* estimate_[kde::kMaxColumns];
  ColumnTypes types_[kde::kMaxColumns];
  const char* why_[kde::kMaxColumns];
  Chosen chosen_[kde::kMaxColumns];
  instr_time begun_;
  ScanResult scan_;
  double scan_ms_;     // a density's share
  Counters counters_;  // before the rows were read
};

}  // namespace kde_pg
