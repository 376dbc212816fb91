// Internal to src/core/joint: what the fits by name and the automatic one have in common.
#pragma once

#include "core/joint/fit_joint.h"

#include <cstddef>
#include <vector>

namespace kde {

struct PredictionError;  // sample_reuse.h

struct FitInput {
  const JointSample& sample;
  const JointFitOptions& options;
  const Control& control;

  std::size_t columns() const { return static_cast<std::size_t>(sample.columns); }
  double value(std::uint32_t row, std::size_t k) const { return sample.value[row * columns() + k]; }
  bool is_null(std::uint32_t row, std::size_t k) const { return (sample.null[row] >> k & 1) != 0; }
  // Rows of the table that the scan stands for.
  double table_rows() const {
    return static_cast<double>(sample.rows_read) * options.rows_per_row_read;
  }
};

struct Marginals {
  std::vector<DensityBytes> density;
  std::vector<const Header*> header;
  std::size_t bytes = 0;
};

// As fits of each column alone, which threads share. Errors: those of fit_column(). Throws
// std::bad_alloc.
Status make_marginals(const FitInput& input, Marginals* out);

// The share of a column's finite rows that are <= x, a finite number; the quantile of these rows, q
// in [0, 1]. cdf() and quantile() are of all rows, which the infinities and NaN may be most of.
// marginal: has finite rows.
double finite_level(const Header* marginal, double x);
double finite_quantile(const Header* marginal, double q);

// The median of a column's finite rows, and the distance between quantiles on both sides of it, the
// quartiles or the first farther ones that differ; > 0. Both owe nothing to a few outliers. Of a
// column whose range overflows the middle of the range and half of it; 0 and 1 without finite rows.
double column_median(const Header* marginal);
double column_spread(const Header* marginal);

// Leaves of `rows` as many, drawn at random, as the budget holds beside the marginals; ascending.
// value_bytes: JointSizes'. Errors: too_large.
Status thin_to_budget(const FitInput& input, const Marginals& marginals, std::uint8_t flags,
                      std::size_t value_bytes, std::vector<std::uint32_t>* rows);

// The header but for its errors of sampling; and these, whose points are set. effect: of
// JointParts. Errors: cancelled. Throws std::bad_alloc.
JointHeader describe_rows(const FitInput& input, double rows, double own_rows);
Status describe_sampling(const FitInput& input, JointHeader* header, std::vector<float>* effect);
// error: measured with own_rows 0; rows that stand for themselves are as the raw sample's.
void describe_errors(const PredictionError& error, JointHeader* header);

Status fit_automatically(const FitInput& input, const Marginals& marginals, DensityBytes* density,
                         JointFitReport* report);
// *column: as of fit_joint.
Status fit_by_name(const FitInput& input, const Marginals& marginals, DensityBytes* density,
                   JointFitReport* report, int* column);

}  // namespace kde
