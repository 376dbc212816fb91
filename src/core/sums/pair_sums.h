// Sums over all unordered pairs of a sample: everything a bandwidth selector needs that
// costs O(n^2). A selector is written once against this interface; the engines supply it.
#pragma once

#include "core/control.h"
#include "core/status.h"
#include "core/sums/engine.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace kde {

class PairSums {
 public:
  virtual ~PairSums() = default;

  // *sum = sum_{i<j} K^(r)((x_i - x_j)/g), with K^(r) the r-th derivative of the standard
  // normal density, He_r(z) phi(z) for even r: K^(4)(z) = (z^4 - 6 z^2 + 3) phi(z),
  // K^(6)(z) = (z^6 - 15 z^4 + 45 z^2 - 15) phi(z).
  // r is 0, 2, 4, 6, 8 or 10; g > 0 and finite, in units of x. Errors: invalid_argument, cancelled,
  // out_of_memory; of the spectral engine also too_large.
  virtual Status derivative(int r, double g, double* sum) = 0;
};

// x: n >= 2 finite values (1-D), copied. Threads and cancellation as `control` says; the result
// has the same bits whatever the number of threads. Errors: invalid_argument, out_of_memory.
Status make_pair_sums(const Engine& engine, std::span<const double> x, const Control& control,
                      std::unique_ptr<PairSums>* out);

// Exact sums over a few weighted values. values: two or more, finite, ascending, none twice.
// weights: as many, > 0 and finite; each stands for so many equal values, as in
// make_spectral_sums. In double, with the vector instructions of `target`, one of simd_targets().
// May throw std::bad_alloc.
//
// The spectral engine takes some 20 microseconds however few the values are, most of it for a
// Fourier transform; these take O(m^2), vector by vector (tied.cpp). For the two sums of PLUGIN
// both take as many instructions (of AVX2) at some 130 values, and as long (with AVX-512) at some
// 100.
std::unique_ptr<PairSums> make_tied_sums(std::vector<double> values, std::vector<double> weights,
                                         std::int64_t target, const Control& control);

}  // namespace kde
