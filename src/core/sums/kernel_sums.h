// The sums of a Gaussian kernel over a sample at other points, by the vector engine:
//   out[k] = sum_i exp(-|q_k - y_i|^2/2)
//
// Where queries and points are many, both are put in an order in which neighbours are near
// (compact_order.h) and cut into tiles; tiles too far apart for any term to count are not visited.
// Results have the same bits for any number of threads.
//
// Errors, relative, of a term at distance z, with eps = 2^-53 for Precision::full and 2^-24 for
// single:
//   eps (z (2 R + z) + (d + 3) z^2/2 + 40),  R = kSingleRadius
// in single precision, where points are rounded as they lie about the centre of a tile of queries;
// tiles that reach farther than kSingleRadius from theirs are computed in double. In double R is 0:
// the points are taken as they are. 40 eps are the exponential's and of additions by lanes; those
// in double add n 2^-53 at most. Terms exp(-z^2/2) below 2^-1020 = 9e-308 in double and 2^-120 =
// 8e-37 in single precision count as 0.
#pragma once

#include <cstdint>
#include <span>

#include "core/control.h"
#include "core/status.h"
#include "core/sums/gaussian_parts.h"
#include "core/sums/pair_sums.h"

namespace kde {

// No coordinate of a point is above this, no query's above twice of it.
inline constexpr double kKernelSumSpan = 0x1p30;

// How far in single precision queries may lie from where points are rounded about.
inline constexpr double kSingleRadius = 64;

// points: n x d, n >= 1; queries: out.size() x d, at least one; row-major, finite, 1 <= d <= 16.
// target: one of simd_targets(). Errors: cancelled. May throw std::bad_alloc.
Status tiled_kernel_sums(std::span<const double> points, std::span<const double> queries, int d,
                         std::int64_t target, Precision precision, const Control& control,
                         std::span<double> out);

}  // namespace kde
