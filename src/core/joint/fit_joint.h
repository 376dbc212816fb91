// From a sample of rows to a stored joint density.
//
//   by name     bandwidth matrix by select_bandwidth_matrix over the rows without NULL, NaN or
//               infinite values; the plain kernel sum over all rows of the sample
//   automatic   normal scores of each column's own distribution (axis.h), a product kernel whose
//               scale predicts held-out rows best (sample_reuse.h), weights calibrated to the columns'
//               own distributions (calibrate.h); each row of the sample stands for itself, the
//               kernels for the rows that were not drawn
#pragma once

#include "core/control.h"
#include "core/density/joint_format.h"
#include "core/joint/joint_sampler.h"
#include "core/status.h"
#include "core/sums/engine.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace kde {

struct JointFitOptions : ReadShare {
  JointMethod method = JointMethod::automatic;
  ValueType value_type[kMaxColumns] = {};
  double lattice_step[kMaxColumns] = {};  // known from the columns' types; 0: to be found
  // Of a category: as FitOptions.
  std::uint32_t word_type[kMaxColumns] = {}, word_flags[kMaxColumns] = {};
  std::size_t budget = 512 * 1024;      // bytes of the density; the sample is thinned to fit
  std::int64_t bandwidth_rows = 32768;  // the selectors by name use at most so many rows
  std::uint64_t seed = 0;
  Engine engine;
};

struct JointFitReport {
  JointMethod method = JointMethod::automatic;
  std::vector<double> bandwidth;  // columns x columns: H in units of the columns (by name); of
                                  // automatic the diagonal of h^2 in normal scores
  std::int64_t sample_rows = 0, bandwidth_rows = 0, points = 0;
  const char* status = nullptr;  // lscv_end_name; null where nothing is searched
  double select_ms = 0, estimate_ms = 0;
  char notice[240] = {};
  char model[240] = {};  // what the density is made of and the evidence for it
};

// The rows that a density of method automatic holds within `budget`, whatever the columns are, of
// which so many are categories; >= 2.
std::int64_t rows_of_budget(int columns, std::size_t budget, int categories = 0);

// What the words of each of so many categories take of the budget, at most.
constexpr std::size_t words_of_budget(int categories, std::size_t budget) {
  return std::min(budget / (8 * static_cast<std::size_t>(std::max(categories, 1))), kWordsBytes);
}

// Least rows without NULL, NaN and infinite values for the methods by name that search a matrix:
// one more than a mean and a covariance have parameters.
constexpr std::int64_t least_joint_rows(int columns) { return columns * (columns + 3) / 2 + 1; }

// A category takes no part in the choice of a bandwidth but as a condition of the boxes that it is
// chosen by; only method automatic has such, beside a number at least.
//
// Errors: invalid_argument, degenerate (too few rows, a
// constant or collinear column; `*column` is its number from 0, else -1), too_large (the budget
// holds no sample), cancelled, out_of_memory, internal.
Status fit_joint(const JointSample& sample, const JointFitOptions& options, const Control& control,
                 DensityBytes* density, JointFitReport* report, int* column) noexcept;

}  // namespace kde
