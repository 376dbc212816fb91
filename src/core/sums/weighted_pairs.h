// Exact sums over all pairs of a few weighted values.
//
// The spectral engine takes some 20 microseconds however few the values are, most of it for a
// Fourier transform; these take O(m^2), vector by vector (tied.cpp). For the two sums of PLUGIN
// both take as many instructions (of AVX2) at some 130 values, and as long (with AVX-512) at some
// 100.
#pragma once

#include <memory>
#include <span>

#include "core/control.h"
#include "core/status.h"
#include "core/sums/pair_sums.h"

namespace kde {

// sorted: two or more finite values in ascending order, none twice, copied. weights: as many, > 0
// and finite. A weight stands for so many equal values, as in make_spectral_sums. In double, with
// the vector instructions of the processor. Errors: invalid_argument, out_of_memory, cancelled.
Status make_weighted_pair_sums(std::span<const double> sorted, std::span<const double> weights,
                               const Control& control, std::unique_ptr<PairSums>* out) noexcept;

}  // namespace kde
