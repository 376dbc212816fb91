// Sums over all unordered pairs of a sample in 1 to 16 dimensions: everything that least-squares
// cross-validation needs that costs O(n^2).
//
//   e_ij = exp(-|y_ij|^2/4),   y_ij = (x_i - x_j)/h  or  A (x_i - x_j)
//
// One exponential a pair serves the estimate convolved with itself, e, and the estimate itself,
// e^2. Points whitened by the Cholesky factor of a bandwidth matrix cost d a pair where the
// quadratic form of the textbook costs d^2. Source: Andrzejewski, Gramacki & Gramacki, AMCS 23(4),
// 2013, eqs. (13)-(33).
//
// By the engines of engine.h; of kind spectral those of one dimension.
#pragma once

#include <memory>
#include <span>

#include "core/control.h"
#include "core/status.h"
#include "core/sums/pair_sums.h"

namespace kde {

// sum_{i<j} e and sum_{i<j} e^2.
struct GaussianSums {
  double once = 0, twice = 0;
};

// Both sums for one h, and sum S e, sum S e^2 with S = |x_i - x_j|^2: what the derivative with
// respect to h takes.
struct GaussianSlopes {
  GaussianSums sums;
  double once_s = 0, twice_s = 0;
};

// The vector engine leaves out terms e below 2^-62, at most 1.1e-19 n^2 in all, and takes a
// bandwidth below 1e-27 of the sample's extent for one of that. In single precision its sums are
// right to 1e-6 of n + sum for samples within 20 sqrt(n) bandwidths of their centre
// (gaussian_simd.cpp).
class GaussianPairSums {
 public:
  virtual ~GaussianPairSums() = default;

  // out[k]: the sums for h[k], all in one pass over the pairs. out.size() == h.size() >= 1; every
  // h > 0 and finite, in units of the points, in any order. Errors: invalid_argument, cancelled,
  // out_of_memory; where the sums come from the spectral engine also too_large.
  virtual Status sweep(std::span<const double> h, std::span<GaussianSums> out) = 0;
  virtual Status sweep_slopes(std::span<const double> h, std::span<GaussianSlopes> out) = 0;

  // The sums for y = A (x_i - x_j). A: lower triangular, d x d, row-major, finite (the inverse of
  // the Cholesky factor of a bandwidth matrix in units of the points). Errors: as of sweep; a
  // matrix by which points overflow is an invalid_argument to the vector engine.
  virtual Status full(std::span<const double> a, GaussianSums* out) = 0;
  // And *scatter = sum_{i<j} (once e + twice e^2) y y', symmetric d x d, both triangles filled.
  virtual Status full_scatter(std::span<const double> a, double once, double twice,
                              GaussianSums* out, std::span<double> scatter) = 0;
};

// points: n x d finite values, row-major, n >= 2, 1 <= d <= 16, copied; best whitened and centred
// (select/white_sample.h), so that single precision holds them well. engine.kind spectral has such
// sums only in one dimension, where it is make_line_gaussian_sums over its PairSums. The same bits
// for any number of threads. Errors: invalid_argument, cancelled, out_of_memory.
Status make_gaussian_sums(const Engine& engine, std::span<const double> points, int d,
                          const Control& control, std::unique_ptr<GaussianPairSums>* out);

// In one dimension, over sums that have derivatives 0 and 2 of the same sample; pair sums leave out
// pairs that are too far apart to matter, and the spectral engine is nearly O(n):
//   sum exp(-D^2/(2 s^2)) = sqrt(2 pi) sum K^(0)(D/s), s = sqrt(2) h for e and h for e^2;
//   sum (D/s)^2 exp(-D^2/(2 s^2)) = sqrt(2 pi) sum [K^(2) + K^(0)](D/s).
// `sums` must outlive the result. Errors: out_of_memory.
Status make_line_gaussian_sums(PairSums& sums, std::unique_ptr<GaussianPairSums>* out);

}  // namespace kde
