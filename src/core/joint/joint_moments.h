// Answers from a joint density: the rows in a box, and the moments of a column over them.
//
// A box has a range of each number that it bounds, and of each category the set of values that are
// asked for. What a point counts it does so where its value is one of them; where some are asked
// for that are not kept, points of such by as many of those values as are asked for.
//
// Product kernels: the probability of a box is the product over the bounded columns of
//   Phi(b_k - t_ik) - Phi(a_k - t_ik).
// Correlated kernels: normal_box.h. Points in blocks that lie within the box by more than the
// kernel's reach count whole, those in blocks farther from it not at all. Of `auto` counts and means
// are those of the kernels as far as counting the points bears them out (sum_box.cpp).
//
// The target's mean over the box:
//   normal scores   sum w_i P_i y_i / sum w_i P_i; with bounds of the target's own over the rows
//                   whose values are within them, P_i being that of the other sides (the kernel
//                   smooths where a row is, not its value)
//   linear          the kernel's own first and second moments over the box: with the target among
//                   the bounded columns those of the truncated normal, else by regression on them
//                   (E[e_y | e_x] = P_yx P_xx^-1 e_x). The kernel's variance h_y^2 (what is left of
//                   it given the others) is taken out of the variance.
#pragma once

#include "core/integrate/integrate.h"
#include "core/answer/word_evidence.h"
#include "core/density/joint_format.h"

#include <span>

namespace kde {

// Beyond that many bandwidths a kernel has nothing left: Phi(-6) = 1e-9.
inline constexpr float kJointReach = 6;
// Of correlated kernels, a box of which costs a point more: Phi(-4.5) = 3.4e-6, and what points
// within the box lack, those outside it have too much.
inline constexpr float kCorrelatedReach = 4.5;

struct BoxSide {
  int column;   // no column twice
  Range range;  // a NULL is no value of any, not of one without bounds either
  // Of a category, whose range is not looked at: the values asked for, ranks ascending, each once;
  // null: any but NULL. It and its ranks outlive the call.
  const WordSet* words = nullptr;
};

struct JointMoments {
  double count = 0;  // rows in the box
  // Of the target, over the rows of the box where it is not NULL:
  double finite = 0;  // rows with finite values
  double nans = 0, negative_infinities = 0, positive_infinities = 0;
  double mean = 0;               // of the finite ones; within the target's bounds, if it has any
  double variance = 0;           // divisor `finite`
  double third = 0, fourth = 0;  // central moments
  // (sum of the points' rows in the box)^2 / sum of their squares: how many points speak; of `auto`
  // those that are in it themselves.
  double effective_points = 0;
  // The variances of the count and of the mean between samples of blocks over those of independent
  // rows, as the points of this box show it (contrasts.h); 0: they do not.
  double count_effect = 0, mean_effect = 0;
  int contrasts = 0;  // that these are of: those with points of the box
  // Standard error of `count` that quadrature by random points leaves; 0 where it is exact.
  double quadrature_error = 0;
  // Whether the count, and the moments, are those of a column's own distribution (one bounded
  // column on normal scores, or a category; of the moments, the target itself) or of all rows (none
  // bounded).
  bool count_is_marginal = false, moments_are_marginal = false;
  int target = -1;            // as asked
  double points_visited = 0;  // points whose kernel was integrated
};

// sides: the columns with a range, none for all rows, with NULL or without; target: a column of
// numbers, or -1 for the count alone. No allocation; deterministic: the same density and box, the
// same answer, on every processor up to the rounding stated: counts within 1e-6 of the rows of the
// same sum in double precision.
JointMoments joint_moments(const JointView& density, std::span<const BoxSide> sides, int target);

}  // namespace kde
