// Who is measured: this extension's densities, the raw sample, and a kernel estimate at
// bandwidth 1.
#pragma once

#include "core/fit/fit.h"

#include "errors.h"
#include "table.h"

#include <cstdint>
#include <span>
#include <vector>

namespace kde::accuracy {

// As the extension sees a column of that type; the step of its lattice, 0 where it is not told.
ValueType value_type_of(ColumnType type);
double lattice_step_of(ColumnType type);

// `size` of the values, uniformly without replacement, in the order drawn. size <= values.size().
std::vector<double> draw_sample(const std::vector<double>& values, std::size_t size,
                                std::uint64_t seed);

struct Fitted {
  DensityBytes bytes;
  FitReport report;

  DensityView view() const { return DensityView(bytes.data()); }
};

struct FitRequest {
  Method method = Method::automatic;
  ColumnType type = ColumnType::decimal;
  std::size_t rows = 0;  // of the whole column; as many as values: every row was read
  int threads = 1;
};

// The sample, as the extension fits a column of that type after the scan that `options` tells of. A
// decimal column is float8: its lattice step is not told. Throws std::runtime_error.
Fitted fit(const Sample& sample, FitOptions options, ColumnType type, int threads);

// Throws std::runtime_error of what is not ok.
void require(const Status& status);

// The values after a scan that saw just them. Throws std::runtime_error.
Fitted fit(std::span<const double> values, const FitRequest& request);

Answers density_answers(const DensityView& density, const Range& range);

// The sample's own totals, scaled to `rows`.
Answers sample_answers(const Slice& slice, std::size_t sample_rows, std::size_t rows);

// A Gaussian kernel sum whose bandwidth is 1 in units of x, as in DBEst (Q. Ma & P. Triantafillou,
// SIGMOD 2019), whose code leaves scikit-learn's default in place. In closed form, z = t - x_i:
//   COUNT = N/n sum [Phi(z_b) - Phi(z_a)]
//   SUM   = N/n sum { x_i [Phi(z_b) - Phi(z_a)] - [phi(z_b) - phi(z_a)] }
class UnitKernel {
 public:
  // sorted: ascending.
  explicit UnitKernel(std::span<const double> sorted);

  Answers answers(const Range& range, std::size_t rows) const;

 private:
  struct Point {
    double value, weight;
  };
  std::vector<Point> points_;  // distinct values, ascending
  double sample_rows_ = 0;
};

}  // namespace kde::accuracy
