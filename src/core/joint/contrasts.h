// Internal to src/core/joint: how much a count and a mean over the box that is asked vary between
// samples of blocks, by what the points of this very box show.
//
// Blocks are read one from each of strata in the order of the table (sampling/block_choice.h). So two
// neighbours differ by as much as both vary: with e_b what block b has of a residual, the squares of
// e_1 - e_2, e_3 - e_4 ... add up to the variance of the sum of all e_b (K. M. Wolter, Introduction to
// Variance Estimation, 1985, section 2.7: v_5 of non-overlapping differences). Few numbers tell
// nearly as much: differences are given random signs and added up to contrasts, some to each,
//
//   U_g = sum of s_b e_b over the blocks of contrast g,   E sum of U_g^2 = sum of Var e_b,
//
// which has as many degrees of freedom as there are contrasts. A point keeps its block's g and s, in
// one byte, so that the residuals can be those of any box: of a count u m - p u, of a mean u m (y -
// mean), u being the point's rows and m 1 in the box. Points that lie alone in their blocks have the
// variance of independent ones, exactly.
#pragma once

#include "core/density/joint_format.h"

#include <cstdint>
#include <span>
#include <vector>

namespace kde {

// What a box's points add to the contrasts, each u m times its sign: all of them, and those with a
// value, times 1 and the value. And the same squared, without blocks.
struct ContrastSums {
  double rows[kMostContrasts] = {}, valued[kMostContrasts] = {}, power[kMostContrasts] = {};
  double alone = 0;             // of (u m)^2
  double valued_alone[3] = {};  // times 1, y, y^2
};

// Variances over those of independent points; 1 where there is nothing to vary. balance: of each
// contrast (joint_format.h); p: the share of the rows that the sums are of; mean: of their values.
double count_effect(const ContrastSums& sums, std::span<const float> balance, double p);
double mean_effect(const ContrastSums& sums, double mean);

// Of each of `rows` its code; row_block: the block of a row, numbers in the table's order, of so many. The
// number of contrasts is that of the codes' g. 0 and no codes: too few blocks to tell.
int make_contrasts(std::span<const std::uint32_t> rows, std::span<const std::uint32_t> row_block,
                   std::size_t blocks, std::uint64_t seed, std::vector<std::uint8_t>* code);

}  // namespace kde
