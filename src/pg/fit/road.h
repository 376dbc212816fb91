// The road of every fit: read the rows once, end the reading, choose the bandwidth and estimate (by
// a device where that is faster, anew where it fails), and store. One scan serves the roads of all
// densities of a table that read the same rows.
#pragma once

#include "pg/device/device.h"
#include "pg/catalog/stretches.h"
#include "pg/fit/estimate.h"

extern "C" {
#include "portability/instr_time.h"
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

// Densities that are read for at once, at most: each has its cells or its sample in memory.
inline constexpr int kMostOfScan = 32;

// That of one density. Trivially destructible: what it holds goes with its memory context, of the
// one that was current at begin().
class Road {
 public:
  // request: outlives it. Errors: 22023 for a method or a sample's size, 54000 for one beyond
  // maintenance_work_mem, 42804 for a type of column that no density can hold.
  void begin(const DensityRequest& request);
  // For another reading of the same.
  void begin_again();
  void end();
  // What both hold of categories has one limit.
  void share_memory(const Road& other);

  bool is_read() const { return reading_.done; }
  // And its last blocks, which an error may have come between.
  bool is_read_whole() const { return is_read() && scan().snapshot == nullptr; }

  // As which the work on several is shown: by their columns, as far as a key has room.
  static DensityKey key_of(Road* const* roads, int n);
  // The steps, in their order, of several of one relation at once.
  // Reads the rows of those that have not been read. relation: of open_maintained_relation(),
  // checked by check_kind(). to_store: notes what counts as changed since. Errors: those of reading.
  static void read(Road* const* roads, int n, Relation relation, bool to_store);
  // Ends the reading. Errors: what came of the rows.
  static void finish(Road* const* roads, int n);
  // Fits to what was read, of each where there is something to fit to.
  static void fit(Road* const* roads, int n);

  // Of a refresh: reads what changed since the fit alone, if it can and that is less than half of the
  // table's blocks; false: it is to be read as any other (changed_fit.cpp).
  bool read_changed(Relation relation);

  // Of one alone: reads and ends it; fits.
  void read(Relation relation, const ScanOptions& options, bool to_store);
  void fit();
  // Stores it, and beside one with groups the column's own where it is fitted for the first time or
  // in place of what was asked for alike.
  void store(DensityFit* fit) const;

  // After finish(): why there is nothing to fit a density to; null: there is.
  const char* nothing_to_fit() const { return why_; }
  // The error 55000 that says so.
  void check_something_to_fit(Relation relation) const;
  const Estimate& estimate() const { return *estimate_; }
  const ScanResult& scan() const { return reading_.result; }

 private:
  // How the bandwidth was chosen.
  struct Chosen {
    double abandoned_ms = 0;  // of a selection that began anew: what had been spent on it
    DeviceChoice device;
    int threads = 1;
  };

  static void fit_side_by_side(Road* const* roads, int n);
  // Of those that kept a scan's snapshot, the densities of the table's last blocks.
  static void fit_last_blocks(Road* const* roads, int n, Relation relation);
  // The same of stretches no longer than that. Those whose first is too large get none, and come last;
  // returns how many others there are.
  static int fit_stretches(Road** roads, int n, Relation relation, const Proof& proof,
                           BlockNumber longest);
  static void fit_stretch(Road* const* roads, int n, Relation relation, const KeptStretch& stretch);
  bool read_changed(Relation relation, const StoredDensity& stored, const StretchReader& kept,
                    const Proof& now);
  List* put_together(List* stretches, double blocks, const StretchReader& kept) const;
  // Beside its own. Not by a refresh: it may have been dropped, or have settings of its own.
  bool stores_column() const {
    return estimate_->of_column() != nullptr && request_->operation == Operation::fit;
  }
  bool has_exact_sums() const { return estimate_->sums().sums > 0; }
  void fit_alone();
  void store(const DensityRequest& request, const Estimate& estimate, List* stretches,
             DensityFit* fit) const;

  const DensityRequest* request_;
  MemoryContext context_ = nullptr;
  Estimate* estimate_;
  ColumnTypes types_;
  Reading reading_;
  // As of DensityRequest, of stretches of which less is known.
  int level_ = -1, level_of_groups_ = -1;
  List* stretches_ = NIL;            // KeptStretch*, of its last blocks
  List* stretches_of_column_ = NIL;  // the column's own
  bool has_no_stretches_ = false;    // one of them could not be taken out
  bool has_long_stretches_ = false;  // as those of the groups were too large
  double scan_ms_;                   // its share
  Counters counters_;                // before the rows were read
  const char* why_ = nullptr;
  Chosen chosen_;
  instr_time begun_;
};

}  // namespace kde_pg
