// The fit of one column, or of one expression: scan, select, estimate, store.
#pragma once

#include "pg/catalog.h"
#include "pg/fit_steps.h"
#include "pg/progress.h"

#include "core/fit.h"

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

}  // namespace kde_pg
