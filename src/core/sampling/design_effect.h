// How much a sample's rows resemble those of their own block: the design effect of sampling by
// blocks.
//
// With n rows classed into K classes of values (quantiles) and by the blocks they came from, n_bk
// of them in both, every block has Pearson's statistic against the column's classes,
//   X_b^2 = sum_k (n_bk - n_b p_k)^2 / (n_b p_k),   p_k = n_k / n,
// and the design effect is estimated by the sum of n_b X_b^2 divided by its expectation under
// independence,
//   sum_b n_b X_b^2 / ((K - 1) n (1 - Q/n^2))
//     = (sum_bk n_bk^2 / n_k - Q/n) / ((K - 1) (1 - Q/n^2)),   Q = sum_b n_b^2:
// 1 where blocks are as mixed as the column, Q/n, the rows of the block that a row lies in, where a
// block's rows are all alike. For blocks of one size it is Pearson's statistic of the whole table
// divided by its degrees of freedom: J. N. K. Rao & A. J. Scott, The analysis of categorical data
// from complex sample surveys, JASA 76 (1981). That statistic counts a block of one row like one of
// a hundred; a count's variance is a sum over rows, so blocks count by theirs: L. Kish, Survey
// Sampling (1965), section 5.6.
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
