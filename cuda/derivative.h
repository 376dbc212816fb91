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
//   single  r = 6: 302,100 exp(-36.1)/15 = 4e-12, r = 10: 9.6e8 exp(-36.1)/945 = 2e-10
double reach(int r, Precision precision);

// The range of the values may be this many times g; beyond it coordinates could overflow.
inline double widest_range(Precision precision) {
  return precision == Precision::single ? 1e17 : 1e140;
}

// The least and the greatest value of each strip: what a plan needs to know of a sample.
struct StripEdges {
  double first, last;
};
std::vector<StripEdges> strip_edges(std::span<const double> sorted);
// The same of n values on the card. Asynchronous.
Status launch_strip_edges(const double* sorted, std::int64_t n, StripEdges* edges,
                          cudaStream_t stream);

// The rectangles of a sum, a function of the values and of g alone.
struct DerivativePlan {
  // The first job of each tile of rows and one past the last, then the last strip with which each
  // strip has pairs: so that one transfer brings both to the card.
  std::vector<std::int64_t> table;
  int tiles = 0;
  int columns = 1;  // strips of a job, at most
  std::int64_t jobs = 0;
  double pairs = 0;  // visited
  std::int64_t units() const { return (jobs + kUnitJobs - 1) / kUnitJobs; }
};
DerivativePlan plan_derivative(std::span<const StripEdges> edges, int r, double g,
                               Precision precision);

// The plan's table on the card.
struct DerivativeTables {
  const std::int64_t* first_job;
  const std::int64_t* last_strip;
  int tiles;
  int columns;
};

// partial[k] = the sum of job first + k without the factor 1/sqrt(2 pi), pairs of a value with
// itself counted half: He_r(0)/2 each, n in all. sorted: n ascending values. Asynchronous.
Status launch_derivative(const double* sorted, std::int64_t n, int r, double g, Precision precision,
                         const DerivativeTables& tables, std::int64_t first, std::int64_t last,
                         double* partial, cudaStream_t stream);

}  // namespace kde::cuda
