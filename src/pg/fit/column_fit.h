// The fit of one column, or of one expression: scan, select, estimate, store.
#pragma once

#include "pg/catalog/catalog.h"
#include "pg/fit/fit_steps.h"
#include "pg/progress/progress.h"

#include "core/fit.h"
#include "core/sampling/sampler.h"

namespace kde_pg {

struct ColumnFitRequest {
  DensityKey key;  // of one column
  kde::Method method = kde::Method::automatic;
  const char* method_name = nullptr;
  int64 sample_rows = 0;  // -1: every row
  int64 seed = 0;
  bool seed_given = false;               // a refresh then takes the same
  Operation operation = Operation::fit;  // as which it is shown
  bool exact = false;
  kde::Kernel kernel = kde::Kernel::gaussian;
};

// What was stored; in the caller's memory context.
struct ColumnFit {
  FitRecord record;
  kde::FitReport report;
  double rows;
  Size bytes;
};

// Error 22023 for a name that is not one of a method for one column.
kde::Method read_column_method(const char* name);
// Error 22023 for a sample of fewer than 2 rows, 54000 for one beyond maintenance_work_mem.
void check_sample_rows(int64 sample_rows);

// relation: of open_owned_relation(), checked by check_kind(). Shows the notices.
void fit_one_column(const ColumnFitRequest& request, Relation relation, ColumnFit* fit);

// ------------------------------------------------------------------ its parts, for append.h

// Where the rows of one column go.
class ColumnSink final : public RowSink {
 public:
  explicit ColumnSink(kde::Sampler* sampler) : sampler_(sampler) {}
  kde::Status add(const double* values, uint16 nulls) noexcept override {
    if (nulls == 0) return sampler_->add(values[0]);
    sampler_->add_null();
    return kde::Status::success();
  }
  void begin_block() noexcept override { sampler_->begin_block(); }

 private:
  kde::Sampler* sampler_;
};

// How a request is sampled. Levels of the compactor are of at most so many values.
inline constexpr Size kMostCompactorCapacity = Size{1} << 18;
kde::Sampler::Options sampler_options(const ColumnFitRequest& request);

// What was read, and how.
struct ColumnRead {
  kde::Sampler* sampler;  // is finished
  ScanResult scan;
  instr_time start;   // of the reading
  Counters counters;  // before it
  bytea* state;       // to be stored, null: none
};

// All that follows the reading: select, estimate, store.
void fit_column_read(const ColumnFitRequest& request, Relation relation, const ColumnTypes& types,
                     const ColumnRead& read, ColumnFit* fit);

}  // namespace kde_pg
