// What a density of one column, or of one expression, is fitted from and how: a sample of its
// values (core/sampling/sampler.h), kde::fit_column.
#pragma once

#include "pg/fit/estimate.h"

#include "core/kde.h"

namespace kde_pg {

// Error 22023 for a name that is not one of a method for one column.
kde::Method read_column_method(const char* name);

// The share of a count of 1 % of the rows that answers may be off by ("0.36 %"), or "exact", of the
// column of a density, or with groups the worst of the largest of them; palloc'ed or a literal; null
// where it is not known (expected_error.cpp).
const char* expected_error_text(const kde::Header* density);
// What a density says of itself, of *fit.
void describe_density(const kde::Header* density, DensityFit* fit);

// The model of one with groups, and a NOTICE where some share a list.
void describe_groups(const kde::GroupsReport& report, const kde::GroupsBytes& bytes,
                     DensityFit* fit);

// What estimates of one column have in common, be its values numbers or words: measures, and what
// is said of a fit.
class LineEstimate : public Estimate {
 public:
  using Estimate::Estimate;

  const char* nothing_to_fit() const override;
  double nulls_read() const override { return sample_.specials.nulls; }
  void check(const kde::Status& status) const override;
  void describe(DensityFit* fit) const override;
  const kde::FitOptions& options() const { return options_; }
  // Of cells of every row: kde_aqp.density_bytes, and half of that for each measure after the first;
  // finer cells of parts no more than the request's.
  kde::GridBytes grid_bytes() const;

 protected:
  ~LineEstimate() = default;

  // A row's measures, NaN where NULL. Errors: invalid_argument for one that is not finite.
  kde::Status read_measures(const double* values, uint16 nulls, double* y) const noexcept;
  void set_options(const ColumnTypes& types, const kde::ReadShare& read,
                   const kde::Engine& engine) noexcept;
  kde::Status fit_line(const ColumnTypes& types, const kde::ReadShare& read,
                       const kde::Engine& engine, const kde::Control& control) noexcept;
  Size measures() const { return static_cast<Size>(request_.key.measures); }

  kde::FitOptions options_;
  kde::Sample sample_;  // by finish()
  kde::FitReport report_;
};

// The estimate of a key of one column, in `context`; of one with groups that of all their rows.
// Errors: 22023 for the method, the kernel or the sample's size, 54000 for one beyond
// maintenance_work_mem.
LineEstimate* new_column_estimate(const DensityRequest& request, MemoryContext context);

// Refuses (22023) what only a column by itself takes: a method, a kernel, exact, rows of a sample.
// what: in the plural, that is fitted by auto; hint: what to leave out.
void check_fitted_by_auto(const DensityRequest& request, const char* what);

}  // namespace kde_pg
