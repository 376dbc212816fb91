// What is asked of a fit, what comes of it, and what each form of density adds to its road: an
// Estimate (column_fit.h, word_fit.h, group_fit.cpp, joint_fit.cpp). A new form is another, which
// new_estimate() (road.cpp) chooses.
#pragma once

#include "pg/base/text_list.h"
#include "pg/catalog/catalog.h"
#include "pg/fit/fit_steps.h"
#include "pg/progress/progress.h"
#include "pg/read/scan.h"

#include "core/kde.h"

namespace kde_pg {

struct DensityRequest {
  DensityKey key;                        // analysed
  FitRequest asked = {};                 // its seed is set, given or not
  Operation operation = Operation::fit;  // as which it is shown
  LockedDensity* locked = nullptr;       // what it replaces, by who has locked the key; null: to do
  bool of_table = false;  // one of all columns of a table, which are fitted if they are worth it
  bool anew = false;      // of a refresh: also what is proven not to have changed
  // Of one column, a part of what is to be added up: its bytes at most. By auto its rows are
  // counted as they are, since what smoothing is off in each part is off in the sum as well. 0:
  // none is.
  Size bytes = 0;
  // As of kde::GridCells::begin_at().
  int level = -1, level_of_groups = -1;

  // What blocks and rows are drawn by. Of each filter its own, the same at every fit: densities of
  // one seed by filter are added up as if they were drawn by themselves.
  uint64 seed() const {
    const auto given = static_cast<uint64>(asked.seed);
    return key.has_filter() ? hash_text(key.filter, given) : given;
  }
};

// What was stored; in the caller's memory context.
struct DensityFit {
  FitRecord record;
  const char* method;  // the one used
  double rows;
  int64 sample_rows;
  Size bytes;
  int64 blocks_read;           // of the table; -1: not known
  const char* expected_error;  // expected_error_text()
};

// What rows are read into and what is fitted to them; owned by a memory context (Owned). The
// functions that are not noexcept may raise errors.
class Estimate : public RowSink {
 public:
  // request: outlives it.
  explicit Estimate(const DensityRequest& request) : request_(request) {}

  // After the scan: what has to be done as its user, and may raise errors.
  virtual void scanned() {}
  // Ends the reading. Errors: out_of_memory, cancelled.
  virtual kde::Status finish(const kde::Control& control) noexcept = 0;

  // After finish():
  // Null, or why there is nothing to fit a density to.
  virtual const char* nothing_to_fit() const = 0;
  // NULLs read, where that is all there was.
  virtual double nulls_read() const { return 0; }
  // At which rows are counted, if they are: as of GridCells; and groups', the coarsest.
  virtual int level() const { return -1; }
  virtual int level_of_groups() const { return -1; }
  // The exact sums over pairs that the method takes.
  virtual kde::SumsWork sums() const { return {}; }
  // Chooses the bandwidth and estimates. May be called again after an error.
  virtual kde::Status fit(const ColumnTypes& types, const kde::ReadShare& read,
                          const kde::Engine& engine, const kde::Control& control) noexcept = 0;
  // Raises what finish() or fit() met.
  virtual void check(const kde::Status& status) const {
    check_status(status, psprintf("fit a density to %s", describe_columns(request_.key)));
  }
  // After fit():
  // Shows the notices and says what was made: of *fit all but what the road knows by itself, of
  // its record what was read and how it was fitted. record.engine: of the sums over pairs, if the
  // core names one.
  virtual void describe(DensityFit* fit) const = 0;
  const kde::DensityBytes& density() const { return density_; }
  // Of one with groups: that of the column itself, which is stored beside it. Null: none.
  virtual const Estimate* of_column() const { return nullptr; }

 protected:
  ~Estimate() = default;

  const char* no_rows() const {
    return request_.key.has_filter() ? "The scan found no rows that the filter accepts."
                                     : "The scan found no rows.";
  }

  const DensityRequest& request_;
  kde::DensityBytes density_;  // by fit()
};

// That of a key of several columns, of a category, with groups, all in `context`, as new_estimate()
// (road.cpp). Errors: 22023, 0A000, 54000, 42883 for a type that cannot be grouped.
Estimate* new_joint_estimate(const DensityRequest& request, MemoryContext context);
Estimate* new_word_estimate(const DensityRequest& request, MemoryContext context);
Estimate* new_group_estimate(const DensityRequest& request, MemoryContext context);

}  // namespace kde_pg
