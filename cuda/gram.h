// Sums over pairs of points by matrix units (tensor cores): the objective of LSCV_H, its gradient,
// and densities at other points, in single precision. With y whitened so that e = 2^E,
//
//   E_ij = -|y_i - y_j|^2/2 = y_i'y_j - |y_i|^2/2 - |y_j|^2/2
//
// where the product is a matrix unit's. These multiply numbers of 11 bits exactly, but add with
// truncation, which is a bias that no average takes away (M. Fasi, N. J. Higham, M. Mikaitis & S.
// Pranesh, Numerical behavior of NVIDIA tensor cores, PeerJ Comput. Sci. 7 (2021)): so what they
// add must be exact, or small. Each coordinate is split, y = u + v, u the nearest multiple of a
// power of two s and |v| <= s/2, both numbers of half precision:
//
//   sum of u_i u_j - |u_i|^2/2 - |u_j|^2/2     exact: multiples of s^2/2 below 2^24 of them
//   the rest, u_i'v_j + v_i'u_j + v_i'v_j and what the norms have of v: in an accumulator of its
//   own, its terms smaller by s/|y|
//
// With |y_i| <= R, s is the least power of two > R/2040, and y is kept to R 2^-23. The exponents
// are those of the points so moved, equal ones of 0. The norms are further coordinates: -|u|^2/2 is
// the sum of two halves, which meet 1 and 1 of the other point; so is what the norms have of v,
// rounded.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/status.h"
#include "cuda/cuda_device.h"
#include "cuda/jobs.h"
#include "cuda/whiten.h"

namespace kde::cuda {

inline constexpr int kGramStrip = 128;  // points: of a block's rows, and of a strip of columns

// Below, kernels without matrix units are as fast, for launches take the time.
inline constexpr std::int64_t kLeastGramPoints = 2048;
// In fewer dimensions differences cost as little. Of values and densities; gradients have their own
// kernel up to kMostProducts, as bandwidths are so small beside the sample there that products
// would lose a digit.
inline constexpr int kLeastGramDimensions = 4;
// R, in units in which e = 2^(-|y|^2/2). Of sums over pairs: as far out as the gradient's sums of w
// y, which are greater than those of w (y_i - y_j) by as much, and values of tied points, whose
// roundings do not average, stay within 1e-6 of their moduli; a gradient of many tied points within
// 1e-6 of sum w R^2. A density is as good as its points: y kept to 1.5e-5. The least is such that
// -|u|^2/2 has no part too small for a half.
inline constexpr double kGreatestGramRadius = 32, kGreatestDensityRadius = 128;
inline constexpr double kLeastGramRadius = 4;

// Coordinates of a packed point, those beyond d being 0.
constexpr int gram_coordinates(int d) { return d <= 8 ? 8 : 16; }

// Packed points: groups of eight, of which each block of eight coordinates, 16 bytes a point, lies
// together, as matrix units read them. Blocks: u, v, -|u|^2/2 (the two halves, 1, 1, then zeros)
// and in the same way -(u'v + |v|^2/2). Where there is no point the norm is too great for any term.
template <int C>
struct GramLayout {
  static constexpr int kBlocks = C / 4 + 2;
  static constexpr int kHigh = 0, kLow = 2;  // each of C/8 blocks
  static constexpr int kNorm = C == 16 ? 4 : 1, kRest = C == 16 ? 5 : 3;
  static constexpr int kGroupBytes = 128 * kBlocks;
  static constexpr int kStripBytes = kGramStrip / 8 * kGroupBytes;
};
std::size_t gram_bytes(std::int64_t n, int coordinates);  // of padded(n) of them

// What the machine code that this card runs was compiled for. PTX of a lesser capability than the
// card's has no such instructions, and would compute something else. Waits for the stream.
Status find_matrix_units(MatrixUnits* units, cudaStream_t stream);

// *square = the greatest |x_i - centre|^2 of n points. Asynchronous.
Status launch_square_radius(const double* points, std::int64_t n, int d, const double* centre,
                            double* square, cudaStream_t stream);

// R from that radius: an upper bound of |A| times it, |A|^2 <= |A|_1 |A|_inf.
double gram_radius(const Whitening& a, int d, double square_radius);

// packed: padded(n) points in the layout of `coordinates`, of A (x_i - centre) within R = radius.
// Asynchronous.
Status launch_gram_points(const double* points, std::int64_t n, int d, const Whitening& a,
                          const double* centre, double radius, int coordinates, void* packed,
                          cudaStream_t stream);

// Jobs have such a width that rounds of them end soonest, where so many go at once: on a card of
// 132 multiprocessors, an H100 or H200, which has the instructions of four warps. On others a last
// round may be part empty. width: in pairs of strips, of which a job's begin and end take half a
// one. jobs(width): how many there are.
template <typename F>
std::int64_t best_gram_width(int at_once, const F& jobs) {
  std::int64_t best = 1;
  const auto twice_time = [&](std::int64_t width) {
    return ((jobs(width) - 1) / at_once + 1) * (2 * width + 1);
  };
  for (std::int64_t width = 2; width <= 64; ++width)
    if (twice_time(width) <= twice_time(best)) best = width;
  return best;
}

// Jobs of gram_full: pairs of strips, those of the upper triangle row by row.
inline TileJobs cut_gram(std::int64_t n) {
  const std::int64_t strips = (n + kGramStrip - 1) / kGramStrip;
  TileJobs cut;
  cut.tiles = strips * (strips + 1) / 2;
  cut.tiles_per_job =
      best_gram_width(3 * 132, [&](std::int64_t width) { return (cut.tiles - 1) / width + 1; });
  return cut;
}

// partial[2 (k - first)], and the next: sums of e and e^2 of job k of cut_gram, e = 2^E, pairs of a
// point with itself counted half: n/2 in all. Asynchronous.
Status launch_gram_full(const void* packed, std::int64_t n, int coordinates, MatrixUnits units,
                        std::int64_t first, std::int64_t last, double* partial,
                        cudaStream_t stream);

// Jobs of gram_scatter: a strip of rows by so many strips of columns.
struct GramScatterCut {
  std::int64_t rows = 0, strips = 1;
  std::int64_t across() const { return (rows - 1) / strips + 1; }
  std::int64_t jobs() const { return rows * across(); }
};
inline GramScatterCut cut_gram_scatter(std::int64_t n) {
  GramScatterCut cut;
  cut.rows = (n + kGramStrip - 1) / kGramStrip;
  cut.strips = best_gram_width(2 * 132, [&](std::int64_t width) {
    return GramScatterCut{cut.rows, width}.jobs();
  });
  return cut;
}

// As launch_scatter of rows.h with coordinates for c, but e = 2^E, and jobs of cut_gram_scatter.
Status launch_gram_scatter(const void* packed, std::int64_t n, int coordinates, MatrixUnits units,
                           double once, double twice, std::int64_t first, std::int64_t last,
                           double* partial, cudaStream_t stream);

// As launch_density of rows.h, and of the same jobs, but for 2^E.
Status launch_gram_density(const void* queries, std::int64_t m, const void* packed, std::int64_t n,
                           int coordinates, MatrixUnits units, std::int64_t first,
                           std::int64_t last, double* partial, cudaStream_t stream);

}  // namespace kde::cuda
