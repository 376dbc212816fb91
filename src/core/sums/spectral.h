// The spectral engine: sums over all pairs of a one-dimensional sample, weighted or not, in
// O(n + M log M) instead of O(n^2), nearly exact.
//
//   sum_ij w_i w_j K^(r)((x_i - x_j)/g) = (g/P) sum_k |F_k|^2 (i z_k)^r exp(-z_k^2/2),
//   F_k = sum_j w_j exp(-i x_j z_k/g),   z_k = 2 pi k g/P
//
// for points on a circle of circumference P (Poisson's summation formula: exact but for the
// kernel's tails beyond P - range). F comes from one real FFT of the points spread on a grid with
// B-splines, divided by the spline's transform: Hockney & Eastwood, Computer Simulation Using
// Particles (1981), section 5-6; Essmann et al., A smooth particle mesh Ewald method, J. Chem.
// Phys. 103 (1995). For kernel estimates: B. W. Silverman, Applied Statistics AS 176 (1982), whose
// linear binning leaves errors of some 1e-3. All terms have one sign, so the functionals of PLUGIN,
// which cancel by a factor of thousands in a sum over pairs, do not cancel here.
//
// Error. T: the sum over all ordered pairs with the diagonal; n: the sum of the weights. By Cauchy
// and Schwarz, whatever the data,
//
//   |error of T| <= 2 c_r n sqrt(|T|) + c_r^2 n^2 + 3 |K^(r)(10.5)| n^2,
//   c_r^2 = integral of z^r exp(-z^2/2) a(z)^2 dz/(2 pi),
//   a(z) = sum_{m != 0} |theta/(theta + 2 pi m)|^10, theta = z/12:
//
//   r        0        2        4        6        8        10
//   c_r  6.7e-15  3.1e-14  1.6e-13  7.7e-13  4.1e-12  2.3e-11
//
// (12 nodes a bandwidth; the last term is what lies beyond kReach, in distance and in frequency:
// 1.9e-18 n^2 at r = 6, 1.5e-14 n^2 at r = 10; the transform's own rounding is smaller than c_r).
// In PLUGIN |T|/n^2 is of the order n^(-7/9), 2e-5 at n = 10^6: its functionals are right to 4e-10.
//
// The grid. Gaps wider than the widest kernel are cut (Circle in spectral.cpp), so M grows with
// what the sample covers, not with its range; M is a power of two, at most 2^20: 87,381 bandwidths.
// PLUGIN never needs more below n = 10^8: k points cover at most 10.5 k g, and as k points so
// spread make sigma large, and g > 1.08 sigma n^(-0.254), they cover at most some 4.8 n^0.503
// bandwidths. A bandwidth so narrow that 2^20 nodes cannot hold it is summed directly over the
// pairs within reach, which are then few; if they are more than 2^24, the status is too_large, and
// the caller may turn to an exact engine.
//
// FFT: kissfft's header-only C++ class (Debian: libkissfft-dev; BSD-3-Clause), in double. It
// links nothing.
#pragma once

#include <memory>
#include <span>

#include "core/control.h"
#include "core/status.h"
#include "core/sums/pair_sums.h"

namespace kde {

// x: n >= 2 finite values, copied. weights: none for ones, and the values are in any order; or as
// many, > 0 and finite, and the values ascend. A weight stands for so many equal values: the sums
// are those of the sample written out,
//   sum_{i<j} = [sum_ij w_i w_j K((x_i - x_j)/g) - sum_i w_i K(0)] / 2.
// `derivative` takes r = 0, 2, 4, 6, 8, 10 (sqrt(2 pi) times r = 0 is the sum of
// exp(-(x_i - x_j)^2/(2 g^2)) that least-squares cross-validation needs). The same bits for any
// number of threads and any order of the values. Errors: invalid_argument, out_of_memory,
// cancelled; of `derivative` also too_large, as above.
Status make_spectral_sums(std::span<const double> x, std::span<const double> weights,
                          const Control& control, std::unique_ptr<PairSums>* out);

}  // namespace kde
