// The kernels of a density estimate, and their constants.
//
//   f(t) = 1/(n h) sum K((t - x_i)/h)
//
// The compact kernels end at |u| = 1, so that h is half their width (Marron & Nolan's convention
// and statsmodels'; R's density() scales every kernel to a standard deviation of 1 instead, and its
// bw is h times the square root of kernel_variance). The Gaussian's h is its standard deviation.
//
// Bandwidths of different kernels compare by their canonical bandwidth
//
//   delta0(K) = (R(K)/mu2(K)^2)^(1/5),  R(K) = integral K^2,  mu2(K) = integral u^2 K:
//
// h_1/delta0(K_1) = h_2/delta0(K_2) smooth alike, and a bandwidth that is optimal for one kernel
// by the asymptotic mean integrated squared error becomes so for the other. Source: J. S. Marron &
// D. Nolan, Canonical kernels for density estimation, Statistics & Probability Letters 7 (1988).
#pragma once

#include "core/density/format.h"

namespace kde {

// Whether K is 0 outside [-1, 1]: every kernel but the Gaussian.
inline bool is_compact(Kernel kernel) { return kernel != Kernel::gaussian; }

// K(u), for any u. The uniform kernel is 1/2 at |u| = 1 as well.
double kernel_pdf(Kernel kernel, double u);

double kernel_roughness(Kernel kernel);  // R(K), the integral of K^2
double kernel_variance(Kernel kernel);   // mu2(K)

double canonical_bandwidth(Kernel kernel);  // delta0(K)
// The bandwidth of `kernel` that smooths as h_gaussian does with the Gaussian kernel.
double canonical_rescale(double h_gaussian, Kernel kernel);

}  // namespace kde
