// The Gaussian kernel estimate at given points, in 1 to 16 dimensions:
//
//   f(q) = n^-1 (2 pi)^(-d/2) det(H)^(-1/2) sum_i exp(-(q - x_i)' H^-1 (q - x_i)/2),  H = L L'
//
// Source: P. D. Michailidis & K. G. Margaritis, Accelerating kernel density estimation on the GPU
// using the CUDA framework, Applied Mathematical Sciences 7 (2013); Wand &
// Jones, Kernel Smoothing (1995), section 4.2.
//
//   reference   the double loop, each difference whitened by itself: the truth for tests
//   simd        points whitened once about their medians, tiles by vectors (sums/kernel_sums.h)
//   device      the same sums by a Device (sums/sums_device.h), by simd where it cannot
//
// Errors, relative: of the reference (3 d + 4) cond(L) z^2 + n + 20 times 2^-53 for terms at
// distances up to z, the square root of the exponent's square form; of the vector engine those of
// kernel_sums.h besides, and in z of each point (d + 2) cond(L) 2^-53 times its distance R, in
// bandwidths, from the sample's medians. Points with R above 2^30 are left to the reference's loop.
// Where every term is below 2^-1020 (in single precision 2^-120; of the reference 2^-1074) the
// answer may be 0; where f itself is beyond the range of double it is infinite or 0.
#pragma once

#include <span>

#include "core/control.h"
#include "core/status.h"
#include "core/sums/engine.h"

namespace kde {

// points: n x d, n >= 1; factor: L, d x d lower triangular with a positive diagonal; at: m x d, m =
// out.size(); all row-major and finite. out[k] = f(at_k), a density per unit of volume in units of
// x. The same bits for any number of threads. engine.kind is not spectral. Errors:
// invalid_argument, cancelled, out_of_memory; out is then unspecified.
Status kernel_estimate(const Engine& engine, std::span<const double> points, int d,
                       std::span<const double> factor, std::span<const double> at,
                       const Control& control, std::span<double> out) noexcept;

// factor: L of h = L L', h d x d, row-major. h is symmetric where |h_ij - h_ji| <= 1e-9 sqrt(h_ii
// h_jj), and its lower triangle is taken; it is positive definite where no pivot is less than d
// 2^-52 of its diagonal element. Errors: invalid_argument.
Status factorise_bandwidth(std::span<const double> h, int d, std::span<double> factor);

}  // namespace kde
