// Sums of a derivative of the Gaussian density over the pairs of a sample in one dimension.
//
//   sum_{i<j} He_r(z) exp(-z^2/2),   z = (x_i - x_j)/g,  r = 0, 2, ..., 10
//
// The pairs are cut into rectangles of kTileRows values by up to `columns` strips of kStrip values,
// the upper triangle alone; a block computes one. Sorted values are what makes this exact enough in
// single precision and saves work: within a rectangle coordinates are taken relative to its strips
// before they are rounded, and rectangles whose values are all farther apart than the kernel
// reaches are left out, by the bound of reach().
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <span>
#include <vector>

#include "core/status.h"
#include "core/sums/pair_sums.h"
#include "cuda/jobs.h"

namespace kde::cuda {

inline constexpr int kStrip = 128;
inline constexpr int kTileStrips = 4;
inline constexpr int kTileRows = kStrip * kTileStrips;

// Pairs farther apart than this many g are left out of the sum. Of n^2/2 terms, each relative to
// |He_r(0)|, what is dropped is below
//   double  1e-19 (core/sums/engine_parts.h, whose reach it is)
//   single  r = 6: 302,100 exp(-36.1)/15 = 4e-12, r = 10: 1.2e8 exp(-36.1)/945 = 3e-11
double reach(int r, Precision precision);

// The range of the values may be this many times g; beyond it coordinates could overflow.
inline double widest_range(Precision precision) {
  return precision == Precision::single ? 1e17 : 1e140;
}

// The rectangles of a sum, a function of the values and of g alone.
struct DerivativePlan {
  std::vector<std::int32_t> last_strip;  // for each strip, the last one it has pairs with
  std::vector<std::int64_t> first_job;   // for each tile of rows, and one past the last
  int columns = 1;                       // strips a job has at most
  double pairs = 0;                      // visited
  std::int64_t jobs() const { return first_job.back(); }
  std::int64_t units() const { return (jobs() + kUnitJobs - 1) / kUnitJobs; }
};
DerivativePlan plan_derivative(std::span<const double> sorted, int r, double g,
                               Precision precision);

// What a launch needs of the plan, on the card.
struct DerivativeTables {
  const std::int32_t* last_strip;
  const std::int64_t* first_job;
  int tiles;
  int columns;
};

// partial[k] = the sum of job first + k without the factor 1/sqrt(2 pi), pairs of a value with
// itself counted half: He_r(0)/2 each, n in all. sorted: n ascending values. Asynchronous.
Status launch_derivative(const double* sorted, std::int64_t n, int r, double g, Precision precision,
                         const DerivativeTables& tables, std::int64_t first, std::int64_t last,
                         double* partial, cudaStream_t stream);

}  // namespace kde::cuda
