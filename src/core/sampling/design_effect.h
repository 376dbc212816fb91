// How much a sample's rows resemble those of their own block: the design effect of sampling by
// blocks.
//
// With n rows classed into K classes of values (quantiles) and by the B blocks they came from,
// n_bk of them in both, the design effect is estimated by
//   X^2 / ((B - 1)(K - 1)),   X^2 = n (sum_bk n_bk^2 / (n_b n_k) - 1),
// Pearson's statistic for independence divided by its expectation under it: 1 where blocks are as
// mixed as the column, the rows per block where a block's rows are all alike. J. N. K. Rao & A. J.
// Scott, The analysis of categorical data from complex sample surveys, JASA 76 (1981).
#pragma once

#include "core/control.h"
#include "core/room.h"

#include <cstdint>
#include <vector>

namespace kde {

inline constexpr int kDesignClasses = 16;

// values and blocks: of each sampled row, finite, in any order, of equal length.
// *effect >= 1; 1 where there are fewer than two values or blocks. O(n). False if control asked to
// stop. Throws std::bad_alloc.
bool estimate_design_effect(const std::vector<double>& values,
                            const std::vector<std::uint32_t>& blocks, const Control& control,
                            double* effect);

}  // namespace kde
