// Sums of a derivative of the Gaussian density over the pairs of a sample in one dimension.
//
//   sum_{i<j} He_r(z) exp(-z^2/2),   z = (x_i - x_j)/g,  r = 0, 2, ..., 10
//
// The pairs are cut into rectangles of kTileRows values by up to `columns` strips of kStrip values,
// the upper triangle alone; a block computes one. Sorted values are what makes this exact enough in
// single precision and saves work: within a rectangle coordinates are taken relative to its strips
// before they are rounded, rectangles whose values are all farther apart than the kernel reaches
// are left out, by the bound of reach(), and neighbours too near each other for single precision to
// tell share their terms, by the bound of merges().
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

// Four neighbours can enter as two values, each for two of them: their mean minus and plus their
// standard deviation. These have the same mean and second moment, so that with any y the sum of the
// four terms f(x_k - y), f = He_r(z) exp(-z^2/2), changes by
//   at most  max |f^(3)| (sum |x_k - mean|^3 + 4 sd^3)/6  <=  max |f^(3)| w^3/6
// in units of g, w their width (both are convex in the values between the outer two, so greatest
// where each is one of those; it is w^3 for two and two). A pair may change so from either side.
// With Cramer's inequality |f^(3)| <= 1.0865 sqrt((r + 3)!) exp(-z^2/4), that is in all no more
// than
//   2^-24 S, one rounding of its terms,  S = sum 1.0865 sqrt(r!) exp(-z^2/4) >= sum |f|
// where the mean of w^3 is below 2^-25 24/sqrt((r + 1)(r + 2)(r + 3)): r = 6, w = 0.003. The mean
// is that of a run of strips: a few wide neighbours among many narrow ones, in a dense place, may
// change what they have part in by some 4 times that. And as it
// is the exact sum of other values near by, what cancels in the one cancels in the other. It is
// done for whole runs of kMergeStrips strips, in single precision; a quarter of the pairs is left.
// Of fewer than kMergeFrom values all pairs take less time than that.
inline constexpr int kNeighbours = 4;
inline constexpr int kMergeStrips = 2;
inline constexpr std::int64_t kMergeFrom = 2048;

// What a plan needs to know of a strip of the values.
struct StripEdges {
  double first, last;
  double cubes;  // the sum of w^3 over its runs of kNeighbours; infinite if it is not whole
};

// Of values that are ascending; else false.
bool strip_edges(std::span<const double> values, std::vector<StripEdges>* edges);
// Edges, bit for bit as strip_edges() has them, of n ascending values on the card. edges: memory
// that the card can write to. Asynchronous.
Status launch_strip_edges(const double* values, std::int64_t n, StripEdges* edges,
                          cudaStream_t stream);

// The merged values of each whole run of kMergeStrips strips of n ascending values, those of run k
// from values[n + k kStrip] on: with_merged(n) in all. Asynchronous.
Status launch_merge(double* values, std::int64_t n, cudaStream_t stream);

inline std::int64_t with_merged(std::int64_t n) {
  return n < kMergeFrom ? n : n + n / (kMergeStrips * kStrip) * kStrip;
}

// The rectangles of a sum, a function of the values and of g alone.
struct DerivativePlan {
  // The first job of each tile of rows and one past the last, then the last strip with which each
  // strip has pairs, then where each strip begins among the values and the merged ones: so that one
  // transfer brings all to the card.
  std::vector<std::int64_t> table;
  int tiles = 0;
  int strips = 0;
  int columns = 1;  // strips of a job, at most
  std::int64_t jobs = 0;
  double pairs = 0;  // visited
  std::int64_t units() const { return (jobs + kUnitJobs - 1) / kUnitJobs; }
};
DerivativePlan plan_derivative(std::span<const StripEdges> edges, std::int64_t n, int r, double g,
                               Precision precision);

// The plan's table on the card.
struct DerivativeTables {
  const std::int64_t* first_job;
  const std::int64_t* last_strip;
  const std::int64_t* start;
  int tiles;
  int strips;
  int columns;
};

// partial[k] = the sum of job first + k without the factor 1/sqrt(2 pi), pairs of a value with
// itself counted half: He_r(0)/2 each, n in all. values: n ascending values, then merged ones.
// Asynchronous.
Status launch_derivative(const double* values, std::int64_t n, int r, double g, Precision precision,
                         const DerivativeTables& tables, std::int64_t first, std::int64_t last,
                         double* partial, cudaStream_t stream);

}  // namespace kde::cuda
