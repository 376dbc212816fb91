// The fit of several columns: scan, select, estimate, store.
#pragma once

#include "pg/catalog/catalog.h"
#include "pg/fit/fit_steps.h"
#include "pg/progress/progress.h"

#include "core/joint/fit.h"

namespace kde_pg {

struct JointFitRequest {
  DensityKey key;  // of 2 columns or more
  const char* method_name = nullptr;
  int64 sample_rows = 0;
  int64 seed = 0;
  bool seed_given = false;               // a refresh then takes the same
  Operation operation = Operation::fit;  // as which it is shown
};

// What was stored; in the caller's memory context.
struct JointFit {
  FitRecord record;
  const char* method;  // the one used
  double rows;
  int64 sample_rows;
  Size bytes;
};

// relation: of open_owned_relation(), checked by check_kind(). Shows the notices.
// Errors: 22023 for the method or the sample's size, 54000 for one beyond maintenance_work_mem.
void fit_several_columns(const JointFitRequest& request, Relation relation, JointFit* fit);

// n x n elements, as an array of that shape.
ArrayType* matrix_array(const double* elements, int n);

}  // namespace kde_pg
