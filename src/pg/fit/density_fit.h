// The fit of a density, of one column or of several: scan, choose a bandwidth, estimate, store.
// What the two differ in is an Estimate each (column_fit.h, joint_fit.h).
#pragma once

#include "pg/catalog/catalog.h"
#include "pg/progress/progress.h"
#include "pg/read/scan.h"
#include "pg/fit/fit_steps.h"

#include "core/kde.h"

#include <span>

namespace kde_pg {

struct DensityRequest {
  DensityKey key;                              // analysed
  FitRequest asked = {};                       // its seed is set, given or not
  kde::Kernel kernel = kde::Kernel::gaussian;  // of one column
  Operation operation = Operation::fit;        // as which it is shown
  LockedDensity* locked = nullptr;  // what it replaces, by who has locked the key; null: to do
  bool of_table = false;    // one of all columns of a table, which are fitted if they are worth it
  bool every_part = false;  // of an incremental one: also the parts that did not change
  // Of one column, a part of what is to be added up: its bytes at most. By auto its rows are
  // counted as they are, since what smoothing is off in each part is off in the sum as well. 0:
  // none is.
  Size bytes = 0;
};

// What was stored; in the caller's memory context.
struct DensityFit {
  FitRecord record;
  const char* method;  // the one used
  double rows;
  int64 sample_rows;
  Size bytes;
  const char* expected_error;  // expected_error_text()
};

// What rows are read into and what is fitted to them; owned by a memory context (Owned). The
// functions that are not noexcept may raise errors.
class Estimate : public RowSink {
 public:
  // After the scan: what has to be done as its user, and may raise errors.
  virtual void scanned() {}
  // Of one column, rows of the block that was begun last; no value is NULL. Errors: as add().
  virtual kde::Status add_rows(std::span<const double> values) noexcept {
    for (const double& x : values)
      if (const kde::Status s = add(&x, 0); !s.ok()) return s;
    return kde::Status::success();
  }
  // Ends the reading. Errors: out_of_memory, cancelled.
  virtual kde::Status finish(const kde::Control& control) noexcept = 0;

  // After finish():
  // Null, or why there is nothing to fit a density to.
  virtual const char* nothing_to_fit(const DensityKey& key) const = 0;
  // NULLs read, where that is all there was.
  virtual double nulls_read() const { return 0; }
  // The same where the column is one of a table's that nobody named.
  virtual const char* not_worth() const { return nullptr; }
  // The exact sums over pairs that the method takes.
  virtual kde::SumsWork sums() const = 0;
  // Chooses the bandwidth and estimates. May be called again after an error.
  virtual kde::Status fit(const ColumnTypes& types, const ScanResult& scan,
                          const kde::Engine& engine, const kde::Control& control) noexcept = 0;
  // Raises what fit() met.
  virtual void check(const kde::Status& status, const DensityKey& key) const = 0;
  // After fit():
  // The share of a count of 1 % of the rows within which 95 % of such answers are, or all where
  // every row was read; NaN: not known.
  virtual double expected_error() const = 0;
  // Shows the notices and says what was made: of *fit all but what the road knows by itself, of
  // its record what was read and how it was fitted. record.engine: of the sums over pairs, if the
  // core names one. table_rows: that the density stands for.
  virtual void describe(DensityFit* fit) const = 0;
  const kde::DensityBytes& density() const { return density_; }
  // Of one with groups: that of the column itself, which is stored beside it. Null: none.
  virtual const Estimate* of_column() const { return nullptr; }

 protected:
  ~Estimate() = default;

  kde::DensityBytes density_;  // by fit()
};

// The estimate that a request asks for, in `context`. Errors: 22023 for the method or the sample's
// size, 54000 for one beyond maintenance_work_mem.
Estimate* new_estimate(const DensityRequest& request, MemoryContext context);

// Fits and stores. relation: of open_maintained_relation(), checked by check_kind(). Shows the
// notices. Errors: as above; 42804 for a type of column that no density can hold; 55000 where there
// is nothing to fit a density to; those of reading.
void fit_density(const DensityRequest& request, Relation relation, DensityFit* fit);

// The fit of one part of a table, for who adds parts up.
struct PartRequest {
  Oid leaf = InvalidOid;   // of leaf_relations(); invalid: the whole table
  bool as_owner = true;    // else as the current user
  int64 blocks;            // at most
  int64 least_blocks = 1;  // ScanOptions::least_blocks
  Size bytes;              // of the density at most
  int64 seed;
};
struct PartFit {
  Datum density;   // in the current memory context; 0: the part has no values
  double nulls;    // then: how many NULLs
  bool elsewhere;  // ScanResult::elsewhere
  Proof proof;     // of the part alone
};
// Stores nothing. The caller shows the progress. Errors: as fit_density().
PartFit fit_leaf(const DensityRequest& request, Relation relation, const ColumnTypes& types,
                 const PartRequest& part);

// Fits as the current user, with his rights and under the policies that apply (by_query), and
// stores nothing: the density as a value. Errors: as above.
Datum sample_density(const DensityRequest& request, Relation relation, bool by_query);

// fit_density() of n columns (at most kde::kMaxColumns), each a density of its own, by one scan of
// the blocks that the first request's seed draws. skipped[i]: null, or why there is nothing to fit
// one to; then it is not stored, and fits[i] as it was.
void fit_columns_together(const DensityRequest* requests, int n, Relation relation,
                          const char** skipped, DensityFit* fits);

}  // namespace kde_pg
