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
// With R the greatest |y_i|, s is the least power of two >= R/2048, and y is kept to R 2^-23. The
// exponents are those of the points so moved, equal ones of 0.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "core/status.h"
#include "cuda/full.h"
#include "cuda/jobs.h"

namespace kde::cuda {

inline constexpr int kGramThreads = 128;
inline constexpr int kGramStrip = 128;  // points: of a block's rows, and of a strip of columns

// Below, kernels without matrix units are as fast, for launches take the time.
inline constexpr std::int64_t kLeastGramPoints = 2048;
inline constexpr int kLeastGramDimensions = 4;
// Half norms up to which points may be so moved: R = 128, y kept to 1.5e-5.
inline constexpr float kGreatestGramNorm = 8192;

// Coordinates of a packed point, those beyond d being 0.
constexpr int gram_coordinates(int d) { return d <= 8 ? 8 : 16; }

// Of 16 (2 C + 3)/16 bytes such that eight of them, a multiple of 16 bytes apart, touch every bank
// of shared memory once.
template <int C>
struct alignas(16) GramPoint {
  __half high[C];     // u
  __half low[C];      // v
  float minus_norm;   // -|u|^2/2; a number too far below 0 for any term where there is no point
  float minus_rest;   // -(u'v + |v|^2/2)
  float unused[2];
};

// points[i] of y (launch_whiten by points, c coordinates, padded(n) of them) with the s of
// *greatest_norm, which is R^2/2. Asynchronous.
Status launch_gram_points(const float* y, std::int64_t n, int c, const float* greatest_norm,
                          int coordinates, void* points, cudaStream_t stream);
std::size_t gram_bytes(std::int64_t n, int coordinates);

// Jobs of full.h's kind: kGramStrip rows by `strips` strips, from the row's own strip on.
inline FullCut cut_gram(std::int64_t n) {
  FullCut cut;
  cut.tiles = cut.all_strips = (n + kGramStrip - 1) / kGramStrip;
  cut.strips_per_tile = 1;
  while (cut.strips < 16 && cut.all_strips * cut.tiles / 2 / cut.strips > 3000) cut.strips *= 2;
  return cut;
}

// All three do nothing, and write zeros, where *greatest_norm > kGreatestGramNorm. Asynchronous.

// partial[2 (k - first)], and the next: sums of e and e^2 of job k of cut_gram, e = 2^E, pairs of a
// point with itself counted half: n/2 in all.
Status launch_gram_full(const void* points, std::int64_t n, int coordinates,
                        const float* greatest_norm, std::int64_t first, std::int64_t last,
                        double* partial, cudaStream_t stream);

// As launch_scatter of rows.h, coordinates for c, but for e = 2^E: y of twice the half norms there.
Status launch_gram_scatter(const void* points, std::int64_t n, int coordinates,
                           const float* greatest_norm, double once, double twice,
                           std::int64_t first, std::int64_t last, double* partial,
                           cudaStream_t stream);

// As launch_density of rows.h, but for 2^E.
Status launch_gram_density(const void* queries, std::int64_t m, const void* points, std::int64_t n,
                           int coordinates, const float* greatest_norm, std::int64_t first,
                           std::int64_t last, double* partial, cudaStream_t stream);

}  // namespace kde::cuda
